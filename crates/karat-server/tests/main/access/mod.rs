//! Who may ask the server.

mod guards;
mod tokens;

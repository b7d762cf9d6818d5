//! The commands of the server.

mod serve;
mod view;

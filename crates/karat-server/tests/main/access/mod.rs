//! Hosts, origins and tokens.

mod guards;
mod tokens;

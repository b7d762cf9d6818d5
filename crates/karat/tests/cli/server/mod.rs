//! The commands of the server.

mod annotation;
mod limits;
mod operations;
mod restarts;
mod schedule;
mod serve;
mod served;
mod soak;
#[cfg(unix)]
mod store_away;
mod store_on_server;
mod view;

//! The commands of the server.

mod schedule;
mod serve;
mod view;

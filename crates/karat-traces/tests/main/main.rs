//! Requests of every convention, read into rows.

mod dialects;
mod folder;
mod requests;

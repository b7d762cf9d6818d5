//! Commands of the server.
//!
//! - `view` shows stored runs in a browser; `serve` also starts runs, for several people or programs
//! - `health` asks a server whether it works
//! - `token` creates and revokes the tokens of `serve`

pub mod health;
pub mod serve;
pub mod token;
pub mod view;

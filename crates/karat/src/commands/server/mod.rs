//! Commands of the server.
//!
//! - `view` shows stored runs in a browser; `serve` also starts runs, for several people or programs
//! - `token` creates and revokes the tokens of `serve`

pub mod serve;
pub mod token;
pub mod view;

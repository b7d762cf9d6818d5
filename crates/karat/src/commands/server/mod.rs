//! Commands of the server.
//!
//! - `view` shows stored runs in a browser; `serve` also starts runs, for several people or programs
//! - `traces` lists and removes what applications have sent to `serve`
//! - `token` creates and revokes the tokens of `serve`

pub mod serve;
pub mod token;
pub mod traces;
pub mod view;

//! Commands of the server.
//!
//! - `view` shows stored runs in a browser; `serve` also starts runs, for several people or programs
//! - `health` asks a server whether it works
//! - `mcp` answers coding agents
//! - `traces` lists and removes what applications have sent to `serve`
//! - `schedule` shows due times and runs a suite at one; `alert` sends, tests and lists alerts
//! - `token` creates and revokes the tokens of `serve`

pub mod alert;
pub mod health;
pub mod mcp;
pub mod schedule;
pub mod serve;
pub mod token;
pub mod traces;
pub mod view;

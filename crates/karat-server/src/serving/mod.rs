//! The process of a server: its address, its connections, its supervisor.
//!
//! - `server`: binds the address, and serves until it is stopped.
//! - `connections`: their number, the time of a head, readers that stall.
//! - `supervisor`: tells systemd that the server is ready and alive, and ends a server that hangs.

mod connections;
pub(crate) mod server;
mod supervisor;

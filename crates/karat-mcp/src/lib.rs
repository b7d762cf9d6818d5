//! Karat's runs and reports for coding agents, by the Model Context Protocol (MCP) over stdin and stdout: a JSON-RPC message
//! a line.
//!
//! - `protocol.rs`: messages and methods; it speaks both the protocol with a handshake (2024-11-05 to 2025-11-25) and the
//!   one without (2026-07-28)
//! - `tools.rs`: the tools, as agents see them, and what an agent passes to each
//! - `runs.rs`: runs that an agent starts, and the money that they may spend
//!
//! Reading is all that an agent may do, unless the user allows runs. What a tool answers contains texts of datasets and
//! models, so each answer says that they are data.

mod protocol;
mod runs;
mod tools;

pub use protocol::serve;
pub use runs::RunLimits;

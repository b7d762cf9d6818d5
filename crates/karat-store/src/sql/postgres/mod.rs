//! The session with a PostgreSQL server. The store is synchronous: a query hands its bytes to a connection that a thread
//! of its own drives, and the calling thread sleeps until the answer is there.
//!
//! ```text
//! address.rs    `postgres://` addresses, shown without their password
//! server.rs     one server: its settings, its thread, and connecting
//! tls.rs        encryption
//! session.rs    one connection: transactions, and reconnecting when it was lost
//! statement.rs  statements and rows
//! wire.rs       values on the wire
//! wait.rs       waits for an answer without a runtime
//! failure.rs    the server's errors by what they mean to the store
//! schema.rs     tables, migrations and the checks of a server
//! claims.rs     the right to write a run: rows with a deadline that the server's clock sets
//! ```

pub(crate) mod address;
pub(crate) mod claims;
pub(crate) mod failure;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod statement;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tls;
mod wait;
pub(crate) mod wire;

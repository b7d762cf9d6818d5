//! The seam between the store and its databases: connections, statements and rows that look the same for an SQLite file
//! and for PostgreSQL. All other modules use SQL through these types, so a query that both understand is written once.
//!
//! ```text
//! value.rs       values of parameters and columns, `params!`
//! row.rs         rows of an answer
//! connection.rs  connections, transactions and statements; where the two differ, `Connection::dialect`
//! failure.rs     errors
//! mutex.rs       a lock without poisoning
//! patience.rs    the time for which a database that does not answer is waited for
//! sealed.rs      rows with checksums; tables.rs: the tables
//! postgres/      the session with a PostgreSQL server (feature `postgres`)
//! ```
//!
//! Rules for text that both databases read: parameters are `?1`, `?2`, …; whole numbers have 64 bits and there is no
//! boolean column; an insert that may find its row ends with `on conflict …`; the latest of several rows is found by order,
//! not by a bare column beside `max()`. Where that would be slower in SQLite, the text exists twice.

mod connection;
mod failure;
pub(crate) mod mutex;
mod patience;
pub(crate) mod postgres;
mod row;
mod sealed;
pub(crate) mod tables;
mod value;

pub(crate) use connection::Backend;
pub(crate) use connection::{Connection, Statement, Transaction};
pub use failure::SqlError;
pub(crate) use failure::{OptionalExtension, SqlResult};
pub use patience::Patience;
pub(crate) use row::{Row, Rows};
pub(crate) use sealed::{OwnedValue, Remedy, StoredRow, Table};
pub(crate) use value::{ToValue, Value, params};

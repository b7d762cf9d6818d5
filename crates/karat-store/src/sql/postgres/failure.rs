//! The server's errors by what they mean to the store.

use std::error::Error;
use std::fmt;

use tokio_postgres::error::SqlState;

/// An error of a server or of the connection with it.
#[derive(Debug)]
pub struct ServerError {
    /// The meaning of the error.
    pub(crate) kind: ServerErrorKind,
    /// True if the server has as many connections as it may.
    is_full: bool,
    message: String,
}

/// The meaning of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerErrorKind {
    /// The connection was lost, or there is none.
    Lost,
    /// A row broke a rule of its table.
    Constraint,
    /// The server's disk is full.
    Full,
    /// Another process kept a lock.
    Locked,
    /// A row does not match its checksum.
    Damaged,
    /// Anything else.
    Other,
}

impl ServerError {
    /// Makes the error of a connection that could not be made or was lost.
    pub(super) fn of_connection(message: String) -> Self {
        Self { kind: ServerErrorKind::Lost, is_full: false, message }
    }

    /// Returns `true` if a row broke a rule of its table.
    pub(crate) fn is_constraint(&self) -> bool {
        self.kind == ServerErrorKind::Constraint
    }

    /// Returns `true` if the server answers, and has as many connections as it may.
    pub(super) fn is_full_of_connections(&self) -> bool {
        self.is_full
    }

    /// Returns `true` if the connection was lost.
    pub(crate) fn is_lost_connection(&self) -> bool {
        self.kind == ServerErrorKind::Lost
    }
}

impl From<tokio_postgres::Error> for ServerError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(reported) = error.as_db_error() else {
            let cause = error.source().map(ToString::to_string);
            let is_lost = error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>());
            let message = match cause {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            };
            let kind = if is_lost { ServerErrorKind::Lost } else { ServerErrorKind::Other };
            return Self { kind, is_full: false, message };
        };
        let code = reported.code();
        let kind = match code.code() {
            // Also a server that starts, stops, or has as many connections as it may.
            code if code.starts_with("08") || code.starts_with("57P") => ServerErrorKind::Lost,
            "25P03" | "53300" => ServerErrorKind::Lost,
            code if code.starts_with("23") => ServerErrorKind::Constraint,
            "53100" | "53200" => ServerErrorKind::Full,
            _ if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::T_R_DEADLOCK_DETECTED => {
                ServerErrorKind::Locked
            }
            _ if *code == SqlState::DATA_CORRUPTED => ServerErrorKind::Damaged,
            _ => ServerErrorKind::Other,
        };
        let is_full = code.code() == "53300";
        Self { kind, is_full, message: format!("{} ({})", reported.message(), code.code()) }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

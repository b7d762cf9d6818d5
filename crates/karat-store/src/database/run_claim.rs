//! The right to write a run, wherever its store is: a lock file beside a database file, or a row on a server.

use std::io;

use crate::database::run_lock::RunLock;
use crate::sql::postgres::claims::ServerClaim;
use crate::sql::{Connection, SqlResult};

/// The right to write one run. Released when dropped.
#[derive(Debug)]
pub(crate) enum RunClaim {
    File(RunLock),
    Server(ServerClaim),
}

impl RunClaim {
    /// Holds room on the disk for what the run pays for. A server has its own disk.
    ///
    /// # Errors
    /// The disk has no room.
    pub fn hold_room(&self) -> io::Result<()> {
        match self {
            Self::File(lock) => lock.hold_room(),
            Self::Server(_) => Ok(()),
        }
    }

    /// Frees the room. Returns `false` if there is none.
    pub fn free_room(&self) -> bool {
        match self {
            Self::File(lock) => lock.free_room(),
            Self::Server(_) => false,
        }
    }

    /// Keeps the right for longer, in a commit; `false` if another process has taken the run. A lock lasts by itself.
    pub fn hold(&self, connection: &Connection) -> SqlResult<bool> {
        match self {
            Self::File(_) => Ok(true),
            Self::Server(claim) => claim.hold(connection),
        }
    }

    /// Returns the claim on a server.
    pub fn server(&self) -> Option<&ServerClaim> {
        match self {
            Self::File(_) => None,
            Self::Server(claim) => Some(claim),
        }
    }
}

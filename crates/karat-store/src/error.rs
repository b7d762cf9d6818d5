//! What can go wrong with a store, in words that say what to do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::pack::Damage;

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store's address is not one that this Karat can use.
    #[error("{0}")]
    Url(String),
    /// The file or its folder could not be made or opened.
    #[error(
        "cannot open the store {path}: {why}. Check that the folder exists and that you may write in it, or choose another place with --store sqlite:PATH"
    )]
    Open {
        /// The database file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Runs on the store cannot see each other.
    #[error(
        "runs on the store {path} cannot see each other: {why}. What several of them need at the same moment each makes, and pays, for itself"
    )]
    Company {
        /// The database file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The file belongs to something else.
    #[error("{path} is not a Karat store: {why}. Choose another place with --store sqlite:PATH")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How it is known.
        why: String,
    },
    /// A newer Karat wrote the file.
    #[error(
        "the store {path} has schema version {found} and this Karat knows up to {known}: use a newer Karat, or another store with --store sqlite:PATH"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// An older Karat wrote the file, and it cannot be brought up to date.
    #[error(
        "the store {path} has schema version {found}, has to be brought to {known} before it can be read, and is read-only. Open it once where it may be written (`karat ls`), or change the permissions of the file and of its folder"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// That of this Karat.
        known: i64,
    },
    /// The store may be read but not written.
    #[error(
        "cannot write to the store {path}: it is read-only. Change the permissions of the file and of its folder, or choose another place with --store sqlite:PATH"
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the store locked for longer than the store waits.
    #[error(
        "cannot write to the store {path}: another process has kept it locked for {waited_s} seconds; {holder}. Wait for it or stop it, then go on with the run; nothing that was acknowledged is lost"
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// Seconds that were waited.
        waited_s: u64,
        /// Who seems to hold it.
        holder: String,
    },
    /// No space is left.
    #[error(
        "cannot write to the store {path}: the disk or the database is full ({why}). Free some space, then go on with the run; nothing that was acknowledged is lost"
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// No run has this name.
    #[error("there is no run {wanted:?} in the store{}", suggestion(nearest))]
    NoSuchRun {
        /// What was asked for.
        wanted: String,
        /// The newest runs.
        nearest: Vec<String>,
    },
    /// Several runs begin with what was given.
    #[error("{wanted:?} is the beginning of several runs: {}. Give more of the id", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Some that fit.
        matches: Vec<String>,
    },
    /// A new run must have a new name.
    #[error("the run {0:?} exists already: choose another --run-id, or go on with it: `karat resume {0}`")]
    RunExists(String),
    /// Two writers of one run would pay for the same calls twice.
    #[error("the run {run:?} is being written by another process{}: wait for it or stop it", process(*.pid))]
    RunInUse {
        /// The run.
        run: String,
        /// Id of the process that last opened it, as far as known.
        pid: Option<u32>,
    },
    /// Stored bytes cannot be read.
    #[error("cannot read {what} from the store: {why}. The file is damaged, or was written by something else")]
    Damaged {
        /// Which part of the store.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// A value is outside of what the store can hold.
    #[error("cannot store {0}")]
    OutOfRange(String),
    /// The writer is gone.
    #[error("cannot write to the store: it was closed")]
    Closed,
    /// SQLite says something else.
    #[error("the store {path} failed while {doing}: {source}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() { ", which is empty".to_owned() } else { format!("; the newest are {}", nearest.join(", ")) }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// Why records are not on disk. Every waiter of a failed commit gets one, and so does every later append of that
/// ledger: what follows an unwritten record must not be written either.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(#[source] Arc<StoreError>);

impl LedgerError {
    /// What went wrong in the store.
    pub fn cause(&self) -> &StoreError {
        &self.0
    }
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        Self(Arc::new(error))
    }
}

/// Seconds that a writer waits for another process before it gives up.
pub(crate) const BUSY_SECONDS: u64 = 30;

/// Turns SQLite's errors into the store's, by what was attempted on which file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub path: &'a Path,
    pub doing: &'static str,
}

impl Attempt<'_> {
    pub fn failed(self, source: rusqlite::Error) -> StoreError {
        let path = self.path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path, why: source.to_string() },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Busy { path, waited_s: BUSY_SECONDS, holder: "it is not known which".to_owned() }
            }
            Some(ErrorCode::CannotOpen) => StoreError::Open { path, why: source.to_string() },
            Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, why: "it is no SQLite database".to_owned() },
            _ => StoreError::Sql { path, doing: self.doing, source },
        }
    }
}

/// Why a read failed, before it is known to whom that is told.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    Sql(rusqlite::Error),
    Damage(Damage),
    Known(StoreError),
}

impl From<rusqlite::Error> for ReadFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Damage> for ReadFailure {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl From<StoreError> for ReadFailure {
    fn from(error: StoreError) -> Self {
        Self::Known(error)
    }
}

impl ReadFailure {
    /// The error of a read of `what`.
    pub fn of(self, path: &Path, what: &'static str) -> StoreError {
        match self {
            Self::Sql(source) => Attempt { path, doing: "reading it" }.failed(source),
            Self::Damage(damage) => StoreError::Damaged { what: what.to_owned(), why: damage.0 },
            Self::Known(error) => error,
        }
    }
}

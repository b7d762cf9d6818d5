//! Errors of the store. Their messages say what to do next.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use karat_types::Shard;
use rusqlite::ErrorCode;

use crate::sql::SqlError;

/// The reason why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store's address is not supported.
    #[error("{0}")]
    Url(String),
    /// The file or its folder could not be created or opened.
    #[error(
        "cannot open the store {path}: {why}. {}, or choose another place with --store sqlite:PATH",
        if path.is_dir() { "Name a file in it, such as karat.db" } else { "Check that the folder exists and that you may write in it" }
    )]
    Open {
        /// The database file.
        path: PathBuf,
        /// Message of the operating system.
        why: String,
    },
    /// Processes on the same store cannot detect each other.
    #[error(
        "cannot detect other runs on the store {path}: {why}. Runs that need the same result at the same time each make and pay for it"
    )]
    Lease {
        /// The database file.
        path: PathBuf,
        /// Message of the operating system.
        why: String,
    },
    /// The file belongs to another program.
    #[error("{path} is not a Karat store: {why}. Choose another place with --store sqlite:PATH")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The evidence for that.
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
        /// The newest schema version that this Karat knows.
        known: i64,
    },
    /// An older Karat wrote the file, and it cannot be migrated.
    #[error(
        "the store {path} has schema version {found}, must be migrated to version {known} before it can be read, and is read-only. Make the file and its folder writable, or run `karat ls` once on a writable copy"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The schema version of this Karat.
        known: i64,
    },
    /// An older Karat is writing the file, so it cannot be migrated now.
    #[error(
        "cannot migrate the store {path}: a run is being written by an older karat. Wait until it has ended, or stop it; then run this command again"
    )]
    Migration {
        /// The file.
        path: PathBuf,
    },
    /// The store may be read but not written.
    #[error(
        "cannot write to the store {path}: it is read-only. Change the permissions of the file and of its folder, or choose another place with --store sqlite:PATH"
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The store lies on a network file system.
    #[error(
        "cannot use the store {path}: it is on a network file system ({kind}), where SQLite's log is not safe. Keep it on a local disk with --store sqlite:PATH and copy it with `karat store backup`, or insist with --allow-network-fs"
    )]
    NetworkFileSystem {
        /// The file.
        path: PathBuf,
        /// Name of the file system.
        kind: &'static str,
    },
    /// Another process kept the store locked for longer than the store waits.
    #[error(
        "cannot write to the store {path}: another process has kept it locked for {waited_s} seconds; {holder}. Wait for it or stop it, then run the suite again: finished cells are reused"
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// Seconds waited.
        waited_s: u64,
        /// The process that probably holds the lock.
        holder: String,
    },
    /// The disk is full.
    #[error(
        "cannot write to the store {path}: the disk or the database is full ({why}). Free some space, then run the suite again: finished cells are reused"
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// Message of the operating system.
        why: String,
    },
    /// The disk, or a limit on the size of files, refused an operation.
    #[error("the store {path} failed while {doing}: {}", refusal(why, *limit_kib))]
    Refused {
        /// The file.
        path: PathBuf,
        /// The attempted operation.
        doing: &'static str,
        /// Error of SQLite.
        why: String,
        /// The largest size of a file that this process may write, in KiB, if there is a limit.
        limit_kib: Option<u64>,
    },
    /// The file is no longer at its place.
    #[error("cannot write to the store {path}: the file was deleted or replaced while it was being written")]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The file is missing, but the log of changes beside it is there.
    #[error(
        "the store {path} is missing, and its log {} is there: the file was deleted or moved. Put it back beside its log; or, if it is lost, remove the log and run the suites again",
        log.display()
    )]
    Orphaned {
        /// The file.
        path: PathBuf,
        /// Its log.
        log: PathBuf,
    },
    /// No run has this name.
    #[error("there is no run {wanted:?} in the store{}", suggestion(nearest))]
    NoSuchRun {
        /// The name that was asked for.
        wanted: String,
        /// The newest runs.
        nearest: Vec<String>,
    },
    /// Several runs start with the given text.
    #[error("{wanted:?} matches several runs: {}. Type more of the id", matches.join(", "))]
    Ambiguous {
        /// The text that was given.
        wanted: String,
        /// Some of the matching runs.
        matches: Vec<String>,
    },
    /// A run with this name exists.
    #[error("the run {0:?} already exists: choose another --run-id, or resume it with `karat resume {0}`")]
    RunExists(String),
    /// Another process writes the run. Two writers would pay for the same calls twice.
    #[error("the run {run:?} is being written by another process{}. Wait for it or stop it", process(*.pid))]
    RunInUse {
        /// The run.
        run: String,
        /// Id of the process that last opened it, if known.
        pid: Option<u32>,
    },
    /// A process has created the file and was stopped before it wrote the tables.
    #[error("the store {path} is empty: its process was stopped before it wrote anything. Run it again")]
    Unwritten {
        /// The file.
        path: PathBuf,
    },
    /// A run of this name exists and is not a merge of these shards.
    #[error(
        "cannot merge into the run {run:?} of the store {path}: {why}. Merge into another store with --store sqlite:PATH"
    )]
    NotMerged {
        /// The run.
        run: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        why: &'static str,
    },
    /// Two copies of a shard have different rows.
    #[error(
        "cannot merge shard {shard} of run {run} from {path}: another copy of it, or a part that was made in the merged run, differs in cell {cell}. Leave one of the two out"
    )]
    ShardsDiffer {
        /// The file of the second copy.
        path: PathBuf,
        /// The run.
        run: String,
        /// The shard.
        shard: Shard,
        /// The first cell that differs: its number and name.
        cell: String,
    },
    /// Stored bytes cannot be read.
    #[error(
        "cannot read {what} from the store: {why}. The store is damaged, or another program has written to it; `karat store check` lists the damage"
    )]
    Damaged {
        /// The part of the store.
        what: String,
        /// The defect.
        why: String,
    },
    /// A value exceeds the range that the store can hold.
    #[error("cannot store {0}")]
    OutOfRange(String),
    /// The server of the store does not answer.
    #[error(
        "the store {path} failed while {doing}: the server does not answer ({why}). Check that it runs and can be reached, then run the command again: finished cells are reused"
    )]
    Away {
        /// The address.
        path: PathBuf,
        /// The attempted operation.
        doing: &'static str,
        /// Error of the connection.
        why: String,
    },
    /// Another process has taken the run, because this one did not reach the store for a while.
    #[error(
        "cannot write the run {0:?}: another process has taken it, because this one did not reach the store for a while. Wait for that process; paid calls that are not stored are lost"
    )]
    RunLost(String),
    /// A copy of the store cannot be written or read.
    #[error("{0}")]
    Copy(String),
    /// The store cannot do something where it is.
    #[error("{0}")]
    Unsupported(String),
    /// The writing thread has ended.
    #[error("cannot write to the store: it was closed")]
    Closed,
    /// The database reported another error.
    #[error("the store {path} failed while {doing}: {source}{}", sql_advice(source))]
    Sql {
        /// The file.
        path: PathBuf,
        /// The attempted operation.
        doing: &'static str,
        /// Error of the database.
        source: SqlError,
    },
}

fn refusal(why: &str, limit_kib: Option<u64>) -> String {
    match limit_kib {
        Some(most) => format!(
            "this process may write no file larger than {most} KiB (`ulimit -f`), and the store needs more. Raise that limit, then \
             run the suite again: finished cells are reused"
        ),
        None => format!(
            "the disk refused it ({why}). Check that the disk is there, healthy and not full, then run the suite again: finished \
             cells are reused"
        ),
    }
}

/// The advice on an error of the database: what lists the damage, and what puts an older copy in its place.
fn sql_advice(source: &SqlError) -> &'static str {
    match source.sqlite_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            ". The file is damaged or cut off: `karat store check` lists the damage, and `karat store restore COPY` puts a backup in \
             its place"
        }
        _ => "",
    }
}

fn suggestion(nearest: &[String]) -> String {
    if nearest.is_empty() { ", which is empty".to_owned() } else { format!("; the newest are {}", nearest.join(", ")) }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// The reason why records are not on disk. Every waiter of a failed commit gets one, and so does every later append
/// of that ledger: a record must not be written after one that is missing.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(#[source] Arc<StoreError>);

impl LedgerError {
    /// Returns the error of the store.
    pub fn cause(&self) -> &StoreError {
        &self.0
    }
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        Self(Arc::new(error))
    }
}

/// Seconds to wait for a lock of another process.
pub(crate) const BUSY_SECONDS: u64 = 30;

/// Converts SQLite's errors into the store's; says which operation failed on which file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub path: &'a Path,
    pub doing: &'static str,
}

impl Attempt<'_> {
    /// Returns the error of an operation of SQLite on its file.
    pub fn file_error(self, source: rusqlite::Error) -> StoreError {
        self.error(source.into())
    }

    pub fn error(self, source: SqlError) -> StoreError {
        let path = self.path.to_owned();
        let source = match source {
            SqlError::Damaged { what, why } => return StoreError::Damaged { what, why },
            source => source,
        };
        if let SqlError::Postgres(error) = &source {
            use crate::sql::postgres::failure::ServerErrorKind;
            let why = error.to_string();
            return match error.kind {
                ServerErrorKind::Lost => StoreError::Away { path, doing: self.doing, why },
                ServerErrorKind::Full => StoreError::Full { path, why },
                ServerErrorKind::Locked => {
                    let holder = "the process is unknown".to_owned();
                    StoreError::Busy { path, waited_s: BUSY_SECONDS, holder }
                }
                ServerErrorKind::Damaged => StoreError::Damaged { what: "a row".to_owned(), why },
                ServerErrorKind::Constraint | ServerErrorKind::Other => {
                    StoreError::Sql { path, doing: self.doing, source }
                }
            };
        }
        match source.sqlite_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path, why: source.to_string() },
            // SQLite gives this name to a failure to enlarge the file that its processes share.
            Some(ErrorCode::SystemIoFailure) if is_disk_full(self.path) => {
                StoreError::Full { path, why: source.to_string() }
            }
            Some(ErrorCode::SystemIoFailure) => {
                let limit_kib = file_size_limit().map(|bytes| bytes / 1024);
                StoreError::Refused { path, doing: self.doing, why: source.to_string(), limit_kib }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Busy { path, waited_s: BUSY_SECONDS, holder: "the process is unknown".to_owned() }
            }
            Some(ErrorCode::CannotOpen) => StoreError::Open { path, why: source.to_string() },
            Some(ErrorCode::NotADatabase) => {
                StoreError::Foreign { path, why: "it is not an SQLite database".to_owned() }
            }
            _ => StoreError::Sql { path, doing: self.doing, source },
        }
    }
}

/// Returns whether the disk of a file has no room for the files that SQLite keeps beside it.
fn is_disk_full(path: &Path) -> bool {
    const NEEDED: u64 = 64 << 10;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[allow(clippy::useless_conversion, reason = "the width of these numbers differs between systems")]
    let free = |disk: nix::sys::statvfs::Statvfs| {
        u64::from(disk.blocks_available()).saturating_mul(u64::from(disk.fragment_size()))
    };
    nix::sys::statvfs::statvfs(folder).is_ok_and(|disk| free(disk) < NEEDED)
}

/// The largest size in bytes of a file that this process may write, if there is a limit.
fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

/// Stored bytes that cannot be read, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage(pub String);

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The reason why a read failed, before the file and the subject of the read are known.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    Sql(SqlError),
    Damage(Damage),
    KeyState(StoreError),
}

impl From<rusqlite::Error> for ReadFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error.into())
    }
}

impl From<SqlError> for ReadFailure {
    fn from(error: SqlError) -> Self {
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
        Self::KeyState(error)
    }
}

impl ReadFailure {
    /// Returns `true` if stored bytes cannot be read, as opposed to a database that does not answer.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damage(_) | Self::Sql(SqlError::Damaged { .. }) | Self::KeyState(StoreError::Damaged { .. })
        )
    }

    /// Returns the error of a read of `what`.
    pub fn of(self, path: &Path, what: &'static str) -> StoreError {
        match self {
            Self::Sql(source) => Attempt { path, doing: "reading it" }.error(source),
            Self::Damage(damage) => StoreError::Damaged { what: what.to_owned(), why: damage.0 },
            Self::KeyState(error) => error,
        }
    }
}

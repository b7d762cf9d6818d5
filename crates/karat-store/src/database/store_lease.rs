//! Leases between processes that run on the same store at the same time: one makes a result, the others wait for it.
//!
//! All processes keep one empty file beside the database open and lock single bytes of it:
//!
//! ```text
//! present    shared lock of every process: shows whether there are others
//! unaware    shared lock of a process until it has noticed others and holds leases for everything in flight
//! the rest   exclusive lock of one process: the lease of one result, at a byte derived from the result's key
//! ```
//!
//! The operating system releases all locks when a process ends. On a server, rows take the place of the bytes: see
//! `sql/postgres/claims.rs`.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use karat_types::Key;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, c_int, flock, off_t};

use crate::database::run_lock::{beside, open_lock_file};
use crate::format::run_lookup::run_number;
use crate::sql::params;
use crate::sql::postgres::claims::{Peers, owner_of};
use crate::{Store, StoreError};

const PRESENT: off_t = 0;
const UNAWARE: off_t = 1;
const LEASES: off_t = 2;

// Selects the newest block of all, so that each block is examined once.
pub(crate) const WRITTEN: &str = "select (select coalesce(max(seq), 0) from blocks),
    exists (select 1 from blocks where seq > ?1 and run <> ?2)";

/// A run's membership among the processes on its store. Other processes see the run as long as this lives.
#[derive(Debug)]
pub struct StoreLease {
    others: OtherProcesses,
    store: Store,
    run: i64,
    /// The newest block that was examined.
    seen: AtomicI64,
}

/// The right to make one result, exclusive among processes. Released when dropped.
#[derive(Debug)]
pub struct ResultLease {
    others: OtherProcesses,
    key: Key,
}

/// The place where processes see each other: the bytes of a file, or rows on a server.
#[derive(Debug, Clone)]
enum OtherProcesses {
    File(Arc<File>),
    Server(Arc<Peers>),
}

impl Store {
    /// Registers a run among the processes on the store.
    ///
    /// # Errors
    /// [`StoreError::Lease`] if other processes cannot be detected; [`StoreError::NoSuchRun`].
    pub fn open_lease(&self, run: &str) -> Result<StoreLease, StoreError> {
        let others = self.others(run)?;
        let run = self.read("a run", |connection| run_number(connection, run))?;
        let lease = StoreLease { others, store: self.clone(), run, seen: AtomicI64::new(i64::MAX) };
        // Skips everything that other runs have written so far.
        lease.peers_have_written();
        Ok(lease)
    }

    fn others(&self, run: &str) -> Result<OtherProcesses, StoreError> {
        if let Some(server) = self.server() {
            let unseen = |why: String| StoreError::Lease { path: self.path().to_owned(), why };
            let owner = self.read("the claim of a run", |connection| match connection.server() {
                Some(session) => Ok(owner_of(session, run)?),
                None => Ok(None),
            })?;
            let owner = owner.ok_or_else(|| unseen("nobody writes the run".to_owned()))?;
            let peers = Peers::new(server, owner).map_err(|error| unseen(error.to_string()))?;
            return Ok(OtherProcesses::Server(Arc::new(peers)));
        }
        let unseen = |error: io::Error| StoreError::Lease { path: self.path().to_owned(), why: error.to_string() };
        let file = open_lock_file(&beside(self.path(), "lease.lock")).map_err(unseen)?;
        // The order matters: a process that is visible must already count as unaware.
        [UNAWARE, PRESENT].into_iter().try_for_each(|place| set(&file, libc::F_RDLCK, place)).map_err(unseen)?;
        Ok(OtherProcesses::File(Arc::new(file)))
    }
}

impl StoreLease {
    /// Returns `true` if another process is running on the store.
    pub fn has_peers(&self) -> bool {
        match &self.others {
            OtherProcesses::File(file) => is_locked(file, PRESENT),
            // Waiting for nobody costs a query; making what another makes costs money.
            OtherProcesses::Server(peers) => peers.is_any().unwrap_or(true),
        }
    }

    /// Tells the others that this process knows of them: it holds leases for everything in flight, and takes one
    /// before it makes a result from now on.
    pub fn announce(&self) {
        // If unlocking fails, the others wait for a limited time only.
        let _ = match &self.others {
            OtherProcesses::File(file) => set(file, libc::F_UNLCK, UNAWARE).is_ok(),
            OtherProcesses::Server(peers) => peers.announce().is_ok(),
        };
    }

    /// Returns `true` if every other process has announced that it uses leases.
    pub fn peers_are_aware(&self) -> bool {
        match &self.others {
            OtherProcesses::File(file) => !is_locked(file, UNAWARE),
            OtherProcesses::Server(peers) => peers.are_aware().unwrap_or(false),
        }
    }

    /// Returns `true` if other runs have written since the last call, or if that cannot be read.
    pub fn peers_have_written(&self) -> bool {
        let written = self.store.read("the blocks of other runs", |connection| {
            let mut statement = connection.prepare_cached(WRITTEN)?;
            let place = params![self.seen.load(Ordering::Relaxed), self.run];
            let (newest, written) = statement.query_row(place, |row| Ok((row.get(0)?, row.get(1)?)))?;
            self.seen.store(newest, Ordering::Relaxed);
            Ok(written)
        });
        written.unwrap_or(true)
    }

    /// Takes the right to make the result with this key. Returns `None` while another process has it. A caller must
    /// not ask for a key for which its own process holds the lease.
    pub fn lease(&self, key: Key) -> Option<ResultLease> {
        let taken = match &self.others {
            OtherProcesses::File(file) => match set(file, libc::F_WRLCK, place(key)) {
                Err(error) => {
                    error.kind() != io::ErrorKind::WouldBlock && error.kind() != io::ErrorKind::PermissionDenied
                }
                Ok(()) => true,
            },
            OtherProcesses::Server(peers) => peers.make(&key.0).unwrap_or(true),
        };
        taken.then(|| ResultLease { others: self.others.clone(), key })
    }
}

impl Drop for ResultLease {
    fn drop(&mut self) {
        // If unlocking fails, the lock ends with the process.
        match &self.others {
            OtherProcesses::File(file) => drop(set(file, libc::F_UNLCK, place(self.key))),
            OtherProcesses::Server(peers) => drop(peers.release(&self.key.0)),
        }
    }
}

impl Drop for StoreLease {
    fn drop(&mut self) {
        if let OtherProcesses::Server(peers) = &self.others {
            // If the server is away, the run's claim ends by itself.
            let _ = peers.leave();
        }
    }
}

/// Returns the byte of a key's lease. Keys are hashes, so their bits are spread evenly; two keys with the same byte
/// only wait for each other.
fn place(key: Key) -> off_t {
    LEASES + (u128::from_le_bytes(key.0) >> 66) as off_t
}

// Locks belong to the open file where the system supports that. Process-wide locks would end with the first of the
// process's files that is closed.
#[cfg(not(target_os = "linux"))]
use FcntlArg::{F_GETLK as GET, F_SETLK as SET};
#[cfg(target_os = "linux")]
use FcntlArg::{F_OFD_GETLK as GET, F_OFD_SETLK as SET};

/// Returns `true` if another process has locked the byte.
fn is_locked(file: &File, place: off_t) -> bool {
    let mut found = range(libc::F_WRLCK, place);
    let asked = fcntl(file, GET(&mut found));
    asked.is_ok() && c_int::from(found.l_type) != libc::F_UNLCK
}

fn set(file: &File, kind: c_int, place: off_t) -> io::Result<()> {
    Ok(fcntl(file, SET(&range(kind, place))).map(drop)?)
}

#[expect(clippy::cast_possible_truncation, reason = "the constants are of another type than the field")]
fn range(kind: c_int, place: off_t) -> flock {
    flock { l_type: kind as _, l_whence: libc::SEEK_SET as _, l_start: place, l_len: 1, l_pid: 0 }
}

//! Runs of other processes on the same store at the same moment: what one of them is making, the others wait for.
//!
//! All of them have one file beside the database open, in which nothing is ever written, and lock bytes of it:
//!
//! ```text
//! present    each, together with the others: so it can be seen whether there are any
//! unaware    each, until it has seen others, and has leases of all that it has under way
//! the rest   whoever makes a result, alone: a lease, at a place found by the result's key
//! ```
//!
//! The system lets go of locks when a process ends, however it ends.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use karat_types::Key;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, c_int, flock, off_t};
use rusqlite::params;

use crate::claim::{beside, opened};
use crate::known::run_number;
use crate::{Store, StoreError};

const PRESENT: off_t = 0;
const UNAWARE: off_t = 1;
const LEASES: off_t = 2;

// The newest block of all, so that each is passed over once.
pub(crate) const WRITTEN: &str = "select (select coalesce(max(seq), 0) from blocks),
    exists (select 1 from blocks where seq > ?1 and run <> ?2)";

/// Where a run sees others on its store, and they see it as long as this lives.
#[derive(Debug)]
pub struct Company {
    file: Arc<File>,
    store: Store,
    run: i64,
    /// The last block that was looked at.
    seen: AtomicI64,
}

/// The right to make one result, which no other process makes meanwhile. Given back when dropped.
#[derive(Debug)]
pub struct Lease {
    file: Arc<File>,
    place: off_t,
}

impl Store {
    /// Has a run join those on the store.
    ///
    /// # Errors
    /// [`StoreError::Company`]: others cannot be seen. [`StoreError::NoSuchRun`].
    pub fn company(&self, run: &str) -> Result<Company, StoreError> {
        let unseen = |error: io::Error| StoreError::Company { path: self.path().to_owned(), why: error.to_string() };
        let file = opened(&beside(self.path(), "company.lock")).map_err(unseen)?;
        // In this order: nobody sees one that is there, and is neither unaware nor has looked who else is.
        [UNAWARE, PRESENT].into_iter().try_for_each(|place| set(&file, libc::F_RDLCK, place)).map_err(unseen)?;
        let run = self.read("a run", |connection| run_number(connection, run))?;
        let company = Company { file: Arc::new(file), store: self.clone(), run, seen: AtomicI64::new(i64::MAX) };
        // From now on.
        company.has_written();
        Ok(company)
    }
}

impl Company {
    /// Whether there is anybody else at this moment.
    pub fn is_there(&self) -> bool {
        is_locked(&self.file, PRESENT)
    }

    /// Says that this process knows of the others: it has leases of all that it has under way, and makes nothing without one
    /// from now on.
    pub fn be_aware(&self) {
        // What cannot be unlocked, the others do not wait for forever.
        let _ = set(&self.file, libc::F_UNLCK, UNAWARE);
    }

    /// Whether all others know that they are not alone.
    pub fn is_aware(&self) -> bool {
        !is_locked(&self.file, UNAWARE)
    }

    /// Whether others have written since this was last asked. What cannot be read says nothing against them.
    pub fn has_written(&self) -> bool {
        let written = self.store.read("the blocks of other runs", |connection| {
            let mut statement = connection.prepare_cached(WRITTEN)?;
            let place = params![self.seen.load(Ordering::Relaxed), self.run];
            let (newest, written) = statement.query_row(place, |row| Ok((row.get(0)?, row.get(1)?)))?;
            self.seen.store(newest, Ordering::Relaxed);
            Ok(written)
        });
        written.unwrap_or(true)
    }

    /// Takes the right to make what has this key; `None` while another process has it. Within a process nobody may ask for
    /// a key that somebody there has.
    pub fn take(&self, key: Key) -> Option<Lease> {
        let place = place(key);
        let taken = match set(&self.file, libc::F_WRLCK, place) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock && error.kind() != io::ErrorKind::PermissionDenied,
            Ok(()) => true,
        };
        taken.then(|| Lease { file: Arc::clone(&self.file), place })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What cannot be unlocked is when the process ends.
        let _ = set(&self.file, libc::F_UNLCK, self.place);
    }
}

/// Keys are hashes, so their own bits say where. Two at one place only wait for each other.
fn place(key: Key) -> off_t {
    LEASES + (u128::from_le_bytes(key.0) >> 66) as off_t
}

// Locks of an open file, where there are such: those of a process end with the first of its files that is closed.
#[cfg(not(target_os = "linux"))]
use FcntlArg::{F_GETLK as GET, F_SETLK as SET};
#[cfg(target_os = "linux")]
use FcntlArg::{F_OFD_GETLK as GET, F_OFD_SETLK as SET};

/// Whether others have locked it.
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

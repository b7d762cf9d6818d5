//! The lock that gives a run a single writer: two processes that resume the same run would pay for the same calls
//! twice.
//!
//! Each run that is being written has a lock file beside the database. The operating system releases the lock when
//! the process ends. Files are created and removed only under the guard, a lock file that lives as long as the store,
//! so no process can lock a file that another one is removing.
//!
//! While a run is written, its lock file also holds room on the disk ([`RunLock::hold_room`]). When the disk is full, that
//! room is freed for the answers that are under way (A2).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use karat_types::Key;

use crate::database::state_folder::private_file;

/// The right to write one run. Released when dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    database: PathBuf,
    path: PathBuf,
    lock: File,
    /// True while the file holds room.
    holds_room: AtomicBool,
}

/// The room that a run holds: enough for the answers of 256 calls of 16 KiB each and their rows.
const ROOM: u64 = 4 << 20;

impl RunLock {
    /// Takes the right to write a run. Returns `None` if another process, or another ledger of this one, has it.
    pub fn take(database: &Path, run: &str) -> io::Result<Option<Self>> {
        let _guard = guard(database)?;
        remove_dead(database);
        let path = lock_file(database, run);
        let lock = open_lock_file(&path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { database: database.to_owned(), path, lock, holds_room: AtomicBool::new(false) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Holds room on the disk, as far as its file system can.
    ///
    /// # Errors
    /// The disk has no room. A run should not start then: what it paid for could not be kept.
    pub fn hold_room(&self) -> io::Result<()> {
        match allocate(&self.lock, ROOM) {
            Ok(()) => self.holds_room.store(true, Ordering::Relaxed),
            Err(error) if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                let _ = self.lock.set_len(0);
                return Err(error);
            }
            // Not every file system can, and a file may be limited in size.
            Err(_) => {
                let _ = self.lock.set_len(0);
            }
        }
        Ok(())
    }

    /// Frees the room. Returns `false` if there is none.
    pub fn free_room(&self) -> bool {
        self.holds_room.swap(false, Ordering::Relaxed) && self.lock.set_len(0).is_ok()
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let bytes = nix::libc::off_t::try_from(bytes).unwrap_or(nix::libc::off_t::MAX);
    Ok(nix::fcntl::posix_fallocate(file, 0, bytes)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn allocate(mut file: &File, bytes: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), bytes), &mut file).map(drop)
}

/// Frees the room that killed processes hold. Returns `false` if there is none.
pub(crate) fn free_dead_rooms(database: &Path) -> bool {
    guard(database).is_ok_and(|_guard| remove_dead(database) > 0)
}

/// Removes the lock files of killed processes, which may hold room, and returns their number. The guard is held.
fn remove_dead(database: &Path) -> usize {
    let is_dead = |path: &PathBuf| File::open(path).is_ok_and(|file| file.try_lock().is_ok());
    lock_files(database).iter().filter(|path| is_dead(path) && fs::remove_file(path).is_ok()).count()
}

/// Returns `true` if a process has the right to write the run at this moment.
pub(crate) fn is_locked_run(database: &Path, run: &str) -> bool {
    let lock = File::open(lock_file(database, run));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns `true` if a process has the right to write any run at this moment.
pub(crate) fn is_any_locked(database: &Path) -> bool {
    let is_held = |path: &PathBuf| {
        File::open(path).is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    lock_files(database).iter().any(is_held)
}

/// The lock files of runs that are there.
fn lock_files(database: &Path) -> Vec<PathBuf> {
    let start = beside(database, "run-");
    let (Some(folder), Some(start)) = (start.parent(), start.file_name()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_lock = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(start.as_encoded_bytes()) && name.ends_with(b".lock")
    };
    entries.flatten().map(|entry| entry.path()).filter(is_lock).collect()
}

fn lock_file(database: &Path, run: &str) -> PathBuf {
    beside(database, &format!("run-{}.lock", Key::of("karat/run-lock/1", run.as_bytes())))
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Without the guard the file stays, which is untidy and harmless.
        if let Ok(_guard) = guard(&self.database) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waits for the guard, which serializes the short operations that processes must not do at the same time.
pub(crate) fn guard(database: &Path) -> io::Result<File> {
    let file = open_lock_file(&beside(database, "guard.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Opens a lock file, and creates it where it is missing.
pub(crate) fn open_lock_file(path: &Path) -> io::Result<File> {
    private_file(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// Returns the path of a file beside the database.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    // Links are resolved: the same database always gets the same files.
    let database = &fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-");
    name.push(suffix);
    database.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-04: a run has one writer at a time.
    #[test]
    fn a_run_is_locked_once() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("karat.db");
        let claim = RunLock::take(&database, "a/b").unwrap().unwrap();
        assert!(RunLock::take(&database, "a/b").unwrap().is_none());
        assert!(is_locked_run(&database, "a/b") && !is_locked_run(&database, "other"));
        assert!(RunLock::take(&database, "other").unwrap().is_some());
        drop(claim);
        assert!(!is_locked_run(&database, "a/b"));
        assert!(RunLock::take(&database, "a/b").unwrap().is_some());
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["karat.db-guard.lock"]);
    }

    /// A2: a run holds room while it is written; the room of killed processes is freed, that of others is not.
    #[test]
    fn room_is_held_and_freed() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("karat.db");
        let held = |run: &str| fs::metadata(lock_file(&database, run)).map(|file| file.len()).ok();
        let one = RunLock::take(&database, "one").unwrap().unwrap();
        one.hold_room().unwrap();
        fs::write(lock_file(&database, "killed"), "room").unwrap();
        let two = RunLock::take(&database, "two").unwrap().unwrap();
        assert_eq!((held("one"), held("killed"), held("two")), (Some(ROOM), None, Some(0)));
        assert!(one.free_room() && !one.free_room() && !two.free_room());
        assert_eq!(held("one"), Some(0));
    }
}

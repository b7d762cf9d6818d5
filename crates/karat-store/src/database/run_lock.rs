//! The lock that gives a run a single writer: two processes that resume the same run would pay for the same calls
//! twice.
//!
//! Each run that is being written has a lock file beside the database. The operating system releases the lock when
//! the process ends. Files are created and removed only under the guard, a lock file that lives as long as the store,
//! so no process can lock a file that another one is removing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use karat_types::Key;

use crate::database::state_folder::private_file;

/// The right to write one run. Released when dropped.
#[derive(Debug)]
pub(crate) struct RunLock {
    database: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl RunLock {
    /// Takes the right to write a run. Returns `None` if another process, or another ledger of this one, has it.
    pub fn take(database: &Path, run: &str) -> io::Result<Option<Self>> {
        let _guard = guard(database)?;
        let path = lock_file(database, run);
        let lock = open_lock_file(&path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { database: database.to_owned(), path, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Returns `true` if a process has the right to write the run at this moment.
pub(crate) fn is_locked_run(database: &Path, run: &str) -> bool {
    let lock = File::open(lock_file(database, run));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
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
}

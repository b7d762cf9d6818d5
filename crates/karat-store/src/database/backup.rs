//! Copies of the store while it is used. A copy is the state of one moment: SQLite starts again with it when another
//! process writes in between.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use crate::database::{run_lock, schema, state_folder};
use crate::error::Attempt;
use crate::{Store, StoreError, StoreUrl};

/// Pages that are copied at a time; writers of this process wait for them.
const PAGES: i32 = 1_024;

/// Pause between two parts, for writers.
const PAUSE: Duration = Duration::from_millis(2);

impl Store {
    /// Copies the store into a new file. Runs go on meanwhile.
    ///
    /// # Errors
    /// The file exists or cannot be written, or the store cannot be read.
    pub fn back_up(&self, to: &Path) -> Result<(), StoreError> {
        let file = self.url().file().ok_or_else(|| {
            StoreError::Unsupported(format!(
                "cannot back up the store {}: it is on a server. Use pg_dump, or the backups of the server",
                self.url()
            ))
        })?;
        if to.exists() {
            let advice = "a copy replaces nothing: choose another name, or remove the file first";
            return Err(StoreError::Copy(format!(
                "cannot write the copy {}: the file exists, and {advice}",
                to.display()
            )));
        }
        let part = part_of(to);
        let outcome = copy(file, &part).and_then(|()| publish(&part, to));
        if outcome.is_err() {
            let _ = fs::remove_file(&part);
        }
        outcome
    }

    /// Makes a store from a copy.
    ///
    /// # Errors
    /// There is a store at the place, the copy is not a store of Karat or is damaged, or the file cannot be written.
    pub fn restore(url: &StoreUrl, from: &Path) -> Result<(), StoreError> {
        let to = url.file().ok_or_else(|| {
            StoreError::Unsupported(format!("cannot restore a copy into {url}: it is on a server. Use pg_restore"))
        })?;
        let not_opened = |why: std::io::Error| StoreError::Open { path: to.to_owned(), why: why.to_string() };
        state_folder::prepare_folder(to).map_err(not_opened)?;
        // No other process makes the store meanwhile.
        let _guard = run_lock::guard(to).map_err(not_opened)?;
        if to.exists() {
            let advice =
                "a copy replaces no store: move it away first, or choose another place with --store sqlite:PATH";
            return Err(StoreError::Copy(format!(
                "cannot restore into {}: there is a store, and {advice}",
                to.display()
            )));
        }
        url.check_orphans()?;
        let unread = |why| StoreError::Copy(format!("cannot read the copy {}: {why}", from.display()));
        File::open(from).map_err(|error| unread(error.to_string()))?;
        let check = schema::open_reader(from, schema::Access::Read)?;
        schema::readable(&check, from)?;
        let attempt = Attempt { path: from, doing: "checking it" };
        let sound: String = check
            .query_row("pragma quick_check(1)", [], |row| row.get(0))
            .map_err(|error| attempt.file_error(error))?;
        if sound != "ok" {
            return Err(StoreError::Damaged { what: format!("the copy {}", from.display()), why: sound });
        }
        drop(check);
        let part = part_of(to);
        let outcome = copy(from, &part).and_then(|()| publish(&part, to));
        if outcome.is_err() {
            let _ = fs::remove_file(&part);
        }
        outcome
    }
}

/// The file that is written before it gets its name. What killed processes have left of the same copy is removed.
fn part_of(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".");
    remove_abandoned(to, &name);
    name.push(format!("{}.part", std::process::id()));
    to.with_file_name(name)
}

fn remove_abandoned(to: &Path, prefix: &OsStr) {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let middle = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        let process =
            middle.and_then(|rest| rest.strip_suffix(b".part")).and_then(|rest| std::str::from_utf8(rest).ok());
        let is_process = |process: &&str| !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
        let Some(process) = process.filter(is_process) else { continue };
        // Elsewhere processes cannot be seen.
        if cfg!(target_os = "linux") && !Path::new("/proc").join(process).exists() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let attempt = Attempt { path: from, doing: "copying it" };
    let create = |why| copy_error(to, &why);
    // Private from the beginning: it holds what the store holds.
    state_folder::private_file(fs::OpenOptions::new().write(true).create_new(true), to).map_err(create)?;
    let source = schema::open_reader(from, schema::Access::Read)?;
    let mut target = Connection::open(to).map_err(|error| attempt.file_error(error))?;
    Backup::new(&source, &mut target)
        .and_then(|backup| backup.run_to_completion(PAGES, PAUSE, None))
        // The copy is one file, without a log beside it.
        .and_then(|()| target.pragma_update(None, "journal_mode", "delete"))
        .map_err(|error| attempt.file_error(error))
}

fn copy_error(to: &Path, why: &std::io::Error) -> StoreError {
    let advice = "Check that its folder exists and that you may write in it";
    StoreError::Copy(format!("cannot write the copy {}: {why}. {advice}", to.display()))
}

/// Gives a copy its name once it is on disk.
fn publish(part: &Path, to: &Path) -> Result<(), StoreError> {
    let write = || {
        File::open(part)?.sync_all()?;
        // Unlike renaming, a link does not replace a file that was made meanwhile.
        fs::hard_link(part, to)?;
        fs::remove_file(part)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    write().map_err(|why| copy_error(to, &why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewQueuedRun, Queueing};
    use karat_types::Moment;

    /// X18: what a killed process has left of a copy is removed by the next one; files of others stay.
    #[cfg(target_os = "linux")]
    #[test]
    fn parts_of_killed_copies_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::in_folder(folder.path().join("one"))).unwrap();
        // No process has this number.
        for name in ["copy.db.999999999.part", "copy.db.mine.part", "other.db.999999999.part"] {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        store.back_up(&folder.path().join("copy.db")).unwrap();
        let left = |name: &str| folder.path().join(name).exists();
        assert!(!left("copy.db.999999999.part") && left("copy.db.mine.part") && left("other.db.999999999.part"));
    }

    /// SV-27: a copy of a store that is being written is whole; it replaces nothing, and neither does restoring it.
    #[test]
    fn a_copy_of_a_store_in_use_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let url = StoreUrl::in_folder(folder.path().join("one"));
        let store = Store::open(&url).unwrap();
        let add = |at: usize| {
            let run = format!("run-{at}");
            let new = NewQueuedRun { run: &run, order: "{}", is_new: true, at: Moment(1), most_waiting: 9_999 };
            assert_eq!(store.enqueue(&new, None).unwrap(), Queueing::Added);
        };
        (0..20).for_each(add);
        let copy = folder.path().join("copy.db");
        std::thread::scope(|scope| {
            scope.spawn(|| (20..60).for_each(add));
            store.back_up(&copy).unwrap();
        });
        let said = |outcome: Result<(), StoreError>| outcome.unwrap_err().to_string();
        assert!(said(store.back_up(&copy)).contains("copy.db: the file exists, and a copy replaces nothing"));
        assert!(said(Store::restore(&url, &copy)).contains("karat.db: there is a store, and a copy replaces no store"));
        let nowhere = folder.path().join("no/copy.db");
        assert!(said(store.back_up(&nowhere)).contains("Check that its folder exists"));
        let other = StoreUrl::in_folder(folder.path().join("two"));
        assert!(said(Store::restore(&other, &nowhere)).starts_with("cannot read the copy "));
        Store::restore(&other, &copy).unwrap();
        let restored = Store::open(&other).unwrap();
        assert!((20..=60).contains(&restored.queue_depth().unwrap().0));
        let text = folder.path().join("text.db");
        fs::write(&text, "no store").unwrap();
        assert!(Store::restore(&StoreUrl::in_folder(folder.path().join("three")), &text).is_err());
        let left = fs::read_dir(folder.path()).unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        assert_eq!(left.filter(|name| name.ends_with(".part")).count(), 0);
    }
}

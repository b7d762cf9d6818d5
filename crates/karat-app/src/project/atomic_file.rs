//! Files that are replaced as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::AppError;
use crate::error::{FileError, OTHER_FOLDER};

/// The ending of a file that is written in the meantime.
const PART: &str = ".part";

/// The age below which a file of a living process is left alone, whether or not it is locked.
const JUST_MADE: Duration = Duration::from_secs(60);

/// A file that is being written: its content goes to a file of its own beside it and replaces the target at the end, so of
/// several writers the last one stands as a whole. If it is dropped before, nothing remains; what a killed process leaves is
/// removed by the next writer of the target. Special files such as `/dev/stdout` are written directly.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    /// The file that is written in the meantime.
    part: Option<PathBuf>,
    out: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Starts a file, and makes its folder if there is none.
    ///
    /// # Errors
    /// The folder or the file cannot be made.
    pub fn create(target: &Path) -> io::Result<Self> {
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        // A link stays a link: its target is replaced.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let is_special = fs::metadata(&target).is_ok_and(|it| !it.is_file() && !it.is_dir());
        let part = (!is_special).then(|| part_path(&target));
        let out = match &part {
            Some(part) => {
                remove_abandoned(&target);
                let out = File::options().write(true).create_new(true).open(part)?;
                // Held until it is finished. Where files cannot be locked, its process and its age protect it.
                let _ = out.try_lock();
                out
            }
            None => File::create(&target)?,
        };
        Ok(Self { target, part, out: Some(BufWriter::new(out)) })
    }

    /// Replaces the target.
    ///
    /// # Errors
    /// The rest cannot be written, or something that a file cannot replace is in its place.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(part) = &self.part {
            fs::rename(part, &self.target)?;
        }
        self.out = None;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            // WriteFailed bytes are dropped without another attempt.
            drop(out.into_parts());
            let _ = self.part.as_ref().map(fs::remove_file);
        }
    }
}

/// The path of a file that is written in the meantime: `.TARGET.PROCESS-RANDOM.part`.
fn part_path(target: &Path) -> PathBuf {
    let random = uuid::Uuid::now_v7().simple().to_string();
    let mut name = part_prefix(target);
    name.push(format!("{}-{}{PART}", std::process::id(), &random[20..]));
    target.with_file_name(name)
}

fn part_prefix(target: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

/// Removes what killed processes have left of a file that they were writing.
pub(crate) fn remove_abandoned(target: &Path) {
    let prefix = part_prefix(target);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let middle = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        let middle = middle.and_then(|rest| rest.strip_suffix(PART.as_bytes())).map(String::from_utf8_lossy);
        let Some((process, _)) = middle.as_deref().and_then(|middle| middle.split_once('-')) else { continue };
        if process.bytes().all(|byte| byte.is_ascii_digit()) && is_abandoned(&entry.path(), process) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns whether nobody writes a file any more. One that was made a moment ago may not be locked yet.
fn is_abandoned(part: &Path, process: &str) -> bool {
    // A link is not ours.
    let Some(found) = fs::symlink_metadata(part).ok().filter(fs::Metadata::is_file) else { return false };
    let is_old = found.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age > JUST_MADE);
    let is_gone = cfg!(target_os = "linux") && !Path::new("/proc").join(process).exists();
    (is_old || is_gone) && File::open(part).is_ok_and(|file| file.try_lock().is_ok())
}

/// Writes a file as a whole, with an error that names another option.
pub(crate) fn write_explained(path: &Path, bytes: &[u8]) -> Result<(), AppError> {
    let broken = |error| FileError::writing(path, error).with_hint("name another file with `-o`").into();
    write(path, bytes).map_err(broken)
}

/// Makes a folder and locks it until the file is dropped, so that other writers wait. `None` if it cannot be made or
/// locked: the write into it reports the problem, if there is one.
pub(crate) fn lock_dir(folder: &Path) -> Option<File> {
    fs::create_dir_all(folder).ok()?;
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// The error for a report file that cannot be written.
pub(crate) fn report_write_error(target: &Path, error: io::Error) -> AppError {
    FileError::writing(target, error).with_hint(OTHER_FOLDER).into()
}

/// Writes a file as a whole, and durably: it may be the only copy of what a person decided.
///
/// # Errors
/// The file cannot be written; the old content stays.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.flush()?;
    // A special file cannot be synced.
    if let (Some(_), Some(out)) = (&file.part, &file.out) {
        out.get_ref().sync_all()?;
    }
    let target = file.target.clone();
    file.finish()?;
    // The rename is durable once the folder is.
    if let Some(folder) = target.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-04: an abandoned write leaves the old content and nothing beside it.
    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let folder = testkit::scratch().unwrap();
        let target = folder.path().join("out/report.json");
        let mut first = AtomicFile::create(&target).unwrap();
        first.write_all(b"first").unwrap();
        first.finish().unwrap();
        let mut second = AtomicFile::create(&target).unwrap();
        second.write_all(b"sec").unwrap();
        drop(second);
        assert_eq!(fs::read(&target).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), 1);
    }

    fn parts(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(PART)).collect()
    }

    /// X15, F106: of several writers of one file, each publishes what it wrote as a whole, and a reader never sees another's half.
    #[test]
    fn writers_of_one_file_do_not_share_its_parts() {
        let folder = testkit::scratch().unwrap();
        let target = folder.path().join("out.jsonl");
        let (mut one, mut two) = (AtomicFile::create(&target).unwrap(), AtomicFile::create(&target).unwrap());
        one.write_all(b"one, fi").unwrap();
        two.write_all(b"two, half").unwrap();
        one.write_all(b"nished").unwrap();
        one.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"one, finished");
        two.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"two, half");
        let content = |writer: usize| format!("{writer}").repeat(100_000).into_bytes();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let target = &target;
                scope.spawn(move || (0..25).for_each(|_| write(target, &content(writer)).unwrap()));
            }
            for _ in 0..50 {
                let read = fs::read(&target).unwrap();
                assert!(read == b"two, half" || (0..4).any(|writer| read == content(writer)), "{}", read.len());
            }
        });
        assert_eq!(parts(folder.path()), [""; 0]);
    }

    /// X15: what a killed process has left is removed by the next writer of the same file; what another one writes, other files
    /// and recordings are not.
    #[test]
    fn parts_of_killed_processes_are_removed() {
        let folder = testkit::scratch().unwrap();
        let target = folder.path().join("out.jsonl");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = folder.path().join(format!(".out.jsonl.{}-00000000.part", child.id()));
        fs::write(&dead, "half").unwrap();
        for other in [".out.jsonl.x-1.part", "out.jsonl.r1.part", ".other.jsonl.1-1.part"] {
            fs::write(folder.path().join(other), "kept").unwrap();
        }
        let mut under_way = AtomicFile::create(&target).unwrap();
        assert_eq!(dead.exists(), cfg!(not(target_os = "linux")));
        under_way.write_all(b"first").unwrap();
        write(&target, b"second").unwrap();
        under_way.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");
        if cfg!(target_os = "linux") {
            assert_eq!(parts(folder.path()).len(), 3);
        }
    }

    /// A planted link beside a file is not followed.
    #[test]
    fn links_beside_a_file_are_not_followed() {
        let folder = testkit::scratch().unwrap();
        let (target, mine) = (folder.path().join("a.txt"), folder.path().join("mine"));
        fs::write(&mine, b"mine").unwrap();
        std::os::unix::fs::symlink(&mine, folder.path().join("a.txt.part")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &target).unwrap();
        write(&target, b"new").unwrap();
        assert_eq!((fs::read(&target).unwrap(), fs::read(&mine).unwrap()), (b"new".to_vec(), b"mine".to_vec()));
        assert!(!folder.path().join("nowhere").exists());
    }
}

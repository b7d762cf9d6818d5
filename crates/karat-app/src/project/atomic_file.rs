//! Files that are replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::AppError;
use crate::error::{FileError, OTHER_FOLDER};

/// A file that is being written: its content goes to a file beside it and replaces the target at the end. If it is
/// dropped before, nothing remains. Special files such as `/dev/stdout` are written directly.
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
            Some(part) => create_new(part)?,
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

/// The path of the file that is written in the meantime.
fn part_path(target: &Path) -> PathBuf {
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    PathBuf::from(part)
}

/// Creates a file. An abandoned one is removed, and a link is not followed.
fn create_new(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::options().write(true).create_new(true).open(part),
    }
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

/// Removes what a killed process has left of files that it was writing. The folder must be locked.
pub(crate) fn remove_abandoned(targets: impl Iterator<Item = PathBuf>) {
    for target in targets {
        let _ = fs::remove_file(part_path(&target));
    }
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

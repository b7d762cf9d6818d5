//! Files that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::AppError;
use crate::error::{FileError, OTHER_FOLDER};

/// A file under way: its content goes beside it and takes its place when it is finished, so that what stood there stays
/// until then. Dropped before, it leaves nothing. What is no file, such as `/dev/stdout`, is written as it is.
#[derive(Debug)]
pub struct WholeFile {
    target: PathBuf,
    /// Where it is written meanwhile.
    part: Option<PathBuf>,
    out: Option<BufWriter<File>>,
}

impl WholeFile {
    /// Begins a file, and makes its folder where there is none.
    ///
    /// # Errors
    /// The folder or the file cannot be made.
    pub fn create(target: &Path) -> io::Result<Self> {
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        // A link stays a link: what it leads to is replaced.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let is_special = fs::metadata(&target).is_ok_and(|it| !it.is_file() && !it.is_dir());
        let part = (!is_special).then(|| part_of(&target));
        let out = match &part {
            Some(part) => begun(part)?,
            None => File::create(&target)?,
        };
        Ok(Self { target, part, out: Some(BufWriter::new(out)) })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// The rest of it cannot be written, or something else stands there that no file can replace.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(part) = &self.part {
            fs::rename(part, &self.target)?;
        }
        self.out = None;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(out) = self.out.take() {
            // What could not be written is not tried again.
            drop(out.into_parts());
            let _ = self.part.as_ref().map(fs::remove_file);
        }
    }
}

/// Where a file is written meanwhile.
fn part_of(target: &Path) -> PathBuf {
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    PathBuf::from(part)
}

/// A new file. One that was given up there before goes, and a link there is not followed.
fn begun(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::options().write(true).create_new(true).open(part),
    }
}

/// Writes a file so that either the old content or the new one is there, never a part.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), AppError> {
    let broken = |error| FileError::writing(path, error).with_hint("name another file with `-o`").into();
    write(path, bytes).map_err(broken)
}

/// Makes a folder and holds it until dropped, so that whoever else fills it waits. `None` where it cannot be made or the
/// system locks no folders: what is written into it says what is wrong with it, if anything.
pub(crate) fn held(folder: &Path) -> Option<File> {
    fs::create_dir_all(folder).ok()?;
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// A file of a report cannot be written.
pub(crate) fn unwritable(target: &Path, error: io::Error) -> AppError {
    FileError::writing(target, error).with_hint(OTHER_FOLDER).into()
}

/// Writes a file as a whole.
///
/// # Errors
/// It cannot be written; what stood there stays.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-04: what was given up leaves the old content, and nothing beside it.
    #[test]
    fn a_file_is_there_as_a_whole_or_as_it_was() {
        let folder = testkit::scratch().unwrap();
        let target = folder.path().join("out/report.json");
        let mut first = WholeFile::create(&target).unwrap();
        first.write_all(b"first").unwrap();
        first.finish().unwrap();
        let mut second = WholeFile::create(&target).unwrap();
        second.write_all(b"sec").unwrap();
        drop(second);
        assert_eq!(fs::read(&target).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path().join("out")).unwrap().count(), 1);
    }

    /// Law 2: a link that somebody has laid where a file will come leads nobody astray.
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

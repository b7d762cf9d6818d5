//! The state folder: readable by its owner only, and ignored by git.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates the folder of a database file and the file itself, readable by their owner only.
///
/// A new folder, or one named `.karat`, gets a `.gitignore` that ignores its whole content.
pub(crate) fn prepare(database: &Path) -> io::Result<()> {
    prepare_folder(database)?;
    // SQLite gives its write-ahead log and shared memory the permissions of the database.
    if !database.exists() {
        private_file(OpenOptions::new().write(true).create(true), database)?;
    }
    Ok(())
}

/// Creates the folder of a database file.
pub(crate) fn prepare_folder(database: &Path) -> io::Result<()> {
    if let Some(folder) = database.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let is_new = !folder.exists();
        if is_new {
            make_private_folder(folder)?;
        }
        if is_new || folder.file_name().is_some_and(|name| name == ".karat") {
            ignore_in_git(folder)?;
        }
    }
    if database.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    Ok(())
}

/// Returns `true` if the file may be written. The file is not opened: closing it would give up the locks that SQLite holds
/// on it in this process, and another program could then remove the log under a running server.
pub(crate) fn may_write(file: &Path) -> bool {
    #[cfg(unix)]
    return nix::unistd::access(file, nix::unistd::AccessFlags::W_OK).is_ok();
    #[cfg(not(unix))]
    return fs::metadata(file).is_ok_and(|file| !file.permissions().readonly());
}

/// The file behind a path, as far as the system tells files apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePlace(Option<(u64, u64)>);

impl FilePlace {
    /// The file that is at a path now.
    pub fn of(path: &Path) -> Self {
        #[cfg(unix)]
        let place = fs::metadata(path).ok().map(|file| {
            use std::os::unix::fs::MetadataExt;
            (file.dev(), file.ino())
        });
        #[cfg(not(unix))]
        let place = path.exists().then_some((0, 0));
        Self(place)
    }
}

/// Opens a file; a new file is readable by its owner only.
pub(crate) fn private_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn ignore_in_git(folder: &Path) -> io::Result<()> {
    let path = folder.join(".gitignore");
    if path.exists() { Ok(()) } else { fs::write(path, "*\n") }
}

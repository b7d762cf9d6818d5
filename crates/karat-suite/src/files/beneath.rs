//! Files on the disk whose paths come from data.
//!
//! A row of a dataset, or a link in an untrusted folder, must not choose which file of this machine is sent
//! to a provider. So such a path is opened by the operating system's own means relative to its folder (`openat2` with
//! `RESOLVE_BENEATH` on Linux, component by component elsewhere): checking a path first and opening it afterwards would
//! leave time to exchange a folder for a link.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};

use super::paths::{fold, is_absolute, join};
use super::special;

/// The path leads out of the folder that it must stay in.
#[derive(Debug)]
struct LeadsOut;

impl fmt::Display for LeadsOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it lies outside of the folder that the suite names, or links to a place outside of it")
    }
}

impl std::error::Error for LeadsOut {}

/// The error of a path that leads out of its folder.
fn leads_out() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, LeadsOut)
}

/// Returns whether an error says that a path leads out of the folder that it must stay in.
pub fn is_outside(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<LeadsOut>())
}

/// The path of a file beneath a folder, where there are no links to follow.
///
/// # Errors
/// The path is absolute or leads out of the folder; see [`is_outside`].
pub fn join_beneath(folder: &str, path: &str) -> io::Result<String> {
    let folded = fold(path);
    if is_absolute(path) || folded == ".." || folded.starts_with("../") {
        return Err(leads_out());
    }
    Ok(join(folder, &folded))
}

/// Opens a file beneath a folder. Links are followed as long as they lead to a place beneath the folder.
///
/// # Errors
/// As the operating system says, and a path that leads out.
pub(super) fn open(folder: &str, path: &str) -> io::Result<File> {
    if is_absolute(path) {
        return Err(leads_out());
    }
    let folder = if folder.is_empty() { "." } else { folder };
    let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
    match open_in(&dir, Path::new(path)) {
        Err(error) if is_escape(&error) => open_in(&dir, &resolve_links(folder, path)?),
        opened => opened,
    }
}

fn open_in(dir: &Dir, path: &Path) -> io::Result<File> {
    let metadata = dir.metadata(path)?;
    if metadata.is_file() || metadata.is_dir() { dir.open(path) } else { Err(special()) }
}

/// Returns whether the operating system was not even asked: the path leaves the folder, if only on its way.
fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// The path without links, for one that leaves the folder on its way and comes back, as absolute links do.
fn resolve_links(folder: &str, path: &str) -> io::Result<PathBuf> {
    let folder = fs::canonicalize(folder)?;
    let target = fs::canonicalize(folder.join(path)).map_err(|_| leads_out())?;
    target.strip_prefix(&folder).map(Path::to_owned).map_err(|_| leads_out())
}

/// Returns the path at which to write a file beneath a folder. Its own folder must exist.
///
/// # Errors
/// A folder that is not there, and a path that leads out, also where the file is a link; see [`is_outside`].
pub fn place_beneath(folder: &str, path: &str) -> io::Result<PathBuf> {
    if is_absolute(path) {
        return Err(leads_out());
    }
    let folder = fs::canonicalize(if folder.is_empty() { "." } else { folder })?;
    let place = folder.join(path);
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return Err(leads_out()) };
    let parent = fs::canonicalize(parent)?;
    let place = parent.join(name);
    let is_link = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_symlink());
    if !parent.starts_with(&folder) || is_link { Err(leads_out()) } else { Ok(place) }
}

#[cfg(test)]
mod text_tests {
    use super::*;

    /// FT-A1: a path beneath a folder neither climbs out of it nor begins at the root.
    #[test]
    fn a_path_beneath_a_folder_stays_in_it() {
        let beneath = |path| join_beneath("data", path).ok();
        assert_eq!(beneath("a/../b/./c").as_deref(), Some("data/b/c"));
        for path in ["../a", "a/../../b", "..", "/etc/hostname", "\\\\server\\a"] {
            assert_eq!(beneath(path), None, "{path}");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(folder: &Path, path: &str) -> Result<String, bool> {
        let mut text = String::new();
        let opened = open(&folder.display().to_string(), path).and_then(|mut file| file.read_to_string(&mut text));
        opened.map(|_| text).map_err(|error| is_outside(&error))
    }

    /// FT-A1: neither an absolute path, nor `..`, nor a link leads out of the folder; what stays inside is read.
    #[test]
    fn a_path_from_data_stays_beneath_its_folder() {
        let home = tempfile::tempdir().unwrap();
        let cards = home.path().join("cards");
        fs::create_dir_all(cards.join("deep/er")).unwrap();
        fs::write(home.path().join("secret"), "key").unwrap();
        fs::write(cards.join("deep/er/a.md"), "fine").unwrap();
        symlink("/etc/hostname", cards.join("absolute.md")).unwrap();
        symlink("../secret", cards.join("above.md")).unwrap();
        symlink("..", cards.join("up")).unwrap();
        symlink("deep/er/a.md", cards.join("inside.md")).unwrap();
        symlink(cards.join("deep"), cards.join("absolute-inside")).unwrap();
        for path in ["deep/er/a.md", "deep/../deep/er/a.md", "inside.md", "absolute-inside/er/a.md"] {
            assert_eq!(text(&cards, path), Ok("fine".to_owned()), "{path}");
        }
        let secret = home.path().join("secret");
        for path in ["../secret", "deep/../../secret", "/proc/self/environ", secret.to_str().unwrap()] {
            assert_eq!(text(&cards, path), Err(true), "{path}");
        }
        for path in ["absolute.md", "above.md", "up/secret", "up/cards/../secret", "../nothing"] {
            assert_eq!(text(&cards, path), Err(true), "{path}");
        }
        assert_eq!(text(&cards, "nothing.md"), Err(false));
    }

    /// FT-A1: a file that a row names is written beneath its folder too, and over no link.
    #[test]
    fn a_file_from_data_is_written_beneath_its_folder() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("cards/deep")).unwrap();
        symlink("..", home.path().join("cards/up")).unwrap();
        symlink("/etc/hostname", home.path().join("cards/link.md")).unwrap();
        let cards = home.path().join("cards");
        let place = |path: &str| place_beneath(cards.to_str().unwrap(), path).map_err(|error| is_outside(&error));
        assert_eq!(place("deep/a.md"), Ok(fs::canonicalize(&cards).unwrap().join("deep/a.md")));
        for path in ["../a.md", "up/a.md", "/tmp/a.md", "link.md", ".."] {
            assert_eq!(place(path), Err(true), "{path}");
        }
        assert_eq!(place("nowhere/a.md"), Err(false));
    }
}

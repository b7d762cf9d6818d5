//! The built-in presets, and the files of a suite: on disk, with `preset:NAME/…` layered on top.
//!
//! - `starter` holds the small suites for a task; `init` writes either into a folder.

pub(crate) mod init;
pub(crate) mod starter;

use std::io;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use karat_suite::{DiskFiles, Files, ReadSeek, join_beneath};
use karat_types::FilePath;

static PRESETS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/embedded/presets");

/// The beginning of paths of presets.
const PRESET: &str = "preset:";

/// Ids of the presets.
pub fn names() -> Vec<&'static str> {
    PRESETS.dirs().filter_map(|dir| dir.path().to_str()).collect()
}

/// The path of a preset's suite, if there is a preset of this name.
pub(crate) fn suite_path(name: &str) -> Option<String> {
    let suite = format!("{name}/karat.yaml");
    // By its text: as a path, `faq/` equals `faq` and means a folder.
    (names().contains(&name) && PRESETS.get_file(&suite).is_some()).then(|| format!("{PRESET}{suite}"))
}

/// Returns whether a path is one of a preset.
pub(crate) fn is_preset(path: &str) -> bool {
    path.starts_with(PRESET)
}

/// The text of a preset's file.
pub(crate) fn text(path: &str) -> Option<&'static str> {
    PRESETS.get_file(path)?.contents_utf8()
}

/// Every file of a preset by its path below it, with its content.
pub(crate) fn files_of(name: &str) -> Option<Vec<(PathBuf, &'static [u8])>> {
    Some(files_below(PRESETS.get_dir(name)?))
}

/// Every file of an embedded folder by its path below it, with its content.
pub(crate) fn files_below(dir: &'static Dir<'static>) -> Vec<(PathBuf, &'static [u8])> {
    fn walk(dir: &'static Dir<'static>, root: &Path, files: &mut Vec<(PathBuf, &'static [u8])>) {
        for file in dir.files() {
            let path = file.path().strip_prefix(root).unwrap_or(file.path());
            files.push((path.to_owned(), file.contents()));
        }
        dir.dirs().for_each(|dir| walk(dir, root, files));
    }
    let mut files = Vec::new();
    walk(dir, dir.path(), &mut files);
    files
}

/// Files of the disk and of the presets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SuiteFiles;

impl Files for SuiteFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match path.strip_prefix(PRESET) {
            None => DiskFiles.read(path),
            Some(inner) => PRESETS.get_file(inner).map(|file| file.contents().to_vec()).ok_or_else(not_found),
        }
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let Some(inner) = dir.strip_prefix(PRESET) else { return DiskFiles.list(dir) };
        let dir = PRESETS.get_dir(inner).ok_or_else(not_found)?;
        let names = dir.entries().iter().filter_map(|entry| entry.path().file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn is_file(&self, path: &str) -> bool {
        match path.strip_prefix(PRESET) {
            None => DiskFiles.is_file(path),
            Some(inner) => PRESETS.get_file(inner).is_some(),
        }
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        match is_preset(folder) {
            false => DiskFiles.open_beneath(folder, path),
            true => self.open(&join_beneath(folder, path)?),
        }
    }

    fn open_seekable(&self, path: &FilePath) -> io::Result<Box<dyn ReadSeek>> {
        match is_preset(&path.to_string()) {
            false => DiskFiles.open_seekable(path),
            true => Ok(Box::new(io::Cursor::new(self.read_path(path)?))),
        }
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        match path.strip_prefix(PRESET) {
            None => DiskFiles.open(path),
            Some(_) => Ok(Box::new(io::Cursor::new(self.read(path)?))),
        }
    }
}

fn not_found() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "no such file in the preset")
}

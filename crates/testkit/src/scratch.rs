//! Temporary directories.

use std::io;
use std::path::{Path, PathBuf};

/// A fresh directory, removed when it is dropped.
#[derive(Debug)]
pub struct Scratch(tempfile::TempDir);

/// Makes a fresh directory.
///
/// # Errors
/// When the system's directory for temporary files cannot be written.
pub fn scratch() -> io::Result<Scratch> {
    tempfile::Builder::new().prefix("karat-").tempdir().map(Scratch)
}

impl Scratch {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below it, creating folders, and returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.path().join(relative);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, content)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_vanishes() {
        let scratch = scratch().unwrap();
        let path = scratch.write("a/b.txt", "x").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"x");
        drop(scratch);
        assert!(!path.exists());
    }
}

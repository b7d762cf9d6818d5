//! Files that cannot be read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The hint where a report cannot be written.
pub const OTHER_FOLDER: &str =
    "name another folder with `-o`; the run itself is kept, and `karat report` writes its report again";

/// A file or folder that cannot be read or written.
#[derive(Debug)]
pub struct FileError {
    /// `reading` or `writing`, with what is read where the path alone does not say it.
    pub action: &'static str,
    /// Its path.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
    /// The next step for the user.
    pub hint: Option<String>,
}

impl FileError {
    /// A file that cannot be read.
    pub fn reading(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::of("reading", path, source)
    }

    /// A file that cannot be written.
    pub fn writing(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::of("writing", path, source)
    }

    /// A file on which an action failed, such as `reading the baseline`.
    pub fn of(action: &'static str, path: impl AsRef<Path>, source: io::Error) -> Self {
        Self { action, path: path.as_ref().to_owned(), source, hint: None }
    }

    /// The same error with a next step.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.action, self.path.display(), self.source)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

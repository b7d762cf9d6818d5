//! A file that cannot be imported.

use std::fmt;
use std::io;
use std::path::Path;

/// A problem of a source, with its place and a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{at}: {problem}")]
pub struct ImportError {
    file: String,
    at: Place,
    problem: String,
    hint: Option<String>,
}

/// A place within a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Whole,
    /// Counted from 1.
    Line(usize),
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(out, ":{line}"),
            Self::Byte(byte) => write!(out, ", byte {byte}"),
        }
    }
}

impl ImportError {
    /// A problem of the whole file. `problem` says what was expected.
    pub(crate) fn new(file: impl fmt::Display, problem: impl Into<String>) -> Self {
        Self { file: file.to_string(), at: Place::Whole, problem: problem.into(), hint: None }
    }

    pub(crate) fn reading(file: &Path, error: &io::Error) -> Self {
        Self::new(file.display(), format!("cannot be read: {error}"))
    }

    pub(crate) fn writing(file: &Path, error: &io::Error) -> Self {
        Self::new(file.display(), format!("cannot be written: {error}"))
            .with_hint("name a folder on a disk with free space with `-o`")
    }

    /// The problem's line, counted from 1.
    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.at = Place::Line(line);
        self
    }

    /// The problem's byte, for archives.
    pub(crate) fn at_byte(mut self, byte: u64) -> Self {
        self.at = Place::Byte(byte);
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The problem with the file's name alone.
    pub(crate) fn without_folder(&self) -> String {
        let name = Path::new(&self.file).file_name().map_or(self.file.as_str().into(), |name| name.to_string_lossy());
        format!("{name}{}: {}", self.at, self.problem)
    }

    /// Advice for the user.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

//! Paths of files, and the folders that they stay in.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The path of a file, and the folder that it must not lead out of.
///
/// A path that the suite's own text names leads anywhere. A path that comes from data (a value of a row, a name in a
/// folder) stays beneath the folder that the suite's own text names: neither `..`, nor an absolute path, nor a link leads
/// out of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FilePath {
    /// The folder that the path stays in; `None` where the suite's own text names the whole path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beneath: Option<String>,
    /// The path, relative to `beneath` where there is one.
    pub path: String,
}

impl FilePath {
    /// A path that the suite's own text names.
    pub fn literal(path: impl Into<String>) -> Self {
        Self { beneath: None, path: path.into() }
    }

    /// A path that comes from data, relative to a folder that it must not lead out of.
    pub fn beneath(folder: impl Into<String>, path: impl Into<String>) -> Self {
        Self { beneath: Some(folder.into()), path: path.into() }
    }

    /// A file in the folder that this path leads to, which it must not lead out of either.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        match &self.beneath {
            Some(folder) => Self::beneath(folder, format!("{}/{name}", self.path.trim_end_matches('/'))),
            None => Self::beneath(&self.path, name),
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.beneath.as_deref() {
            None | Some("" | ".") => f.write_str(&self.path),
            // Valid apart from being absolute.
            Some(_) if self.path.starts_with('/') => f.write_str(&self.path),
            Some(folder) if folder.ends_with('/') => write!(f, "{folder}{}", self.path),
            Some(folder) => write!(f, "{folder}/{}", self.path),
        }
    }
}

//! The use of a recording in a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The use of a recording in a run. With one, no results of earlier runs are reused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CallRecording {
    /// No recording.
    #[default]
    None,
    /// It stores every call: `--record`.
    Record(PathBuf),
    /// It answers every call: `--replay`.
    Replay(PathBuf),
}

impl CallRecording {
    /// The same with an absolute path, so that the run can be resumed from another folder.
    pub(crate) fn with_absolute_path(self) -> Self {
        let from_root = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        match self {
            Self::None => Self::None,
            Self::Record(path) => Self::Record(from_root(path)),
            Self::Replay(path) => Self::Replay(from_root(path)),
        }
    }
}

//! What a recording has to do with a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a recording has to do with a run. Either way nothing is taken over from earlier runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CallRecording {
    /// Nothing.
    #[default]
    None,
    /// It gets every call: `--record`.
    Record(PathBuf),
    /// It answers every call: `--replay`.
    Replay(PathBuf),
}

impl CallRecording {
    /// The same from any folder: the run may be gone on with elsewhere.
    pub(crate) fn with_absolute_path(self) -> Self {
        let from_root = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        match self {
            Self::None => Self::None,
            Self::Record(path) => Self::Record(from_root(path)),
            Self::Replay(path) => Self::Replay(from_root(path)),
        }
    }
}

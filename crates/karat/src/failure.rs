//! Why a command does not succeed.

use karat_app::AppError;
use karat_types::Exit;

/// Why a command did not succeed.
pub enum Failure {
    /// The arguments are wrong, or help was asked for.
    Usage(clap::Error),
    /// The use case failed.
    App(AppError),
    /// Something at the edge failed.
    Message(String),
}

impl Failure {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::App(error) => error.exit(),
            Self::Usage(error) if !error.use_stderr() => Exit::Pass,
            Self::Usage(_) | Self::Message(_) => Exit::HarnessError,
        }
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

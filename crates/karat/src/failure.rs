//! Failures of commands.

use karat_app::AppError;
use karat_server::ServeError;
use karat_types::Exit;

/// The reason for which a command failed.
pub enum Failure {
    /// The arguments are wrong, or they ask for help.
    Usage(clap::Error),
    /// The app failed.
    App(AppError),
    /// The server failed.
    Server(ServeError),
    /// The command failed before or after the app, with this message.
    Message(String),
}

impl Failure {
    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::App(error) => error.exit(),
            Self::Usage(error) if !error.use_stderr() => Exit::Pass,
            Self::Usage(_) | Self::Server(_) | Self::Message(_) => Exit::HarnessError,
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::Server(error)
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

//! Failures become words on stderr and an exit code.

use std::process::ExitCode;

use karat_app::AppError;
use karat_types::Exit;

use crate::printer::Printer;

/// Why a command did not succeed.
pub enum Failure {
    /// The arguments are wrong, or help was asked for.
    Usage(clap::Error),
    /// The use case failed.
    App(AppError),
    /// Something at the edge failed.
    Edge(String),
}

impl Failure {
    /// Prints the failure and says how the process ends.
    pub fn print(&self, printer: &Printer) -> ExitCode {
        match self {
            Self::Usage(error) => {
                let _ = error.print();
                let exit = if error.use_stderr() { Exit::HarnessError } else { Exit::Pass };
                return ExitCode::from(exit.code());
            }
            Self::App(AppError::Suite(problems)) => {
                printer.say(&if printer.colour_err { problems.coloured() } else { problems.plain() });
                return ExitCode::from(Exit::HarnessError.code());
            }
            Self::App(AppError::Failed { message, hint, .. }) => {
                printer.say(&format!("error: {message}"));
                if let Some(hint) = hint {
                    printer.say(&format!(" hint: {hint}"));
                }
            }
            Self::Edge(message) => printer.say(&format!("error: {message}")),
        }
        ExitCode::from(self.exit().code())
    }

    fn exit(&self) -> Exit {
        match self {
            Self::App(error) => error.exit(),
            Self::Usage(_) | Self::Edge(_) => Exit::HarnessError,
        }
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

//! Failures as data: what was attempted, what went wrong, what to do, and which exit code it is.

use std::fmt;

use karat_suite::Diagnostics;
use karat_types::Exit;

/// What to do where a report cannot be written.
pub(crate) const OTHER_FOLDER: &str =
    "name another folder with `-o`; the run itself is kept, and `karat report` writes its report again";

/// Why a use case failed.
#[derive(Debug)]
pub enum AppError {
    /// The suite has problems, each with its place.
    Suite(Diagnostics),
    /// Anything else.
    Failed {
        /// What was attempted and what went wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
        /// How the process ends.
        exit: Exit,
    },
}

impl AppError {
    /// A harness error.
    pub fn harness(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: None, exit: Exit::HarnessError }
    }

    /// A refusal because of a budget.
    pub fn budget(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), hint: None, exit: Exit::Budget }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Failed { message, exit, .. } => Self::Failed { message, hint: Some(text.into()), exit },
            suite @ Self::Suite(_) => suite,
        }
    }

    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Suite(_) => Exit::HarnessError,
            Self::Failed { exit, .. } => *exit,
        }
    }
}

/// What was attempted and what went wrong, without what to do.
impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suite(diagnostics) => f.write_str(&diagnostics.plain()),
            Self::Failed { message, .. } => f.write_str(message),
        }
    }
}

impl From<Diagnostics> for AppError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Suite(diagnostics)
    }
}

impl From<karat_store::StoreError> for AppError {
    fn from(error: karat_store::StoreError) -> Self {
        Self::harness(error.to_string())
    }
}

impl From<karat_report::RenderError> for AppError {
    fn from(error: karat_report::RenderError) -> Self {
        let failed = Self::harness(error.to_string());
        match error {
            karat_report::RenderError::Write(_) => failed.hint(format!("make room or {OTHER_FOLDER}")),
            _ => failed,
        }
    }
}

impl From<karat_engine::EngineError> for AppError {
    fn from(error: karat_engine::EngineError) -> Self {
        Self::harness(error.to_string())
    }
}

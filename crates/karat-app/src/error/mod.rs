//! Errors of the use cases: typed, with their sources, one file an area. The command line renders them: the message
//! (`Display`) says what was attempted and what went wrong, [`AppError::hint`] what to do, [`AppError::exit`] how the
//! process ends.
//!
//! | file | errors of |
//! |---|---|
//! | `suite` | finding and loading suites and presets |
//! | `run`, `budget` | starting and resuming a run |
//! | `stored` | looking at stored runs: runs, cells, metrics, dates |
//! | `analyse` | comparing, gating, planning, drift |
//! | `labels` | labels, agreement, calibration, tasks for people |
//! | `golden` | golden sets |
//! | `data` | datasets, imports, merges |
//! | `file` | reading and writing files |
//! | `bug` | what only a bug can cause |
//! | `kind` | sorts all of them, for callers that answer by kind |

mod analyse;
mod budget;
mod bug;
mod data;
mod file;
mod golden;
mod kind;
mod labels;
mod lists;
mod run;
mod service;
mod stored;
mod suite;

use karat_analysis::AnalysisError;
use karat_analysis::compare::CompareError;
use karat_engine::EngineError;
use karat_providers::RecordingError;
use karat_report::RenderError;
use karat_store::StoreError;
use karat_suite::Diagnostics;
use karat_types::{Exit, RowError};

pub use analyse::AnalyseError;
pub use budget::BudgetError;
pub use bug::Bug;
pub use data::{DatasetError, ImportError, MergeError};
pub use file::{FileError, OTHER_FOLDER};
pub use golden::GoldenError;
pub use kind::{ErrorKind, ErrorPlace};
pub use labels::{AnnotateError, LabelError};
pub use lists::{CallCount, Lines, Names, Usd};
pub use run::RunError;
pub use service::{ServiceError, TokenError};
pub use stored::StoredError;
pub use suite::SuiteError;

/// The error of a use case.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The suite has problems, each with its place.
    #[error("{}", .0.plain())]
    Diagnostics(Diagnostics),
    /// A suite or preset cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A run cannot be started, resumed or finished.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The limits of a run do not allow it.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// A stored run, cell, metric or date that was asked for is not there.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// An analysis of stored runs cannot be made.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
    /// Labels, or the raters behind them, cannot be used.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A task for people cannot be used.
    #[error(transparent)]
    Annotate(#[from] AnnotateError),
    /// A golden set cannot be used.
    #[error(transparent)]
    Golden(#[from] GoldenError),
    /// Rows of a dataset cannot be read, or not be chosen as asked.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Results of another tool cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Shards cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A file of another tool cannot be read.
    #[error(transparent)]
    ForeignFile(#[from] karat_import::ImportError),
    /// A token cannot be created or found.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A schedule, an incident or a message is not there.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A bug in Karat.
    #[error(transparent)]
    Bug(#[from] Bug),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rows of a stored run cannot be read.
    #[error(transparent)]
    Rows(#[from] RowError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Stored rows cannot be analysed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// Two sides cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A report cannot be made.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A recording of calls cannot be made or read.
    #[error(transparent)]
    Tape(#[from] RecordingError),
}

impl AppError {
    /// The next step for the user, where there is one beyond the message.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Suite(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::Budget(error) => error.hint(),
            Self::Stored(error) => error.hint(),
            Self::Analyse(error) => error.hint(),
            Self::Labels(error) => error.hint(),
            Self::Annotate(error) => error.hint(),
            Self::Golden(error) => error.hint(),
            Self::Dataset(error) => error.hint(),
            Self::Import(error) => error.hint(),
            Self::Merge(error) => error.hint(),
            Self::ForeignFile(error) => error.hint().map(str::to_owned),
            Self::Token(error) => error.hint(),
            Self::Service(error) => error.hint(),
            Self::File(error) => error.hint.clone(),
            Self::Render(RenderError::Write(_)) => Some(format!("make room or {OTHER_FOLDER}")),
            Self::Store(StoreError::NoSuchRun { wanted, nearest }) => {
                let known = std::iter::once("latest").chain(nearest.iter().map(String::as_str));
                karat_suite::nearest(wanted, known).map(|near| format!("did you mean `{near}`?"))
            }
            Self::Diagnostics(_)
            | Self::Bug(_)
            | Self::Store(_)
            | Self::Rows(_)
            | Self::Engine(_)
            | Self::Analysis(_)
            | Self::Compare(_)
            | Self::Render(_)
            | Self::Tape(_) => None,
        }
    }

    /// The error of a caller that could not print a part of what it asked for.
    pub(crate) fn printing(error: std::io::Error) -> Self {
        RenderError::from(error).into()
    }

    /// The exit code of the process.
    pub fn exit(&self) -> Exit {
        if let Self::Budget(_) = self { Exit::Budget } else { Exit::HarnessError }
    }
}

impl From<Diagnostics> for AppError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Diagnostics(diagnostics)
    }
}

/// Declares an error enum. Each variant has typed fields, a message and, where there is one, a hint; both name the fields.
macro_rules! errors {
    (
        $(#[$meta:meta])* enum $name:ident {
            $($variant:ident { $($field:ident: $type:ty),* } => $message:tt $(hint $hint:tt)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, thiserror::Error)]
        #[allow(missing_docs, reason = "the message says what each variant and field is")]
        pub enum $name {
            $(#[error($message)] $variant { $($field: $type),* },)*
        }

        impl $name {
            /// The next step for the user.
            #[allow(unused_variables, reason = "not every hint names every field")]
            pub fn hint(&self) -> Option<String> {
                match self {
                    $(Self::$variant { $($field),* } => $crate::error::hint_of!($($hint)?),)*
                }
            }
        }
    };
}

macro_rules! hint_of {
    () => {
        None
    };
    ($hint:tt) => {
        Some(format!($hint))
    };
}

use errors;
use hint_of;

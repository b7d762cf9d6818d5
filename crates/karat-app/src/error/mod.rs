//! Errors of the use cases: typed, with their sources, one file an area. The command line renders them: the message
//! (`Display`) says what was attempted and what went wrong, [`AppError::hint`] what to do, [`AppError::exit`] how the
//! process ends.
//!
//! | file | errors of |
//! |---|---|
//! | `project` | finding and loading suites, presets, datasets and files; imports and merges |
//! | `runs` | starting and resuming a run and its budget; stored runs, analyses, golden sets; the service |
//! | `labels` | labels, agreement, calibration, tasks for people |
//! | `kind` | sorts all of them, for callers that answer by kind |

mod kind;
mod labels;
mod project;
mod runs;

use std::fmt::{self, Display};

use karat_analysis::AnalysisError;
use karat_analysis::compare::CompareError;
use karat_engine::EngineError;
use karat_providers::RecordingError;
use karat_report::{RenderError, count_noun, usd};
use karat_store::StoreError;
use karat_suite::Diagnostics;
use karat_types::{Exit, Money, RowError};

pub use kind::{ErrorKind, ErrorPlace};
pub use labels::{AnnotateError, LabelError};
pub use project::{DatasetError, FileError, ImportError, MergeError, OTHER_FOLDER, SuiteError};
pub use runs::{AnalyseError, BudgetError, GoldenError, RunError, ServiceError, StoredError, TokenError};

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

/// A bug in Karat.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message says what each variant and field is")]
pub enum Bug {
    #[error("{source}; this is a bug in karat")]
    RunTask { source: tokio::task::JoinError },
    #[error("writing the cells of the report stopped; this is a bug in karat")]
    CellsWriter,
    #[error("writing {what}: {source}. This is a bug in karat")]
    Json { what: &'static str, source: serde_json::Error },
    #[error("the order of a queued run cannot be read: {source}. This is a bug in karat")]
    Order { source: serde_json::Error },
    #[error("no series to look at. This is a bug in karat")]
    NoSeries,
    #[error("the preset's {file} has no {part:?}; this is a bug in karat")]
    PresetText { file: String, part: String },
    #[error("the preset's suite has no manual variants; this is a bug in karat")]
    NoManualVariants,
    #[error("{problem}. This is a bug in karat")]
    Demo { problem: String },
}

/// Names in one line; `none` where there is none.
#[derive(Debug, Clone, Default)]
pub struct Names(pub Vec<String>);

impl Names {
    /// The names as they are displayed.
    pub fn of<T: Display>(names: impl IntoIterator<Item = T>) -> Self {
        Self(names.into_iter().map(|name| name.to_string()).collect())
    }
}

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("none") } else { f.write_str(&self.0.join(", ")) }
    }
}

/// Several errors, one a line.
#[derive(Debug)]
pub struct Lines<T>(pub Vec<T>);

impl<T: Display> Display for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A number of calls: `1 call`, `2 calls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCount(pub u64);

impl Display for CallCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count_noun(self.0, "call"))
    }
}

/// An amount in dollars, as reports write it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usd(pub f64);

impl From<Money> for Usd {
    fn from(money: Money) -> Self {
        Self(money.usd())
    }
}

impl Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&usd(Some(self.0)))
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

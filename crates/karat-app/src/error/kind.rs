//! The kinds of errors, for callers that answer by kind: the server by status, bindings by type.

use karat_engine::EngineError;
use karat_store::StoreError;

use super::{AnnotateError, AppError, RunError, ServiceError, StoredError};

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something that was asked for is not there.
    NotFound,
    /// A value that was given is not valid.
    BadRequest,
    /// A suite cannot be used as it is.
    SuiteInvalid,
    /// A person may not do this with a task.
    NotAllowed,
    /// A task has been closed.
    TaskClosed,
    /// A suite names a file that the server does not open.
    OutsideRoot,
    /// A run cannot go on because its suite gives another plan now.
    PlanChanged,
    /// The limits of a run do not allow it.
    BudgetRefused,
    /// The id of a new run is taken.
    RunExists,
    /// Another process writes the run.
    RunInUse,
    /// Nothing is left to do in the run.
    RunFinished,
    /// The process of the run died at the same cells again.
    RunParked,
    /// A message was sent, and cannot be tried again.
    AlreadySent,
    /// The run has to be finished first.
    NotFinished,
    /// The store cannot be opened, read or written now.
    StoreUnavailable,
    /// A failure that the caller cannot change.
    Internal,
}

/// A problem of a suite with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPlace {
    /// The file.
    pub file: String,
    /// Its line, from 1; 0 if the problem is of the whole file.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<String>,
}

impl AppError {
    /// Returns whether the store did not answer, or another process kept it locked: the same works once that is over.
    pub fn is_store_away(&self) -> bool {
        let error = match self {
            Self::Store(error)
            | Self::Run(RunError::StoreFailed { source: error, .. })
            | Self::Engine(EngineError::Store(error)) => error,
            Self::Engine(EngineError::Ledger { failure, .. }) => failure.cause(),
            _ => return false,
        };
        matches!(error, StoreError::Away { .. } | StoreError::Busy { .. })
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Suite(super::SuiteError::OutsideRoot { .. }) => ErrorKind::OutsideRoot,
            Self::Diagnostics(_) | Self::Suite(_) | Self::Golden(_) => ErrorKind::SuiteInvalid,
            Self::Run(error) => run_kind(error),
            Self::Budget(_) => ErrorKind::BudgetRefused,
            Self::Stored(error) => stored_kind(error),
            Self::Analyse(super::AnalyseError::NotFinished { .. } | super::AnalyseError::OnePart { .. })
            | Self::Analysis(karat_analysis::AnalysisError::Empty { .. }) => ErrorKind::NotFinished,
            Self::Dataset(super::DatasetError::NoItemRuns { .. }) => ErrorKind::NotFound,
            Self::Analysis(
                karat_analysis::AnalysisError::NoItemMetric { .. } | karat_analysis::AnalysisError::NoRuns {},
            )
            | Self::Analyse(_)
            | Self::Labels(_)
            | Self::Dataset(_)
            | Self::Import(_)
            | Self::Merge(_)
            | Self::ForeignFile(_)
            | Self::Compare(_) => ErrorKind::BadRequest,
            Self::Annotate(error) => annotate_kind(error),
            Self::Token(super::TokenError::NoToken { .. }) => ErrorKind::NotFound,
            Self::Token(super::TokenError::NoName { .. }) => ErrorKind::BadRequest,
            Self::Service(
                ServiceError::NotFollowed { .. }
                | ServiceError::NoSchedule { .. }
                | ServiceError::NoAlert { .. }
                | ServiceError::NoIncident { .. }
                | ServiceError::NoMessage { .. },
            ) => ErrorKind::NotFound,
            Self::Service(ServiceError::MessageSent { .. }) => ErrorKind::AlreadySent,
            Self::Service(ServiceError::NoClient { .. }) => ErrorKind::Internal,
            Self::Service(_) => ErrorKind::BadRequest,
            Self::Store(error) => store_kind(error),
            Self::Engine(EngineError::Ledger { .. }) => ErrorKind::StoreUnavailable,
            Self::File(_)
            | Self::Token(super::TokenError::NoRandom { .. })
            | Self::Bug(_)
            | Self::Rows(_)
            | Self::Engine(_)
            | Self::Analysis(_)
            | Self::Render(_)
            | Self::Tape(_) => ErrorKind::Internal,
        }
    }

    /// The problems of a suite with their places; none for other errors.
    pub fn places(&self) -> Vec<ErrorPlace> {
        let Self::Diagnostics(diagnostics) = self else { return Vec::new() };
        let place = |it: &karat_suite::Diagnostic| ErrorPlace {
            file: it.file.clone(),
            line: it.line,
            column: it.column,
            message: it.message.clone(),
            hint: it.hint.clone(),
        };
        diagnostics.iter().map(place).collect()
    }
}

fn run_kind(error: &RunError) -> ErrorKind {
    match error {
        RunError::NoCells { .. }
        | RunError::NotConnected { .. }
        | RunError::NoJudgeKey { .. }
        | RunError::PrivateRecording { .. } => ErrorKind::SuiteInvalid,
        RunError::CallLogTemplate { .. }
        | RunError::CallLogEmpty { .. }
        | RunError::PrivateBatch { .. }
        | RunError::RecordedBatch { .. }
        | RunError::EarlyBatch { .. }
        | RunError::EarlyRule { .. }
        | RunError::EarlyShard { .. }
        | RunError::NoBatchApi { .. }
        | RunError::NoBatchServer { .. } => ErrorKind::SuiteInvalid,
        RunError::BatchesUnderWay { .. } => ErrorKind::RunInUse,
        RunError::BadId { .. }
        | RunError::NotStopped { .. }
        | RunError::ScoredStop { .. }
        | RunError::DetachedLive { .. }
        | RunError::OtherPart { .. }
        | RunError::ScoredShard { .. } => ErrorKind::BadRequest,
        RunError::PlanChanged { .. } | RunError::OrderChanged { .. } | RunError::UnknownStart { .. } => {
            ErrorKind::PlanChanged
        }
        RunError::NothingLeft { .. } => ErrorKind::RunFinished,
        RunError::Parked { .. } => ErrorKind::RunParked,
        RunError::StoreFailed { source, .. } => store_kind(source),
        RunError::Threads { .. } | RunError::Runtime { .. } | RunError::Recording { .. } | RunError::Batch { .. } => {
            ErrorKind::Internal
        }
    }
}

fn annotate_kind(error: &AnnotateError) -> ErrorKind {
    match error {
        AnnotateError::NoTask { .. } | AnnotateError::NoItem { .. } | AnnotateError::NoPerson { .. } => {
            ErrorKind::NotFound
        }
        AnnotateError::NotAssigned { .. }
        | AnnotateError::TwinName { .. }
        | AnnotateError::NotShown { .. }
        | AnnotateError::WithOwner { .. } => ErrorKind::NotAllowed,
        AnnotateError::Closed { .. } => ErrorKind::TaskClosed,
        AnnotateError::Damaged { .. } | AnnotateError::NoRandom { .. } => ErrorKind::Internal,
        _ => ErrorKind::BadRequest,
    }
}

fn stored_kind(error: &StoredError) -> ErrorKind {
    match error {
        StoredError::BadDate { .. }
        | StoredError::BadWindow { .. }
        | StoredError::EmptyRange { .. }
        | StoredError::CellNotNamed { .. }
        | StoredError::NoReport { .. } => ErrorKind::BadRequest,
        _ => ErrorKind::NotFound,
    }
}

fn store_kind(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::NoSuchRun { .. } => ErrorKind::NotFound,
        StoreError::Ambiguous { .. } | StoreError::Url(_) | StoreError::OutOfRange(_) | StoreError::Unsupported(_) => {
            ErrorKind::BadRequest
        }
        StoreError::RunExists(_) => ErrorKind::RunExists,
        StoreError::RunInUse { .. } => ErrorKind::RunInUse,
        _ => ErrorKind::StoreUnavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X14, F104: a store that does not answer, or is locked, is known in every error that it may lead to; a run that ends with it
    /// goes on later. A full disk does not pass by itself.
    #[test]
    fn a_store_that_is_away_is_known_by_its_errors() {
        let away = || StoreError::Away { path: "s".into(), doing: "writing records", why: "no answer".to_owned() };
        let advice = "it continues".to_owned();
        let errors: [AppError; 5] = [
            away().into(),
            RunError::StoreFailed { source: away(), command: "resume", run: "r".to_owned() }.into(),
            EngineError::Store(away()).into(),
            EngineError::Ledger { failure: away().into(), advice: advice.clone() }.into(),
            StoreError::Busy { path: "s".into(), waited_s: 60, holder: String::new() }.into(),
        ];
        assert!(errors.iter().all(AppError::is_store_away));
        let full = || StoreError::Full { path: "s".into(), why: "no space".to_owned() };
        let full: [AppError; 2] = [full().into(), EngineError::Ledger { failure: full().into(), advice }.into()];
        assert!(!full.iter().any(AppError::is_store_away));
    }
}

//! The use cases of Karat, composed once: load, validate, plan, run, resume, report, show, trace.
//!
//! The command line (and later the server and bindings) resolve settings, call one function here and print what comes
//! back. Nothing here prints, reads the environment or exits.

mod analyse;
mod atomic_file;
mod demo;
mod doctor;
mod error;
mod exchange;
mod inspect;
mod report;
mod run;
mod suite;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_store::{Store, StoreError};
use karat_types::Clock;

pub use crate::analyse::agree::{Agreement, AgreementRequest};
pub use crate::analyse::compare::{CompareRequest, Comparison, Correction, Party};
pub use crate::analyse::digest::{DigestReport, Window};
pub use crate::analyse::drift::{DriftRequest, DriftResult, SystemReplayed};
pub use crate::analyse::gates::{GateReport, GateRequest};
pub use crate::analyse::golden::{GoldenCheck, GoldenPin, GoldenRequest, PinRequest, Pinning};
pub use crate::analyse::power::{PlanPower, PowerRequest};
pub use crate::analyse::suite_rows::{RowsRequest, SuiteRows};
pub use crate::exchange::annotate::{AnnotationRequest, JoinedLabels, LabelledSample};
pub use crate::exchange::import::ImportedSnapshot;
pub use crate::exchange::manual_outputs::ImportedBaseline;
pub use crate::exchange::snapshot_check::SnapshotCheck;
pub use crate::inspect::history::MetricLine;
pub use crate::inspect::invalidate::Invalidation;
pub use crate::inspect::runs::{CellLine, RunLine, rfc3339};
pub use crate::inspect::trace::{Trace, TracedCall};
pub use crate::inspect::why::ReuseReasons;
pub use crate::report::write::{Format, ReportTo, WrittenReport};
pub use crate::run::calibrate::Rounds;
pub use crate::run::execution::{Execution, RunEnd};
pub use crate::run::recording::CallRecording;
pub use crate::run::rescore::Rescoring;
pub use crate::suite::fetch::FetchedFile;
pub use crate::suite::invocation::{CalibrationRequest, GateFlags, Invocation};
pub use crate::suite::load::LoadedSuite;
pub use crate::suite::preset::names as preset_names;
pub use crate::suite::reference::reference;
pub use atomic_file::AtomicFile;
pub use doctor::{Finding, Health};
pub use error::{
    AnalyseError, AppError, BudgetError, Bug, CallCount, FileError, GoldenError, ImportError, LabelError, Lines, Names,
    RunError, StoredError, SuiteError, Usd,
};
pub use karat_analysis::Choice;
pub use karat_analysis::compare::Verdict as ComparedVerdict;
pub use karat_analysis::drift::{DriftStatus, Drifts, Method};
pub use karat_analysis::power::MetricPower;
pub use karat_engine::{CellReuse, Change, Estimate, ModelEstimate, ReuseStatus, Stop};
pub use karat_providers::end_processes;
pub use karat_report::counted;
pub use karat_store::{Cached, Reusable, StoreUrl, Withdrawal};
pub use karat_suite::{Checked, Diagnostics, Plan, parse_duration as duration_ms};
pub use karat_types::{Layout, Threshold};

const REPORT_SCHEMA: &str = include_str!("../../../schemas/report.schema.json");

/// The JSON Schema of suite files.
pub fn suite_schema() -> String {
    pretty(&karat_suite::suite_schema(&suite::catalog::compose()))
}

/// The JSON Schema of `report.json`.
pub fn report_schema() -> String {
    REPORT_SCHEMA.to_owned()
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Looks up environment variables by name.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Karat with everything from outside passed in.
#[derive(Clone)]
pub struct App {
    /// Where results are kept.
    pub store: StoreUrl,
    /// Folder of the state: run folders lie below it.
    pub home: PathBuf,
    /// The environment.
    pub lookup: EnvLookup,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// This program, which a command named `karat` in a suite stands for.
    pub own_program: Option<PathBuf>,
    /// What one step of a command leaves to the next.
    pub opened: Session,
}

/// What stays open from one step of a command to the next. Clones are the same.
#[derive(Clone, Default)]
pub struct Session(Arc<SessionState>);

#[derive(Default)]
struct SessionState {
    /// The store, once something has opened it to write: what others have written since, whoever looks for results catches up
    /// with.
    store: Mutex<Option<Store>>,
}

impl Session {
    fn store(&self) -> MutexGuard<'_, Option<Store>> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// The store, opened or made where it is not there.
    fn open_store(&self) -> Result<Store, AppError> {
        self.open_with(Store::open)
    }

    /// The store to read it, made where it is not there. One that may not be written is read as it is.
    fn store_to_read(&self) -> Result<Store, AppError> {
        self.open_with(if self.store.exists() { Store::open_to_read } else { Store::open })
    }

    fn open_with(&self, open: impl FnOnce(&StoreUrl) -> Result<Store, StoreError>) -> Result<Store, AppError> {
        let mut opened = self.opened.store();
        if let Some(store) = &*opened {
            return Ok(store.clone());
        }
        let store = open(&self.store)?;
        if store.is_writable() {
            *opened = Some(store.clone());
        }
        Ok(store)
    }

    /// Opens the store of commands about stored runs: there must be one. One that may not be written can be read.
    fn existing_store(&self) -> Result<Store, AppError> {
        if !self.store.exists() {
            return Err(StoredError::NoStore { path: self.store.path().display().to_string() }.into());
        }
        self.store_to_read()
    }

    /// The id of the run that is meant by an id, its beginning, or `latest`.
    pub fn run_id(&self, run: &str) -> Result<String, AppError> {
        Ok(self.existing_store()?.resolve(run)?)
    }
}

//! The use cases of Karat, composed once: load, validate, plan, run, resume, report, show, trace.
//!
//! The command line (and later the server and bindings) resolve settings, call one function here and print what comes
//! back. Nothing here prints, reads the environment or exits.

mod address;
mod adopted;
mod again;
mod agree;
mod allowance;
mod annotate;
mod baseline;
mod begun;
mod calibrate;
mod calllog;
mod catalog;
mod cells;
mod changed;
mod compare;
mod demo;
mod digest;
mod doctor;
mod drift;
mod error;
mod fetch;
mod forecast;
mod found;
mod gates;
mod golden;
mod history;
mod import;
mod init;
mod inspect;
mod invalidate;
mod invocation;
mod judged;
mod load;
mod manifest;
mod manual;
mod power;
mod preset;
mod readiness;
mod recomputed;
mod report;
mod run;
mod tape;
mod today;
mod unsettled;
mod whole;
mod why;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_store::{Store, StoreError};
use karat_types::Clock;

pub use again::Rescoring;
pub use agree::{Agreeing, Agreement};
pub use annotate::{Annotating, Joined, LabelledSample};
pub use calibrate::Rounds;
pub use compare::{Comparing, Comparison, Correction, Party};
pub use digest::{Digested, Window};
pub use doctor::{Finding, Health};
pub use drift::{Drifted, Drifting, SystemReplayed};
pub use error::{
    AnalyseError, AppError, BudgetError, Bug, CallCount, FileError, GoldenError, ImportError, LabelError, Lines, Names,
    RunError, StoredError, SuiteError, Usd,
};
pub use fetch::Fetched;
pub use gates::{Gated, Gating};
pub use golden::{GoldenAsked, GoldenCheck, GoldenPin, PinAsked, Pinning};
pub use history::MetricLine;
pub use import::Imported;
pub use inspect::{CellLine, RunLine, Trace, TracedCall, rfc3339};
pub use invalidate::Invalidation;
pub use invocation::{Calibrating, GateFlags, Invocation};
pub use judged::{Asked, Rows};
pub use karat_analysis::RowFilter;
pub use karat_analysis::compare::ComparisonVerdict as ComparedVerdict;
pub use karat_analysis::drift::{DriftStatus, Method, SystemDrifts};
pub use karat_analysis::planning::MetricPower;
pub use karat_engine::{CellOutlook, Change, Estimate, ModelEstimate, Standing, Stop};
pub use karat_providers::end_processes;
pub use karat_report::count_noun;
pub use karat_store::{CachedResults, InvalidatedResults, ReusableResult, StoreUrl};
pub use karat_suite::{CheckCounts, Diagnostics, Plan, parse_duration as duration_ms};
pub use karat_types::{Layout, Threshold};
pub use load::Loaded;
pub use manual::Baseline;
pub use power::{PlanPower, Wanted};
pub use preset::names as preset_names;
pub use recomputed::Recomputed;
pub use report::{Format, ReportTo, Written};
pub use run::{Execution, RunEnd};
pub use tape::Tape;
pub use whole::WholeFile;
pub use why::Reasons;

const REPORT_SCHEMA: &str = include_str!("../../../schemas/report.schema.json");

/// The JSON Schema of suite files.
pub fn suite_schema() -> String {
    pretty(&karat_suite::suite_schema(&catalog::compose()))
}

/// The JSON Schema of `report.json`.
pub fn report_schema() -> String {
    REPORT_SCHEMA.to_owned()
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Looks up environment variables by name.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Karat with everything from outside passed in.
#[derive(Clone)]
pub struct App {
    /// Where results are kept.
    pub store: StoreUrl,
    /// Folder of the state: run folders lie below it.
    pub home: PathBuf,
    /// The environment.
    pub lookup: Lookup,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// This program, which a command named `karat` in a suite stands for.
    pub own_program: Option<PathBuf>,
    /// What one step of a command leaves to the next.
    pub opened: Opened,
}

/// What stays open from one step of a command to the next. Clones are the same.
#[derive(Clone, Default)]
pub struct Opened(Arc<Steps>);

#[derive(Default)]
struct Steps {
    /// The store, once something has opened it to write: what others have written since, whoever looks for results catches up
    /// with.
    store: Mutex<Option<Store>>,
}

impl Opened {
    fn store(&self) -> MutexGuard<'_, Option<Store>> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// The store, opened or made where it is not there.
    fn open_store(&self) -> Result<Store, AppError> {
        self.kept_or(Store::open)
    }

    /// The store to read it, made where it is not there. One that may not be written is read as it is.
    fn store_to_read(&self) -> Result<Store, AppError> {
        self.kept_or(if self.store.exists() { Store::open_to_read } else { Store::open })
    }

    fn kept_or(&self, open: impl FnOnce(&StoreUrl) -> Result<Store, StoreError>) -> Result<Store, AppError> {
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

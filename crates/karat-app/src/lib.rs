//! The use cases of Karat, an entry type for each subject: [`App`] is opened once and hands them out.
//!
//! The command line, the server and bindings resolve settings, call one function here and print the result. Nothing here
//! prints, reads the environment or exits. ARCHITECTURE.md says which folder may use which. Reading order: `project::load`,
//! `runs::execution`, `reports::write`; then any file of `analysis`.

mod analysis;
mod datasets;
mod error;
mod imports;
mod project;
mod reports;
mod runs;
mod service;
mod stored;
mod tasks;
pub mod views;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub use karat_import::{ImportKind, ImportReport, Shape, TraceRows};
use karat_providers::{HookClient, Host, LimiterPool, Settings};
use karat_report::page::Document;
use karat_store::{Store, StoreError};
use karat_types::{Clock, Key, Moment};

use crate::imports::traces::TraceState;
use crate::stored::kept_pages::KeptPages;
use crate::stored::labels::task::LoadedTask;
use crate::views::follow::run_state::KnownStates;
use crate::views::view_cache::ViewCache;

pub use crate::analysis::Analysis;
pub use crate::analysis::agree::{Agreement, AgreementRequest};
pub use crate::analysis::compare::{CompareRequest, ComparedParts, Comparison, Correction, Party};
pub use crate::analysis::digest::{DigestReport, Window};
pub use crate::analysis::drift::{DriftRequest, DriftResult, SystemReplayed};
pub use crate::analysis::gates::{GateReport, GateRequest};
pub use crate::analysis::golden::{GoldenCheck, GoldenPin, GoldenRequest, PinRequest, Pinning};
pub use crate::analysis::items::{DatasetItems, ItemsRequest, ItemsSuite};
pub use crate::analysis::power::{PlanPower, PowerRequest};
pub use crate::analysis::series::{SeriesRequest, SuiteSeries};
pub use crate::analysis::suite_rows::{RowsRequest, SuiteRows};
pub use crate::datasets::Datasets;
pub use crate::datasets::curate::dedup::{ClusterReport, DedupReport, DedupRequest, KeptRow, MemberReport};
pub use crate::datasets::curate::leaks::{LeakReport, NamedHit, suite_leaks};
pub use crate::datasets::curate::output::ReplacedParts;
pub use crate::datasets::curate::output::{DatasetOutput, Existing};
pub use crate::datasets::curate::sample::{DrawnSample, SampleMethod, SampleRequest};
pub use crate::datasets::curate::split::{SplitRequest, WrittenSplit};
pub use crate::datasets::curate::suite_warnings::dataset_warnings;
pub use crate::datasets::datasheet::{DatasheetRequest, WrittenDatasheet};
pub use crate::datasets::difference::{DatasetDiff, RowDifference};
pub use crate::datasets::removal::{RemovalRequest, RemovedItems};
pub use crate::datasets::source::{DatasetRequest, DatasetRows, SourceRow, is_suite_source};
pub use crate::datasets::versions::{DatasetVersion, RecordedVersion};
pub use crate::imports::Imports;
pub use crate::imports::manual_outputs::ImportedBaseline;
pub use crate::imports::merge::{Completeness, MergeRequest};
pub use crate::imports::prices::{AddedPrices, PriceChange, PriceRequest};
pub use crate::imports::snapshot_check::SnapshotCheck;
pub use crate::imports::span_snapshot::ImportedSnapshot;
pub use crate::imports::suite_import::{DifferingFigure, FigureCheck, ImportedSuite};
pub use crate::imports::traces::AddedTraces;
pub use crate::project::Project;
pub use crate::project::atomic_file::AtomicFile;
pub use crate::project::catalog::{ready_rubric, ready_rubrics};
pub use crate::project::ci::{CiService, CiWorkflow};
pub use crate::project::fetch::FetchedFile;
pub use crate::project::invocation::{CalibrationRequest, GateFlags, Invocation, RunRequest};
pub use crate::project::presets::names as preset_names;
pub use crate::project::presets::starter::{StarterRequest, starter_providers, starter_tasks};
pub use crate::project::request::{RequestError, read_request, request_schema, schema_settings};
pub use crate::reports::Reports;
pub use crate::reports::export::{ExportedFiles, RunTable, SpanContent};
pub use crate::reports::write::{ReportTo, WrittenReport};
pub use crate::runs::Runs;
pub use crate::runs::batches::cancel::CancelledBatches;
pub use crate::runs::calibrate::Rounds;
pub use crate::runs::execution::{Execution, RunEnd};
pub use crate::runs::options::plan_options::estimate_document;
pub use crate::runs::options::plan_options::{PlanOption, PlanOptions};
pub use crate::runs::rescore::Rescoring;
pub use crate::runs::why::ReuseReasons;
pub use crate::service::Service;
pub use crate::service::doctor::{Finding, Health};
pub use crate::service::health::{StoreHealth, SuiteLine};
pub use crate::service::monitoring::alerting::AlertedRun;
pub use crate::service::monitoring::delivery::{Delivered, Delivery};
pub use crate::service::monitoring::due_run::{DueRun, DueRunEnd, DueState};
pub use crate::service::monitoring::followed_suites::FollowedSuites;
pub use crate::service::monitoring::incidents::{AlertCounts, IncidentLine, MessageLine};
pub use crate::service::monitoring::scheduler::{Due, Scheduler};
pub use crate::service::monitoring::schedules::{DueTime, FiringLine, ScheduleLine, due_times, parse_time};
pub use crate::service::order::{OrderAction, QueueOrder};
pub use crate::service::queue::QueueEnd;
pub use crate::service::role::Role;
pub use crate::service::run_states::RunFilter;
pub use crate::service::tokens::{Access, NewToken, TokenLine};
pub use crate::stored::Stored;
pub use crate::stored::figures::{Headline, RunFigures};
pub use crate::stored::invalidate::Invalidation;
pub use crate::stored::invocation::CallRecording;
pub use crate::stored::kept_pages::RunPage;
pub use crate::stored::labels::agreement::HumanCeiling;
pub use crate::stored::labels::question::Question as AnnotationQuestion;
pub use crate::stored::messages::{JudgeWords, Message, reply_text, request_blobs, request_messages};
pub use crate::stored::run::rfc3339;
pub use crate::stored::store_check::CheckedStore;
pub use crate::tasks::Tasks;
pub use crate::tasks::create::suspects_task;
pub use crate::tasks::create::{CreatedTask, GoldItems, ItemsFrom, ReopenedTask, TaskRequest, TextFrom};
pub use crate::tasks::export::{ExportForm, ExportRequest, LabelSource};
pub use crate::tasks::golden::LabelPinRequest;
pub use crate::tasks::label_files::{AnnotationRequest, JoinedLabels, LabelledSample};
pub use crate::tasks::owner::TaskLine;
pub use crate::tasks::queue::NextRequest;
pub use crate::tasks::submit::{AdjudicationRequest, DraftRequest, LabelRequest, ReasonRequest};
pub use crate::views::Views;
pub use crate::views::cell::CellView;
pub use crate::views::cells::{CellsPage, CellsRow};
pub use crate::views::follow::counter::FinishedCell;
pub use crate::views::follow::follower::{Look, RunFollower};
pub use crate::views::follow::progress::{CellCounts, Progress};
pub use crate::views::follow::run_state::RunState;
pub use crate::views::index::{CellFlag, MetricColumn, Place, RunIndex};
pub use crate::views::query::{CellOrder, CellQuery, Cursor, MatchedCells};
pub use crate::views::run_view::MovedCells;
pub use crate::views::run_view::{RunView, ViewMetric};
pub use crate::views::runs::{RunColumn, RunEntry, RunOrder, RunsPage, RunsQuery, run_state, start_of_day};
pub use crate::views::sample::SampleView;
pub use crate::views::show::calls::{CellCall, Contents, JudgeCall, TracedCall};
pub use crate::views::show::cells::{CellFilter, CellLine};
pub use crate::views::show::history::MetricLine;
pub use crate::views::show::runs::RunLine;
pub use crate::views::show::suite_cells::SuiteCell;
pub use crate::views::show::trace::Trace;
pub use crate::views::texts::{JudgmentView, OutputView, ScoreView, SystemOutputs, TrialView};
pub use crate::views::view_cache::ViewState;
pub use error::{
    AnalyseError, AnnotateError, AppError, BudgetError, Bug, CallCount, DatasetError, ErrorKind, ErrorPlace, FileError,
    GoldenError, ImportError, LabelError, Lines, MergeError, Names, RunError, ServiceError, StoredError, SuiteError,
    TokenError, Usd,
};
pub use jiff::civil::Date;
pub use karat_analysis::RowFilter;
pub use karat_analysis::compare::ComparisonVerdict as ComparedVerdict;
pub use karat_analysis::drift::{DriftStatus, Method, SystemDrifts};
pub use karat_analysis::golden::GoldenRule;
pub use karat_analysis::items::{FlagKind, Headroom, ItemAnalysis, ItemFlag, TestItem};
pub use karat_analysis::planning::MetricPower;
pub use karat_analysis::series::{CardFilter, JudgeChoice, SeriesView};
pub use karat_engine::{CellReuse, Change, Estimate, ModelEstimate, ReuseStatus, Stop};
pub use karat_providers::{HostAnswer, HostFunctions, end_processes, raise_open_files};
pub use karat_report::page::MarkedSources;
pub use karat_report::series as series_page;
pub use karat_report::{
    Outputs, Scale, ShownOutputs, count, count_noun, escape_json, millis, unit_named, usd, visible, visible_name,
};
pub use karat_store::{
    CachedResults, InvalidatedResults, KeptAnswer, ListPlace, NetworkFiles, QueuedRun, Queueing, ReusableResult,
    StoreUrl,
};
pub use karat_suite::{
    CheckCounts, Diagnostics, Overrides, Plan, PriceOrigin, Registry, RubricSummary, nearest,
    parse_duration as duration_ms, removal,
};
pub use karat_text::kind::capitalize;
pub use karat_text::kind::ends;
pub use karat_traces::folder::{DayRows, FoundTrace, RemovedRows, SentTrace, TraceDataset, WantedRows};
pub use karat_types::{Layout, Threshold};

const REPORT_SCHEMA: &str = include_str!("../embedded/report.schema.json");

/// A document that was written as Markdown, as a page that loads nothing.
pub fn html_page(title: &str, markdown: &str) -> String {
    karat_report::page::markdown_document(title, markdown).to_file()
}

/// The JSON Schema of suite files.
pub fn suite_schema() -> String {
    pretty(&karat_suite::suite_schema(&project::catalog::compose()))
}

/// The JSON Schema of `report.json`.
pub fn report_schema() -> String {
    REPORT_SCHEMA.to_owned()
}

/// The version of the store's format that this Karat writes.
pub fn store_format() -> i64 {
    Store::FORMAT
}

/// The names of all providers, in the order of their documentation.
pub fn provider_names() -> Vec<&'static str> {
    karat_providers::catalog().into_iter().map(|(name, _)| name).collect()
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Looks up environment variables by name.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Karat with all of its external dependencies passed in.
#[derive(Clone)]
pub struct App {
    /// The store of results.
    pub store: StoreUrl,
    /// The state folder; run folders lie below it.
    pub home: PathBuf,
    /// The environment.
    pub lookup: EnvLookup,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// This program; a command named `karat` in a suite runs it.
    pub own_program: Option<PathBuf>,
    /// State that the steps of a command share.
    pub opened: Session,
}

/// State that stays open between the steps of a command. Clones share it.
#[derive(Clone, Default)]
pub struct Session(Arc<SessionState>);

#[derive(Default)]
struct SessionState {
    /// The store, once it was opened for writing. Lookups catch up with what other processes have written since.
    store: Mutex<Option<Store>>,
    /// Indexes of runs that pages have shown.
    views: Arc<ViewCache>,
    /// The folder that a server keeps to: suites and their files lie below it.
    root: Option<PathBuf>,
    /// States of runs that have ended.
    run_states: Mutex<KnownStates>,
    /// The rate limits that all runs of this process share.
    limiters: LimiterPool,
    /// Pages of runs that have ended.
    run_pages: Mutex<KeptPages<RunPage>>,
    /// Pages of comparisons of such runs.
    comparison_pages: Mutex<KeptPages<Document>>,
    /// Tasks for people that were read, by their number in the store.
    annotations: Mutex<BTreeMap<i64, Arc<LoadedTask>>>,
    /// The writer of traces, and the rules of what is kept.
    traces: TraceState,
    /// The address under which people open the server, for links in messages.
    public_url: OnceLock<String>,
    /// The run that was put into the queue last, with its plan and when it was loaded.
    queued_plan: Mutex<Option<(String, Plan, Moment)>>,
    /// The functions of the program that has Karat as a library.
    host: Host,
    /// The file in which a variable stands that the environment itself lacks.
    variable_files: OnceLock<EnvLookup>,
}

impl Session {
    /// The state of a server that keeps to the files below a folder.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn below(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        match root.is_dir() {
            true => Ok(Self(Arc::new(SessionState { root: Some(root), ..SessionState::default() }))),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The same of a server that keeps to the files below a folder.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn at_root(&self, root: &Path) -> io::Result<Self> {
        let below = Self::below(root)?;
        if let Some(file_of) = self.0.variable_files.get() {
            below.set_variable_files(file_of.clone());
        }
        Ok(below)
    }

    /// The state of a program whose functions its suites may call.
    pub fn with_host(functions: Arc<dyn HostFunctions>) -> Self {
        Self(Arc::new(SessionState { host: Host::new(functions), ..SessionState::default() }))
    }

    /// Sets the look-up of files in which variables stand that the environment itself lacks, once: such an address gets
    /// only keys of the same file.
    pub fn set_variable_files(&self, file_of: EnvLookup) {
        let _ = self.0.variable_files.set(file_of);
    }

    /// Sets the address under which people open the server, once.
    pub fn set_public_url(&self, url: &str) {
        let _ = self.0.public_url.set(url.trim_end_matches('/').to_owned());
    }

    /// The address of a run's page, if the server has one that people know.
    fn run_link(&self, run: &str) -> Option<String> {
        self.0.public_url.get().map(|url| format!("{url}/runs/{run}"))
    }

    /// The folder that suites and their files must lie below.
    fn root(&self) -> Option<&Path> {
        self.0.root.as_deref()
    }

    fn store(&self) -> MutexGuard<'_, Option<Store>> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn views(&self) -> Arc<ViewCache> {
        Arc::clone(&self.0.views)
    }

    fn annotations(&self) -> MutexGuard<'_, BTreeMap<i64, Arc<LoadedTask>>> {
        self.0.annotations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn traces(&self) -> &TraceState {
        &self.0.traces
    }

    fn host(&self) -> Host {
        self.0.host.clone()
    }

    fn limiters(&self) -> LimiterPool {
        self.0.limiters.clone()
    }

    fn run_pages(&self) -> &Mutex<KeptPages<RunPage>> {
        &self.0.run_pages
    }

    fn comparison_pages(&self) -> &Mutex<KeptPages<Document>> {
        &self.0.comparison_pages
    }

    /// The state of a run, if it was computed while its rows were those with this hash.
    fn run_state(&self, run: &str, key: Key) -> Option<RunState> {
        self.0.run_states.lock().unwrap_or_else(PoisonError::into_inner).get(run, key)
    }

    fn queued_plan(&self) -> MutexGuard<'_, Option<(String, Plan, Moment)>> {
        self.0.queued_plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember_run_state(&self, key: Key, state: &RunState) {
        self.0.run_states.lock().unwrap_or_else(PoisonError::into_inner).add(key, state);
    }
}

impl App {
    /// The folder that a user works in: suites, presets, their plan.
    pub fn project(&self) -> Project<'_> {
        Project { app: self }
    }

    /// Stored runs, and the store that has them.
    pub fn stored(&self) -> Stored<'_> {
        Stored { app: self }
    }

    /// Test sets from rows of files, suites, traces and runs.
    pub fn datasets(&self) -> Datasets<'_> {
        Datasets { app: self }
    }

    /// Runs: planned, executed, resumed, scored again.
    pub fn runs(&self) -> Runs<'_> {
        Runs { app: self }
    }

    /// Analyses over stored runs.
    pub fn analysis(&self) -> Analysis<'_> {
        Analysis { app: self }
    }

    /// Tasks for people, and what becomes of their labels.
    pub fn tasks(&self) -> Tasks<'_> {
        Tasks { app: self }
    }

    /// Reports of stored runs, and exports to other formats.
    pub fn reports(&self) -> Reports<'_> {
        Reports { app: self }
    }

    /// Files of other tools, snapshots, traces, shards of runs; prices.
    pub fn imports(&self) -> Imports<'_> {
        Imports { app: self }
    }

    /// The data of pages about stored runs.
    pub fn views(&self) -> Views<'_> {
        Views { app: self }
    }

    /// The work of a server beside answering: tokens, the queue, schedules, incidents, alerts.
    pub fn service(&self) -> Service<'_> {
        Service { app: self }
    }

    /// Opens the store; makes it if it does not exist.
    fn open_store(&self) -> Result<Store, AppError> {
        self.open_with(Store::open)
    }

    /// Opens the store for reading; makes it if it does not exist. A read-only store is read as it is.
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

    /// Opens the store for commands about stored runs: it must exist. It may be read-only.
    fn existing_store(&self) -> Result<Store, AppError> {
        if !self.store.exists() {
            self.store.check_orphans()?;
            return Err(StoredError::NoStore { path: self.store.path().display().to_string() }.into());
        }
        self.store_to_read()
    }

    /// A client for the addresses of receivers: of messages, of traces.
    fn hook_client(&self) -> Result<HookClient, AppError> {
        let settings = Settings { clock: Some(self.clock.clone()), ..self.call_settings() };
        HookClient::new(settings).map_err(|error| ServiceError::NoClient { problem: error.to_string() }.into())
    }

    /// The settings of calls: the environment, and the file in which a variable of it stands.
    fn call_settings(&self) -> Settings {
        let lookup = self.lookup.clone();
        let settings = Settings::new(move |name| lookup(name));
        match self.opened.0.variable_files.get() {
            Some(file_of) => Settings { file_of: file_of.clone(), ..settings },
            None => settings,
        }
    }
}

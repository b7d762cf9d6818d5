//! Running and resuming.

use std::path::PathBuf;
use std::sync::Arc;

use karat_engine::{Afresh, CallLog, Estimate, Given, Job, Lengths, Stop, estimate, execute};
use karat_providers::{Player, Providers, Recorder, Settings, TapeError};
use karat_store::{Store, StoreError, StoredRun};
use karat_suite::Plan;
use karat_types::{Exit, ModelSpec, Moment, Money, Observer, PlanHeader, Rules, RunHeader, RunRows, RunStatus};
use serde::{Deserialize, Serialize};

use crate::again::rescoring;
use crate::{App, AppError, Invocation};

/// Money that a run may spend when nothing is said.
const DEFAULT_CEILING_USD: f64 = 25.0;

/// What a run remembers of its beginning, under `invocation` of its header.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Begun {
    /// What it was started with.
    pub invocation: Invocation,
    /// What it was expected to cost if nothing had been there, on conservative assumptions.
    pub estimate: Money,
    /// The same for one cell, by system; `None` where a price is unknown.
    pub estimate_per_cell: Vec<Option<Money>>,
    /// What it is held to.
    pub rules: Rules,
    /// The stored run whose outputs it scores, where it makes none.
    pub score_of: Option<String>,
}

/// How a run is begun, and who watches it.
pub struct Execution {
    /// Id of the run; made up when absent.
    pub run_id: Option<String>,
    /// Whether an unfinished run may be gone on with.
    pub resume: bool,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// How it is stopped.
    pub stop: Stop,
    /// A recording that gets its calls, or answers them.
    pub tape: Tape,
}

/// What a recording has to do with a run. Either way nothing is taken over from earlier runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tape {
    /// Nothing.
    #[default]
    None,
    /// It gets every call: `--record`.
    Record(PathBuf),
    /// It answers every call: `--replay`.
    Replay(PathBuf),
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// Its id.
    pub run: String,
    /// How it stands.
    pub status: RunStatus,
    /// Calls made now.
    pub calls: u64,
    /// Money spent now.
    pub spent: Money,
    /// Something that the user should know about how it was begun.
    pub notice: Option<String>,
}

impl RunEnd {
    /// The exit code that follows from the run's end alone, results apart.
    pub fn exit(&self) -> Exit {
        match self.status {
            RunStatus::Finished => Exit::Pass,
            RunStatus::Running | RunStatus::Interrupted => Exit::Interrupted,
            RunStatus::BudgetStopped => Exit::Budget,
        }
    }
}

impl App {
    /// Says what a run would do. Makes no call.
    pub fn estimate(&self, plan: &Plan) -> Result<Estimate, AppError> {
        let store = self.open_store()?;
        let oldest = plan.header.run.cache.oldest(self.clock.now());
        let given = Given {
            oldest: Some(oldest),
            outputs: None,
            afresh: known_estimate(&store, &plan.header)?,
            lengths: known_lengths(&store, &plan.header)?,
        };
        Ok(estimate(plan, &store, plan.files(), None, given)?)
    }

    /// Runs a plan.
    pub fn run(&self, plan: Plan, invocation: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.open_store()?);
        let found = self.find_run(&store, &plan, &execution)?;
        self.go(store, plan, invocation, execution, found)
    }

    /// Goes on with a stored run: its suite is read again and must still be the same plan.
    pub fn resume(&self, run: &str, later: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.existing_store()?);
        let header = store.run(&store.resolve(run)?)?;
        if header.status == RunStatus::Finished {
            return Ok(RunEnd {
                run: header.id,
                status: RunStatus::Finished,
                calls: 0,
                spent: Money::ZERO,
                notice: Some("the run is finished: there is nothing to go on with".to_owned()),
            });
        }
        let (plan, invocation, found) = self.reopened(&store, header, later)?;
        self.go(store, plan, &invocation, execution, found)
    }

    /// The plan of a stored run, made again from its suite, and the run as one to be gone on with.
    pub(crate) fn reopened(
        &self,
        store: &Store,
        header: RunHeader,
        later: &Invocation,
    ) -> Result<(Plan, Invocation, Found), AppError> {
        let begun = begun(&header)?;
        let invocation = begun.invocation.with_execution(later);
        let mut plan = self.load(&invocation)?.plan;
        let outputs = begun.score_of.map(|source| store.rows(&source)).transpose()?;
        if let Some(source) = &outputs {
            rescoring(&mut plan, source.header());
        }
        same_plan(&header, &plan.header)?;
        let found = Found { id: header.id.clone(), header: Some(header), outputs, ..Found::default() };
        Ok((plan, invocation, found))
    }

    /// Where the reports of a stored run were asked for when it was begun.
    pub fn output_dir(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.existing_store()?;
        Ok(begun(&store.run(&store.resolve(run)?)?)?.invocation.output_dir)
    }

    fn find_run(&self, store: &Store, plan: &Plan, execution: &Execution) -> Result<Found, AppError> {
        match (&execution.run_id, execution.resume) {
            (Some(id), true) => match store.run(id) {
                Ok(header) => {
                    same_plan(&header, &plan.header)?;
                    Ok(Found { id: id.clone(), header: Some(header), ..Found::default() })
                }
                Err(StoreError::NoSuchRun { .. }) => Ok(Found { id: check_id(id)?, ..Found::default() }),
                Err(error) => Err(error.into()),
            },
            (Some(id), false) => Ok(Found { id: check_id(id)?, ..Found::default() }),
            (None, true) => match store.latest_unfinished(plan.header.plan_hash)? {
                Some(header) => Ok(Found { id: header.id.clone(), header: Some(header), ..Found::default() }),
                None => {
                    let notice = "there is no unfinished run of this plan: a new one is begun".to_owned();
                    Ok(Found { id: self.new_id(&plan.header), notice: Some(notice), ..Found::default() })
                }
            },
            (None, false) => Ok(Found { id: self.new_id(&plan.header), ..Found::default() }),
        }
    }

    /// The id, where it may name a new run: it is well formed and no run has it.
    pub fn free_run_id(&self, wanted: &str) -> Result<Option<String>, AppError> {
        let Ok(id) = check_id(wanted) else { return Ok(None) };
        match self.open_store()?.run(&id) {
            Ok(_) => Ok(None),
            Err(StoreError::NoSuchRun { .. }) => Ok(Some(id)),
            Err(error) => Err(error.into()),
        }
    }

    /// Time, suite and a few random digits: sorts by time and says what it is.
    pub(crate) fn new_id(&self, plan: &PlanHeader) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.clock.now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let unique = uuid::Uuid::now_v7().simple().to_string();
        format!("{}-{}-{}", moment.strftime("%Y%m%d-%H%M%S"), plan.suite, &unique[unique.len() - 4..])
    }

    pub(crate) fn go(
        &self,
        store: Arc<Store>,
        mut plan: Plan,
        invocation: &Invocation,
        execution: Execution,
        found: Found,
    ) -> Result<RunEnd, AppError> {
        if plan.header.cells() == 0 {
            return Err(AppError::harness("nothing to run: the plan has no cell")
                .hint("check `dataset`, `where`, `limit`, `--sample`, `--models` and `--variants`; `karat plan` shows what is left"));
        }
        let rules = match &found.header {
            Some(header) => begun(header)?.rules,
            None => invocation.gates.applied(plan.rules.clone(), &plan.header)?,
        };
        let files = plan.files();
        let started_at = found.header.as_ref().map_or_else(|| self.clock.now(), |header| header.started_at);
        let oldest = plan.header.run.cache.oldest(started_at);
        let afresh = if found.outputs.is_none() { known_estimate(&store, &plan.header)? } else { None };
        let lengths = known_lengths(&store, &plan.header)?;
        let given = Given { oldest: Some(oldest), outputs: found.outputs.clone(), afresh, lengths };
        let estimate = estimate(&plan, &store, files.clone(), Some(&found.id), given)?;
        let made = if found.header.is_some() { store.spending(&found.id)?.calls } else { 0 };
        allow(&mut plan, &estimate, invocation, made)?;
        let call_log = self.call_log(&plan.header, invocation)?;
        let (providers, recorder) = self.providers(&plan, &estimate, &execution.tape)?;
        let ledger = match &found.header {
            Some(header) => store.reopen(&header.id)?,
            None => {
                let begun = Begun {
                    invocation: Invocation { as_of: plan.header.as_of.clone(), ..invocation.clone() },
                    estimate: estimate.afresh.total,
                    estimate_per_cell: estimate.afresh.per_cell.clone(),
                    rules,
                    score_of: found.outputs.as_ref().map(|run| run.header().id.clone()),
                };
                store.begin(&self.header(&found.id, &plan.header, &begun, started_at))?
            }
        };
        let job = Job {
            plan,
            run: found.id.clone(),
            store,
            ledger,
            providers: Arc::new(providers),
            files,
            clock: self.clock.clone(),
            observer: execution.observer,
            stop: execution.stop,
            oldest,
            retry: found.retry,
            call_log: call_log.clone().map(|log| log as Arc<dyn CallLog>),
            outputs: found.outputs,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| AppError::harness(format!("starting the runtime: {error}")))?;
        let outcome = runtime.block_on(execute(job))?;
        if let Some(failure) = recorder.and_then(|recorder| recorder.failure()) {
            return Err(AppError::harness(failure).hint("make room and record again"));
        }
        let unwritten = call_log.and_then(|log| log.failure());
        let notice = found.notice.into_iter().chain(unwritten).collect::<Vec<_>>().join("\n");
        Ok(RunEnd {
            run: found.id,
            status: outcome.status,
            calls: outcome.calls,
            spent: outcome.spent,
            notice: Some(notice).filter(|notice| !notice.is_empty()),
        })
    }

    fn header(&self, id: &str, plan: &Arc<PlanHeader>, begun: &Begun, started_at: Moment) -> RunHeader {
        RunHeader {
            id: id.to_owned(),
            plan: plan.clone(),
            started_at,
            completed_at: None,
            status: RunStatus::Running,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_commit: None,
            invocation: serde_json::to_value(begun).unwrap_or_default(),
        }
    }

    /// The models, live or from a recording, and what records them.
    fn providers(
        &self,
        plan: &Plan,
        estimate: &Estimate,
        tape: &Tape,
    ) -> Result<(Providers, Option<Arc<Recorder>>), AppError> {
        let header = &plan.header;
        let broken = |error: TapeError| AppError::harness(error.to_string());
        match tape {
            Tape::None => Ok((self.connect(plan, estimate)?, None)),
            Tape::Record(_) if !header.privacy.is_open() => {
                Err(AppError::harness("`--record` writes calls as they are, and this suite has `privacy` rules")
                    .hint("record a suite without `privacy`, on data that may be kept"))
            }
            Tape::Record(path) => {
                let providers = self.connect(plan, estimate)?;
                let recorder = Arc::new(Recorder::create(path).map_err(broken)?);
                Ok((providers.recorded(recorder.clone()), Some(recorder)))
            }
            Tape::Replay(path) => {
                let models: Vec<ModelSpec> = header.models.iter().chain(&header.judges).cloned().collect();
                Ok((Providers::replayed(&models, Player::open(path).map_err(broken)?), None))
            }
        }
    }

    /// Connects the models that will be called; a key is wanted only for those.
    fn connect(&self, plan: &Plan, estimate: &Estimate) -> Result<Providers, AppError> {
        let header = &plan.header;
        let called = |spec: &&ModelSpec| estimate.models.iter().any(|model| model.id == spec.id && model.calls.1 > 0);
        let mut models: Vec<ModelSpec> = Vec::new();
        for spec in header.models.iter().chain(&header.judges).filter(called) {
            if !models.iter().any(|known| known.id == spec.id) {
                models.push(spec.clone());
            }
        }
        let lookup = self.lookup.clone();
        let settings = Settings {
            own_program: self.own_program.clone(),
            key_variables: plan.key_variables.clone(),
            ..Settings::new(move |name| lookup(name))
        };
        Providers::connect_all(&models, &karat_engine::outside(header), settings).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            AppError::harness(lines.join("\n"))
        })
    }
}

/// The run that results go to.
#[derive(Default)]
pub(crate) struct Found {
    pub id: String,
    pub header: Option<RunHeader>,
    pub notice: Option<String>,
    /// Whether what failed is made again.
    pub retry: bool,
    /// The stored run whose outputs are scored, instead of making any.
    pub outputs: Option<StoredRun>,
}

pub(crate) fn check_id(id: &str) -> Result<String, AppError> {
    let fine = !id.is_empty() && id.len() <= 128 && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    if fine && id != "latest" && !id.starts_with('.') {
        return Ok(id.to_owned());
    }
    Err(AppError::harness(format!("`--run-id {id}` is no id for a run"))
        .hint("use up to 128 letters, digits, `-`, `_`, `.` and `:`, and not `latest`"))
}

/// What a run remembers of its beginning.
pub(crate) fn begun(header: &RunHeader) -> Result<Begun, AppError> {
    serde_json::from_value(header.invocation.clone()).map_err(|error| {
        AppError::harness(format!("run {} does not say what it was started with: {error}", header.id))
            .hint("go on with `karat run SUITE … --resume --run-id ID` and the flags it was started with")
    })
}

/// What an earlier run of the plan was expected to cost from the beginning, as this version of Karat would say it.
fn known_estimate(store: &Store, plan: &PlanHeader) -> Result<Option<Afresh>, AppError> {
    // Prices are no part of a plan's hash.
    let same = |header: &RunHeader| {
        header.version == env!("CARGO_PKG_VERSION")
            && header.plan.models == plan.models
            && header.plan.judges == plan.judges
    };
    let header = store.latest_of_plan(plan.plan_hash)?.filter(same);
    let begun = header.and_then(|header| serde_json::from_value::<Begun>(header.invocation).ok());
    Ok(begun
        .filter(|begun| begun.estimate_per_cell.len() == plan.systems.len())
        .map(|begun| Afresh { total: begun.estimate, per_cell: begun.estimate_per_cell }))
}

/// How long replies were in the latest finished run of the suite.
fn known_lengths(store: &Store, plan: &PlanHeader) -> Result<Lengths, AppError> {
    match store.latest_finished(&plan.suite)? {
        Some(run) => Ok(Lengths::of(&store.rows(&run)?)?),
        None => Ok(Lengths::default()),
    }
}

/// A run is gone on with only under the plan that it was begun with.
fn same_plan(stored: &RunHeader, now: &PlanHeader) -> Result<(), AppError> {
    if stored.plan.plan_hash == now.plan_hash {
        return Ok(());
    }
    let then = &stored.plan;
    let mut changed = Vec::new();
    if then.dataset.hash != now.dataset.hash || then.dataset.rows != now.dataset.rows {
        changed.push("the dataset");
    }
    if then.models != now.models || then.systems.len() != now.systems.len() {
        changed.push("the models");
    }
    if then.variants != now.variants {
        changed.push("the variants");
    }
    if then.scorers != now.scorers || then.judges != now.judges {
        changed.push("the scorers or judges");
    }
    if then.params != now.params {
        changed.push("the params");
    }
    if then.trials != now.trials || then.run.seed != now.run.seed {
        changed.push("trials or seed");
    }
    let what = if changed.is_empty() { "the suite".to_owned() } else { changed.join(", ") };
    Err(AppError::harness(format!("run {} cannot be gone on with: {what} changed since it was begun", stored.id))
        .hint("start a new run: what is unchanged is reused. Or undo the change and resume"))
}

/// A suite that bounds its calls refuses a larger sweep before the first of them (BR-10).
fn within_calls(plan: &Plan, estimate: &Estimate, made: u64) -> Result<(), AppError> {
    let run = &plan.header.run;
    let needed = estimate.calls().0 + made;
    match run.max_calls.filter(|max| run.refuses_calls && needed > *max) {
        None => Ok(()),
        Some(max) => Err(AppError::budget(format!(
            "the run takes at least {needed} calls, and its suite allows {max}; none was made"
        ))
        .hint("raise `--max-calls`, or make the run smaller with `--sample`, `--limit` or `--as-of`")),
    }
}

/// Holds the estimate against the budget (law 13) and settles which limit the run has.
fn allow(plan: &mut Plan, estimate: &Estimate, invocation: &Invocation, made: u64) -> Result<(), AppError> {
    within_calls(plan, estimate, made)?;
    let unpriced: Vec<&str> = estimate.unpriced().collect();
    let declared = plan.header.run.budget_declared;
    let (low, high) = estimate.cost();
    if !unpriced.is_empty() && declared {
        return Err(AppError::budget(format!(
            "the run has a budget, but nobody knows the price of {}",
            unpriced.join(", ")
        ))
        .hint("declare `price: { input, output }` for it in the suite, or run without a budget and with `--yes`"));
    }
    if !unpriced.is_empty() && !invocation.yes {
        return Err(AppError::budget(format!("nobody knows the price of {}", unpriced.join(", ")))
            .hint("declare `price: { input, output }` for it in the suite, or approve with `--yes`"));
    }
    let budget = plan.header.run.budget_usd.unwrap_or(DEFAULT_CEILING_USD);
    let limit = Money::from_usd(budget).unwrap_or(Money::ZERO);
    if declared && estimate.floor() > limit {
        return Err(AppError::budget(format!(
            "the run costs at least ${:.6}, and its budget is ${budget:.6}",
            estimate.floor().usd()
        ))
        .hint("raise `--budget-usd`, or make the run smaller with `--limit`, `--models` or `--variants`"));
    }
    if !declared && !invocation.yes && high > limit {
        let range = format!("${:.2} to ${:.2}", low.usd(), high.usd());
        return Err(AppError::budget(format!(
            "the run may cost {range}, which is above the default ceiling of ${budget:.2}"
        ))
        .hint("approve with `--yes`, set `--budget-usd`, or make the run smaller; `karat plan` shows where it goes"));
    }
    if !declared && invocation.yes {
        let header = Arc::make_mut(&mut plan.header);
        header.run.budget_usd = None;
    }
    Ok(())
}

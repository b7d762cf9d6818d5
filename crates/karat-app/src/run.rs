//! Running and resuming.

use std::sync::Arc;

use karat_engine::{Afresh, CallLog, EngineError, Estimate, Job, Outcome, Part, Stop, execute};
use karat_providers::{Providers, Recorder, RecordingPlayer, Settings};
use karat_store::{Ledger, Store, StoreError};
use karat_suite::Plan;
use karat_text::redact::Redactor;
use karat_types::{Exit, GateRules, ModelSpec, Moment, Money, Observer, PlanHeader, RunHeader, RunRows, RunStatus};
use tokio::runtime::Runtime;

use crate::adopted::rescoring;
use crate::allowance::{Earlier, Standstill, allow, overspending, settle_limit};
use crate::begun::{Begun, begun, same_plan};
use crate::error::{Bug, Lines, RunError};
use crate::forecast::{Forecast, survey};
use crate::found::Found;
use crate::gates::applicable;
use crate::{App, AppError, Invocation, Tape};

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

/// How a run ended.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// Its id.
    pub run: String,
    /// The command that goes on with it: `resume` or `retry`.
    pub command: &'static str,
    /// How it stands.
    pub status: RunStatus,
    /// Calls made now.
    pub calls: u64,
    /// Requests that they took.
    pub requests: u64,
    /// Money spent now.
    pub spent: Money,
    /// Whether all calls were simulated by scripted models: then nothing was billed.
    pub simulated: bool,
    /// Calls of now whose cost is unknown, which `spent` does not hold.
    pub unpriced: u64,
    /// What stopped it, and with what it can go on, where its calls or its money are used up.
    pub stopped: Option<String>,
    /// By how much answers that cost more than was reserved went beyond the budget, in words, where they did.
    pub overspent: Option<String>,
    /// Something that the user should know about how it was begun.
    pub notice: Option<String>,
}

impl RunEnd {
    /// The exit code that follows from the run's end alone, results apart.
    pub fn exit(&self) -> Exit {
        match self.status {
            RunStatus::Finished if self.overspent.is_some() => Exit::Budget,
            RunStatus::Finished => Exit::Pass,
            RunStatus::Running | RunStatus::Interrupted => Exit::Interrupted,
            RunStatus::BudgetStopped => Exit::Budget,
        }
    }
}

impl App {
    /// Says what a run would do. Makes no call.
    pub fn estimate(&self, plan: &Plan) -> Result<Estimate, AppError> {
        let store = self.store_to_read()?;
        Ok(survey(&store, plan, plan.header.run.cache.oldest(self.clock.now()), None)?.whole()?)
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
                command: "resume",
                status: RunStatus::Finished,
                calls: 0,
                requests: 0,
                spent: Money::ZERO,
                simulated: header.plan.is_simulated(),
                unpriced: 0,
                stopped: None,
                overspent: None,
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
            (Some(id), resume) => match store.run(id) {
                Ok(_) if !resume => Err(StoreError::RunExists(id.clone()).into()),
                Ok(header) => {
                    same_plan(&header, &plan.header)?;
                    Ok(Found { id: id.clone(), header: Some(header), ..Found::default() })
                }
                Err(StoreError::NoSuchRun { .. }) => Ok(Found { id: check_id(id)?, ..Found::default() }),
                Err(error) => Err(error.into()),
            },
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

    /// Runs what is left of a plan, in five phases: terms, preflight, ledger, calls, end.
    pub(crate) fn go(
        &self,
        store: Arc<Store>,
        mut plan: Plan,
        invocation: &Invocation,
        execution: Execution,
        found: Found,
    ) -> Result<RunEnd, AppError> {
        refuse_empty(&plan)?;
        let terms = self.terms(&plan, invocation, execution.tape, &found)?;
        let Preflight { afresh, providers, recorder } =
            self.preflight(&store, &mut plan, invocation, &terms, &found)?;
        let call_log = self.call_log(&plan.header, invocation)?;
        let ledger = self.open_ledger(&store, &plan.header, invocation, &terms, &found, &afresh)?;
        recorder.iter().for_each(|recorder| recorder.begin());
        let job = Job {
            files: plan.files(),
            plan: plan.clone(),
            run: found.id.clone(),
            store: store.clone(),
            ledger,
            providers: Arc::new(providers),
            clock: self.clock.clone(),
            observer: execution.observer,
            stop: execution.stop,
            oldest: terms.oldest,
            retry: found.retry,
            call_log: call_log.clone().map(|log| log as Arc<dyn CallLog>),
            outputs: found.outputs.clone(),
        };
        let runtime = runtime()?;
        let outcome = executed(&runtime, job, &found)?;
        drop(runtime);
        let mut notices: Vec<String> = found.notice.iter().cloned().collect();
        if let Some(recorder) = &recorder {
            notices.extend(finish_recording(recorder, outcome.status)?);
        }
        notices.extend(call_log.and_then(|log| log.failure()));
        let stopped = (outcome.status == RunStatus::BudgetStopped)
            .then(|| match &outcome.unreadable_cost {
                Some(unreadable) => Ok(unkept(unreadable, &found)),
                None => stopped(&store, &plan, terms.oldest, &found, outcome.refused),
            })
            .transpose()?;
        Ok(RunEnd {
            command: found.command(),
            run: found.id,
            status: outcome.status,
            calls: outcome.calls,
            requests: outcome.requests,
            spent: outcome.spent,
            simulated: plan.header.is_simulated(),
            unpriced: outcome.unpriced,
            stopped,
            overspent: overspending(&plan.header.run, outcome.overspent),
            notice: Some(notices.join("\n")).filter(|notice| !notice.is_empty()),
        })
    }

    /// The terms that hold for the whole run: those of its beginning where an earlier process began it.
    fn terms(&self, plan: &Plan, invocation: &Invocation, tape: Tape, found: &Found) -> Result<Terms, AppError> {
        let is_remembered = tape == Tape::None;
        let started_at = found.header.as_ref().map_or_else(|| self.clock.now(), |header| header.started_at);
        let oldest = plan.header.run.cache.oldest(started_at);
        let (rules, tape) = match found.header.as_ref().map(begun).transpose()? {
            Some(before) if is_remembered => (before.rules, before.tape),
            Some(before) => (before.rules, tape.absolute()),
            None => {
                let rules = invocation.gates.applied(plan.rules.clone(), &plan.header)?;
                (applicable(rules, &plan.header)?, tape.absolute())
            }
        };
        Ok(Terms { rules, tape, is_remembered, started_at, oldest })
    }

    /// Estimates what is left of a run, refuses one that its limits do not allow, and connects the models that it calls. An
    /// estimate that an earlier run of the plan has stored saves the walk over the dataset.
    fn preflight(
        &self,
        store: &Store,
        plan: &mut Plan,
        invocation: &Invocation,
        terms: &Terms,
        found: &Found,
    ) -> Result<Preflight, AppError> {
        let known = match &found.outputs {
            None => Forecast::known(store, &plan.header, invocation)?,
            // Scoring given outputs costs something else than making them.
            Some(_) => None,
        };
        // A model that cannot be connected may be one that has nothing to do.
        let known = known.and_then(|forecast| Some((forecast, self.providers(plan, None, terms, found).ok()?)));
        if let Some((forecast, (providers, recorder))) = known {
            store.catch_up()?;
            settle_limit(plan, invocation);
            return Ok(Preflight { afresh: forecast.afresh, providers, recorder });
        }
        let as_planned = plan.clone();
        let mut expected = survey(store, &as_planned, terms.oldest, Some((found, found.part())))?;
        let is_begun = found.header.is_some();
        let earlier = if is_begun { Earlier::of(&found.account(store)?) } else { Earlier::default() };
        let is_allowed = |estimate: &Estimate| allow(&mut as_planned.clone(), estimate, invocation, earlier).is_ok();
        let forecast = Forecast::of(&mut expected, &as_planned.header, is_allowed)?;
        if let Some(estimate) = &forecast.estimate {
            allow(plan, estimate, invocation, earlier)?;
        }
        let (providers, recorder) = self.providers(plan, forecast.estimate.as_ref(), terms, found)?;
        Ok(Preflight { afresh: forecast.afresh, providers, recorder })
    }

    /// The ledger that results go to: that of the stored run, or of a new one with all that a later part needs to know.
    fn open_ledger(
        &self,
        store: &Store,
        plan: &Arc<PlanHeader>,
        invocation: &Invocation,
        terms: &Terms,
        found: &Found,
        afresh: &Afresh,
    ) -> Result<Ledger, AppError> {
        if let Some(header) = &found.header {
            return Ok(store.reopen(&header.id)?);
        }
        let begun = Begun {
            invocation: Invocation { as_of: plan.as_of.clone(), ..invocation.clone() },
            rules: terms.rules.clone(),
            score_of: found.outputs.as_ref().map(|run| run.header().id.clone()),
            tape: terms.tape.clone(),
            ..Begun::expecting(afresh)
        };
        Ok(store.begin(&self.header(&found.id, plan, &begun, terms.started_at))?)
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

    /// The models, live or from a recording, and what records them: those that an estimate wants called, else all.
    fn providers(
        &self,
        plan: &Plan,
        estimate: Option<&Estimate>,
        terms: &Terms,
        found: &Found,
    ) -> Result<(Providers, Option<Arc<Recorder>>), AppError> {
        let header = &plan.header;
        match &terms.tape {
            Tape::None => Ok((self.connect(plan, estimate)?, None)),
            Tape::Record(_) if !header.privacy.is_open() => Err(RunError::PrivateRecording {}.into()),
            Tape::Record(path) => {
                let providers = self.connect(plan, estimate)?;
                let recorder = match found.part() {
                    Part::Whole => Recorder::create(path, &found.id),
                    // A run that was begun without a recording, or has lost it, gets one where the user says so.
                    Part::Rest | Part::Retry if !terms.is_remembered => Recorder::resume_or_create(path, &found.id),
                    Part::Rest | Part::Retry => Recorder::resume(path, &found.id),
                };
                let recorder = Arc::new(recorder?);
                Ok((providers.with_recorder(recorder.clone()), Some(recorder)))
            }
            Tape::Replay(path) => {
                let models: Vec<ModelSpec> = header.models.iter().chain(&header.judges).cloned().collect();
                Ok((Providers::from_recording(&models, RecordingPlayer::open(path)?), None))
            }
        }
    }

    /// Connects the models that will be called; a key is wanted only for those.
    fn connect(&self, plan: &Plan, estimate: Option<&Estimate>) -> Result<Providers, AppError> {
        let header = &plan.header;
        let called =
            |spec: &&ModelSpec| estimate.is_none_or(|estimate| estimate.models.iter().any(|model| model.id == spec.id));
        let mut models: Vec<ModelSpec> = Vec::new();
        for spec in header.models.iter().chain(&header.judges).filter(called) {
            if !models.iter().any(|known| known.id == spec.id) {
                models.push(spec.clone());
            }
        }
        let calls = header.run.max_concurrency as usize;
        karat_providers::raise_open_files(calls);
        let lookup = self.lookup.clone();
        let defaults = Settings::new(move |name| lookup(name));
        let settings = Settings {
            own_program: self.own_program.clone(),
            key_variables: plan.key_variables.clone(),
            redactor: Redactor::of(&header.privacy).ok().flatten(),
            clock: Some(self.clock.clone()),
            max_connections: defaults.max_connections.max(calls),
            ..defaults
        };
        let connected = Providers::connect_all(&models, &karat_engine::outside(header), settings);
        connected.map_err(|errors| RunError::NotConnected { errors: Lines(errors) }.into())
    }
}

/// The terms of a run.
struct Terms {
    /// Its gates.
    rules: GateRules,
    /// The recording that gets its calls, or answers them.
    tape: Tape,
    /// Whether the recording is that of the run's beginning, and none was asked for now.
    is_remembered: bool,
    started_at: Moment,
    /// Results are reused from runs that began at this moment or later; `None`: from none.
    oldest: Option<Moment>,
}

/// A run that may begin.
struct Preflight {
    /// The estimated cost of the plan with nothing cached.
    afresh: Afresh,
    providers: Providers,
    recorder: Option<Arc<Recorder>>,
}

fn refuse_empty(plan: &Plan) -> Result<(), AppError> {
    if plan.header.cells() > 0 {
        return Ok(());
    }
    Err(RunError::NoCells {}.into())
}

/// Ends the recording of a run: what the user should know about it.
///
/// # Errors
/// It could not be written.
fn finish_recording(recorder: &Recorder, status: RunStatus) -> Result<Vec<String>, AppError> {
    if status == RunStatus::Finished {
        recorder.finish();
    }
    match recorder.failure() {
        Some(failure) => Err(RunError::Recording { failure }.into()),
        None => Ok([recorder.location_notice(), recorder.missing_calls_notice()].into_iter().flatten().collect()),
    }
}

/// Where a run's calls are made.
fn runtime() -> Result<Runtime, AppError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|source| RunError::Runtime { source }.into())
}

/// Makes what is left of a run.
fn executed(runtime: &Runtime, job: Job, found: &Found) -> Result<Outcome, AppError> {
    // On a worker: this thread would be woken for every row and cell.
    let outcome = runtime.block_on(async { tokio::spawn(execute(job)).await });
    outcome.map_err(|source| Bug::RunTask { source })?.map_err(|error| match error {
        EngineError::Store(error) => found.unwritten(error),
        error => error.into(),
    })
}

/// The message of a run that stopped because an answer reports a cost that cannot be read.
fn unkept(unreadable: &str, found: &Found) -> String {
    format!(
        "{unreadable}, so the run's budget cannot be kept. Correct the service and go on with `karat {} {}`, or correct \
         `meter` and run the suite again; without a budget the cost counts as unknown",
        found.command(),
        found.id
    )
}

/// What stopped a run whose calls or money are used up, and with what it can go on. `refused`: what the call that did not fit
/// can cost.
fn stopped(
    store: &Store,
    plan: &Plan,
    oldest: Option<Moment>,
    found: &Found,
    refused: Money,
) -> Result<String, AppError> {
    let standstill = Standstill {
        run: &found.id,
        command: found.command(),
        settings: &plan.header.run,
        begun: &store.run(&found.id)?.plan.run,
        account: found.account(store)?,
        left: &survey(store, plan, oldest, Some((found, found.part_left())))?.whole()?,
        refused,
    };
    Ok(standstill.says())
}

pub(crate) fn check_id(id: &str) -> Result<String, AppError> {
    let fine = !id.is_empty() && id.len() <= 128 && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    if fine && id != "latest" && !id.starts_with('.') {
        return Ok(id.to_owned());
    }
    Err(RunError::BadId { id: id.to_owned() }.into())
}

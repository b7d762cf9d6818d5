//! Starts and resumes runs.

use std::sync::Arc;

use karat_engine::{CallLog, EngineError, Estimate, Job, Outcome, PlanPart, Stop, execute};
use karat_providers::{Providers, Recorder, RecordingPlayer, Settings};
use karat_store::{Ledger, Store, StoreError};
use karat_suite::{Plan, share_run_limits};
use karat_text::redact::Redactor;
use karat_types::{
    Exit, GateRules, ModelSpec, Moment, Money, Observer, PlanHeader, RunHeader, RunRows, RunSpec, RunStatus, ShardRows,
    UncachedCost,
};
use tokio::runtime::Runtime;

use crate::error::{Bug, Lines, RunError};
use crate::project::gate_rules::check_rules;
use crate::project::threads::{check_threads, runtime};
use crate::runs::Runs;
use crate::runs::batches::passes::{BatchRun, price_batches};
use crate::runs::ending::early_stop::stopped_notice;
use crate::runs::ending::refusal::refusal_message;
use crate::runs::ending::run_command::{check_same_part, check_same_plan};
use crate::runs::options::sure_shares::set_sure_shares;
use crate::runs::preflight_budget::{BudgetStop, EarlierCalls, check_limits, overspend_message, settle_limit};
use crate::runs::preflight_estimate::{PreflightEstimate, new_estimator, whole_cost};
use crate::runs::rescore_plan::{inherited_stop, rescore_plan};
use crate::runs::target::RunTarget;
use crate::stored::invocation::{StoredInvocation, read_stored_invocation};
use crate::{AppError, CallRecording, Invocation};

/// The settings for executing a run.
pub struct Execution {
    /// Id of the run; generated if absent.
    pub run_id: Option<String>,
    /// True if an unfinished run may be resumed.
    pub resume: bool,
    /// The observer of its events.
    pub observer: Arc<dyn Observer>,
    /// The signal that stops it.
    pub stop: Stop,
    /// The recording that stores or answers its calls.
    pub tape: CallRecording,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// Its id.
    pub run: String,
    /// The command that resumes it: `resume` or `retry`.
    pub command: &'static str,
    /// Its status.
    pub status: RunStatus,
    /// The part of the plan that it is of.
    pub shard: Option<ShardRows>,
    /// Calls made now.
    pub calls: u64,
    /// Requests that they took.
    pub requests: u64,
    /// Money spent now.
    pub spent: Money,
    /// True if all calls were simulated by scripted models: nothing was billed.
    pub simulated: bool,
    /// Calls of this part whose cost is unknown, which `spent` does not include.
    pub unpriced: u64,
    /// The reason why it stopped and the command to resume it, if its calls or its money are used up.
    pub stopped: Option<String>,
    /// The models and services that refused every call, the cells that were left for it, and the way to make them.
    pub refused: Option<String>,
    /// A message about the amount beyond the budget, if answers cost more than was reserved.
    pub overspent: Option<String>,
    /// The batches that go on without this process, and the command that reads them.
    pub detached: Option<String>,
    /// A notice for the user.
    pub notice: Option<String>,
}

impl RunEnd {
    /// The end of a stored run of which nothing is left to do.
    pub(crate) fn of_finished(header: RunHeader, command: &'static str, notice: &str) -> Self {
        Self {
            run: header.id,
            command,
            status: RunStatus::Finished,
            shard: header.shard,
            calls: 0,
            requests: 0,
            spent: Money::ZERO,
            simulated: header.plan.is_simulated(),
            unpriced: 0,
            stopped: None,
            refused: None,
            overspent: None,
            detached: None,
            notice: Some(notice.to_owned()),
        }
    }

    /// The exit code of the run's end, apart from its results.
    pub fn exit(&self) -> Exit {
        match self.status {
            RunStatus::Finished if self.overspent.is_some() => Exit::Budget,
            RunStatus::Finished => Exit::Pass,
            RunStatus::Running | RunStatus::Interrupted if self.detached.is_some() => Exit::Pass,
            RunStatus::Running | RunStatus::Interrupted if self.refused.is_some() => Exit::HarnessError,
            RunStatus::Running | RunStatus::Interrupted => Exit::Interrupted,
            RunStatus::BudgetStopped => Exit::Budget,
        }
    }
}

impl Runs<'_> {
    /// Estimates what a run would do. Makes no API calls.
    pub fn estimate(&self, plan: &Plan) -> Result<Estimate, AppError> {
        let store = self.app.store_to_read()?;
        let mut plan = plan.clone();
        set_sure_shares(&mut plan, &store, None)?;
        let plan = &plan;
        Ok(new_estimator(&store, plan, plan.header.run.cache.oldest(self.app.clock.now()), None, None)?
            .estimate_all()?)
    }

    /// Runs a plan.
    pub fn run(&self, plan: Plan, invocation: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.app.open_store()?);
        let found = self.find_run(&store, &plan, &execution)?;
        self.run_phases(store, plan, invocation, execution, found)
    }

    /// Resumes a stored run: its suite is read again and must still give the same plan.
    pub fn resume(&self, run: &str, later: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.app.existing_store()?);
        let header = store.run(&store.resolve(run)?)?;
        if header.status == RunStatus::Finished && store.is_whole(&header.id)? {
            let notice = stopped_notice(&store, &header.id)?;
            let notice = notice.unwrap_or_else(|| "the run is finished: there is nothing to resume".to_owned());
            return Ok(RunEnd::of_finished(header, "resume", &notice));
        }
        let (plan, invocation, found) = self.reopen(&store, header, later)?;
        self.run_phases(store, plan, &invocation, execution, found)
    }

    /// The id of a stored run, if it is finished.
    pub fn finished_run(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.app.existing_store()?;
        let header = store.run(&store.resolve(run)?)?;
        Ok((header.status == RunStatus::Finished).then_some(header.id))
    }

    /// Plans a stored run again from its suite, and returns it as the run to resume.
    pub(crate) fn reopen(
        &self,
        store: &Store,
        header: RunHeader,
        later: &Invocation,
    ) -> Result<(Plan, Invocation, RunTarget), AppError> {
        let begun = read_stored_invocation(&header)?;
        let invocation = begun.invocation.with_execution(later);
        let mut plan = self.load(&invocation)?;
        let outputs = begun.score_of.map(|source| store.rows(&source)).transpose()?;
        if let Some(source) = &outputs {
            rescore_plan(&mut plan, source);
        }
        check_same_plan(&header, &plan.header)?;
        let found = RunTarget { id: header.id.clone(), header: Some(header), outputs, ..RunTarget::default() };
        Ok((plan, invocation, found))
    }

    /// The report folder that was given when a stored run was started.
    pub fn output_dir(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.app.existing_store()?;
        Ok(read_stored_invocation(&store.run(&store.resolve(run)?)?)?.invocation.output_dir)
    }

    fn find_run(&self, store: &Store, plan: &Plan, execution: &Execution) -> Result<RunTarget, AppError> {
        match (&execution.run_id, execution.resume) {
            (Some(id), resume) => match store.run(id) {
                Ok(_) if !resume => Err(StoreError::RunExists(id.clone()).into()),
                Ok(header) => {
                    check_same_plan(&header, &plan.header)?;
                    check_same_part(&header, plan.shard())?;
                    Ok(RunTarget { id: id.clone(), header: Some(header), ..RunTarget::default() })
                }
                Err(StoreError::NoSuchRun { .. }) => Ok(RunTarget { id: check_id(id)?, ..RunTarget::default() }),
                Err(error) => Err(error.into()),
            },
            (None, true) => {
                match store.latest_unfinished(plan.header.plan_hash, plan.shard().map(|part| part.shard))? {
                    Some(header) => {
                        Ok(RunTarget { id: header.id.clone(), header: Some(header), ..RunTarget::default() })
                    }
                    None => {
                        let notice = "there is no unfinished run of this plan: a new one is started".to_owned();
                        Ok(RunTarget { id: self.new_id(&plan.header), notice: Some(notice), ..RunTarget::default() })
                    }
                }
            }
            (None, false) => Ok(RunTarget { id: self.new_id(&plan.header), ..RunTarget::default() }),
        }
    }

    /// Returns the id if it is valid and no run has it.
    pub fn free_id(&self, wanted: &str) -> Result<Option<String>, AppError> {
        let Ok(id) = check_id(wanted) else { return Ok(None) };
        match self.app.open_store()?.run(&id) {
            Ok(_) => Ok(None),
            Err(StoreError::NoSuchRun { .. }) => Ok(Some(id)),
            Err(error) => Err(error.into()),
        }
    }

    /// A new run id of time, suite and random digits, which sorts by time.
    pub fn new_id(&self, plan: &PlanHeader) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.app.clock.now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let (time, suite) = (moment.strftime("%Y%m%d-%H%M%S"), karat_schedule::id_part(&plan.suite));
        format!("{time}-{suite}-{}", &uuid::Uuid::now_v7().simple().to_string()[28..])
    }

    /// Runs what is left of a plan, in five phases: terms, preflight, ledger, calls, end.
    pub(crate) fn run_phases(
        &self,
        store: Arc<Store>,
        mut plan: Plan,
        invocation: &Invocation,
        execution: Execution,
        found: RunTarget,
    ) -> Result<RunEnd, AppError> {
        refuse_empty(&plan)?;
        let invocation = &self.with_chosen_judge(&plan, invocation, &execution.tape)?;
        set_sure_shares(&mut plan, &store, found.header.as_ref())?;
        // Also if this process was not asked for it: a call in a batch must not be made live too.
        let is_batched = invocation.batch || plan.header.run.batch || !store.batch_items(&found.id)?.is_empty();
        self.check_batches(&store, &plan, invocation, (&execution.tape, &found.id), is_batched)?;
        match plan.header.run.stop_early.as_ref().filter(|_| found.outputs.is_none()) {
            Some(_) if is_batched => return Err(RunError::EarlyBatch {}.into()),
            Some(_) if plan.shard().is_some() => return Err(RunError::EarlyShard {}.into()),
            _ => {}
        }
        if is_batched {
            price_batches(&mut plan)?;
            if let CallRecording::Record(_) = &execution.tape {
                return Err(RunError::RecordedBatch {}.into());
            }
        }
        let terms = self.terms(&plan, invocation, execution.tape, &found)?;
        // A shard is stored with the limits of the whole, which hold for the merged run.
        let mut whole = plan.whole();
        plan = plan.with_limits_shared(&invocation.overrides);
        let known = match (plan.shard(), &found.header) {
            (Some(_), None) => Some(whole_cost(&store, &whole, invocation, terms.oldest)?),
            _ => None,
        };
        let Preflight { uncached, providers, recorder } =
            self.preflight(&store, &mut plan, invocation, &terms, &found, known)?;
        settle_limit(&mut whole, invocation);
        let call_log = self.call_log(&plan.header, invocation)?;
        let ledger = self.open_ledger(&store, (&whole.header, plan.shard()), invocation, &terms, &found, &uncached)?;
        if let Some(record) = found.outputs.as_ref().and_then(|source| inherited_stop(source, &plan.header)) {
            store.keep_stop(&found.id, &record)?;
        }
        recorder.iter().for_each(|recorder| recorder.begin());
        let providers = Arc::new(providers);
        let Execution { observer, stop, .. } = execution;
        let mut stop_rule = self.stop_rule(&store, &found, &terms.rules)?;
        let mut job = || Job {
            stop_rule: stop_rule.take(),
            files: plan.files(),
            plan: plan.clone(),
            run: found.id.clone(),
            store: store.clone(),
            ledger: ledger.clone(),
            providers: providers.clone(),
            clock: self.app.clock.clone(),
            observer: observer.clone(),
            stop: stop.clone(),
            oldest: terms.oldest,
            retry: found.retry,
            call_log: call_log.clone().map(|log| log as Arc<dyn CallLog>),
            outputs: found.outputs.clone(),
            batch: is_batched,
        };
        // Each group of models reads the rows on a thread of its own.
        check_threads(plan.header.systems.len())?;
        let runtime = runtime()?;
        let (outcome, detached) = match is_batched {
            false => (execute_job(&runtime, job(), &found)?, None),
            true => {
                let batches = BatchRun {
                    store: &store,
                    run: &found.id,
                    providers: &providers,
                    clock: &*self.app.clock,
                    observer: &observer,
                    stop: &stop,
                    detach: invocation.detach,
                    poll: self.batch_poll(),
                    queue_lines: Default::default(),
                    states: Default::default(),
                };
                batches.run_passes(&runtime, || {
                    ledger.restart()?;
                    execute_job(&runtime, job(), &found)
                })?
            }
        };
        drop((runtime, ledger));
        let mut notices: Vec<String> = found.notice.iter().cloned().collect();
        if let Some(recorder) = &recorder {
            notices.extend(finish_recording(recorder, outcome.status)?);
        }
        notices.extend(call_log.and_then(|log| log.failure()));
        let refused = refusal_message(&outcome.refusing);
        let stopped = (outcome.status == RunStatus::BudgetStopped)
            .then(|| match (&outcome.unreadable_cost, &refused) {
                (Some(unreadable), _) => Ok(budget_not_kept_message(unreadable, &found)),
                // A higher limit would be spent on calls that fail.
                (None, Some(refused)) => Ok(refused.clone()),
                (None, None) => stop_message(&store, &plan, terms.oldest, &found, &outcome),
            })
            .transpose()?;
        Ok(RunEnd {
            command: found.command(),
            run: found.id,
            status: outcome.status,
            shard: plan.shard(),
            calls: outcome.calls,
            requests: outcome.requests,
            spent: outcome.spent,
            simulated: plan.header.is_simulated(),
            unpriced: outcome.unpriced,
            stopped,
            refused,
            overspent: overspend_message(&plan.header.run, outcome.overspent),
            detached,
            notice: Some(notices.join("\n")).filter(|notice| !notice.is_empty()),
        })
    }

    /// The terms of the whole run: those of its start if an earlier process started it.
    fn terms(
        &self,
        plan: &Plan,
        invocation: &Invocation,
        tape: CallRecording,
        found: &RunTarget,
    ) -> Result<Terms, AppError> {
        let is_remembered = tape == CallRecording::None;
        let started_at = found.header.as_ref().map_or_else(|| self.app.clock.now(), |header| header.started_at);
        let oldest = plan.header.run.cache.oldest(started_at);
        let (rules, tape) = match found.header.as_ref().map(read_stored_invocation).transpose()? {
            Some(before) if is_remembered => (before.rules, before.tape),
            Some(before) => (before.rules, tape.with_absolute_path()),
            None => {
                let rules = invocation.gates.apply_to(plan.rules.clone(), &plan.header)?;
                (check_rules(rules, &plan.header)?, tape.with_absolute_path())
            }
        };
        Ok(Terms { rules, tape, is_remembered, started_at, oldest })
    }

    /// Estimates the rest of a run (or takes a stored estimate), checks its limits, and connects the models that it calls.
    fn preflight(
        &self,
        store: &Store,
        plan: &mut Plan,
        invocation: &Invocation,
        terms: &Terms,
        found: &RunTarget,
        cost: Option<UncachedCost>,
    ) -> Result<Preflight, AppError> {
        let known = match &found.outputs {
            None if plan.shard().is_none() => PreflightEstimate::from_earlier_run(store, &plan.header, invocation)?,
            // Scoring given outputs has a different cost than making them, and a part than the whole.
            _ => None,
        };
        // A model that cannot be connected may have nothing to do.
        let known = known.and_then(|forecast| Some((forecast, self.providers(plan, None, terms, found).ok()?)));
        if let Some((forecast, (providers, recorder))) = known {
            store.catch_up()?;
            settle_limit(plan, invocation);
            return Ok(Preflight { uncached: forecast.uncached, providers, recorder });
        }
        let as_planned = plan.clone();
        let mut expected = new_estimator(store, &as_planned, terms.oldest, Some((found, found.plan_part())), cost)?;
        let is_begun = found.header.is_some();
        let earlier = if is_begun { EarlierCalls::of(&found.account(store)?) } else { EarlierCalls::default() };
        let is_allowed =
            |estimate: &Estimate| check_limits(&mut as_planned.clone(), estimate, invocation, earlier).is_ok();
        let forecast = PreflightEstimate::of(&mut expected, &as_planned.header, is_allowed)?;
        if let Some(estimate) = &forecast.estimate {
            check_limits(plan, estimate, invocation, earlier)?;
        }
        let (providers, recorder) = self.providers(plan, forecast.estimate.as_ref(), terms, found)?;
        Ok(Preflight { uncached: forecast.uncached, providers, recorder })
    }

    /// The ledger of the run: that of the stored run, or a new one with everything that a later part needs.
    fn open_ledger(
        &self,
        store: &Store,
        (plan, shard): (&Arc<PlanHeader>, Option<ShardRows>),
        invocation: &Invocation,
        terms: &Terms,
        found: &RunTarget,
        uncached: &UncachedCost,
    ) -> Result<Ledger, AppError> {
        if let Some(header) = &found.header {
            return Ok(store.reopen(&header.id)?);
        }
        let mut dated = invocation.clone();
        dated.overrides.as_of.clone_from(&plan.as_of);
        let begun = StoredInvocation {
            invocation: dated,
            rules: terms.rules.clone(),
            score_of: found.outputs.as_ref().map(|run| run.header().id.clone()),
            tape: terms.tape.clone(),
            addresses: match &terms.tape {
                CallRecording::Replay(_) => Vec::new(),
                _ => self.address_notes(plan),
            },
            ..StoredInvocation::with_estimate(uncached)
        };
        let header = self.header(&found.id, plan, begun.to_json(&found.id)?, terms.started_at);
        Ok(store.begin(&RunHeader { shard, ..header })?)
    }

    fn header(&self, id: &str, plan: &Arc<PlanHeader>, invocation: serde_json::Value, started_at: Moment) -> RunHeader {
        RunHeader {
            id: id.to_owned(),
            plan: plan.clone(),
            started_at,
            completed_at: None,
            status: RunStatus::Running,
            shard: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_commit: None,
            invocation,
        }
    }

    /// The models, live or from a recording, and the recorder: those that the estimate calls, or all without one.
    fn providers(
        &self,
        plan: &Plan,
        estimate: Option<&Estimate>,
        terms: &Terms,
        found: &RunTarget,
    ) -> Result<(Providers, Option<Arc<Recorder>>), AppError> {
        let header = &plan.header;
        match &terms.tape {
            CallRecording::None => Ok((self.connect(plan, estimate)?, None)),
            CallRecording::Record(_) if !header.privacy.is_open() => Err(RunError::PrivateRecording {}.into()),
            CallRecording::Record(path) => {
                let providers = self.connect(plan, estimate)?;
                let recorder = match found.plan_part() {
                    PlanPart::Whole => Recorder::create(path, &found.id),
                    // A run that was started without a recording, or has lost it, gets one if the user asks for it.
                    PlanPart::Rest | PlanPart::Retry if !terms.is_remembered => {
                        Recorder::resume_or_create(path, &found.id)
                    }
                    PlanPart::Rest | PlanPart::Retry => Recorder::resume(path, &found.id),
                };
                let recorder = Arc::new(recorder?);
                Ok((providers.with_recorder(recorder.clone()), Some(recorder)))
            }
            CallRecording::Replay(path) => {
                let models: Vec<ModelSpec> = header.all_models().cloned().collect();
                Ok((Providers::from_recording(&models, RecordingPlayer::open(path)?), None))
            }
        }
    }

    /// Connects the models that will be called; only these need a key.
    fn connect(&self, plan: &Plan, estimate: Option<&Estimate>) -> Result<Providers, AppError> {
        let header = &plan.header;
        let called =
            |spec: &&ModelSpec| estimate.is_none_or(|estimate| estimate.models.iter().any(|model| model.id == spec.id));
        let mut models: Vec<ModelSpec> = Vec::new();
        for spec in header.all_models().filter(called) {
            if !models.iter().any(|known| known.id == spec.id) {
                models.push(spec.clone());
            }
        }
        let calls = header.run.max_concurrency as usize;
        karat_providers::raise_open_files(calls);
        let defaults = self.app.call_settings();
        let settings = Settings {
            own_program: self.app.own_program.clone(),
            key_variables: plan.key_variables.clone(),
            redactor: Redactor::of(&header.privacy).ok().flatten(),
            clock: Some(self.app.clock.clone()),
            max_connections: defaults.max_connections.max(calls),
            limiters: self.app.opened.limiters(),
            host: self.app.opened.host(),
            ..defaults
        };
        let connected = Providers::connect_all(&models, &karat_engine::external_needs(header), settings);
        connected.map_err(|errors| RunError::NotConnected { errors: Lines(errors) }.into())
    }
}

/// The terms of a run.
struct Terms {
    /// Its gates.
    rules: GateRules,
    /// The recording that stores or answers its calls.
    tape: CallRecording,
    /// True if the recording is that of the run's start, and the command line names none.
    is_remembered: bool,
    started_at: Moment,
    /// Results are reused from runs that began at this moment or later; `None`: from none.
    oldest: Option<Moment>,
}

/// The result of a passed preflight.
struct Preflight {
    /// The estimated cost of the plan with nothing cached.
    uncached: UncachedCost,
    providers: Providers,
    recorder: Option<Arc<Recorder>>,
}

fn refuse_empty(plan: &Plan) -> Result<(), AppError> {
    // A shard may have no samples.
    if plan.header.cells() > 0 {
        return Ok(());
    }
    Err(RunError::NoCells {}.into())
}

/// Ends the recording of a run and returns notices for the user.
///
/// # Errors
/// The recording could not be written.
fn finish_recording(recorder: &Recorder, status: RunStatus) -> Result<Vec<String>, AppError> {
    if status == RunStatus::Finished {
        recorder.finish();
    }
    match recorder.failure() {
        Some(failure) => Err(RunError::Recording { failure }.into()),
        None => Ok([recorder.location_notice(), recorder.missing_calls_notice()].into_iter().flatten().collect()),
    }
}

/// Executes the rest of a run.
fn execute_job(runtime: &Runtime, job: Job, found: &RunTarget) -> Result<Outcome, AppError> {
    // On a worker thread: otherwise this thread would be woken for every row and cell.
    let outcome = runtime.block_on(async { tokio::spawn(execute(job)).await });
    outcome.map_err(|source| Bug::RunTask { source })?.map_err(|error| match error {
        EngineError::Store(error) => found.store_error(error),
        error => error.into(),
    })
}

/// The message of a run that stopped because an answer reports a cost that cannot be read.
fn budget_not_kept_message(unreadable: &str, found: &RunTarget) -> String {
    format!(
        "{unreadable}, so the run's budget cannot be kept. Correct the service and continue with `karat {} {}`, or correct \
         `meter` and run the suite again; without a budget the cost counts as unknown",
        found.command(),
        found.id
    )
}

/// The limits that a stored run started with: of a shard, its share of those of the whole.
fn limits_at_start(header: &RunHeader) -> Result<RunSpec, AppError> {
    let mut limits = header.plan.run.clone();
    if let Some(shard) = header.shard() {
        share_run_limits(&mut limits, shard, &read_stored_invocation(header)?.invocation.overrides);
    }
    Ok(limits)
}

/// The message of a run whose calls or money are used up, with the command to resume it.
fn stop_message(
    store: &Store,
    plan: &Plan,
    oldest: Option<Moment>,
    found: &RunTarget,
    outcome: &Outcome,
) -> Result<String, AppError> {
    let left = new_estimator(store, plan, oldest, Some((found, found.remaining_part())), None)?.estimate_all()?;
    let (run, settings, begun) = (&found.id, &plan.header.run, &limits_at_start(&store.run(&found.id)?)?);
    let (refused, failure) = (outcome.refused, outcome.paid_error.clone());
    let (command, account) = (found.command(), found.account(store)?);
    Ok(BudgetStop { run, command, settings, begun, account, left: &left, refused, failure }.message())
}

pub(crate) fn check_id(id: &str) -> Result<String, AppError> {
    let fine = !id.is_empty() && id.len() <= 128 && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    // One that begins with `-` would be a flag of every command.
    if fine && id != "latest" && !id.starts_with(['.', '-']) {
        return Ok(id.to_owned());
    }
    Err(RunError::BadId { id: id.to_owned() }.into())
}

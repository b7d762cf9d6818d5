//! Starts and ends a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use karat_providers::{Providers, Services};
use karat_store::{Ledger, LedgerError, Reservation, Store, StoredRun};
use karat_suite::{Files, Plan};
use karat_types::{CachePolicy, Clock, Event, Moment, Money, Observer, PlanHeader, RunStatus, StopRule};

use crate::EngineError;
use crate::budget::limits::Budget;
use crate::budget::service_costs::ServiceCosts;
use crate::call::batch::CallBatcher;
use crate::call::executor::CallExecutor;
use crate::call::log::CallLog;
use crate::call::paid::PaidReplies;
use crate::call::vectors::VectorBatcher;
use crate::cell::context::RunContext;
use crate::control::halt::Halt;
use crate::control::refusals::RefusingTarget;
use crate::control::single_flight::SingleFlight;
use crate::control::stop::{Stop, advice_after};
use crate::early::follower::Follower;
use crate::early::order::UnitOrder;
use crate::plan::systems::Systems;
use crate::reuse::history::EarlierRun;
use crate::reuse::peer_runs;
use crate::reuse::peer_runs::PeerRuns;
use crate::reuse::remaining::Remaining;
use crate::reuse::resolver::{Resolver, reuse_view};
use crate::rows::files::RecordedFiles;
use crate::run::progress::Progress;
use crate::run::scheduler::dispatch;

/// The input of a run.
pub struct Job {
    /// The plan to run.
    pub plan: Plan,
    /// Id of the run; the ledger belongs to it.
    pub run: String,
    /// The store of earlier results.
    pub store: Arc<Store>,
    /// The ledger that results go to.
    pub ledger: Ledger,
    /// The connected models, services and programs.
    pub providers: Arc<Providers>,
    /// Files that recorded steps read.
    pub files: Arc<dyn Files>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The observer of its events.
    pub observer: Arc<dyn Observer>,
    /// The signal that stops it.
    pub stop: Stop,
    /// True if cells without an output, and unscored scores and judgments, are re-run.
    pub retry: bool,
    /// The call log, if calls are logged.
    pub call_log: Option<Arc<dyn CallLog>>,
    /// A stored run whose outputs are scored; `None` if outputs are made.
    pub outputs: Option<StoredRun>,
    /// True if calls go by their providers' batch APIs: they are collected, and answered by what batches brought.
    pub batch: bool,
    /// The rule that may stop it early; `None` if it goes to its end.
    pub stop_rule: Option<Box<dyn StopRule>>,
    /// Results are reused from other runs that started at this moment or later; `None`: from none.
    pub oldest: Option<Moment>,
}

/// The outcome of a run, or of the part that this process ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its status now.
    pub status: RunStatus,
    /// Calls made.
    pub calls: u64,
    /// Requests that they took, with retries; the maximum of calls counts these.
    pub requests: u64,
    /// Money spent.
    pub spent: Money,
    /// The upper bound of the largest refused call; zero if none was refused.
    pub refused: Money,
    /// The amount by which calls exceeded the budget, because they cost more than was reserved for them.
    pub overspent: Money,
    /// Calls whose cost is unknown.
    pub unpriced: u64,
    /// The reported cost that cannot be read and stopped the run, if there is one.
    pub unreadable_cost: Option<String>,
    /// The models, services and programs that refused or failed every call, so that cells were left or the budget is used up.
    pub refusing: Vec<RefusingTarget>,
    /// The error of the latest call that failed and may have been paid.
    pub paid_error: Option<String>,
    /// Calls that wait for a batch or its results.
    pub batched: u64,
}

/// Runs a plan, or the rest of it.
pub async fn execute(job: Job) -> Result<Outcome, EngineError> {
    let plan = job.plan.header.clone();
    let remaining = Remaining::load(&job.store, &job.run, job.retry)?;
    job.store.remove_damaged(remaining.damage())?;
    let systems = Systems::new(&plan, &job.run)?;
    let ledger = Arc::new(job.ledger);
    let recorded_files = Arc::new(RecordedFiles::new(job.files, plan.dataset.rows));
    let account = if job.retry { job.store.account_for_retry(&job.run)? } else { job.store.account(&job.run)? };
    // A recording holds every call of its run.
    let oldest = job.oldest.filter(|_| !job.providers.is_recorded());
    let elsewhere = oldest.map(|oldest| job.store.paid_elsewhere(&job.run, oldest)).transpose()?;
    let limit = plan.run.budget_usd.and_then(Money::from_usd);
    let earlier = account.spending.committed_total();
    let batches = job.batch.then(|| CallBatcher::load(job.store.clone(), &job.run)).transpose()?;
    // The reservations of calls in batches are open on disk, and settled by this part of the run.
    let batched = batches.as_ref().map(CallBatcher::reserved_amount).unwrap_or_default();
    let committed = Reservation {
        calls: earlier.calls.saturating_sub(batched.calls),
        upper: (earlier.upper - batched.upper).max(Money::ZERO),
    };
    let halt = Halt::default();
    let calls = CallExecutor::new(crate::call::executor::CallExecutorInit {
        providers: job.providers.clone(),
        ledger: ledger.clone(),
        observer: job.observer.clone(),
        recorded_files: recorded_files.clone(),
        service_costs: ServiceCosts::new(plan.run.budget_declared, account.dearest),
        budget: Budget::new(limit, plan.run.max_calls, committed),
        batches,
        paid: PaidReplies::new(account.paid, elsewhere),
        stop: job.stop.clone(),
        halt: halt.clone(),
        privacy: systems.privacy.clone(),
        call_log: job.call_log,
        concurrency: plan.run.max_concurrency.max(1) as usize,
        cells: job.plan.cells(),
        began_at: job.clock.now(),
    });
    calls.paid.damage().iter().for_each(|damage| calls.warn_of_damage(damage));
    let services = match &job.outputs {
        Some(_) => Services::default(),
        None => start_services(&job.providers, &plan, &job.stop).await?,
    };
    let total = job.plan.cells();
    // Other runs never wait for results that are not stored or not reused.
    let is_shared = job.oldest.is_some() && plan.run.cache != CachePolicy::Outputs && systems.privacy.keeps_content();
    let store_lease = is_shared.then(|| job.store.open_lease(&job.run)).and_then(|store_lease| {
        store_lease.inspect_err(|error| job.observer.on_event(&Event::Warning(&error.to_string()))).ok()
    });
    let call = systems.longest_timeout().saturating_mul(plan.run.retries.saturating_add(1));
    let systems = Arc::new(systems.with_service_urls(&crate::plan::services::service_context(services.urls())));
    let done = remaining.count_done(&plan, &systems);
    let needs_earlier = remaining.has_rows() && systems.judges.iter().any(|judge| judge.cascade.is_some());
    let follower = match job.stop_rule {
        None => None,
        Some(rule) => {
            let place = (job.store.clone(), job.run.clone());
            let ordered = read_order(&job.plan, &systems, rule).await?;
            Some(Arc::new(Follower::new(place, plan.clone(), ordered, (halt, job.stop.clone()))?))
        }
    };
    let context = Arc::new(RunContext {
        plan: plan.clone(),
        systems: systems.clone(),
        ledger: ledger.clone(),
        calls,
        vectors: VectorBatcher::of(&plan, systems.privacy.keeps_content(), job.providers.is_recorded()),
        steps: SingleFlight::new(),
        judgments: SingleFlight::new(),
        peers: PeerRuns::new(store_lease, call),
        stop: job.stop.clone(),
        follower,
        has_left: AtomicBool::new(false),
        resolver: Resolver {
            reuse: reuse_view(&job.store, &job.run, job.oldest, &plan)?,
            plan,
            systems,
            recorded_files,
            given: job.outputs.map(EarlierRun::new),
            own: job.retry.then(|| job.store.rows(&job.run).map(EarlierRun::new)).transpose()?,
            earlier: needs_earlier.then(|| job.store.rows(&job.run).map(EarlierRun::new)).transpose()?,
            remaining: Some(remaining),
        },
    });
    if context.follower.is_some() {
        // Units wait for their cells, so no cell may wait for the texts of later units.
        context.stop_collecting_texts();
    }
    job.observer.on_event(&Event::Started {
        run: &job.run,
        cells: total,
        done,
        spent: earlier.upper,
        budget: limit,
        cell_line: context.plan.run.cell_line.as_deref(),
    });
    let progress = Progress::new(job.observer.clone(), done, total, earlier.upper);
    if context.peers.announce(&job.stop).await {
        job.observer.on_event(&Event::Warning(peer_runs::NOTICE));
        context.stop_collecting_texts();
    }
    // Read the calls that others wrote before they noticed this run, or before they ended.
    job.store.catch_up()?;
    context.calls.paid.refresh(&job.store)?;
    let read = tokio::select! {
        read = dispatch(&job.plan, &context, &progress) => read,
        never = context.watch_for_peers() => match never {},
    };
    context.calls.release_reservations().await;
    services.stop().await;
    job.providers.end_programs().await;
    let batched = match &context.calls.batches {
        Some(batcher) => batcher.finish()?,
        None => 0,
    };
    let refusing = context.calls.refusals.refusing_targets(context.calls.is_budget_stopped());
    if let Some(failure) = context.follower.as_ref().and_then(|follower| follower.take_failure()) {
        // The first failure is the one to report.
        ledger.finish(RunStatus::Interrupted, job.clock.now()).await.unwrap_or_default();
        return Err(failure);
    }
    let status = match (job.stop.is_set() || read.is_err(), context.calls.is_budget_stopped()) {
        (true, _) => RunStatus::Interrupted,
        // Cells that were left are not needed any more.
        (false, _) if context.is_halted() => RunStatus::Finished,
        (false, true) => RunStatus::BudgetStopped,
        (false, false) if context.has_left.load(Ordering::Relaxed) => RunStatus::Interrupted,
        (false, false) if batched > 0 || !refusing.is_empty() => RunStatus::Interrupted,
        (false, false) => RunStatus::Finished,
    };
    let next = format!("karat {} {}", if job.retry { "retry" } else { "resume" }, job.run);
    if let Some(failure) = job.stop.failure() {
        return Err(EngineError::Ledger { advice: advice_after(&failure, &next), failure });
    }
    let (calls, requests, spent) = context.calls.totals();
    let (refused, overspent) = (context.calls.largest_refused(), context.calls.overspend());
    let unwritten = |failure: LedgerError| EngineError::Ledger { advice: advice_after(&failure, &next), failure };
    ledger.finish(status, job.clock.now()).await.map_err(unwritten)?;
    read?;
    job.observer.on_event(&Event::Finished { status, calls, spent });
    let (unpriced, unreadable_cost) = (context.calls.unpriced_calls(), context.calls.unreadable_cost());
    let paid_error = context.calls.refusals.paid_error();
    Ok(Outcome {
        status,
        calls,
        requests,
        spent,
        refused,
        overspent,
        unpriced,
        unreadable_cost,
        refusing,
        paid_error,
        batched,
    })
}

/// The order of the plan's units, and the rule that has seen them.
async fn read_order(
    plan: &Plan,
    systems: &Arc<Systems>,
    mut rule: Box<dyn StopRule>,
) -> Result<(UnitOrder, Box<dyn StopRule>), EngineError> {
    let (plan, systems) = (plan.clone(), systems.clone());
    let read = move || UnitOrder::read(&plan, &systems, &mut *rule).map(|order| (order, rule));
    tokio::task::spawn_blocking(read).await.map_err(|died| EngineError::Bug(died.to_string()))?
}

/// Starts the plan's services; none if the run is stopped in the meantime.
async fn start_services(providers: &Providers, plan: &PlanHeader, stop: &Stop) -> Result<Services, EngineError> {
    tokio::select! {
        services = providers.start(&plan.services) => services.map_err(|error| EngineError::Plan(error.to_string())),
        () = stop.wait() => Ok(Services::default()),
    }
}

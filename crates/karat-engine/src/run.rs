//! The run: what it needs, and how it begins and ends.

use std::sync::Arc;

use karat_providers::{Providers, Services};
use karat_store::{Ledger, LedgerError, Store, StoredRun};
use karat_suite::{Files, Plan};
use karat_types::{Clock, Event, Moment, Money, Observer, PlanHeader, RunStatus};

use crate::EngineError;
use crate::budget::Budget;
use crate::calllog::CallLog;
use crate::calls::Calls;
use crate::company::{self, Neighbours};
use crate::fees::Fees;
use crate::files::Library;
use crate::flights::Flights;
use crate::history::Earlier;
use crate::lanes::dispatch;
use crate::paid::Paid;
use crate::progress::Progress;
use crate::remaining::Remaining;
use crate::resolver::Resolver;
use crate::stop::Stop;
use crate::systems::Systems;
use crate::workshop::Workshop;

/// Everything that a run needs from outside.
pub struct Job {
    /// What to do.
    pub plan: Plan,
    /// Id of the run; the ledger belongs to it.
    pub run: String,
    /// Where earlier results are found.
    pub store: Arc<Store>,
    /// Where results go.
    pub ledger: Ledger,
    /// Who answers.
    pub providers: Arc<Providers>,
    /// Files that recorded steps read.
    pub files: Arc<dyn Files>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// How it is stopped.
    pub stop: Stop,
    /// Whether cells without an output, and scores and judgments that are unscored, are made again.
    pub retry: bool,
    /// Who writes the calls down.
    pub call_log: Option<Arc<dyn CallLog>>,
    /// A stored run whose outputs are scored, instead of making any.
    pub outputs: Option<StoredRun>,
    /// Results are taken over from other runs that began at this moment or later; without it, from none.
    pub oldest: Option<Moment>,
}

/// How a run, or the part of it that this process did, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it stands now.
    pub status: RunStatus,
    /// Calls made.
    pub calls: u64,
    /// Requests that they took: more where some were tried again, which a bound of calls counts.
    pub requests: u64,
    /// Money spent.
    pub spent: Money,
    /// What the largest call that was refused can cost at the most; zero when none was.
    pub refused: Money,
    /// By how much calls that cost more than was reserved for them have gone beyond the budget.
    pub overspent: Money,
    /// Calls whose cost is unknown.
    pub unpriced: u64,
    /// The reported cost that cannot be read and stopped the run, where one did.
    pub unreadable_cost: Option<String>,
}

/// Runs a plan, or what is left of it.
pub async fn execute(job: Job) -> Result<Outcome, EngineError> {
    let plan = job.plan.header.clone();
    let remaining = Remaining::of(&job.store, &job.run, job.retry)?;
    let systems = Systems::new(&plan, &job.run)?;
    let ledger = Arc::new(job.ledger);
    let library = Arc::new(Library::new(job.files, plan.dataset.rows));
    let account = if job.retry { job.store.account_for_retry(&job.run)? } else { job.store.account(&job.run)? };
    let limit = plan.run.budget_usd.and_then(Money::from_usd);
    let earlier = account.spending.committed();
    let calls = Calls::new(crate::calls::CallsInit {
        providers: job.providers.clone(),
        ledger: ledger.clone(),
        observer: job.observer.clone(),
        library: library.clone(),
        fees: Fees::new(plan.run.budget_declared, account.dearest),
        budget: Budget::new(limit, plan.run.max_calls, earlier),
        paid: Paid::new(account.paid),
        stop: job.stop.clone(),
        privacy: systems.privacy.clone(),
        call_log: job.call_log,
        concurrency: plan.run.max_concurrency.max(1) as usize,
    });
    let services = match &job.outputs {
        Some(_) => Services::default(),
        None => start(&job.providers, &plan, &job.stop).await?,
    };
    let total = plan.cells();
    // What is not kept, and what is made anew whatever there is, nobody waits for.
    let is_shared = job.oldest.is_some() && systems.privacy.keeps_content();
    let company = is_shared
        .then(|| job.store.open_lease(&job.run))
        .and_then(|company| company.inspect_err(|error| job.observer.on(&Event::Warning(&error.to_string()))).ok());
    let call = systems.longest_timeout().saturating_mul(plan.run.retries.saturating_add(1));
    let systems = Arc::new(systems.serving(&crate::services::seen(services.urls())));
    let done = remaining.done(&plan, &systems);
    let workshop = Arc::new(Workshop {
        plan: plan.clone(),
        systems: systems.clone(),
        ledger: ledger.clone(),
        calls,
        steps: Flights::new(),
        judgments: Flights::new(),
        neighbours: Neighbours::new(company, call),
        stop: job.stop.clone(),
        resolver: Resolver {
            plan,
            systems,
            library,
            reuse: job.store.reuse_view(&job.run, job.oldest)?,
            given: job.outputs.map(Earlier::new),
            own: job.retry.then(|| job.store.rows(&job.run).map(Earlier::new)).transpose()?,
            remaining: Some(remaining),
        },
    });
    job.observer.on(&Event::Started {
        run: &job.run,
        cells: total,
        done,
        spent: earlier.upper,
        budget: limit,
        cell_line: workshop.plan.run.cell_line.as_deref(),
    });
    let progress = Progress::new(job.observer.clone(), done, total, earlier.upper);
    if workshop.neighbours.greet(&job.stop).await {
        job.observer.on(&Event::Warning(company::NOTICE));
    }
    let read = tokio::select! {
        read = dispatch(&job.plan, &workshop, &progress) => read,
        never = workshop.watch() => match never {},
    };
    workshop.calls.release().await;
    services.stop().await;
    job.providers.end_programs().await;
    let status = match (job.stop.is_set() || read.is_err(), workshop.calls.budget_stopped()) {
        (true, _) => RunStatus::Interrupted,
        (false, true) => RunStatus::BudgetStopped,
        (false, false) => RunStatus::Finished,
    };
    let next = format!("karat {} {}", if job.retry { "retry" } else { "resume" }, job.run);
    if let Some(failure) = job.stop.failure() {
        return Err(EngineError::Ledger { failure, next });
    }
    let (calls, requests, spent) = workshop.calls.made();
    let (refused, overspent) = (workshop.calls.refused(), workshop.calls.overspent());
    let unwritten = |error: LedgerError| EngineError::Ledger { failure: error.to_string(), next };
    ledger.finish(status, job.clock.now()).await.map_err(unwritten)?;
    read?;
    job.observer.on(&Event::Finished { status, calls, spent });
    let (unpriced, unreadable_cost) = (workshop.calls.unpriced(), workshop.calls.unreadable_cost());
    Ok(Outcome { status, calls, requests, spent, refused, overspent, unpriced, unreadable_cost })
}

/// Starts the plan's services; none when the run is stopped meanwhile.
async fn start(providers: &Providers, plan: &PlanHeader, stop: &Stop) -> Result<Services, EngineError> {
    tokio::select! {
        services = providers.start(&plan.services) => services.map_err(|error| EngineError::Plan(error.to_string())),
        () = stop.wait() => Ok(Services::default()),
    }
}

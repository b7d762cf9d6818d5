//! The run: rows in plan order, cells of many rows at once, everything recorded.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use karat_providers::{Providers, Services};
use karat_store::{Ledger, Store, StoredRun};
use karat_suite::{DatasetError, Files, Plan};
use karat_types::{
    CellError, CellRecord, CellStatus, Clock, Event, Moment, Money, Observer, PlanHeader, Record, RunStatus, Sample,
    SampleRecord,
};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::EngineError;
use crate::budget::Budget;
use crate::calllog::CallLog;
use crate::calls::Calls;
use crate::cell::{CellDone, Trail};
use crate::files::Library;
use crate::flights::Flights;
use crate::history::Earlier;
use crate::progress::{Ended, Progress, TRAILING};
use crate::remaining::{Before, Remaining};
use crate::row::Row;
use crate::stop::Stop;
use crate::systems::Systems;
use crate::workshop::Workshop;

/// Rows that are read ahead and announced to the ledger together.
const ROWS_AHEAD: usize = 64;

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
    /// Results are taken over from runs that began at this moment or later.
    pub oldest: Moment,
}

/// How a run, or the part of it that this process did, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How it stands now.
    pub status: RunStatus,
    /// Calls made.
    pub calls: u64,
    /// Money spent.
    pub spent: Money,
    /// What the largest call that was refused can cost at the most; zero when none was.
    pub refused: Money,
}

/// Runs a plan, or what is left of it.
pub async fn execute(job: Job) -> Result<Outcome, EngineError> {
    let plan = job.plan.header.clone();
    let remaining = Remaining::of(&job.store, &job.run, job.retry)?;
    let systems = Systems::new(&plan, &job.run)?;
    let ledger = Arc::new(job.ledger);
    let spending = job.store.spending(&job.run)?;
    let limit = plan.run.budget_usd.and_then(Money::from_usd);
    let calls = Calls::new(crate::calls::CallsInit {
        providers: job.providers.clone(),
        ledger: ledger.clone(),
        observer: job.observer.clone(),
        library: Library::new(job.files, plan.dataset.rows),
        budget: Budget::new(limit, plan.run.max_calls, spending.committed()),
        paid: job.store.paid_calls(&job.run)?,
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
    let workshop = Arc::new(Workshop {
        plan: plan.clone(),
        systems: systems.serving(&crate::services::seen(services.urls())),
        store: job.store.clone(),
        ledger: ledger.clone(),
        calls,
        steps: Flights::new(),
        judgments: Flights::new(),
        stop: job.stop.clone(),
        oldest: job.oldest,
        remaining,
        outputs: job.outputs.map(Earlier::new),
        own: job.retry.then(|| job.store.rows(&job.run).map(Earlier::new)).transpose()?,
    });
    let done = workshop.remaining.done(&plan, &workshop.systems);
    job.observer.on(&Event::Started { run: &job.run, cells: total, done });
    let progress = Progress::new(job.observer.clone(), done, total);
    let broken = dispatch(&job.plan, &workshop, &progress).await;
    workshop.calls.release().await;
    services.stop().await;
    job.providers.end().await;
    let status = match (job.stop.is_set() || broken.is_err(), workshop.calls.budget_stopped()) {
        (true, _) => RunStatus::Interrupted,
        (false, true) => RunStatus::BudgetStopped,
        (false, false) => RunStatus::Finished,
    };
    if let Some(failure) = job.stop.failure() {
        return Err(EngineError::Ledger(failure));
    }
    ledger.finish(status, job.clock.now()).await.map_err(|error| EngineError::Ledger(error.to_string()))?;
    broken?;
    let (calls, spent) = workshop.calls.made();
    job.observer.on(&Event::Finished { status, calls, spent });
    Ok(Outcome { status, calls, spent, refused: workshop.calls.refused() })
}

/// Starts the plan's services; none when the run is stopped meanwhile.
async fn start(providers: &Providers, plan: &PlanHeader, stop: &Stop) -> Result<Services, EngineError> {
    tokio::select! {
        services = providers.start(&plan.services) => services.map_err(|error| EngineError::Plan(error.to_string())),
        () = stop.wait() => Ok(Services::default()),
    }
}

/// A cell that is to be made, or finished.
struct Work {
    row: Arc<Row>,
    ordinal: u64,
    before: Before,
}

/// Sends cells down the lanes until the rows end or the run is stopped, and tells of each when it is on disk.
async fn dispatch(plan: &Plan, workshop: &Arc<Workshop>, progress: &Progress) -> Result<(), EngineError> {
    // Cells that are being scored hold no call slot, so more cells than calls are under way.
    let most = 2 * u64::from(workshop.plan.run.max_concurrency.max(1));
    let (sender, cells) = mpsc::channel(ROWS_AHEAD);
    let (ended, followed) = mpsc::channel(TRAILING);
    let cells = Arc::new(Mutex::new(cells));
    let mut lanes: JoinSet<()> =
        (0..most.min(workshop.plan.cells())).map(|_| lane(workshop.clone(), cells.clone(), ended.clone())).collect();
    drop((cells, ended));
    let work = async {
        let mut result = feed(plan, workshop, progress, sender).await;
        while let Some(joined) = lanes.join_next().await {
            if let Err(error) = joined {
                result = Err(EngineError::Bug(error.to_string()));
            }
        }
        if let Err(error) = workshop.ledger.flush().await {
            workshop.stop.fail(error.to_string());
        }
        result
    };
    let (result, ()) = join(work, progress.follow(workshop, followed)).await;
    result
}

/// Makes one cell after the other.
async fn lane(workshop: Arc<Workshop>, cells: Arc<Mutex<mpsc::Receiver<Work>>>, ended: mpsc::Sender<Ended>) {
    loop {
        let next = cells.lock().await.recv().await;
        let Some(Work { row, ordinal, before }) = next else { return };
        // With the budget used up, cells that need no call are made all the same.
        if workshop.stop.is_set() {
            return;
        }
        let started = Instant::now();
        let done = workshop.cell(&row, ordinal, before).await;
        if let Some(cell) = Ended::new(row.sample.id.clone(), done, started.elapsed())
            && ended.send(cell).await.is_err()
        {
            return;
        }
    }
}

/// Announces rows to the ledger and sends what is left of their cells.
async fn feed(
    plan: &Plan,
    workshop: &Workshop,
    progress: &Progress,
    cells: mpsc::Sender<Work>,
) -> Result<(), EngineError> {
    let stopped = workshop.stop.wait();
    tokio::pin!(stopped);
    let mut rows = read_ahead(plan);
    let per_row = workshop.plan.cells_per_row();
    while let Some(batch) = rows.recv().await {
        let (mut samples, mut broken) = (Vec::with_capacity(batch.len()), Vec::new());
        for row in batch {
            match row {
                Ok(sample) => samples.push(sample),
                Err(error) if error.row.is_some() => broken.push(error),
                Err(error) => {
                    workshop.stop.set();
                    return Err(EngineError::Dataset(error));
                }
            }
        }
        samples.retain(|sample| !row_is_finished(workshop, sample.row * per_row, per_row));
        if !report_broken(workshop, progress, broken).await || !announce(workshop, &samples).await {
            return Ok(());
        }
        for sample in samples {
            let first = sample.row * per_row;
            let row = Arc::new(Row::new(sample, &workshop.systems));
            for ordinal in first..first + per_row {
                let Some(before) = workshop.before(ordinal) else { continue };
                let sent = tokio::select! {
                    sent = cells.send(Work { row: row.clone(), ordinal, before }) => sent.is_ok(),
                    () = &mut stopped => false,
                };
                if !sent {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Reads rows on a thread of their own, [`ROWS_AHEAD`] at a time and a bounded number ahead: handing over takes longer
/// than reading a row.
fn read_ahead(plan: &Plan) -> mpsc::Receiver<Vec<Result<Sample, DatasetError>>> {
    let (sender, receiver) = mpsc::channel(1);
    let mut rows = plan.rows();
    tokio::task::spawn_blocking(move || {
        loop {
            let batch: Vec<_> = rows.by_ref().take(ROWS_AHEAD).collect();
            if batch.is_empty() || sender.blocking_send(batch).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Records rows that cannot be read as errored samples. `false` when the ledger cannot be written.
async fn report_broken(workshop: &Workshop, progress: &Progress, broken: Vec<DatasetError>) -> bool {
    let per_row = workshop.plan.cells_per_row();
    for error in broken {
        let row = error.row.unwrap_or_default();
        if row_is_finished(workshop, row * per_row, per_row) {
            continue;
        }
        let id = error.sample();
        let sample = SampleRecord { row, id: id.to_string(), ..SampleRecord::default() };
        let cells: Vec<CellRecord> = (row * per_row..(row + 1) * per_row)
            .filter(|ordinal| !workshop.remaining.has_row(*ordinal))
            .map(|ordinal| broken_cell(ordinal, &error))
            .collect();
        let records = std::iter::once(Record::Sample(sample)).chain(cells.iter().cloned().map(Record::Cell));
        if let Err(error) = workshop.ledger.append(records.collect()).await {
            workshop.stop.fail(error.to_string());
            return false;
        }
        for record in cells {
            let done = CellDone { record, unscored: false, left: false, trail: Trail::default() };
            let cell = Ended::new(id.clone(), done, Duration::ZERO);
            cell.iter().for_each(|cell| progress.tell(workshop, cell));
        }
    }
    true
}

/// The cell of a row that cannot be read.
fn broken_cell(ordinal: u64, error: &DatasetError) -> CellRecord {
    CellRecord {
        status: CellStatus::Error,
        error: Some(CellError::new("dataset", error.to_string())),
        ..CellRecord::empty(ordinal)
    }
}

fn row_is_finished(workshop: &Workshop, first: u64, per_row: u64) -> bool {
    (first..first + per_row).all(|ordinal| workshop.before(ordinal).is_none())
}

/// Tells the ledger of the samples, which it writes before any of their cells. `false` when it cannot be written.
async fn announce(workshop: &Workshop, samples: &[Sample]) -> bool {
    if samples.is_empty() {
        return true;
    }
    let records = samples.iter().map(|sample| {
        Record::Sample(SampleRecord {
            row: sample.row,
            id: sample.id.to_string(),
            cluster: sample.cluster.clone(),
            date: sample.date.clone(),
            metadata: workshop.systems.privacy.row(sample).map_or_else(|| sample.metadata.clone(), |row| row.metadata),
            reads: workshop.systems.all_reads.digests(sample),
        })
    });
    match workshop.ledger.append_later(records.collect()).await {
        Ok(_) => true,
        Err(error) => {
            workshop.stop.fail(error.to_string());
            false
        }
    }
}

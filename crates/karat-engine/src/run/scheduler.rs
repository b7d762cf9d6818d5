//! Schedules cells: many workers at once, each making one cell after the other.
//!
//! Systems that call the same models form a group with workers of its own, and each group reads the rows at its own
//! pace, so that a slow model does not delay the others. Each group reads the rows again, which costs less than keeping
//! those in which one group is ahead. All groups share the call slots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::{FutureExt, join, join_all};
use karat_providers::QueueEntry;
use karat_suite::{DatasetError, Plan};
use karat_types::{PlanHeader, Sample};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::Instant;

use crate::EngineError;
use crate::call::vectors::{VectorBatcher, WAITING_WORKERS};
use crate::cell::context::RunContext;
use crate::plan::systems::Systems;
use crate::rows::row::Row;
use crate::run::cell_work::CellWork;
use crate::run::feed::feed_units;
use crate::run::progress::{FinishedCell, MAX_TRAILING, Progress};
use crate::run::sample_writer::SampleWriter;

/// Rows that are read ahead and written to the ledger together.
const ROWS_AHEAD: usize = 64;

/// Cells that may wait for a worker of their group.
const WAITING_CELLS: usize = 64;

/// Cells that are put into a group's channel together, so that the feeder is woken once per batch instead of once per
/// cell.
const BATCH: usize = WAITING_CELLS / 2;

/// Runs cells until the rows end or the run is stopped, and reports each once it is on disk.
pub(crate) async fn dispatch(plan: &Plan, context: &Arc<RunContext>, progress: &Progress) -> Result<(), EngineError> {
    let (finished_sender, finished_receiver) = mpsc::channel(MAX_TRAILING);
    let sample_writer = SampleWriter::new(context, progress);
    let (mut workers, mut feeders) = (JoinSet::new(), Vec::new());
    let mut senders = Vec::new();
    let groups = group_by_model(&context.plan, &context.systems);
    // Cells that are being scored hold no call slot, so there are more workers than slots.
    let calls = context.plan.run.max_concurrency.max(1) as usize;
    let waiting = if context.vectors.is_some() { WAITING_WORKERS } else { 0 };
    let workers_per_group = calls + calls.div_ceil(groups.len().max(1)) + waiting;
    // Every group registers before the first cell starts: a late one would find no free slot.
    let queue_entry = |models: Vec<&str>| models.first().map(|first| context.calls.queue_entry(first));
    let groups: Vec<_> = groups.into_iter().map(|(models, cells)| (queue_entry(models), cells)).collect();
    for (queue_entry, cells) in groups {
        let (sender, receiver) = mpsc::channel(WAITING_CELLS);
        let work = Arc::new(Mutex::new(receiver));
        let cells_of_group = plan.row_count().saturating_mul(cells.len() as u64);
        let count = cells_of_group.min(workers_per_group as u64);
        context.vectors.iter().for_each(|batcher| batcher.expect_workers(count as usize));
        for _ in 0..count {
            workers.spawn(worker(context.clone(), queue_entry.clone(), work.clone(), finished_sender.clone()));
        }
        match context.follower {
            Some(_) => senders.push((cells, sender)),
            None => feeders.push(feed_rows(plan, &sample_writer, cells, sender).boxed()),
        }
    }
    // Units have cells of all groups, and come one after the other.
    if let Some(follower) = &context.follower {
        feeders.push(feed_units(plan, &sample_writer, follower, senders).boxed());
    }
    // The channel closes when the last worker ends.
    drop(finished_sender);
    let work = async {
        let mut result = join_all(feeders).await.into_iter().collect();
        while let Some(joined) = workers.join_next().await {
            if let Err(error) = joined {
                result = Err(EngineError::Bug(error.to_string()));
            }
        }
        if let Err(error) = context.ledger.flush().await {
            context.stop.fail(&error);
        }
        result
    };
    let (result, ()) = join(work, progress.report_finished(context, finished_receiver)).await;
    result
}

/// Groups the cells of a row by the models that they call, in the same order. A cell is given as its index among the
/// cells of its row.
fn group_by_model<'a>(plan: &PlanHeader, systems: &'a Systems) -> BTreeMap<Vec<&'a str>, Vec<u64>> {
    let mut groups: BTreeMap<Vec<&str>, Vec<u64>> = BTreeMap::new();
    for cell in 0..plan.cells_per_row() {
        let (_, system, _) = plan.place(cell);
        let models = systems.systems[system].chain.iter().filter_map(|step| step.model.as_ref());
        groups.entry(models.map(|model| model.id.as_str()).collect()).or_default().push(cell);
    }
    groups
}

/// Makes one cell after the other. Takes none while enough calls wait for a slot of the model that it would call first.
async fn worker(
    context: Arc<RunContext>,
    mut queue_entry: Option<QueueEntry>,
    cells: Arc<Mutex<mpsc::Receiver<CellWork>>>,
    finished: mpsc::Sender<FinishedCell>,
) {
    let _counted = context.vectors.as_ref().map(VectorBatcher::worker);
    loop {
        // Before a cell is taken, so that cells are made in plan order whichever worker is admitted first.
        if let Some(queue_entry) = &mut queue_entry {
            queue_entry.wait_until_short().await;
        }
        let Some(CellWork { row, ordinal, recorded }) = cells.lock().await.recv().await else { return };
        // Once the budget is used up, cells that need no call are still made.
        if context.stop.is_set() {
            return;
        }
        if let Some(follower) = context.follower.as_ref().filter(|follower| !follower.is_needed(ordinal)) {
            follower.end_cell(ordinal);
            continue;
        }
        let started = Instant::now();
        let result = context.evaluate_cell(&row, ordinal, recorded).await;
        if let Some(follower) = context.follower.as_ref().filter(|_| result.left) {
            follower.leave_cell();
        }
        if result.left && !context.is_halted() {
            context.has_left.store(true, Ordering::Relaxed);
            context.calls.refusals.count_left(context.recipients(ordinal));
        }
        if let Some(cell) = FinishedCell::new(row.sample.id.clone(), result, started.elapsed())
            && finished.send(cell).await.is_err()
        {
            return;
        }
    }
}

/// Writes rows to the ledger and sends the unfinished cells of this group to its workers.
async fn feed_rows(
    plan: &Plan,
    sample_writer: &SampleWriter<'_>,
    cells_in_row: Vec<u64>,
    cells: mpsc::Sender<CellWork>,
) -> Result<(), EngineError> {
    let context = sample_writer.context;
    let stopped = context.stop.wait();
    tokio::pin!(stopped);
    let mut rows = RowPrefetch::start(plan.rows());
    while let Some(batch) = rows.next().await.inspect_err(|_| context.stop.set())? {
        let (mut samples, mut broken) = (Vec::with_capacity(batch.len()), Vec::new());
        for row in batch {
            match row {
                Ok(sample) => samples.push(sample),
                Err(error) if error.row.is_some() => broken.push(error),
                Err(error) => {
                    context.stop.set();
                    return Err(EngineError::Dataset(error));
                }
            }
        }
        if !sample_writer.write_rows(&samples, broken).await {
            return Ok(());
        }
        let mut open = Vec::with_capacity(samples.len());
        for sample in samples {
            let first = sample.row * context.plan.cells_per_row();
            let unfinished = |cell: &u64| Some((first + cell, context.resolver.recorded_parts(first + cell)?));
            let mut unfinished = cells_in_row.iter().filter_map(unfinished).peekable();
            if unfinished.peek().is_some() {
                let row = Arc::new(Row::new(sample, &context.systems));
                open.extend(unfinished.map(|(ordinal, recorded)| CellWork { row: row.clone(), ordinal, recorded }));
            }
        }
        let mut open = open.into_iter();
        while open.len() > 0 {
            let permits = tokio::select! {
                permits = cells.reserve_many(open.len().min(BATCH)) => permits,
                () = &mut stopped => return Ok(()),
            };
            let Ok(permits) = permits else { return Ok(()) };
            permits.zip(open.by_ref()).for_each(|(permit, work)| permit.send(work));
        }
        if context.stop.is_set() {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads rows on a thread of its own, [`ROWS_AHEAD`] at a time and a bounded number ahead: handing over a row takes
/// longer than reading it.
struct RowPrefetch {
    batches: mpsc::Receiver<Vec<Result<Sample, DatasetError>>>,
    reader: JoinHandle<()>,
}

impl RowPrefetch {
    fn start(mut rows: impl Iterator<Item = Result<Sample, DatasetError>> + Send + 'static) -> Self {
        let (sender, batches) = mpsc::channel(1);
        let reader = spawn_blocking(move || {
            loop {
                let batch: Vec<_> = rows.by_ref().take(ROWS_AHEAD).collect();
                if batch.is_empty() || sender.blocking_send(batch).is_err() {
                    return;
                }
            }
        });
        Self { batches, reader }
    }

    /// The next rows; `None` after the last. A reader that died has not reached the end.
    async fn next(&mut self) -> Result<Option<Vec<Result<Sample, DatasetError>>>, EngineError> {
        match self.batches.recv().await {
            Some(batch) => Ok(Some(batch)),
            None => (&mut self.reader).await.map(|()| None).map_err(|died| EngineError::Bug(died.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows after a reader that died are not left out silently.
    #[tokio::test]
    async fn a_reader_that_dies_is_an_error() {
        let sample = |row| Sample {
            row,
            id: row.to_string().into(),
            input: None,
            reference: None,
            cluster: None,
            date: None,
            columns: Default::default(),
            metadata: Default::default(),
            only: None,
        };
        let mut whole = RowPrefetch::start((0..100).map(move |row| Ok(sample(row))));
        let mut read = Vec::new();
        while let Some(batch) = whole.next().await.unwrap() {
            read.extend(batch.into_iter().map(|row| row.unwrap().row));
        }
        assert_eq!(read, (0..100).collect::<Vec<_>>());
        let mut dying = RowPrefetch::start((0..100).map(move |row| {
            assert!(row < 70, "row 70");
            Ok(sample(row))
        }));
        assert_eq!(dying.next().await.unwrap().map(|batch| batch.len()), Some(ROWS_AHEAD));
        let error = dying.next().await.unwrap_err();
        assert!(matches!(&error, EngineError::Bug(why) if why.contains("row 70")), "{error}");
    }
}

//! Lanes: many cells at once, each lane one after the other.
//!
//! Systems that call the same models have lanes of their own and walk the rows at their own pace, so those of a slow model
//! are not in the way of the others. Rows are read again for each, which costs less than keeping those in which one is
//! ahead; calls at once are shared by the gate that all of them pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::{join, join_all};
use karat_providers::QueueEntry;
use karat_suite::{DatasetError, Plan};
use karat_types::{PlanHeader, Sample};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::Instant;

use crate::EngineError;
use crate::announcer::Announcer;
use crate::progress::{Ended, Progress, TRAILING};
use crate::remaining::Before;
use crate::row::Row;
use crate::systems::Systems;
use crate::workshop::Workshop;

/// Rows that are read ahead and announced to the ledger together.
const ROWS_AHEAD: usize = 64;

/// Cells that may wait for a worker of their group.
const WAITING_CELLS: usize = 64;

/// Cells that are put into a group's channel together: the feeder is woken once a batch, not once a cell.
const BATCH: usize = WAITING_CELLS / 2;

/// A cell that is to be made, or finished.
struct Work {
    row: Arc<Row>,
    ordinal: u64,
    before: Before,
}

/// Sends cells down the lanes until the rows end or the run is stopped, and tells of each when it is on disk.
pub(crate) async fn dispatch(plan: &Plan, workshop: &Arc<Workshop>, progress: &Progress) -> Result<(), EngineError> {
    let (ended, followed) = mpsc::channel(TRAILING);
    let announcer = Announcer::new(workshop, progress);
    let (mut lanes, mut feeds) = (JoinSet::new(), Vec::new());
    let paces = paces(&workshop.plan, &workshop.systems);
    // Cells that are being scored hold no call slot, so more cells than calls are under way.
    let calls = workshop.plan.run.max_concurrency.max(1) as usize;
    let each = calls + calls.div_ceil(paces.len().max(1));
    // All doors before the first cell: who comes late would find no slot.
    let door = |models: Vec<&str>| models.first().map(|first| workshop.calls.door(first));
    let paces: Vec<_> = paces.into_iter().map(|(models, cells)| (door(models), cells)).collect();
    for (door, cells) in paces {
        let (sender, receiver) = mpsc::channel(WAITING_CELLS);
        let waiting = Arc::new(Mutex::new(receiver));
        let most = workshop.plan.dataset.rows.saturating_mul(cells.len() as u64);
        for _ in 0..most.min(each as u64) {
            lanes.spawn(lane(workshop.clone(), door.clone(), waiting.clone(), ended.clone()));
        }
        feeds.push(feed(plan, &announcer, cells, sender));
    }
    drop(ended);
    let work = async {
        let mut result = join_all(feeds).await.into_iter().collect();
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

/// The cells of a row that go at one pace, each as its place among all cells of the row: those that call the same models,
/// in the same order.
fn paces<'a>(plan: &PlanHeader, systems: &'a Systems) -> BTreeMap<Vec<&'a str>, Vec<u64>> {
    let mut paces: BTreeMap<Vec<&str>, Vec<u64>> = BTreeMap::new();
    for cell in 0..plan.cells_per_row() {
        let (_, system, _) = plan.place(cell);
        let models = systems.systems[system].chain.iter().filter_map(|step| step.model.as_ref());
        paces.entry(models.map(|model| model.id.as_str()).collect()).or_default().push(cell);
    }
    paces
}

/// Makes one cell after the other. Takes none while enough calls wait for a slot for the model that it would call first.
async fn lane(
    workshop: Arc<Workshop>,
    mut door: Option<QueueEntry>,
    cells: Arc<Mutex<mpsc::Receiver<Work>>>,
    ended: mpsc::Sender<Ended>,
) {
    loop {
        // Before a cell is taken, so that cells are made in the order of the plan whichever worker is let in first.
        if let Some(door) = &mut door {
            door.wait_until_short().await;
        }
        let Some(Work { row, ordinal, before }) = cells.lock().await.recv().await else { return };
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

/// Announces rows to the ledger and sends what is left of these cells of theirs.
async fn feed(
    plan: &Plan,
    announcer: &Announcer<'_>,
    places: Vec<u64>,
    cells: mpsc::Sender<Work>,
) -> Result<(), EngineError> {
    let workshop = announcer.workshop;
    let stopped = workshop.stop.wait();
    tokio::pin!(stopped);
    let mut rows = Ahead::of(plan.rows());
    while let Some(batch) = rows.next().await.inspect_err(|_| workshop.stop.set())? {
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
        if !announcer.announce(&samples, broken).await {
            return Ok(());
        }
        let mut open = Vec::with_capacity(samples.len());
        for sample in samples {
            let first = sample.row * workshop.plan.cells_per_row();
            let of_row = |place: &u64| Some((first + place, workshop.resolver.before(first + place)?));
            let mut of_row = places.iter().filter_map(of_row).peekable();
            if of_row.peek().is_some() {
                let row = Arc::new(Row::new(sample, &workshop.systems));
                open.extend(of_row.map(|(ordinal, before)| Work { row: row.clone(), ordinal, before }));
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
        if workshop.stop.is_set() {
            return Ok(());
        }
    }
    Ok(())
}

/// Rows that are read on a thread of their own, [`ROWS_AHEAD`] at a time and a bounded number ahead: handing over takes
/// longer than reading a row.
struct Ahead {
    batches: mpsc::Receiver<Vec<Result<Sample, DatasetError>>>,
    reader: JoinHandle<()>,
}

impl Ahead {
    fn of(mut rows: impl Iterator<Item = Result<Sample, DatasetError>> + Send + 'static) -> Self {
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

    /// The next rows; `None` behind the last. A reader that died has not come to the end of them.
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

    /// Rows behind a reader that died are not left out unawares.
    #[tokio::test]
    async fn a_reader_that_dies_is_no_end() {
        let sample = |row| Sample {
            row,
            id: row.to_string().into(),
            input: None,
            reference: None,
            cluster: None,
            date: None,
            columns: Default::default(),
            metadata: Default::default(),
        };
        let mut whole = Ahead::of((0..100).map(move |row| Ok(sample(row))));
        let mut read = Vec::new();
        while let Some(batch) = whole.next().await.unwrap() {
            read.extend(batch.into_iter().map(|row| row.unwrap().row));
        }
        assert_eq!(read, (0..100).collect::<Vec<_>>());
        let mut dying = Ahead::of((0..100).map(move |row| {
            assert!(row < 70, "row 70");
            Ok(sample(row))
        }));
        assert_eq!(dying.next().await.unwrap().map(|batch| batch.len()), Some(ROWS_AHEAD));
        let error = dying.next().await.unwrap_err();
        assert!(matches!(&error, EngineError::Bug(why) if why.contains("row 70")), "{error}");
    }
}

//! What observers learn of cells: each is told of when it is on disk, and not before.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use karat_store::{LedgerError, Receipt};
use karat_types::{CellError, CellProgress, CellStatus, Event, Money, Observer, OutputOrigin};
use tokio::sync::mpsc;

use crate::cell::{CellDone, Trail};
use crate::workshop::Workshop;

/// So many cells may be on their way to disk, and as many again wait to be looked at; whoever makes more waits.
pub(crate) const TRAILING: usize = 1024;

/// So long a cell waits for records that somebody else needs on disk, and goes there together with them.
const PATIENCE: Duration = Duration::from_millis(5);

/// Counts finished cells and tells the observer.
pub(crate) struct Progress {
    observer: Arc<dyn Observer>,
    done: AtomicU64,
    total: u64,
    /// Money that earlier parts of the run have spent.
    earlier: Money,
}

/// A cell that is made, as far as observers are concerned, and what of it is on its way to disk.
pub(crate) struct Ended {
    sample: Arc<str>,
    ordinal: u64,
    status: CellStatus,
    unscored: bool,
    reuse: OutputOrigin,
    took: Duration,
    error: Option<CellError>,
    trail: Trail,
}

impl Ended {
    /// A cell that was made in this time; `None` for one that is left for `resume`.
    pub fn new(sample: Arc<str>, cell: CellDone, took: Duration) -> Option<Self> {
        let CellDone { record, unscored, left, trail } = cell;
        (!left).then(|| Self {
            sample,
            ordinal: record.ordinal,
            status: record.status,
            unscored: unscored && record.status == CellStatus::Ok,
            reuse: if record.reused { OutputOrigin::Reused } else { OutputOrigin::Fresh },
            took,
            error: record.error.clone(),
            trail,
        })
    }
}

impl Progress {
    /// For a run of so many cells, of which some were done before.
    pub fn new(observer: Arc<dyn Observer>, done: u64, total: u64, earlier: Money) -> Self {
        Self { observer, done: AtomicU64::new(done), total, earlier }
    }

    /// Tells of cells until nobody sends any more, each once it is on disk.
    pub async fn follow(&self, workshop: &Workshop, mut ended: mpsc::Receiver<Ended>) {
        let mut cells = Vec::with_capacity(TRAILING);
        while ended.recv_many(&mut cells, TRAILING).await > 0 {
            for mut cell in cells.drain(..) {
                let written = on_disk(workshop, std::mem::take(&mut cell.trail.receipts)).await;
                match written {
                    Ok(()) => self.tell(workshop, &cell),
                    Err(error) => workshop.stop.fail(error.to_string()),
                }
            }
        }
    }

    /// Tells of a cell that is on disk.
    pub fn tell(&self, workshop: &Workshop, cell: &Ended) {
        let (_, system, trial) = workshop.plan.place(cell.ordinal);
        let system = &workshop.systems.systems[system];
        self.observer.on(&Event::CellFinished(CellProgress {
            ordinal: cell.ordinal,
            done: self.done.fetch_add(1, Ordering::Relaxed) + 1,
            total: self.total,
            sample: &cell.sample,
            model: system.model.as_ref().map(|model| model.id.as_str()),
            variant: &system.variant,
            trial,
            status: cell.status,
            unscored: cell.unscored,
            reuse: cell.reuse,
            duration_ms: u64::try_from(cell.took.as_millis()).unwrap_or(u64::MAX),
            error: cell.error.as_ref(),
            spent: self.earlier + workshop.calls.made().2,
        }));
    }
}

/// Waits until records are on disk, and has them written if that takes long.
async fn on_disk(workshop: &Workshop, receipts: Vec<Receipt>) -> Result<(), LedgerError> {
    for receipt in receipts {
        let mut written = pin!(receipt.wait());
        match tokio::time::timeout(PATIENCE, &mut written).await {
            Ok(written) => written?,
            Err(_) => {
                workshop.ledger.flush().await?;
                written.await?;
            }
        }
    }
    Ok(())
}

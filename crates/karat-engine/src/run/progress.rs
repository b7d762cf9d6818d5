//! Reports cells to the observer, each once it is on disk.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use karat_store::{LedgerError, Receipt};
use karat_types::{CellError, CellProgress, CellStatus, Event, Money, Observer, OutputOrigin};
use tokio::sync::mpsc;

use crate::cell::context::RunContext;
use crate::cell::evaluate::{CellResult, PendingWrites};

/// Number of finished cells that may wait for the disk, and as many again for a look at them; workers wait when it is
/// reached.
pub(crate) const MAX_TRAILING: usize = 1024;

/// Time that a cell waits for other records to be flushed, so that it goes to disk together with them.
const FLUSH_AFTER: Duration = Duration::from_millis(5);

/// Counts finished cells and reports them to the observer.
pub(crate) struct Progress {
    observer: Arc<dyn Observer>,
    done: AtomicU64,
    total: u64,
    /// Money that earlier parts of the run have spent.
    earlier: Money,
}

/// A finished cell for observers, with its pending writes.
pub(crate) struct FinishedCell {
    sample: Arc<str>,
    ordinal: u64,
    status: CellStatus,
    unscored: bool,
    reuse: OutputOrigin,
    took: Duration,
    error: Option<CellError>,
    pending: PendingWrites,
}

impl FinishedCell {
    /// A cell that took this time; `None` for one that is left for `resume`.
    pub fn new(sample: Arc<str>, cell: CellResult, took: Duration) -> Option<Self> {
        let CellResult { record, unscored, left, pending } = cell;
        (!left).then(|| Self {
            sample,
            ordinal: record.ordinal,
            status: record.status,
            unscored: unscored && record.status == CellStatus::Ok,
            reuse: if record.reused { OutputOrigin::Reused } else { OutputOrigin::Fresh },
            took,
            error: record.error.clone(),
            pending,
        })
    }
}

impl Progress {
    /// The progress of a run, some of whose cells were done before.
    pub fn new(observer: Arc<dyn Observer>, done: u64, total: u64, earlier: Money) -> Self {
        Self { observer, done: AtomicU64::new(done), total, earlier }
    }

    /// Reports cells until the channel closes, each once it is on disk.
    pub async fn report_finished(&self, context: &RunContext, mut ended: mpsc::Receiver<FinishedCell>) {
        let mut cells = Vec::with_capacity(MAX_TRAILING);
        while ended.recv_many(&mut cells, MAX_TRAILING).await > 0 {
            for mut cell in cells.drain(..) {
                let written = wait_until_durable(context, std::mem::take(&mut cell.pending.receipts)).await;
                match written {
                    Ok(()) => {
                        self.notify_observer(context, &cell);
                        context.follower.iter().for_each(|follower| follower.end_cell(cell.ordinal));
                    }
                    Err(error) => context.stop.fail(&error),
                }
            }
        }
    }

    /// Reports a cell that is on disk.
    pub fn notify_observer(&self, context: &RunContext, cell: &FinishedCell) {
        let (_, system, trial) = context.plan.place(cell.ordinal);
        let system = &context.systems.systems[system];
        self.observer.on_event(&Event::CellFinished(CellProgress {
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
            spent: self.earlier + context.calls.totals().2,
        }));
    }
}

/// Waits until records are on disk; flushes them if that takes long.
async fn wait_until_durable(context: &RunContext, receipts: Vec<Receipt>) -> Result<(), LedgerError> {
    for receipt in receipts {
        let mut written = pin!(receipt.wait());
        match tokio::time::timeout(FLUSH_AFTER, &mut written).await {
            Ok(written) => written?,
            Err(_) => {
                context.ledger.flush().await?;
                written.await?;
            }
        }
    }
    Ok(())
}

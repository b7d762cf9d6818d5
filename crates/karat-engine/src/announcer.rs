//! Rows, as the ledger learns of them: each once, by whoever comes to it first, and before any of its cells.

use std::sync::Arc;
use std::time::Duration;

use karat_suite::DatasetError;
use karat_types::{CellError, CellRecord, CellStatus, Record, Sample, SampleRecord};
use tokio::sync::Mutex;

use crate::cell::{CellDone, Trail};
use crate::progress::{Ended, Progress};
use crate::workshop::Workshop;

/// Tells the ledger of rows.
pub(crate) struct Announcer<'a> {
    pub workshop: &'a Workshop,
    pub progress: &'a Progress,
    /// The first row that nobody has come to. Held while rows are announced: who comes to them meanwhile waits.
    next: Mutex<u64>,
}

impl<'a> Announcer<'a> {
    /// No row is announced yet.
    pub fn new(workshop: &'a Workshop, progress: &'a Progress) -> Self {
        Self { workshop, progress, next: Mutex::new(0) }
    }

    /// Tells of those among these rows that are new and not finished, of broken ones as errored samples. `false` when the
    /// ledger cannot be written.
    pub async fn announce(&self, samples: &[Sample], broken: Vec<DatasetError>) -> bool {
        let mut next = self.next.lock().await;
        let broken_row = |error: &DatasetError| error.row.unwrap_or_default();
        let last = samples.iter().map(|sample| sample.row).chain(broken.iter().map(broken_row)).max();
        let Some(last) = last.filter(|last| *last >= *next) else { return true };
        let is_open = |row: u64| row >= *next && !self.is_finished(row);
        let broken = broken.into_iter().filter(|error| is_open(broken_row(error)));
        let samples = samples.iter().filter(|sample| is_open(sample.row));
        let is_told = self.report_broken(broken).await && self.tell(samples).await;
        *next = last + 1;
        is_told
    }

    /// Whether nothing is left to do of a row.
    fn is_finished(&self, row: u64) -> bool {
        let per_row = self.workshop.plan.cells_per_row();
        (row * per_row..(row + 1) * per_row).all(|ordinal| self.workshop.resolver.before(ordinal).is_none())
    }

    /// Records rows that cannot be read as errored samples.
    async fn report_broken(&self, broken: impl Iterator<Item = DatasetError>) -> bool {
        let Self { workshop, progress, .. } = *self;
        let per_row = workshop.plan.cells_per_row();
        for error in broken {
            let row = error.row.unwrap_or_default();
            let id = error.sample();
            let sample = SampleRecord { row, id: id.to_string(), ..SampleRecord::default() };
            let cells: Vec<Arc<CellRecord>> = (row * per_row..(row + 1) * per_row)
                .filter(|ordinal| !workshop.resolver.has_row(*ordinal))
                .map(|ordinal| Arc::new(broken_cell(ordinal, &error)))
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

    /// Tells the ledger of samples, which it writes before any of their cells.
    async fn tell(&self, samples: impl Iterator<Item = &Sample>) -> bool {
        let Workshop { systems, ledger, stop, .. } = self.workshop;
        let records = samples.map(|sample| {
            Record::Sample(SampleRecord {
                row: sample.row,
                id: sample.id.to_string(),
                cluster: sample.cluster.clone(),
                date: sample.date.clone(),
                metadata: systems.privacy.row(sample).map_or_else(|| sample.metadata.clone(), |row| row.metadata),
                reads: systems.all_reads.digests(sample),
            })
        });
        let records: Vec<Record> = records.collect();
        if records.is_empty() {
            return true;
        }
        match ledger.append_deferred(records).await {
            Ok(_) => true,
            Err(error) => {
                stop.fail(error.to_string());
                false
            }
        }
    }
}

/// The cell of a row that cannot be read.
fn broken_cell(ordinal: u64, error: &DatasetError) -> CellRecord {
    CellRecord {
        status: CellStatus::Error,
        error: Some(CellError::new("dataset", error.to_string())),
        ..CellRecord::empty(ordinal)
    }
}

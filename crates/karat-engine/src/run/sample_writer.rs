//! Writes rows to the ledger: each once, before any of its cells.

use std::sync::Arc;
use std::time::Duration;

use karat_suite::DatasetError;
use karat_types::{CellError, CellRecord, CellStatus, Record, Sample, SampleRecord};
use tokio::sync::Mutex;

use crate::cell::context::RunContext;
use crate::cell::evaluate::{CellResult, PendingWrites};
use crate::run::progress::{FinishedCell, Progress};

/// Writes rows to the ledger.
pub(crate) struct SampleWriter<'a> {
    pub context: &'a RunContext,
    pub progress: &'a Progress,
    /// The first row that is not written. Locked while rows are written, so that other groups wait for them.
    next: Mutex<u64>,
}

impl<'a> SampleWriter<'a> {
    /// A writer that has written no row.
    pub fn new(context: &'a RunContext, progress: &'a Progress) -> Self {
        Self { context, progress, next: Mutex::new(0) }
    }

    /// Writes the new and unfinished ones among these rows, and broken rows as errored samples. Returns `false` if the
    /// ledger cannot be written.
    pub async fn write_rows(&self, samples: &[Sample], broken: Vec<DatasetError>) -> bool {
        let mut next = self.next.lock().await;
        let broken_row = |error: &DatasetError| error.row.unwrap_or_default();
        let last = samples.iter().map(|sample| sample.row).chain(broken.iter().map(broken_row)).max();
        let Some(last) = last.filter(|last| *last >= *next) else { return true };
        let is_open = |row: u64| row >= *next && !self.is_finished(row);
        let broken = broken.into_iter().filter(|error| is_open(broken_row(error)));
        let samples = samples.iter().filter(|sample| is_open(sample.row));
        let is_told = self.write_broken_rows(broken).await && self.write_samples(samples).await;
        *next = last + 1;
        is_told
    }

    /// As [`SampleWriter::write_rows`], for rows that come once, in any order.
    pub async fn write_in_any_order(&self, samples: &[Sample], broken: Vec<DatasetError>) -> bool {
        let is_open = |row: u64| !self.is_finished(row);
        let broken = broken.into_iter().filter(|error| is_open(error.row.unwrap_or_default()));
        self.write_broken_rows(broken).await
            && self.write_samples(samples.iter().filter(|sample| is_open(sample.row))).await
    }

    /// Returns whether nothing is left to do of a row.
    fn is_finished(&self, row: u64) -> bool {
        let per_row = self.context.plan.cells_per_row();
        // A sample that was damaged is written again.
        self.context.resolver.has_sample(row)
            && (row * per_row..(row + 1) * per_row)
                .all(|ordinal| self.context.resolver.recorded_parts(ordinal).is_none())
    }

    /// Records rows that cannot be read as errored samples.
    async fn write_broken_rows(&self, broken: impl Iterator<Item = DatasetError>) -> bool {
        let Self { context, progress, .. } = *self;
        let per_row = context.plan.cells_per_row();
        for error in broken {
            let row = error.row.unwrap_or_default();
            let id = error.sample();
            let sample = SampleRecord { row, id: id.to_string(), ..SampleRecord::default() };
            let cells: Vec<Arc<CellRecord>> = (row * per_row..(row + 1) * per_row)
                .filter(|ordinal| !context.resolver.has_row(*ordinal))
                .map(|ordinal| Arc::new(broken_cell(ordinal, &error)))
                .collect();
            let records = std::iter::once(Record::Sample(sample)).chain(cells.iter().cloned().map(Record::Cell));
            if let Err(error) = context.ledger.append(records.collect()).await {
                context.stop.fail(&error);
                return false;
            }
            for record in cells {
                let done = CellResult { record, unscored: false, left: false, pending: PendingWrites::default() };
                let cell = FinishedCell::new(id.clone(), done, Duration::ZERO);
                cell.iter().for_each(|cell| progress.notify_observer(context, cell));
            }
        }
        true
    }

    /// Writes samples, which the ledger stores before any of their cells.
    async fn write_samples(&self, samples: impl Iterator<Item = &Sample>) -> bool {
        let RunContext { systems, ledger, stop, .. } = self.context;
        let records = samples.map(|sample| {
            let redacted = systems.privacy.row(sample);
            let row = redacted.as_ref().unwrap_or(sample);
            let keeps_texts = systems.privacy.keeps_requests();
            Record::Sample(SampleRecord {
                row: sample.row,
                id: sample.id.to_string(),
                cluster: sample.cluster.clone(),
                date: sample.date.clone(),
                metadata: row.metadata.clone(),
                reads: systems.all_reads.digests_with_scored(&systems.scored_reads, sample),
                texts: if keeps_texts {
                    systems.all_reads.texts_with_scored(&systems.scored_reads, row)
                } else {
                    Vec::new()
                },
            })
        });
        let records: Vec<Record> = records.collect();
        if records.is_empty() {
            return true;
        }
        match ledger.append_deferred(records).await {
            Ok(_) => true,
            Err(error) => {
                stop.fail(&error);
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

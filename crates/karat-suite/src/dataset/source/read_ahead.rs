//! A read-ahead iterator: a thread reads and parses rows, a bounded number ahead of the consumer.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::vec::IntoIter;

use crate::dataset::source::{RowResult, RowStream};

/// Rows that are read without a thread: a thread takes longer to start.
const ALONE: usize = 512;
/// Rows that are handed over together.
const BATCH: usize = 64;
/// Number of batches in the queue.
const BATCHES: usize = 8;

/// An iterator over the same rows in the same order.
pub(crate) enum ReadAhead {
    Alone { rows: RowStream, left: usize },
    Beside { batch: IntoIter<RowResult>, batches: Receiver<Vec<RowResult>>, reader: Option<JoinHandle<()>> },
}

impl ReadAhead {
    pub fn of(rows: RowStream) -> Self {
        Self::Alone { rows, left: ALONE }
    }

    fn on_thread(mut rows: RowStream) -> Self {
        let (sender, batches) = sync_channel(BATCHES);
        let reader = thread::spawn(move || {
            loop {
                let batch: Vec<_> = rows.by_ref().take(BATCH).collect();
                if batch.is_empty() || sender.send(batch).is_err() {
                    return;
                }
            }
        });
        Self::Beside { batch: Vec::new().into_iter(), batches, reader: Some(reader) }
    }
}

impl Iterator for ReadAhead {
    type Item = RowResult;

    fn next(&mut self) -> Option<RowResult> {
        if let Self::Alone { rows, left: 0 } = self {
            let rows = std::mem::replace(rows, Box::new(std::iter::empty()));
            *self = Self::on_thread(rows);
        }
        match self {
            Self::Alone { rows, left } => {
                *left -= 1;
                rows.next()
            }
            Self::Beside { batch, batches, reader } => {
                if batch.as_slice().is_empty() {
                    *batch = batches.recv().unwrap_or_default().into_iter();
                }
                // A thread that panicked must not look like the end of the rows.
                if batch.as_slice().is_empty()
                    && let Some(Err(died)) = reader.take().map(JoinHandle::join)
                {
                    std::panic::resume_unwind(died);
                }
                batch.next()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::raw::{RowPlace, SourceRow};
    use super::*;

    /// The read-ahead thread yields the same rows, and stops once its consumer is dropped.
    #[test]
    fn the_same_rows_come_in_the_same_order() {
        for count in [0, 1, ALONE, ALONE + 1, ALONE + 3 * BATCH, ALONE + (2 * BATCHES + 1) * BATCH + 5] {
            let row = |at: usize| {
                let place = RowPlace { file: "rows.jsonl".into(), line: at + 1, text: String::new() };
                Ok(SourceRow { value: json!({ "id": at }), at: Arc::new(place) })
            };
            let rows = ReadAhead::of(Box::new((0..count).map(row)));
            let lines: Vec<usize> = rows.map(|row| row.unwrap().at.line).collect();
            assert_eq!(lines, (1..=count).collect::<Vec<_>>());
            assert_eq!(ReadAhead::of(Box::new((0..count).map(row))).take(ALONE + 2).count(), count.min(ALONE + 2));
        }
    }

    /// Rows behind a reader that died are not left out unawares.
    #[test]
    #[should_panic = "row 5000"]
    fn a_reader_that_dies_is_no_end() {
        let place = Arc::new(RowPlace { file: "rows.jsonl".into(), line: 1, text: String::new() });
        let row = move |at: usize| {
            assert!(at != 5000, "row 5000");
            Ok(SourceRow { value: json!({}), at: place.clone() })
        };
        ReadAhead::of(Box::new((0..9000).map(row))).count();
    }
}

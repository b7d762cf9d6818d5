//! Rows that are read and parsed by a thread of their own, a bounded number ahead of whoever looks at them.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::vec::IntoIter;

use super::source::{RowResult, RowStream};

/// So many rows are read where they are looked at: fewer are read sooner than a thread begins.
const ALONE: usize = 4096;
/// Rows that are handed over together.
const BATCH: usize = 64;
/// Batches that may lie ready.
const BATCHES: usize = 8;

/// The same rows in the same order.
pub(super) enum Ahead {
    Alone { rows: RowStream, left: usize },
    Beside { batch: IntoIter<RowResult>, batches: Receiver<Vec<RowResult>> },
}

impl Ahead {
    pub fn of(rows: RowStream) -> Self {
        Self::Alone { rows, left: ALONE }
    }

    fn beside(mut rows: RowStream) -> Self {
        let (sender, batches) = sync_channel(BATCHES);
        thread::spawn(move || {
            loop {
                let batch: Vec<_> = rows.by_ref().take(BATCH).collect();
                if batch.is_empty() || sender.send(batch).is_err() {
                    return;
                }
            }
        });
        Self::Beside { batch: Vec::new().into_iter(), batches }
    }
}

impl Iterator for Ahead {
    type Item = RowResult;

    fn next(&mut self) -> Option<RowResult> {
        if let Self::Alone { rows, left: 0 } = self {
            let rows = std::mem::replace(rows, Box::new(std::iter::empty()));
            *self = Self::beside(rows);
        }
        match self {
            Self::Alone { rows, left } => {
                *left -= 1;
                rows.next()
            }
            Self::Beside { batch, batches } => {
                if batch.as_slice().is_empty() {
                    *batch = batches.recv().ok()?.into_iter();
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

    use super::super::raw::{RawRow, RowPlace};
    use super::*;

    /// Whoever reads ahead reads the same rows, and stops when nobody looks at them any more.
    #[test]
    fn the_same_rows_come_in_the_same_order() {
        for count in [0, 1, ALONE, ALONE + 1, ALONE + 3 * BATCH, ALONE + (2 * BATCHES + 1) * BATCH + 5] {
            let row = |at: usize| {
                let place = RowPlace { file: "rows.jsonl".into(), line: at + 1, text: String::new() };
                Ok(RawRow { value: json!({ "id": at }), at: Arc::new(place) })
            };
            let rows = Ahead::of(Box::new((0..count).map(row)));
            let lines: Vec<usize> = rows.map(|row| row.unwrap().at.line).collect();
            assert_eq!(lines, (1..=count).collect::<Vec<_>>());
            assert_eq!(Ahead::of(Box::new((0..count).map(row))).take(ALONE + 2).count(), count.min(ALONE + 2));
        }
    }
}

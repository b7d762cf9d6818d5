//! The progress of a run: counters that the engine's threads write and Python's thread reads.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use karat_types::{CellStatus, Event, Observer};

/// Counters of a run.
#[derive(Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    failed: AtomicU64,
    spent: AtomicI64,
    /// Messages that Python has not shown yet.
    messages: Mutex<Vec<String>>,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counts {
    /// Finished cells.
    pub done: u64,
    /// Cells of the plan.
    pub total: u64,
    /// Cells without an output.
    pub failed: u64,
    /// Money spent, in dollars.
    pub spent_usd: f64,
}

impl Progress {
    /// The counters now.
    pub fn counts(&self) -> Counts {
        Counts {
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            spent_usd: self.spent.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }

    /// The messages since the last look.
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a message.
    pub fn say(&self, message: &str) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
    }
}

impl Observer for Progress {
    fn on_event(&self, event: &Event<'_>) {
        match event {
            Event::Started { cells, done, .. } => {
                self.total.store(*cells, Ordering::Relaxed);
                self.done.store(*done, Ordering::Relaxed);
            }
            Event::CellFinished(cell) => {
                self.done.fetch_max(cell.done, Ordering::Relaxed);
                self.spent.fetch_max(i64::try_from(cell.spent.0).unwrap_or(i64::MAX), Ordering::Relaxed);
                if cell.status == CellStatus::Error {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
            Event::Warning(message) | Event::Notice(message) => self.say(message),
            Event::Retrying { .. } | Event::CallEnded(_) | Event::Finished { .. } => {}
        }
    }
}

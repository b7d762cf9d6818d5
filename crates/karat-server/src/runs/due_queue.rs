//! Due runs that were claimed and wait for a place. Restarted servers find them by their claims.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_app::DueRun;

/// Due runs that wait for a place, the oldest first. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct DueQueue(Arc<Mutex<VecDeque<DueRun>>>);

impl DueQueue {
    /// Adds a run. Returns `false` if it waits already.
    pub fn push(&self, due: DueRun) -> bool {
        let mut waiting = self.waiting();
        let is_new = waiting.iter().all(|known| known.run != due.run);
        if is_new {
            waiting.push_back(due);
        }
        is_new
    }

    /// Takes the run that has waited longest.
    pub fn pop(&self) -> Option<DueRun> {
        self.waiting().pop_front()
    }

    /// Removes a run that waits. Returns `false` if it does not wait.
    pub fn remove(&self, run: &str) -> bool {
        let mut waiting = self.waiting();
        let before = waiting.len();
        waiting.retain(|due| due.run != run);
        waiting.len() < before
    }

    /// The number of runs that wait.
    pub fn len(&self) -> usize {
        self.waiting().len()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<DueRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

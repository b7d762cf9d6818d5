//! The runs that this server executes now, and their signals to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_app::{RunState, Stop};

/// The runs that a server executes. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ActiveRuns(Arc<SharedRuns>);

#[derive(Default)]
struct SharedRuns {
    runs: Mutex<BTreeMap<String, ActiveRun>>,
    /// Runs that have ended. Counted with `runs` locked: who sees that a run has ended sees the new number.
    ended: AtomicU64,
}

#[derive(Default)]
struct ActiveRun {
    stop: Stop,
    is_cancelled: bool,
}

impl ActiveRuns {
    /// Adds a run, and returns the signal that stops it.
    pub fn add(&self, run: &str) -> Stop {
        let stop = Stop::new();
        self.runs().insert(run.to_owned(), ActiveRun { stop: stop.clone(), is_cancelled: false });
        stop
    }

    /// Removes a run that has ended.
    pub fn remove(&self, run: &str) {
        let mut runs = self.runs();
        runs.remove(run);
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of runs that have ended since the server started.
    pub fn count_ended(&self) -> u64 {
        self.0.ended.load(Ordering::SeqCst)
    }

    /// Stops a run. Returns whether this server executes it.
    pub fn cancel(&self, run: &str) -> bool {
        let mut runs = self.runs();
        let Some(run) = runs.get_mut(run) else { return false };
        run.is_cancelled = true;
        run.stop.set();
        true
    }

    /// Returns whether a run of this server was cancelled.
    pub fn is_cancelled(&self, run: &str) -> bool {
        self.runs().get(run).is_some_and(|run| run.is_cancelled)
    }

    /// Stops all runs, as Ctrl-C does; they can be resumed.
    pub fn stop_all(&self) {
        self.runs().values().for_each(|run| run.stop.set());
    }

    /// The number of runs.
    pub fn count(&self) -> usize {
        self.runs().len()
    }

    /// Returns whether this server executes a run.
    pub fn is_running(&self, run: &str) -> bool {
        self.runs().contains_key(run)
    }

    /// Corrects the state of a run that this server executes: its last row is written a moment before its thread ends, and
    /// until then it cannot be continued.
    pub fn complete(&self, state: RunState) -> RunState {
        match state.started_at.is_some() && self.is_running(&state.run_id) {
            true => RunState { status: "running", verdict: None, exit_code: None, completed_at: None, ..state },
            false => state,
        }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, ActiveRun>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

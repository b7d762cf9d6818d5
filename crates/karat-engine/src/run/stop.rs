//! How a run is asked to stop: by the user, or because the ledger can no longer be written.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;

/// A stop signal that everybody holds. Calls in flight end, their records are kept, nothing new begins.
#[derive(Clone, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Default)]
struct StopState {
    set: OnceLock<()>,
    failure: Mutex<Option<String>>,
    notify: Notify,
}

impl Stop {
    /// A signal that nobody has given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to stop.
    pub fn set(&self) {
        let _ = self.0.set.set(());
        self.0.notify.notify_waiters();
    }

    /// Stops the run because something it cannot do without failed; the first reason is kept.
    pub(crate) fn fail(&self, reason: String) {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.set();
    }

    /// Whether the run shall stop.
    pub fn is_set(&self) -> bool {
        self.0.set.get().is_some()
    }

    /// Why it had to stop, when it was not the user.
    pub(crate) fn failure(&self) -> Option<String> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves when the run shall stop.
    pub async fn wait(&self) {
        let notified = self.0.notify.notified();
        if !self.is_set() {
            notified.await;
        }
    }
}

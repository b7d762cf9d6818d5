//! The signal that stops a run: from the user, or because the ledger can no longer be written.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use karat_store::{LedgerError, Patience, StoreError};
use tokio::sync::Notify;

/// The time that a stopped run waits for the answers of running calls.
pub(crate) const GRACE: Duration = Duration::from_secs(20);

/// A stop signal; clones share it. Running calls end, their records are kept, and nothing new starts.
#[derive(Clone, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Default)]
struct StopState {
    set: OnceLock<()>,
    failure: Mutex<Option<LedgerError>>,
    /// The stores whose waits the stop shortens.
    waits: Mutex<Vec<Patience>>,
    notify: Notify,
}

impl Stop {
    /// A signal that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to stop.
    pub fn set(&self) {
        let _ = self.0.set.set(());
        self.0.notify.notify_waiters();
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|patience| patience.shorten(GRACE));
    }

    /// Lets the stop end waits for a store that does not answer when those for calls end. Threads that wait for a store are
    /// not reached otherwise.
    pub(crate) fn end_waits_of(&self, patience: &Patience) {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner).push(patience.clone());
        if self.is_set() {
            patience.shorten(GRACE);
        }
    }

    /// Stops the run because the ledger cannot be written; the first reason is kept.
    pub(crate) fn fail(&self, reason: &LedgerError) {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.clone());
        self.set();
    }

    /// Returns whether the run should stop.
    pub fn is_set(&self) -> bool {
        self.0.set.get().is_some()
    }

    /// The failure that stopped it, if it was not the user.
    pub(crate) fn failure(&self) -> Option<LedgerError> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves once the run should stop.
    pub async fn wait(&self) {
        let notified = self.0.notify.notified();
        if !self.is_set() {
            notified.await;
        }
    }
}

/// The way to go on after the ledger could not be written; `next` is the command that continues the run.
pub(crate) fn advice_after(failure: &LedgerError, next: &str) -> String {
    match failure.cause() {
        StoreError::Gone { .. } => "run the suite again; what this run recorded is gone with the store".to_owned(),
        StoreError::Full { .. } | StoreError::Refused { .. } | StoreError::Sql { .. } => {
            format!("what was recorded is kept: make room, then `{next}`")
        }
        StoreError::RunLost(_) => "wait for the process that has taken the run".to_owned(),
        StoreError::Away { .. } => format!("what was recorded is kept: once the server answers, `{next}` continues"),
        _ => format!("what was recorded is kept: `{next}` continues"),
    }
}

//! The state that all cells of a run share.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use karat_store::Ledger;
use karat_types::{JudgmentRecord, Key, PlanHeader};

use crate::call::executor::CallExecutor;
use crate::call::vectors::VectorDesk;
use crate::cell::single_flight::SingleFlight;
use crate::cell::step_outcome::StepResult;
use crate::plan::systems::Systems;
use crate::reuse::peer_runs::PeerRuns;
use crate::reuse::resolver::Resolver;
use crate::run::early::follower::Follower;
use crate::run::stop::Stop;

/// The state that all cells of a run share.
pub(crate) struct RunContext {
    pub plan: Arc<PlanHeader>,
    pub systems: Arc<Systems>,
    pub ledger: Arc<Ledger>,
    pub calls: CallExecutor,
    /// The texts that scorers compare by vectors, if any does.
    pub vectors: Option<VectorDesk>,
    pub steps: SingleFlight<StepResult>,
    pub judgments: SingleFlight<Arc<JudgmentRecord>>,
    /// Other runs on the same store.
    pub peers: PeerRuns,
    pub stop: Stop,
    /// Follows the run, if it may stop early.
    pub follower: Option<Arc<Follower>>,
    /// True once a cell that is still needed was left for `resume`: such a run is not finished.
    pub has_left: AtomicBool,
    /// Decides what exists of a cell.
    pub resolver: Resolver,
}

impl RunContext {
    /// Returns whether the run has stopped early.
    pub fn is_halted(&self) -> bool {
        self.follower.as_ref().is_some_and(|follower| follower.is_decided())
    }

    /// Returns whether a cell under way is still needed: a run that may stop early judges no other.
    pub fn is_needed(&self, ordinal: u64) -> bool {
        self.follower.as_ref().is_none_or(|follower| follower.is_needed(ordinal))
    }

    /// Watches for other runs on the store; takes leases on all running work when one starts. Never returns.
    pub async fn watch_for_peers(&self) -> Infallible {
        let store_lease = self.peers.wait_for_peer().await;
        self.steps.take_leases(store_lease);
        self.judgments.take_leases(store_lease);
        store_lease.announce();
        self.stop_collecting_texts();
        self.flush_for_peers().await;
        pending().await
    }

    /// Lets no cell wait for the texts of others: other runs may wait for its leases.
    pub fn stop_collecting_texts(&self) {
        self.vectors.iter().for_each(VectorDesk::stop_collecting);
    }

    /// Finds the result of a key. If there is none and other runs are present, takes the lease of the key and looks
    /// again, because the result may have been made in the meantime.
    pub async fn find_or_lease<T, R>(
        &self,
        flights: &SingleFlight<R>,
        key: Key,
        find: impl Fn() -> Option<T>,
    ) -> Option<T> {
        match find() {
            None if self.peers.are_present() => {
                // Boxed: most runs are alone on the store.
                Box::pin(self.peers.lease(flights, key, &self.stop)).await;
                // An error shows in the next lookup.
                let _ = self.ledger.store().catch_up();
                find()
            }
            found => found,
        }
    }

    /// Flushes records that other runs may wait for.
    pub async fn flush_for_peers(&self) {
        if self.peers.are_present()
            && let Err(error) = self.ledger.flush().await
        {
            self.stop.fail(&error);
        }
    }
}

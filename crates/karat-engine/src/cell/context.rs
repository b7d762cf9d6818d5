//! The state that all cells of a run share.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use karat_store::{Ledger, StoreError};
use karat_types::{CellError, JudgmentRecord, Key, Money, PlanHeader};

use crate::EngineError;
use crate::call::executor::CallExecutor;
use crate::call::vectors::VectorBatcher;
use crate::cell::step_outcome::StepResult;
use crate::control::single_flight::SingleFlight;
use crate::control::stop::Stop;
use crate::early::follower::Follower;
use crate::plan::systems::Systems;
use crate::reuse::peer_runs::PeerRuns;
use crate::reuse::resolver::Resolver;

/// The state that all cells of a run share.
pub(crate) struct RunContext {
    pub plan: Arc<PlanHeader>,
    pub systems: Arc<Systems>,
    pub ledger: Arc<Ledger>,
    pub calls: CallExecutor,
    /// The texts that scorers compare by vectors, if any does.
    pub vectors: Option<VectorBatcher>,
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
        self.vectors.iter().for_each(VectorBatcher::stop_collecting);
    }

    /// Finds the result of a key. If there is none and other runs are present, takes the lease of the key and looks
    /// again, because the result may have been made in the meantime.
    ///
    /// # Errors
    /// The store cannot be asked, and the run stops.
    pub async fn find_or_lease<T, R>(
        &self,
        flights: &SingleFlight<R>,
        key: Key,
        find: impl Fn() -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, CellError> {
        let found = self.calls.check_found(find())?;
        if found.is_some() || !self.peers.are_present() {
            return Ok(found);
        }
        // Boxed: most runs are alone on the store.
        Box::pin(self.peers.lease(flights, key, &self.stop)).await;
        let store = self.ledger.store();
        // Another run may have made the result meanwhile, or paid for calls of it before it was killed.
        let look = || {
            store.catch_up()?;
            let found = find()?;
            if found.is_none() {
                self.calls.paid.refresh(store)?;
            }
            Ok(found)
        };
        self.calls.check_found(look())
    }

    /// The result of a look-up in the rows of a stored run.
    ///
    /// # Errors
    /// Of a cell whose rows are damaged; or the store cannot be asked, and the run stops.
    pub fn check_stored<T>(&self, found: Result<T, EngineError>) -> Result<T, CellError> {
        found.map_err(|error| match error {
            EngineError::Store(error) if !matches!(error, StoreError::Damaged { .. }) => self.calls.stop_for(error),
            error => CellError::new("store", error.to_string()),
        })
    }

    /// The amount that a row reports which is replaced; nothing is known of a damaged row.
    ///
    /// # Errors
    /// The store cannot be asked, and the run stops.
    pub fn replaced_cost(&self, found: Result<Money, EngineError>) -> Result<Money, CellError> {
        self.check_stored(found).or_else(|error| if error.is_stop() { Err(error) } else { Ok(Money::ZERO) })
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

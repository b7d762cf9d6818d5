//! What all cells of a run share.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use karat_store::Ledger;
use karat_types::{JudgmentRecord, Key, PlanHeader};

use crate::calls::Calls;
use crate::company::Neighbours;
use crate::flights::Flights;
use crate::made::StepResult;
use crate::resolver::Resolver;
use crate::stop::Stop;
use crate::systems::Systems;

/// What all cells of a run share.
pub(crate) struct Workshop {
    pub plan: Arc<PlanHeader>,
    pub systems: Arc<Systems>,
    pub ledger: Arc<Ledger>,
    pub calls: Calls,
    pub steps: Flights<StepResult>,
    pub judgments: Flights<Arc<JudgmentRecord>>,
    /// Who else runs on the store.
    pub neighbours: Neighbours,
    pub stop: Stop,
    /// Decides what exists of a cell.
    pub resolver: Resolver,
}

impl Workshop {
    /// Lets others in, should they come. Never ends.
    pub async fn watch(&self) -> Infallible {
        let company = self.neighbours.arrival().await;
        self.steps.take_leases(company);
        self.judgments.take_leases(company);
        company.announce();
        self.written_soon().await;
        pending().await
    }

    /// Finds what has this key. Where there is nothing and others are there, takes the lease of it, and looks again: it may
    /// have been made until then.
    pub async fn found_or_leased<T, R>(
        &self,
        flights: &Flights<R>,
        key: Key,
        find: impl Fn() -> Option<T>,
    ) -> Option<T> {
        match find() {
            None if self.neighbours.are_there() => {
                // Boxed: most runs are alone.
                Box::pin(self.neighbours.lease(flights, key, &self.stop)).await;
                // What cannot be read now, whoever looks for it next says.
                let _ = self.ledger.store().catch_up();
                find()
            }
            found => found,
        }
    }

    /// Has records written that others may wait for.
    pub async fn written_soon(&self) {
        if self.neighbours.are_there()
            && let Err(error) = self.ledger.flush().await
        {
            self.stop.fail(error.to_string());
        }
    }
}

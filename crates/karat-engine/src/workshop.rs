//! What all cells of a run share.

use std::sync::Arc;

use karat_store::{Ledger, Stock};
use karat_types::{JudgmentRecord, PlanHeader};

use crate::calls::Calls;
use crate::flights::Flights;
use crate::history::Earlier;
use crate::made::StepResult;
use crate::remaining::{Before, Remaining};
use crate::stop::Stop;
use crate::systems::Systems;

/// What all cells of a run share.
pub(crate) struct Workshop {
    pub plan: Arc<PlanHeader>,
    pub systems: Systems,
    pub ledger: Arc<Ledger>,
    pub calls: Calls,
    pub steps: Flights<StepResult>,
    pub judgments: Flights<Arc<JudgmentRecord>>,
    pub stop: Stop,
    /// What is taken over instead of being made.
    pub stock: Stock,
    /// What an earlier part of the run has left.
    pub remaining: Remaining,
    /// Where outputs are found, instead of being made.
    pub outputs: Option<Earlier>,
    /// The run itself, where what failed of it is made again.
    pub own: Option<Earlier>,
}

impl Workshop {
    /// What an earlier part of the run did of a cell; `None` when nothing is left to do.
    pub fn before(&self, ordinal: u64) -> Option<Before> {
        self.remaining.before(&self.plan, &self.systems, ordinal)
    }
}

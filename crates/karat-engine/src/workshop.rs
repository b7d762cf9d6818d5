//! What all cells of a run share.

use std::sync::Arc;

use karat_store::{Ledger, Store};
use karat_types::{JudgmentRecord, Moment, PlanHeader};

use crate::calls::Calls;
use crate::flights::Flights;
use crate::history::Earlier;
use crate::made::StepResult;
use crate::stop::Stop;
use crate::systems::Systems;

/// What all cells of a run share.
pub(crate) struct Workshop {
    pub plan: Arc<PlanHeader>,
    pub systems: Systems,
    pub store: Arc<Store>,
    pub ledger: Arc<Ledger>,
    pub calls: Calls,
    pub steps: Flights<StepResult>,
    pub judgments: Flights<Arc<JudgmentRecord>>,
    pub stop: Stop,
    /// Results are taken over from runs that began at this moment or later.
    pub oldest: Moment,
    /// Whether what failed is made again.
    pub retry: bool,
    /// Where outputs are found, instead of being made.
    pub outputs: Option<Earlier>,
    /// The run itself, where what failed of it is made again.
    pub own: Option<Earlier>,
}

//! A run that a server was asked for: what to do, in a form that survives a restart.

use karat_store::{QueuedRun, StoreError};
use karat_suite::Plan;
use karat_types::{PlanHeader, RunStatus};
use serde::{Deserialize, Serialize};

use crate::error::{Bug, RunError};
use crate::runs::execution::check_id;
use crate::service::Service;
use crate::views::follow::progress::CellCounts;
use crate::views::follow::run_state::RunState;
use crate::{AppError, Execution, Invocation, RunEnd, rfc3339};

/// Ids that are drawn until one is unused.
const DRAWS: usize = 8;

/// The part of a run that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderAction {
    /// A new run.
    Start,
    /// The rest of a stored run.
    Resume,
    /// The rest of a stored run and its failed cells.
    Retry,
}

/// A run that a server was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QueueOrder {
    /// Id of the run.
    pub run: String,
    /// The part that is asked for.
    pub action: OrderAction,
    /// The invocation; of a run that is continued, only its new limits.
    pub invocation: Invocation,
    /// The suite.
    pub suite: String,
    /// Hash of the plan when the run was asked for.
    pub plan_hash: String,
    /// Cells of the plan.
    pub planned: u64,
    /// The day that it is about.
    pub as_of: Option<String>,
    /// Dollars that it may spend.
    pub budget_usd: Option<f64>,
}

impl QueueOrder {
    pub(crate) fn read(text: &str) -> Result<Self, AppError> {
        karat_types::json::decode(text).map_err(|source| Bug::Order { source }.into())
    }

    pub(crate) fn text(&self) -> Result<String, AppError> {
        serde_json::to_string(self).map_err(|source| Bug::Order { source }.into())
    }

    /// The state of a run of which nothing is stored yet.
    pub(crate) fn state(&self, queued: &QueuedRun) -> RunState {
        RunState {
            run_id: self.run.clone(),
            suite: self.suite.clone(),
            status: "queued",
            verdict: None,
            trigger: self.invocation.trigger.clone(),
            as_of: self.as_of.clone(),
            created_at: rfc3339(queued.created_at),
            started_at: None,
            completed_at: queued.ended_at.map(rfc3339),
            plan_hash: self.plan_hash.clone(),
            cells: CellCounts { planned: self.planned, ..CellCounts::default() },
            spend_usd: 0.0,
            budget_usd: self.budget_usd,
            exit_code: None,
            problem: None,
        }
    }
}

impl Service<'_> {
    /// The order of a new run of a plan.
    ///
    /// # Errors
    /// The id is not valid.
    pub fn start_order(
        &self,
        plan: &Plan,
        invocation: &Invocation,
        id: Option<String>,
    ) -> Result<QueueOrder, AppError> {
        let header = &plan.header;
        let run = id.map_or_else(|| Ok(self.unused_id(header)), |id| check_id(&id))?;
        let mut invocation = invocation.clone();
        // The run is of the day on which it was asked for.
        invocation.overrides.as_of.clone_from(&header.as_of);
        Ok(QueueOrder {
            run,
            action: OrderAction::Start,
            invocation,
            suite: header.suite.clone(),
            plan_hash: header.plan_hash.to_string(),
            planned: header.cells(),
            as_of: header.as_of.clone(),
            budget_usd: header.run.budget_usd,
        })
    }

    /// A new id that no stored or queued run has: many may be asked for in one second.
    fn unused_id(&self, header: &PlanHeader) -> String {
        let is_unused = |id: &String| self.run_state(id).is_err();
        let drawn = std::iter::repeat_with(|| self.app.runs().new_id(header)).take(DRAWS).find(is_unused);
        drawn.unwrap_or_else(|| self.app.runs().new_id(header))
    }

    /// The order to continue a stored run with new limits.
    ///
    /// # Errors
    /// There is no such run, or nothing is left to do.
    pub fn continuation_order(
        &self,
        run: &str,
        action: OrderAction,
        later: &Invocation,
    ) -> Result<QueueOrder, AppError> {
        let store = self.app.existing_store()?;
        let header = store.run(&store.resolve(run)?)?;
        let is_done = match action {
            OrderAction::Retry => self.app.runs().has_nothing_to_retry(&store, &header)?,
            OrderAction::Start | OrderAction::Resume => {
                header.status == RunStatus::Finished && store.is_whole(&header.id)?
            }
        };
        if is_done {
            return Err(RunError::NothingLeft { run: header.id }.into());
        }
        let plan = &header.plan;
        Ok(QueueOrder {
            run: header.id,
            action,
            invocation: later.clone(),
            suite: plan.suite.clone(),
            plan_hash: plan.plan_hash.to_string(),
            planned: plan.cells(),
            as_of: plan.as_of.clone(),
            budget_usd: later.overrides.budget_usd.or(plan.run.budget_usd),
        })
    }

    /// Executes the order of a queued run, also one that a killed server has begun.
    ///
    /// # Errors
    /// The run cannot be started or fails; its suite gives another plan now.
    pub fn execute_order(
        &self,
        queued: &QueuedRun,
        allow_commands: bool,
        execution: Execution,
    ) -> Result<RunEnd, AppError> {
        let order = QueueOrder::read(&queued.order)?;
        self.note_death(&order.run)?;
        let mut invocation = order.invocation.clone();
        invocation.overrides.safe |= !allow_commands;
        let execution = Execution { run_id: Some(order.run.clone()), resume: true, ..execution };
        match order.action {
            OrderAction::Resume => self.app.runs().resume(&order.run, &invocation, execution),
            OrderAction::Retry => self.app.runs().retry(&order.run, &invocation, execution),
            OrderAction::Start if self.is_stored(&order.run)? => {
                // Its own limits: they count from the start of the run.
                let mut later = Invocation::default();
                later.overrides.safe = !allow_commands;
                self.app.runs().resume(&order.run, &later, execution)
            }
            OrderAction::Start => {
                let plan = match self.take_queued_plan(&order.run) {
                    Some(plan) => plan,
                    None => self.app.runs().load(&invocation)?,
                };
                if plan.header.plan_hash.to_string() != order.plan_hash {
                    return Err(RunError::OrderChanged { run: order.run }.into());
                }
                self.app.runs().run(plan, &invocation, execution)
            }
        }
    }

    fn is_stored(&self, run: &str) -> Result<bool, AppError> {
        match self.app.open_store()?.run(run) {
            Ok(_) => Ok(true),
            Err(StoreError::NoSuchRun { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

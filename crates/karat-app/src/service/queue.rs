//! The queue of a server, and what it adds to the state of a run: that it waits, that it was cancelled, why it failed.

use karat_store::{KeptAnswer, NewQueuedRun, QueueState, QueuedRun, Queueing, Store, StoreError};
use karat_suite::Plan;

use crate::service::Service;
use crate::service::order::{OrderAction, QueueOrder};
use crate::views::follow::run_state::RunState;
use crate::{AppError, rfc3339};

/// The longest time for which a run keeps the plan that it was put into the queue with.
const MOST_WAIT_MS: i64 = 2_000;

/// The end of a queued run that its rows do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueEnd {
    /// `failed`, `cancelled` or `interrupted`; `None` if the rows say it.
    pub status: Option<&'static str>,
    /// The failure.
    pub problem: Option<String>,
}

impl Service<'_> {
    /// Puts a run into the queue and keeps the answer to its request, in one commit. The plan is that of a new run: if the run
    /// starts at once, its suite is not loaded again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn enqueue(
        &self,
        order: &QueueOrder,
        plan: Option<Plan>,
        answer: Option<&KeptAnswer>,
        most_waiting: u32,
    ) -> Result<Queueing, AppError> {
        let (text, at) = (order.text()?, self.app.clock.now());
        let is_new = order.action == OrderAction::Start;
        let new = NewQueuedRun { run: &order.run, order: &text, is_new, at, most_waiting };
        let queueing = self.app.open_store()?.enqueue(&new, answer)?;
        if queueing == Queueing::Added {
            *self.app.opened.queued_plan() = plan.map(|plan| (order.run.clone(), plan, at));
        }
        Ok(queueing)
    }

    /// The plan of a run that was put into the queue a moment ago. Of one that has waited there is none: what has changed since
    /// is found when the suite is loaded again.
    pub(crate) fn take_queued_plan(&self, run: &str) -> Option<Plan> {
        let mut queued = self.app.opened.queued_plan();
        let is_wanted = queued.as_ref().is_some_and(|(id, ..)| id == run);
        let (_, plan, at) = queued.take_if(|_| is_wanted)?;
        (self.app.clock.now().0 - at.0 < MOST_WAIT_MS).then_some(plan)
    }

    /// The state of a run that is put into the queue now.
    pub fn state_of_order(&self, order: &QueueOrder) -> RunState {
        order.state(&QueuedRun {
            seq: 0,
            run: order.run.clone(),
            order: String::new(),
            state: QueueState::Waiting,
            owner: None,
            crashes: 0,
            status: None,
            problem: None,
            created_at: self.app.clock.now(),
            started_at: None,
            ended_at: None,
        })
    }

    /// Takes the run that has waited longest, for this server.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn take_queued(&self, owner: &str) -> Result<Option<QueuedRun>, AppError> {
        Ok(self.app.open_store()?.take_queued(owner, self.app.clock.now())?)
    }

    /// Puts the runs of killed servers back into the queue. Returns those that are left alone after three crashes.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn recover_queue(&self, owner: &str) -> Result<Vec<String>, AppError> {
        Ok(self.app.open_store()?.recover_queue(owner, self.app.clock.now())?)
    }

    /// Ends a run of the queue.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn end_queued(&self, run: &str, end: &QueueEnd) -> Result<(), AppError> {
        let store = self.app.open_store()?;
        Ok(store.end_queued(run, end.status, end.problem.as_deref(), self.app.clock.now())?)
    }

    /// Leaves a started run to the next server.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn park_queued(&self, run: &str) -> Result<(), AppError> {
        Ok(self.app.open_store()?.park_queued(run)?)
    }

    /// Cancels a run that waits. Returns `false` if it does not wait.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn cancel_queued(&self, run: &str) -> Result<bool, AppError> {
        Ok(self.app.open_store()?.cancel_queued(run, self.app.clock.now())?)
    }

    /// Runs that wait, and runs that were started and have not ended.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn queue_depth(&self) -> Result<(u64, u64), AppError> {
        if !self.app.store.exists() {
            return Ok((0, 0));
        }
        Ok(self.app.store_to_read()?.queue_depth()?)
    }

    /// The answer that was given under an `Idempotency-Key`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn kept_answer(&self, key: &str) -> Result<Option<KeptAnswer>, AppError> {
        Ok(self.app.open_store()?.kept_answer(key, self.app.clock.now())?)
    }

    /// Keeps an answer. Returns an earlier one under the same key.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_answer(&self, answer: &KeptAnswer) -> Result<Option<KeptAnswer>, AppError> {
        Ok(self.app.open_store()?.keep_answer(answer)?)
    }

    /// The state of a run of which nothing is stored, if the queue has it: by its id or the beginning of one.
    pub(crate) fn queued_state(&self, store: &Store, wanted: &str) -> Result<Option<RunState>, AppError> {
        let queued = match store.queued_run(wanted)? {
            Some(queued) => Some(queued),
            None => match store.queued_ids(wanted)?.as_slice() {
                [id] => store.queued_run(id)?,
                _ => None,
            },
        };
        let Some(queued) = queued else { return Ok(None) };
        let state = QueueOrder::read(&queued.order)?.state(&queued);
        Ok(Some(match queued.state {
            QueueState::Waiting | QueueState::Started => state,
            QueueState::Ended => {
                let status = status_name(queued.status.as_deref());
                let exit_code = Some(if status == "failed" { 1 } else { 130 });
                RunState { status, exit_code, problem: queued.problem, ..state }
            }
        }))
    }

    /// Adds what the queue knows of a stored run.
    pub(crate) fn with_queue(&self, store: &Store, state: RunState) -> Result<RunState, AppError> {
        let Some(queued) = store.queued_run(&state.run_id)? else { return Ok(state) };
        let is_first = QueueOrder::read(&queued.order)?.action == OrderAction::Start;
        let created_at = if is_first { rfc3339(queued.created_at) } else { state.created_at.clone() };
        let state = RunState { created_at, ..state };
        // The command line may have continued the run since, and the end in the queue is that of before.
        let completed_at = store.run(&state.run_id)?.completed_at;
        let is_continued = completed_at.zip(queued.ended_at).is_some_and(|(completed, ended)| completed > ended);
        let is_open = state.status == "interrupted" && !is_continued;
        Ok(match queued.state {
            QueueState::Waiting if state.status != "running" => {
                RunState { status: "queued", verdict: None, exit_code: None, completed_at: None, ..state }
            }
            QueueState::Ended if is_open => match status_name(queued.status.as_deref()) {
                "failed" => RunState { status: "failed", exit_code: Some(1), problem: queued.problem, ..state },
                status => RunState { status, problem: queued.problem, ..state },
            },
            _ => state,
        })
    }

    /// Resolves an id, the beginning of one, or `latest`, also of a run that waits.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be read.
    pub(crate) fn stored_or_queued(&self, store: &Store, run: &str) -> Result<Result<String, RunState>, AppError> {
        match store.resolve(run) {
            Ok(id) => Ok(Ok(id)),
            Err(error @ StoreError::NoSuchRun { .. }) => match self.queued_state(store, run)? {
                Some(state) => Ok(Err(state)),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}

fn status_name(status: Option<&str>) -> &'static str {
    match status {
        Some("failed") => "failed",
        Some("cancelled") => "cancelled",
        _ => "interrupted",
    }
}

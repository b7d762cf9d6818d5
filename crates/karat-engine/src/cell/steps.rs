//! The steps of a cell: each is found by its content key, or made and recorded.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use karat_store::WriteGuard;
use karat_types::{CallErrorCode, CellError, Key, Money, Note, Record, StepCost, StepRecord};
use serde_json::Value;

use crate::call::drive::{Failure, Owner};
use crate::call::tally::Tally;
use crate::cell::context::RunContext;
use crate::cell::step_outcome::{ChainOutput, Origin, StepMissing, StepOutput, StepResult};
use crate::control::deadline::CellDeadline;
use crate::control::target::Target;
use crate::plan::ready::{ReadyStep, ReadySystem};
use crate::reuse::resolver::{RecordedOutput, Resolver};
use crate::rows::row::{Row, step_input};
use crate::steps::{Metered, Reason, StepEnd, StepInput};

impl RunContext {
    /// The outcome of the system's last step.
    pub async fn system_output(
        &self,
        row: &Row,
        system: &ReadySystem,
        trial: u32,
        time: Option<Arc<CellDeadline>>,
    ) -> ChainOutput {
        if let Some(why) = Resolver::exclusion(row, system) {
            return ChainOutput::without_cost(Err(Arc::new(StepMissing { why, tally: Tally::default() })));
        }
        let recorded = system.recorded.as_ref().map(|step| self.recorded_output(row, system, step, trial)).transpose();
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(missing) => return ChainOutput::without_cost(Err(missing)),
        };
        let start = recorded.as_ref().map(|output| &*output.step.output);
        let keys = self.resolver.keys(row, system, trial, start);
        let chain = StepChain { context: self, row, system, keys: &keys, recorded: recorded.clone(), trial, time };
        match chain.keys.len().checked_sub(1) {
            Some(last) => chain.step_output(last).await,
            None => ChainOutput::without_cost(recorded.ok_or_else(|| {
                let why = Reason::Skipped(format!("variant `{}` has no step", system.variant));
                Arc::new(StepMissing { why, tally: Tally::default() })
            })),
        }
    }

    /// A recorded output. It is read for every cell and never stored for reuse: reading it costs nothing.
    fn recorded_output(&self, row: &Row, system: &ReadySystem, step: &ReadyStep, trial: u32) -> StepResult {
        let tally_of = |metered: &Metered| {
            let mut tally = Tally::default();
            tally.add_metered(metered);
            tally
        };
        let recorded = self.resolver.recorded_output(row, system, step, trial);
        let RecordedOutput { key, output, notes, metered } = recorded
            .map_err(|missing| Arc::new(StepMissing { tally: tally_of(&missing.metered), why: missing.why }))?;
        let tally = tally_of(&metered);
        let step = Arc::new(step_record(key, output, notes, tally));
        Ok(Arc::new(StepOutput { step, origin: Origin::Recorded }))
    }
}

/// The steps of one cell. Each step first looks for its own output, then for that of the step before it.
struct StepChain<'a> {
    context: &'a RunContext,
    row: &'a Row,
    system: &'a ReadySystem,
    keys: &'a [Key],
    recorded: Option<Arc<StepOutput>>,
    trial: u32,
    time: Option<Arc<CellDeadline>>,
}

impl StepChain<'_> {
    /// The outcome of step `at`.
    fn step_output(&self, at: usize) -> BoxFuture<'_, ChainOutput> {
        async move {
            let (mut paid, mut is_own) = (Money::ZERO, false);
            let (result, flight) = {
                let work = pin!(async {
                    is_own = true;
                    self.find_or_make(at, &mut paid).await
                });
                self.context.steps.join(self.keys[at], work).await
            };
            if let (Ok(made), false) = (&result, is_own) {
                self.charge_shared_time(made);
            }
            ChainOutput { result, paid, flight }
        }
        .boxed()
    }

    /// The name by which programs keep the state of this cell: a name of its own in the run, the same in every run.
    fn conversation(&self, step: &ReadyStep) -> Arc<str> {
        if step.step.spec.action.as_agent().is_none() {
            return "".into();
        }
        let Self { row, system, trial, .. } = self;
        let model = step.model.as_ref().map_or("-", |model| &model.id);
        format!("{}#{trial}/{model}/{}/{}", row.sample.id, system.variant, step.step.spec.id).into()
    }

    /// Charges the time of a shared step to this cell: which of the cells makes the step is chance.
    fn charge_shared_time(&self, made: &StepOutput) {
        if let (Some(time), Origin::Saved) = (&self.time, made.origin) {
            time.use_up(Duration::try_from_secs_f64(made.step.latency_ms / 1e3).unwrap_or_default());
        }
    }

    /// Finds or makes step `at`, and adds the cost paid for it.
    async fn find_or_make(&self, at: usize, paid: &mut Money) -> StepResult {
        let context = self.context;
        let key = self.keys[at];
        let find = || context.resolver.step(key);
        let left = |stop| Arc::new(StepMissing { why: Reason::Failed(stop), tally: Tally::default() });
        if let Some(stored) = context.find_or_lease(&context.steps, key, find).await.map_err(left)? {
            let step = Arc::new(stored.record);
            if stored.run != context.ledger.run() {
                return Ok(Arc::new(StepOutput { step, origin: Origin::Reused(stored.run_started_at) }));
            }
            *paid += context.calls.unreported_cost(&step.calls).map_err(left)?;
            let made = StepOutput { step, origin: Origin::Saved };
            self.charge_shared_time(&made);
            return Ok(Arc::new(made));
        }
        let ready = &self.system.chain[at];
        let target = Target {
            who: ready.who.clone(),
            model: ready.model.clone(),
            meter: ready.step.meters_cost().then(|| ready.step.clone()),
            timeout: ready.timeout,
            retries: ready.retries,
            time: self.time.clone(),
            agent: ready.agent_targets(self.time.clone()),
            is_live: ready.step.spec.action.as_agent().is_some(),
            is_demo: ready.is_demo,
        };
        // Before the steps that it rests on, which would be paid for nothing.
        let user = target.agent.as_ref().and_then(|agent| agent.user.as_ref());
        if let Some(refusal) =
            [Some(&target), user].into_iter().flatten().find_map(|it| context.calls.refusals.refusal(it))
        {
            let why = Reason::Failed(CellError::new(CallErrorCode::Cancelled.as_str(), refusal));
            return Err(Arc::new(StepMissing { why, tally: Tally::default() }));
        }
        let before = match at.checked_sub(1) {
            Some(before) => {
                let output = self.step_output(before).await;
                *paid += output.paid;
                Some(output.result?)
            }
            None => self.recorded.clone(),
        };
        let output = before.as_ref().map(|made| &*made.step.output);
        let input = || {
            let input = step_input(self.row, self.system, output);
            let conversation = self.conversation(ready);
            StepInput { model: ready.model.clone().or(input.model), conversation, ..input }
        };
        let machine = || ready.step.machine(input());
        let owner = Owner { key, target: &target, may_reuse: true };
        let (end, mut tally) = context.calls.drive(machine, owner, failure_of).await;
        *paid += tally.paid;
        let missing = |why, mut tally| {
            add_earlier_steps(&mut tally, before.as_deref());
            Err(Arc::new(StepMissing { why, tally }))
        };
        let (output, mut notes, metered) = match end.unwrap_or_else(StepEnd::Failed) {
            StepEnd::Skipped(reason) => return missing(Reason::Skipped(reason), tally),
            StepEnd::Failed(error) | StepEnd::RecordedFailure { error, .. } => {
                return missing(Reason::Failed(error), tally);
            }
            StepEnd::Output { output, notes, metered } => (output, notes, metered),
        };
        tally.add_metered(&metered);
        add_earlier_steps(&mut tally, before.as_deref());
        notes.extend(std::mem::take(&mut tally.notes));
        let privacy = &context.systems.privacy;
        let step = Arc::new(step_record(key, privacy.output(output), notes, tally));
        if !ready.shared || !privacy.keeps_content() {
            return Ok(Arc::new(StepOutput { step, origin: Origin::Unsaved }));
        }
        let lease = WriteGuard::new(context.steps.lease(key));
        if let Err(unwritten) = context.ledger.append_guarded(vec![Record::Step(step.clone())], lease).await {
            context.stop.fail(&unwritten.error);
        }
        Ok(Arc::new(StepOutput { step, origin: Origin::Saved }))
    }
}

fn failure_of(end: &StepEnd) -> Option<Failure<'_>> {
    end.failure().map(|error| Failure { error, unread: &[] })
}

/// Adds the account of earlier steps, so that the last step holds that of the whole cell.
fn add_earlier_steps(tally: &mut Tally, before: Option<&StepOutput>) {
    let Some(made) = before else { return };
    let own = StepCost { usage: tally.usage, cost: tally.known_cost() };
    tally.facts.steps = match &made.step.facts.steps[..] {
        [] => vec![StepCost { usage: made.step.usage, cost: made.step.cost }, own],
        steps => steps.iter().copied().chain([own]).collect(),
    };
    tally.usage += made.step.usage;
    tally.cost += made.step.cost.unwrap_or_default();
    tally.unpriced |= made.step.cost.is_none();
    tally.latency_ms += made.step.latency_ms;
    tally.facts.absorb(&made.step.facts);
    tally.calls = made.step.calls.iter().copied().chain(std::mem::take(&mut tally.calls)).collect();
    tally.notes = made.step.notes.iter().cloned().chain(std::mem::take(&mut tally.notes)).collect();
}

fn step_record(key: Key, output: Value, notes: Vec<Note>, tally: Tally) -> StepRecord {
    StepRecord {
        key,
        output: Arc::new(output),
        notes,
        usage: tally.usage,
        cost: tally.known_cost(),
        latency_ms: tally.latency_ms,
        calls: tally.calls,
        facts: tally.facts,
    }
}

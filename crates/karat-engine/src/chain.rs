//! The steps of a cell: each is found by its content key, or made and recorded.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use karat_store::WriteGuard;
use karat_types::{Key, Money, Note, Record, StepCost, StepRecord};
use serde_json::Value;

use crate::calls::Tally;
use crate::cell_time::CellTime;
use crate::made::{Made, Origin, Output, StepResult, Unmade, Why};
use crate::resolver::RecordedOutput;
use crate::row::{Row, step_input};
use crate::steps::{StepEnd, StepInput};
use crate::systems::{ReadyStep, ReadySystem};
use crate::target::Target;
use crate::workshop::Workshop;

impl Workshop {
    /// What becomes of the system's last step.
    pub async fn output(&self, row: &Row, system: &ReadySystem, trial: u32, time: Option<Arc<CellTime>>) -> Output {
        let found = match system.recorded.as_ref().map(|step| self.recorded(row, system, step)).transpose() {
            Ok(found) => found,
            Err(unmade) => return Output::free(Err(unmade)),
        };
        let start = found.as_ref().map(|made| &*made.step.output);
        let keys = self.resolver.keys(row, system, trial, start);
        let chain = Chain { workshop: self, row, system, keys: &keys, found: found.clone(), time };
        match chain.keys.len().checked_sub(1) {
            Some(last) => chain.step(last).await,
            None => Output::free(found.ok_or_else(|| {
                let why = Why::Skipped(format!("variant `{}` has no step", system.variant));
                Arc::new(Unmade { why, tally: Tally::default() })
            })),
        }
    }

    /// A recorded output. It is read anew for every cell and never stored for reuse: reading it costs nothing.
    fn recorded(&self, row: &Row, system: &ReadySystem, step: &ReadyStep) -> StepResult {
        let recorded = self.resolver.recorded(row, system, step);
        let RecordedOutput { key, output, notes, metered } =
            recorded.map_err(|why| Arc::new(Unmade { why, tally: Tally::default() }))?;
        let mut tally = Tally::default();
        tally.meter(&metered);
        let step = Arc::new(step_record(key, output, notes, tally));
        Ok(Arc::new(Made { step, origin: Origin::Recorded }))
    }
}

/// The steps of one cell. A step first looks for its own output, then for that of the step before it.
struct Chain<'a> {
    workshop: &'a Workshop,
    row: &'a Row,
    system: &'a ReadySystem,
    keys: &'a [Key],
    found: Option<Arc<Made>>,
    time: Option<Arc<CellTime>>,
}

impl Chain<'_> {
    /// What becomes of step `at`.
    fn step(&self, at: usize) -> BoxFuture<'_, Output> {
        async move {
            let (mut paid, mut is_own) = (Money::ZERO, false);
            let (result, landing) = {
                let work = pin!(async {
                    is_own = true;
                    self.make(at, &mut paid).await
                });
                self.workshop.steps.join(self.keys[at], work).await
            };
            if let (Ok(made), false) = (&result, is_own) {
                self.share(made);
            }
            Output { result, paid, landing }
        }
        .boxed()
    }

    /// A step that another cell of the run has made takes of this cell's time what it took of that one's: which of the two
    /// makes it is chance.
    fn share(&self, made: &Made) {
        if let (Some(time), Origin::Saved) = (&self.time, made.origin) {
            time.spend(Duration::try_from_secs_f64(made.step.latency_ms / 1e3).unwrap_or_default());
        }
    }

    /// Finds or makes step `at`, and adds what is paid for it.
    async fn make(&self, at: usize, paid: &mut Money) -> StepResult {
        let workshop = self.workshop;
        let key = self.keys[at];
        let find = || workshop.resolver.step(key).ok().flatten();
        if let Some(stored) = workshop.found_or_leased(&workshop.steps, key, find).await {
            let step = Arc::new(stored.record);
            if stored.run != workshop.ledger.run() {
                return Ok(Arc::new(Made { step, origin: Origin::Reused(stored.run_started_at) }));
            }
            *paid += workshop.calls.paid.untold(workshop.ledger.store(), &step.calls);
            let made = Made { step, origin: Origin::Saved };
            self.share(&made);
            return Ok(Arc::new(made));
        }
        let before = match at.checked_sub(1) {
            Some(before) => {
                let output = self.step(before).await;
                *paid += output.paid;
                Some(output.result?)
            }
            None => self.found.clone(),
        };
        let ready = &self.system.chain[at];
        let output = before.as_ref().map(|made| &*made.step.output);
        let input = || {
            let input = step_input(self.row, self.system, output);
            StepInput { model: ready.model.clone().or(input.model), ..input }
        };
        let target = Target {
            who: ready.who.clone(),
            model: ready.model.clone(),
            meter: ready.step.meters_cost().then(|| ready.step.clone()),
            timeout: ready.timeout,
            retries: ready.retries,
            time: self.time.clone(),
        };
        let machine = || ready.step.machine(input());
        let (end, mut tally) = workshop.calls.drive_anew(machine, key, &target, StepEnd::failure).await;
        *paid += tally.paid;
        let unmade = |why, mut tally| {
            absorb(&mut tally, before.as_deref());
            Err(Arc::new(Unmade { why, tally }))
        };
        let (output, mut notes, metered) = match end {
            StepEnd::Skipped(reason) => return unmade(Why::Skipped(reason), tally),
            StepEnd::Failed(error) => return unmade(Why::Failed(error), tally),
            StepEnd::Output { output, notes, metered } => (output, notes, metered),
        };
        tally.meter(&metered);
        absorb(&mut tally, before.as_deref());
        notes.extend(std::mem::take(&mut tally.notes));
        let privacy = &workshop.systems.privacy;
        let step = Arc::new(step_record(key, privacy.output(output), notes, tally));
        if !ready.shared || !privacy.keeps_content() {
            return Ok(Arc::new(Made { step, origin: Origin::Unsaved }));
        }
        let lease = WriteGuard::new(workshop.steps.lease(key));
        if let Err(unwritten) = workshop.ledger.append_guarded(vec![Record::Step(step.clone())], lease).await {
            workshop.stop.fail(unwritten.error.to_string());
        }
        Ok(Arc::new(Made { step, origin: Origin::Saved }))
    }
}

/// A step's account includes that of the steps before it, so that the last one speaks for the cell.
fn absorb(tally: &mut Tally, before: Option<&Made>) {
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

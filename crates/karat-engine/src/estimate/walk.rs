//! The walk over the cells of a plan, by several threads.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use karat_scoring::judge::JudgeInput;
use karat_store::Store;
use karat_suite::{DatasetError, Plan};
use karat_types::{Action, Ask, CellError, Key, Machine, ModelSpec, Moment, Request, Sample, Turn, output_key};
use serde_json::Value;

use super::sums::{AfreshSums, Needed, Planned, Sum, Sums, Who};
use super::{Afresh, Estimate};
use crate::EngineError;
use crate::files::Library;
use crate::history::{self, Earlier};
use crate::identity::{recorded_key, subject_key};
use crate::lengths::Lengths;
use crate::remaining::{Before, Remaining};
use crate::row::{Row, step_input};
use crate::steps::{DEFAULT_MAX_TOKENS, StepEnd};
use crate::systems::{ReadyJudge, ReadyStep, ReadySystem, Systems};
use crate::tokens;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 64;

/// Tokens that the answer of a service or program is expected to have.
const UNKNOWN_ANSWER: u64 = 1_000;

/// Tokens that a prompt is expected to have beside an output that it looks into and that does not exist yet.
const UNKNOWN_PROMPT: u64 = 500;

/// Why a cell is not made: known before any call.
pub(crate) enum Idle {
    /// A condition leaves it out.
    Skipped,
    /// It fails.
    Fails(CellError),
}

/// What a step asks that calls no model.
fn outside(step: &ReadyStep) -> Option<Who> {
    let kind = match step.step.spec.action {
        Action::Http(_) => "http",
        Action::Command(_) => "command",
        Action::Prompt(_) | Action::Recorded(_) => return None,
    };
    Some(Who::Outside { kind, metered: step.step.meters_cost(), cost: Default::default() })
}

/// What is known of an output that a judge or later step will read.
#[derive(Clone)]
enum Known {
    Output(Arc<Value>),
    /// There is none yet, and the next step is the first.
    Nothing,
    /// Nothing but its least and greatest length in tokens.
    Length(u64, u64),
}

impl Known {
    fn output(&self) -> Option<&Value> {
        if let Self::Output(output) = self { Some(output) } else { None }
    }
}

/// What all threads walk on.
pub(super) struct Ground<'a> {
    pub plan: &'a Plan,
    /// Where results are found, and how old they may be.
    pub store: Option<(&'a Store, Moment)>,
    /// Where outputs are found, instead of being made.
    pub outputs: Option<Earlier>,
    /// What earlier parts of the run have left; all where there are none.
    pub remaining: Option<Remaining>,
    pub systems: Systems,
    pub library: Library,
    pub lengths: Lengths,
    /// What an earlier run has found of the plan's cost.
    pub afresh: Option<Afresh>,
    pub planned: Planned,
    pub planned_afresh: Planned,
}

/// The way of one thread over some of the rows.
pub(super) struct Walk<'a> {
    ground: &'a Ground<'a>,
    now: Sums<'a>,
    afresh: Option<AfreshSums<'a>>,
    /// Cells and judgments.
    counts: Estimate,
    /// Rows that were taken from those of the plan.
    pub taken: u64,
}

/// The rows that nobody has taken yet.
pub(super) struct Rows(Mutex<Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send>>);

impl Rows {
    /// All rows of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self(Mutex::new(plan.rows()))
    }

    /// Some of them; none when there are no more.
    fn take(&self) -> Vec<Result<Sample, DatasetError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_ref().take(ROWS_AT_ONCE).collect()
    }
}

/// How cells are seen.
#[derive(Clone, Copy)]
enum View {
    /// As they are: some of them, or parts of them, are there.
    Left,
    /// As if nothing of them were there.
    Unmade,
}

/// What a cell has left to make.
struct Rest {
    needed: Vec<Needed>,
    /// Whether that is all of it.
    is_whole: bool,
}

/// A cell as the walk sees it.
struct Place<'a> {
    row: &'a Row,
    at: usize,
    trial: u32,
    system: &'a ReadySystem,
    keys: &'a [Key],
}

impl Ground<'_> {
    /// One walk over the rows, or about the first so many of them, by as many threads as help.
    pub fn walked(&self, rows: &Rows, first: Option<u64>) -> Result<Walk<'_>, EngineError> {
        let count = first.unwrap_or(self.plan.header.dataset.rows);
        let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
        let threads = (count / ROWS_AT_ONCE as u64).clamp(1, cores);
        let share = first.map(|first| first.div_ceil(threads));
        let walk = || Walk::on(self).over(rows, share);
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(walk)).collect();
            let mut walked = walk()?;
            for other in others {
                let died = |_| Err(EngineError::Bug("a thread that estimates died".to_owned()));
                walked.add(other.join().unwrap_or_else(died)?);
            }
            Ok(walked)
        })
    }
}

impl<'a> Walk<'a> {
    fn on(ground: &'a Ground<'a>) -> Self {
        let systems = ground.plan.header.systems.len();
        Self {
            ground,
            now: Sums::new(&ground.planned),
            afresh: ground.afresh.is_none().then(|| AfreshSums::new(&ground.planned_afresh, systems)),
            counts: Estimate::default(),
            taken: 0,
        }
    }

    /// Takes rows until there are none, or so many are taken.
    fn over(mut self, rows: &Rows, most: Option<u64>) -> Result<Self, EngineError> {
        while most.is_none_or(|most| self.taken < most) {
            let taken = rows.take();
            if taken.is_empty() {
                break;
            }
            self.taken += taken.len() as u64;
            taken.into_iter().try_for_each(|row| self.row(row, View::Left))?;
        }
        Ok(self)
    }

    /// Goes on over rows that stand for all others, as if nothing of them were there. `None` when `stopped` says so, or when
    /// there are none.
    pub fn over_unmade(
        mut self,
        blocks: Receiver<Vec<Sample>>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, EngineError> {
        let Some(first) = self.afresh.take() else { return Ok(Some(self)) };
        let header = &self.ground.plan.header;
        let others = header.dataset.rows.saturating_sub(self.taken);
        self.afresh = Some(AfreshSums::new(&self.ground.planned_afresh, header.systems.len()));
        let mut walked = 0;
        for block in blocks {
            if stopped() {
                return Ok(None);
            }
            walked += block.len() as u64;
            block.into_iter().try_for_each(|sample| self.row(Ok(sample), View::Unmade))?;
        }
        if stopped() || (walked == 0 && others > 0) {
            return Ok(None);
        }
        if let Some(sums) = &mut self.afresh {
            sums.stand_for(others, walked.max(1));
            sums.join(first);
        }
        Ok(Some(self))
    }

    fn row(&mut self, row: Result<Sample, DatasetError>, view: View) -> Result<(), EngineError> {
        let per_row = self.ground.plan.header.cells_per_row();
        let row = match row {
            Ok(sample) => Row::new(sample, &self.ground.systems),
            Err(error) if error.row.is_some() => {
                self.counts.failing += per_row;
                return Ok(());
            }
            Err(error) => return Err(EngineError::Dataset(error)),
        };
        let first = row.sample.row * per_row;
        (first..first + per_row).try_for_each(|ordinal| self.cell(&row, ordinal, view))
    }

    /// What it walks on.
    pub fn ground(&self) -> &'a Ground<'a> {
        self.ground
    }

    /// Adds what another walk has found.
    pub fn add(&mut self, other: Self) {
        self.now.join(other.now);
        if let (Some(sums), Some(more)) = (&mut self.afresh, other.afresh) {
            sums.join(more);
        }
        self.counts.add_counts(&other.counts);
        self.taken += other.taken;
    }

    fn cell(&mut self, row: &Row, ordinal: u64, view: View) -> Result<(), EngineError> {
        let systems = &self.ground.systems;
        let before = match (view, &self.ground.remaining) {
            (View::Unmade, _) => None,
            (View::Left, Some(remaining)) => remaining.before(&self.ground.plan.header, systems, ordinal),
            (View::Left, None) => Some(Before::default()),
        };
        self.counts.done += u64::from(before.is_none());
        if before.is_none() && self.afresh.is_none() {
            return Ok(());
        }
        let (_, at, trial) = self.ground.plan.header.place(ordinal);
        let system = &systems.systems[at];
        let start = match self.start(row, system, trial)? {
            Ok(start) => start,
            Err(idle) => {
                before.iter().for_each(|_| self.counts.idle(&idle));
                return Ok(());
            }
        };
        let keys = match &self.ground.outputs {
            Some(_) => Vec::new(),
            None => {
                let root = if let Known::Output(output) = &start { recorded_key(output) } else { systems.root };
                system.keys(systems, &row.digests, root, trial)
            }
        };
        let place = Place { row, at, trial, system, keys: &keys };
        let rest = match &before {
            Some(before) => self.rest(&place, &start, before)?,
            None => None,
        };
        let whole = match &rest {
            _ if self.afresh.is_none() => None,
            Some(rest) if rest.is_whole => None,
            _ => Some(self.all(&place, start)),
        };
        if let (Some(sums), Some(needed)) = (&mut self.afresh, whole.as_ref().or(rest.as_ref().map(|it| &it.needed))) {
            sums.add(at, needed);
        }
        if let Some(Rest { mut needed, .. }) = rest {
            needed.iter_mut().for_each(Needed::expect_what_is_likely);
            self.now.add(&needed);
        }
        Ok(())
    }

    /// Counts what is left of a cell. `None` when a step skips it or fails before any call.
    fn rest(&mut self, place: &Place<'_>, start: &Known, before: &Before) -> Result<Option<Rest>, EngineError> {
        let (made, known) = self.made(place.keys, start)?;
        let (mut needed, known) = match self.steps(place, made, known) {
            Ok(steps) => steps,
            Err(idle) => {
                self.counts.idle(&idle);
                return Ok(None);
            }
        };
        let counted = if made < place.keys.len() { &mut self.counts.fresh } else { &mut self.counts.reused };
        *counted += 1;
        let all_are_made = self.judgments(place, &known, &before.judgments, &mut needed)?;
        Ok(Some(Rest { needed, is_whole: made == 0 && all_are_made }))
    }

    /// What the first step that is made begins with: a found output, or nothing.
    fn start(&self, row: &Row, system: &ReadySystem, trial: u32) -> Result<Result<Known, Idle>, EngineError> {
        if let Some(earlier) = &self.ground.outputs {
            let model = system.model.as_ref().map(|model| model.id.as_str());
            let (row, sample) = (row.sample.row, &*row.sample.id);
            let place = history::Place { row, sample, model, variant: &system.variant, trial };
            return Ok(earlier.stored(place)?.and_then(|cell| cell.output).map(Known::Output).ok_or(Idle::Skipped));
        }
        let Some(step) = &system.recorded else { return Ok(Ok(Known::Nothing)) };
        let found = recorded_output(&self.ground.systems, &self.ground.library, row, system, step);
        Ok(found.map(|output| Known::Output(Arc::new(output))))
    }

    /// How many steps of a cell need not be made, and what is known of the output of the last of them.
    fn made(&self, keys: &[Key], start: &Known) -> Result<(usize, Known), EngineError> {
        let Some((store, oldest)) = self.ground.store else { return Ok((0, start.clone())) };
        for (at, key) in keys.iter().enumerate().rev() {
            let is_read = at + 1 < keys.len() || !self.ground.systems.judges.is_empty();
            if !is_read && store.has_step(*key, oldest)? {
                return Ok((at + 1, Known::Nothing));
            }
            let stored = if is_read { store.step(*key)? } else { None };
            if let Some(stored) = stored.filter(|stored| stored.run_started_at >= oldest) {
                return Ok((at + 1, Known::Output(stored.record.output)));
            }
        }
        Ok((0, start.clone()))
    }

    /// The calls of the steps from `first` on, and what is then known of the output.
    fn steps(&self, place: &Place<'_>, first: usize, mut known: Known) -> Result<(Vec<Needed>, Known), Idle> {
        let mut needed = Vec::with_capacity(place.keys.len() + self.ground.systems.judges.len());
        for (step, key) in place.system.chain.iter().zip(place.keys).skip(first) {
            let (who, sum, length) = match (&step.model, outside(step)) {
                (Some(model), _) => {
                    let (sum, length) = self.step(place.row, place.system, step, &known)?;
                    (Who::Model(model.clone()), sum, length)
                }
                (None, Some(who)) => {
                    let requests = match &known {
                        Known::Length(..) => 1,
                        Known::Output(_) | Known::Nothing => {
                            first_asks(&self.ground.systems, place.row, place.system, step, known.output())?.len()
                                as u64
                        }
                    };
                    let sum = Sum { calls: certain(requests), ..Sum::default() };
                    (who, sum, certain(requests * UNKNOWN_ANSWER))
                }
                (None, None) => continue,
            };
            let lengths = &self.ground.lengths;
            let known_of =
                |model: &Arc<ModelSpec>| lengths.of_step(&model.id, &place.system.variant, &step.step.spec.id);
            let likely = step.model.as_ref().and_then(known_of);
            let (least, most) = likely.map_or(length, |likely| likely.output);
            known = Known::Length(least, most);
            let fee = lengths.fee_of_step(&place.system.variant, &step.step.spec.id);
            needed.push(Needed { key: Some(*key), who, sum, likely, fee });
        }
        Ok((needed, known))
    }

    /// The calls of a cell of which nothing is there.
    fn all(&self, place: &Place<'_>, start: Known) -> Vec<Needed> {
        let Ok((mut needed, known)) = self.steps(place, 0, start) else { return Vec::new() };
        let judges = self.ground.systems.judges.iter().filter(|judge| judge.is_asked(place.at));
        needed.extend(judges.map(|judge| self.judgment(place.row, &known, judge, None)));
        needed
    }

    /// Calls of one step with the least and greatest length of its output.
    fn step(
        &self,
        row: &Row,
        system: &ReadySystem,
        step: &ReadyStep,
        known: &Known,
    ) -> Result<(Sum, (u64, u64)), Idle> {
        let model = step.model.as_deref();
        let max_tokens = max_tokens(step.step.spec.parameters.max_tokens, model);
        let reasks = u64::from(step.step.spec.parse.as_ref().map_or(0, |parse| parse.reask));
        let after = |output: Option<&Value>| {
            let asks = first_asks(&self.ground.systems, row, system, step, output)?;
            Ok::<_, Idle>((asks.len() as u64, asks.iter().map(prompt_tokens).sum::<u64>()))
        };
        let (calls, input, sure) = match known {
            Known::Length(least, most) => {
                let after = |tokens| after(Some(&stand_in(tokens))).ok();
                let of = |tokens| after(tokens).unwrap_or((1, UNKNOWN_PROMPT + tokens));
                let (least, most) = (of(*least), of(*most));
                ((least.0, most.0), (least.1, most.1), after(0).map_or(0, |(_, tokens)| tokens))
            }
            Known::Output(_) | Known::Nothing => {
                let (calls, tokens) = after(known.output())?;
                (certain(calls), certain(tokens), tokens)
            }
        };
        let most = 1 + reasks;
        let output = (calls.0 * u64::from(max_tokens), calls.1 * u64::from(max_tokens));
        let sum = Sum {
            calls: (calls.0, calls.1 * most),
            input: (input.0, (input.1 + reasks * output.1) * most),
            output: (output.0.div_ceil(10), output.1 * most),
            sure,
        };
        Ok((sum, (output.0.div_ceil(10), output.1)))
    }

    /// Adds the calls of the judgments that are not there; whether that is all of them.
    fn judgments(
        &mut self,
        place: &Place<'_>,
        known: &Known,
        present: &[(u16, u16)],
        needed: &mut Vec<Needed>,
    ) -> Result<bool, EngineError> {
        let row = place.row;
        let mut all_are_made = true;
        for judge in self.ground.systems.judges.iter().filter(|judge| judge.is_asked(place.at)) {
            if present.contains(&(judge.scorer, judge.judge)) {
                all_are_made = false;
                continue;
            }
            let other = match judge.partner(place.at) {
                Some(partner) => self.known_output(row, partner, place.trial)?,
                None => None,
            };
            let is_known = judge.partners.is_none() || other.is_some();
            let subject = match (known, place.keys.last()) {
                (Known::Output(output), _) if is_known => Some(subject_key(output_key(output), other.as_deref())),
                // Cells that share their last step share its output, whatever that will be.
                (_, Some(last)) if judge.partners.is_none() => Some(*last),
                _ => None,
            };
            let columns = row.digests.get(&self.ground.systems.reads, judge.reads);
            let keys = subject.map(|subject| judge.keys(subject, columns));
            if let (Some((store, oldest)), Some(keys)) = (self.ground.store, keys)
                && keys.is_stored(store, oldest)?
            {
                all_are_made = false;
                self.counts.judgments_reused += 1;
                continue;
            }
            self.counts.judgments_fresh += 1;
            needed.push(self.judgment(row, known, judge, keys.map(|keys| keys.own)));
        }
        Ok(all_are_made)
    }

    /// The output of a system, where it is there.
    fn known_output(&self, row: &Row, at: usize, trial: u32) -> Result<Option<Arc<Value>>, EngineError> {
        let systems = &self.ground.systems;
        let Some(system) = systems.systems.get(at) else { return Ok(None) };
        let trial = self.ground.plan.header.trial_beside(at, trial);
        let Ok(start) = self.start(row, system, trial)? else { return Ok(None) };
        let before = if let Known::Output(output) = &start { recorded_key(output) } else { systems.root };
        let keys =
            if self.ground.outputs.is_some() { Vec::new() } else { system.keys(systems, &row.digests, before, trial) };
        Ok(match self.made(&keys, &start)? {
            (made, Known::Output(output)) if made == keys.len() => Some(output),
            _ => None,
        })
    }

    fn judgment(&self, row: &Row, known: &Known, judge: &ReadyJudge, key: Option<Key>) -> Needed {
        let sum = judge_sum(row, judge, known, self.ground.plan.header.run.seed);
        let scorer =
            self.ground.plan.header.scorers.get(usize::from(judge.scorer)).map_or("", |scorer| scorer.id.as_str());
        let likely = self.ground.lengths.of_judgment(scorer, &judge.model.id);
        Needed { key, who: Who::Judge(judge.model.clone()), sum, likely, fee: None }
    }

    /// What it has found so far.
    pub fn estimate(&self) -> Estimate {
        let header = &self.ground.plan.header;
        let known = || self.ground.afresh.clone().unwrap_or_default();
        let afresh = self.afresh.as_ref().map_or_else(known, |sums| sums.total(header));
        Estimate { cells: header.cells(), models: self.now.models(header), afresh, ..self.counts.clone() }
    }
}

/// What a step asks first, given the output before it.
pub(crate) fn first_asks(
    systems: &Systems,
    row: &Row,
    system: &ReadySystem,
    step: &ReadyStep,
    output: Option<&Value>,
) -> Result<Vec<Ask>, Idle> {
    let mut input = step_input(row, systems, system, output);
    input.model = step.model.clone().or(input.model);
    match step.step.machine(input).poll(Vec::new()) {
        Turn::Ask(asks) => Ok(asks),
        Turn::Done(StepEnd::Failed(error)) => Err(Idle::Fails(error)),
        // A step that asks nobody has nothing to say either.
        Turn::Done(StepEnd::Skipped(_) | StepEnd::Output { .. }) => Err(Idle::Skipped),
    }
}

/// The output that a recorded step finds.
pub(crate) fn recorded_output(
    systems: &Systems,
    library: &Library,
    row: &Row,
    system: &ReadySystem,
    step: &ReadyStep,
) -> Result<Value, Idle> {
    let mut machine = step.step.machine(step_input(row, systems, system, None));
    let mut answers = Vec::new();
    loop {
        match machine.poll(std::mem::take(&mut answers)) {
            Turn::Done(StepEnd::Output { output, .. }) => return Ok(systems.privacy.output(output)),
            Turn::Done(StepEnd::Skipped(_)) => return Err(Idle::Skipped),
            Turn::Done(StepEnd::Failed(error)) => return Err(Idle::Fails(error)),
            Turn::Ask(asks) => answers = asks.into_iter().map(|ask| library.answer(ask)).collect(),
        }
    }
}

/// An output that does not exist yet, as a text of so many tokens. Prompts that look into an output find nothing in it.
fn stand_in(tokens: u64) -> Value {
    Value::from(" the".repeat(usize::try_from(tokens).unwrap_or_default()))
}

fn judge_sum(row: &Row, judge: &ReadyJudge, known: &Known, seed: u64) -> Sum {
    let output = u64::from(max_tokens(judge.max_tokens, Some(&judge.model)));
    let (calls, input, sure) = match known {
        Known::Output(output) => {
            let input = JudgeInput { sample: &row.shown, output, seed };
            // The other output of a pair is taken to be as long as this one.
            match judge.machine.against(input, Some(&**output)).poll(Vec::new()) {
                Turn::Ask(asks) => {
                    let tokens = asks.iter().map(prompt_tokens).sum();
                    (asks.len() as u64, certain(tokens), tokens)
                }
                Turn::Done(_) => (0, (0, 0), 0),
            }
        }
        Known::Nothing => (0, (0, 0), 0),
        Known::Length(least, most) => {
            let pieces = judge.machine.expected_calls(&row.shown, seed);
            // A pair shows two outputs; one that is judged in pieces is shown to them and once as a whole.
            let times = if judge.partners.is_some() || pieces > 1 { 2 } else { 1 };
            let beside = pieces * judge.rubric_tokens + row_tokens(row);
            let input = |length: &u64| judge.rounds * (times * length + beside);
            (judge.rounds * pieces, (input(least), input(most)), judge.rounds * pieces * judge.rubric_tokens)
        }
    };
    let (output, most) = (calls * output, 1 + judge.reasks);
    Sum {
        calls: (calls, calls * most),
        input: (input.0, (input.1 + judge.reasks * output) * most),
        output: (output.div_ceil(10), output * most),
        sure,
    }
}

/// What is known exactly, as least and most.
fn certain(tokens: u64) -> (u64, u64) {
    (tokens, tokens)
}

fn max_tokens(asked: Option<u32>, model: Option<&ModelSpec>) -> u32 {
    let bound = model.and_then(|model| model.max_output);
    let asked = asked.or(model.and_then(|model| model.parameters.max_tokens)).or(bound).unwrap_or(DEFAULT_MAX_TOKENS);
    bound.map_or(asked, |bound| asked.min(bound))
}

fn prompt_tokens(ask: &Ask) -> u64 {
    match &ask.request {
        Request::Chat(request) => request.messages.iter().map(|message| 4 + tokens::estimated(&message.content)).sum(),
        Request::File { .. } | Request::Http(_) | Request::Command(_) => 0,
    }
}

fn row_tokens(row: &Row) -> u64 {
    row.sample.columns.values().map(|value| tokens::estimated(&value.to_string())).sum()
}

//! What a run would do: cells, calls, tokens and money, found by walking the plan without making a call.
//!
//! A step whose input is known is polled once, so its calls and prompts are exact. What depends on outputs that do not
//! exist yet is bounded: one call a later step, inputs as long as the replies before may be. Replies are as long as they
//! were in an earlier run of the suite ([`Lengths`]); where there is none, between a tenth and the whole of `max_tokens`.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_scoring::judge::JudgeInput;
use karat_store::{Store, StoredRun};
use karat_suite::{Files, Plan};
use karat_types::{Action, Ask, Key, Machine, ModelSpec, Moment, Money, Request, Turn, Usage, output_key};
use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::EngineError;
use crate::files::Library;
use crate::history::{self, Earlier};
use crate::identity::{judgment_key, recorded_key, seed_of, subject_key};
use crate::lengths::Lengths;
use crate::row::{Row, step_input};
use crate::steps::{DEFAULT_MAX_TOKENS, StepEnd};
use crate::systems::{ReadyJudge, ReadyStep, ReadySystem, Systems};
use crate::tokens;

/// Tokens that the answer of a service or program is expected to have.
const UNKNOWN_ANSWER: u64 = 1_000;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Estimate {
    /// Cells of the plan.
    pub cells: u64,
    /// Cells whose output has to be made.
    pub fresh: u64,
    /// Cells whose output exists.
    pub reused: u64,
    /// Cells that a condition leaves out.
    pub skipped: u64,
    /// Judgments that have to be made.
    pub judgments_fresh: u64,
    /// Judgments that exist.
    pub judgments_reused: u64,
    /// By model that may be called, the matrix's first, then judges. One that shares all its calls with others has none.
    pub models: Vec<ModelEstimate>,
    /// What the plan would cost if nothing of it were there.
    pub afresh: Afresh,
}

/// What a plan is expected to cost if nothing of it is there, on conservative assumptions. The same for every run of
/// the plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Afresh {
    /// The whole plan, where prices are known: at least and at most.
    pub total: (Money, Money),
    /// A cell on average, by system; `None` where a price is unknown.
    pub per_cell: Vec<Option<Money>>,
}

/// What a run would ask of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEstimate {
    /// Registry id; `http` or `command` for all steps that ask services or programs.
    pub id: String,
    /// Whether it judges.
    pub judge: bool,
    /// Calls, at least and at most (re-asks included, retries apart).
    pub calls: (u64, u64),
    /// Input tokens, at least and at most.
    pub input_tokens: (u64, u64),
    /// Output tokens, at least and at most.
    pub output_tokens: (u64, u64),
    /// Cost, at least and at most; `None` when the price is unknown.
    pub cost: Option<(Money, Money)>,
    /// What it costs even if prompts have half the estimated tokens and replies none.
    pub floor: Money,
}

impl ModelEstimate {
    fn outside(kind: &str, calls: u64) -> Self {
        Self {
            id: kind.to_owned(),
            judge: false,
            calls: (calls, calls),
            input_tokens: (0, 0),
            output_tokens: (0, 0),
            cost: Some((Money::ZERO, Money::ZERO)),
            floor: Money::ZERO,
        }
    }
}

/// What a step asks that calls no model.
fn outside(step: &ReadyStep) -> Option<&'static str> {
    match step.step.spec.action {
        Action::Http(_) => Some("http"),
        Action::Command(_) => Some("command"),
        Action::Prompt(_) | Action::Recorded(_) => None,
    }
}

impl Estimate {
    /// Calls of all models, at least and at most.
    pub fn calls(&self) -> (u64, u64) {
        self.models.iter().fold((0, 0), |sum, model| (sum.0 + model.calls.0, sum.1 + model.calls.1))
    }

    /// Cost of all models whose price is known, at least and at most.
    pub fn cost(&self) -> (Money, Money) {
        let known = self.models.iter().filter_map(|model| model.cost);
        known.fold((Money::ZERO, Money::ZERO), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
    }

    /// What the run costs even where every estimate is far too high: only this may refuse a budget beforehand.
    pub fn floor(&self) -> Money {
        self.models.iter().map(|model| model.floor).sum()
    }

    /// Models that would be called and whose price nobody knows.
    pub fn unpriced(&self) -> impl Iterator<Item = &str> {
        self.models.iter().filter(|model| model.cost.is_none() && model.calls.1 > 0).map(|model| model.id.as_str())
    }
}

/// What need not be made.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Results of runs that began at this moment or later; without it there are none.
    pub oldest: Option<Moment>,
    /// The outputs of a stored run that is scored again.
    pub outputs: Option<StoredRun>,
    /// What an earlier run of the plan has found of its cost; without it, it is found again.
    pub afresh: Option<Afresh>,
    /// How long replies were in an earlier run of the suite.
    pub lengths: Lengths,
}

/// Walks the plan of a run that may have begun already (`run` is its id).
pub fn estimate(
    plan: &Plan,
    store: &Store,
    files: Arc<dyn Files>,
    run: Option<&str>,
    given: Given,
) -> Result<Estimate, EngineError> {
    store.catch_up()?;
    let systems = plan.header.systems.len();
    let afresh = AfreshSums { sums: Sums::default(), by_system: vec![Some(Money::ZERO); systems] };
    let mut walk = Walk {
        plan,
        store: given.oldest.map(|oldest| (store, oldest)),
        outputs: given.outputs.map(Earlier::new),
        systems: Arc::new(Systems::new(&plan.header, run.unwrap_or_default())?),
        library: Library::new(files, plan.header.dataset.rows),
        lengths: given.lengths,
        now: Sums::default(),
        afresh: given.afresh.is_none().then_some(afresh),
        estimate: Estimate {
            cells: plan.header.cells(),
            afresh: given.afresh.unwrap_or_default(),
            ..Estimate::default()
        },
    };
    for row in plan.rows() {
        let sample = match row {
            Ok(sample) => sample,
            Err(error) if error.row.is_some() => continue,
            Err(error) => return Err(EngineError::Dataset(error)),
        };
        let row = Row::new(sample, &walk.systems);
        for at in 0..systems {
            for trial in 0..plan.header.systems[at].trials {
                walk.cell(&row, at, trial)?;
            }
        }
    }
    Ok(walk.finish())
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

struct Walk<'a> {
    plan: &'a Plan,
    /// Where results are found, and how old they may be.
    store: Option<(&'a Store, Moment)>,
    /// Where outputs are found, instead of being made.
    outputs: Option<Earlier>,
    systems: Arc<Systems>,
    library: Library,
    lengths: Lengths,
    now: Sums,
    afresh: Option<AfreshSums>,
    estimate: Estimate,
}

/// What is asked of each model. Step outputs that several cells share count once.
#[derive(Default)]
struct Sums {
    /// Beginnings of the keys that count already.
    planned: FxHashSet<u64>,
    models: BTreeMap<(bool, String), Sum>,
    /// Requests to services and programs.
    outside: BTreeMap<&'static str, u64>,
}

struct AfreshSums {
    sums: Sums,
    by_system: Vec<Option<Money>>,
}

/// Calls that a cell needs: of which step or judge, and how much.
struct Needed {
    /// Key of the step; judgments are never shared.
    key: Option<Key>,
    who: Who,
    sum: Sum,
    /// Output tokens that it took in an earlier run.
    likely: Option<(u64, u64)>,
}

/// Who is asked.
enum Who {
    Model(Arc<ModelSpec>),
    /// Services or programs.
    Outside(&'static str),
}

impl Needed {
    /// Replies are taken to be as long as they were, instead of as long as they may be.
    fn expect_what_is_likely(&mut self) {
        if let Some((least, most)) = self.likely.filter(|_| self.sum.calls.0 > 0) {
            self.sum.output = (least.min(self.sum.output.1), most.min(self.sum.output.1));
        }
    }
}

#[derive(Clone, Default)]
struct Sum {
    calls: (u64, u64),
    input: (u64, u64),
    output: (u64, u64),
}

/// A cell as the walk sees it.
struct Place<'a> {
    row: &'a Row,
    at: usize,
    trial: u32,
    system: &'a ReadySystem,
    keys: &'a [Key],
}

impl Walk<'_> {
    fn cell(&mut self, row: &Row, at: usize, trial: u32) -> Result<(), EngineError> {
        let systems = self.systems.clone();
        let system = &systems.systems[at];
        let Some(start) = self.start(row, system, trial)? else {
            self.estimate.skipped += 1;
            return Ok(());
        };
        let keys = match &self.outputs {
            Some(_) => Vec::new(),
            None => {
                let before = if let Known::Output(output) = &start { recorded_key(output) } else { systems.root };
                system.keys(&systems, &row.digests, before, trial)
            }
        };
        let place = Place { row, at, trial, system, keys: &keys };
        let (made, known) = self.made(&keys, &start)?;
        let Some((mut needed, known)) = self.steps(&place, made, known) else {
            self.estimate.skipped += 1;
            return Ok(());
        };
        if made < keys.len() {
            self.estimate.fresh += 1;
        } else {
            self.estimate.reused += 1;
        }
        let steps = needed.len();
        self.judgments(&place, &known, &mut needed)?;
        let is_afresh = made == 0 && needed.len() - steps == systems.judges.len();
        let afresh = (self.afresh.is_some() && !is_afresh).then(|| self.all(&place, start));
        if let Some(sums) = &mut self.afresh {
            sums.add(at, afresh.as_ref().unwrap_or(&needed));
        }
        needed.iter_mut().for_each(Needed::expect_what_is_likely);
        self.now.add(&needed);
        Ok(())
    }

    /// What the first step that is made begins with: a found output, or nothing. `None` where nothing was found.
    fn start(&self, row: &Row, system: &ReadySystem, trial: u32) -> Result<Option<Known>, EngineError> {
        if let Some(earlier) = &self.outputs {
            let model = system.model.as_ref().map(|model| model.id.as_str());
            let (row, sample) = (row.sample.row, &*row.sample.id);
            let place = history::Place { row, sample, model, variant: &system.variant, trial };
            return Ok(earlier.stored(place)?.and_then(|cell| cell.output).map(Known::Output));
        }
        let Some(step) = &system.recorded else { return Ok(Some(Known::Nothing)) };
        let found = recorded_output(&self.systems, &self.library, row, system, step);
        Ok(found.map(|output| Known::Output(Arc::new(output))))
    }

    /// How many steps of a cell need not be made, and what is known of the output of the last of them.
    fn made(&self, keys: &[Key], start: &Known) -> Result<(usize, Known), EngineError> {
        let Some((store, oldest)) = self.store else { return Ok((0, start.clone())) };
        for (at, key) in keys.iter().enumerate().rev() {
            let is_read = at + 1 < keys.len() || !self.systems.judges.is_empty();
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

    /// The calls of the steps from `first` on, and what is then known of the output. `None` when a step skips the cell
    /// or fails before any call.
    fn steps(&self, place: &Place<'_>, first: usize, mut known: Known) -> Option<(Vec<Needed>, Known)> {
        let mut needed = Vec::with_capacity(place.keys.len() + self.systems.judges.len());
        for (step, key) in place.system.chain.iter().zip(place.keys).skip(first) {
            let (who, sum, length) = match (&step.model, outside(step)) {
                (Some(model), _) => {
                    let (sum, length) = self.step(place.row, place.system, step, &known)?;
                    (Who::Model(model.clone()), sum, length)
                }
                (None, Some(kind)) => (Who::Outside(kind), Sum::default(), (UNKNOWN_ANSWER, UNKNOWN_ANSWER)),
                (None, None) => continue,
            };
            known = Known::Length(length.0, length.1);
            needed.push(Needed { key: Some(*key), who, sum, likely: None });
        }
        // What is known of is all steps together, so it helps where there is one.
        if let ([only], [_]) = (&mut needed[..], place.keys) {
            let model = place.system.model.as_ref().map(|model| model.id.as_str());
            only.likely = self.lengths.of_system(model, &place.system.variant);
            if let Some((least, most)) = only.likely {
                known = Known::Length(least, most);
            }
        }
        Some((needed, known))
    }

    /// The calls of a cell of which nothing is there.
    fn all(&self, place: &Place<'_>, start: Known) -> Vec<Needed> {
        let Some((mut needed, known)) = self.steps(place, 0, start) else { return Vec::new() };
        let judges = self.systems.judges.iter().filter(|judge| judge.is_asked(place.at));
        needed.extend(judges.map(|judge| self.judgment(place.row, &known, judge)));
        needed
    }

    /// Calls of one step with the least and greatest length of its output; `None` when it skips or fails before any call.
    fn step(&self, row: &Row, system: &ReadySystem, step: &ReadyStep, known: &Known) -> Option<(Sum, (u64, u64))> {
        let model = step.model.as_deref();
        let max_tokens = max_tokens(step.step.spec.parameters.max_tokens, model);
        let reasks = u64::from(step.step.spec.parse.as_ref().map_or(0, |parse| parse.reask));
        let (calls, input) = match known {
            Known::Length(least, most) => (1, (500 + least, 500 + most)),
            Known::Output(_) | Known::Nothing => {
                let output = if let Known::Output(output) = known { Some(&**output) } else { None };
                let mut input = step_input(row, &self.systems, system, output);
                input.model = step.model.clone();
                match step.step.machine(input).poll(Vec::new()) {
                    Turn::Done(_) => return None,
                    Turn::Ask(asks) => (asks.len() as u64, certain(asks.iter().map(prompt_tokens).sum())),
                }
            }
        };
        let output = calls * u64::from(max_tokens);
        let most = 1 + reasks;
        let sum = Sum {
            calls: (calls, calls * most),
            input: (input.0, (input.1 + reasks * output) * most),
            output: (output.div_ceil(10), output * most),
        };
        Some((sum, (output.div_ceil(10), output)))
    }

    /// Adds the calls of the judgments that are not there.
    fn judgments(&mut self, place: &Place<'_>, known: &Known, needed: &mut Vec<Needed>) -> Result<(), EngineError> {
        let row = place.row;
        for judge in self.systems.clone().judges.iter().filter(|judge| judge.is_asked(place.at)) {
            let other = match judge.partner(place.at) {
                Some(partner) => self.known_output(row, partner, place.trial)?,
                None => None,
            };
            let is_known = judge.partners.is_none() || other.is_some();
            if let (Some((store, oldest)), Known::Output(output), true) = (self.store, known, is_known) {
                let columns = row.digests.get(&self.systems.reads, judge.reads);
                let subject = subject_key(output_key(output), other.as_deref());
                if store.has_judgment(judgment_key(judge.identity, subject, columns), oldest)? {
                    self.estimate.judgments_reused += 1;
                    continue;
                }
            }
            self.estimate.judgments_fresh += 1;
            needed.push(self.judgment(row, known, judge));
        }
        Ok(())
    }

    /// The output of a system, where it is there.
    fn known_output(&self, row: &Row, at: usize, trial: u32) -> Result<Option<Arc<Value>>, EngineError> {
        let systems = self.systems.clone();
        let Some(system) = systems.systems.get(at) else { return Ok(None) };
        let trial = self.plan.header.trial_beside(at, trial);
        let Some(start) = self.start(row, system, trial)? else { return Ok(None) };
        let before = if let Known::Output(output) = &start { recorded_key(output) } else { systems.root };
        let keys = if self.outputs.is_some() { Vec::new() } else { system.keys(&systems, &row.digests, before, trial) };
        Ok(match self.made(&keys, &start)? {
            (made, Known::Output(output)) if made == keys.len() => Some(output),
            _ => None,
        })
    }

    fn judgment(&self, row: &Row, known: &Known, judge: &ReadyJudge) -> Needed {
        let sum = judge_sum(row, judge, known, self.plan.header.run.seed);
        let scorer = self.plan.header.scorers.get(usize::from(judge.scorer)).map_or("", |scorer| scorer.id.as_str());
        let likely = self.lengths.of_judgment(scorer, &judge.model.id);
        Needed { key: None, who: Who::Model(judge.model.clone()), sum, likely }
    }

    fn finish(self) -> Estimate {
        let header = &self.plan.header;
        let specs = header.models.iter().map(|spec| (false, spec)).chain(header.judges.iter().map(|spec| (true, spec)));
        let models = |sums: &Sums| -> Vec<ModelEstimate> {
            let known = specs
                .clone()
                .filter_map(|(judge, spec)| Some((judge, spec, sums.models.get(&(judge, spec.id.clone()))?)));
            let outside = sums.outside.iter().map(|(kind, calls)| ModelEstimate::outside(kind, *calls));
            known.map(|(judge, spec, sum)| sum.estimate(judge, spec)).chain(outside).collect()
        };
        let mut estimate = Estimate { models: models(&self.now), ..self.estimate };
        if let Some(AfreshSums { sums, by_system }) = &self.afresh {
            let costs = models(sums).into_iter().filter_map(|model| model.cost);
            let total = costs.fold(Default::default(), |sum: (Money, Money), it| (sum.0 + it.0, sum.1 + it.1));
            let cells = header.systems.iter().map(|system| i128::from(header.dataset.rows) * i128::from(system.trials));
            let per_cell = by_system.iter().zip(cells).map(|(sum, cells)| sum.map(|sum| Money(sum.0 / cells.max(1))));
            estimate.afresh = Afresh { total, per_cell: per_cell.collect() };
        }
        estimate
    }
}

impl Sums {
    fn add(&mut self, needed: &[Needed]) {
        for Needed { key, who, sum, .. } in needed {
            let is_first = key.is_none_or(|key| self.planned.insert(seed_of(key)));
            match who {
                Who::Model(model) => {
                    // Of several models that share a call, whoever comes first makes it.
                    let asked = self.models.entry((key.is_none(), model.id.clone())).or_default();
                    if is_first {
                        asked.add(sum);
                    }
                }
                Who::Outside(kind) => *self.outside.entry(kind).or_default() += u64::from(is_first),
            }
        }
    }
}

impl AfreshSums {
    fn add(&mut self, system: usize, needed: &[Needed]) {
        self.sums.add(needed);
        let charged = &mut self.by_system[system];
        for Needed { who, sum, .. } in needed {
            if let Who::Model(model) = who {
                *charged = charged.zip(sum.cost(model)).map(|(charged, (_, most))| charged + most);
            }
        }
    }
}

impl Sum {
    fn add(&mut self, more: &Self) {
        let add = |sum: &mut (u64, u64), more: (u64, u64)| *sum = (sum.0 + more.0, sum.1 + more.1);
        add(&mut self.calls, more.calls);
        add(&mut self.input, more.input);
        add(&mut self.output, more.output);
    }

    fn estimate(&self, judge: bool, model: &ModelSpec) -> ModelEstimate {
        let floor = Usage { input_tokens: self.input.0 / 2, ..Usage::default() };
        ModelEstimate {
            id: model.id.clone(),
            judge,
            calls: self.calls,
            input_tokens: self.input,
            output_tokens: self.output,
            cost: self.cost(model),
            floor: model.price.cost(&floor).unwrap_or_default(),
        }
    }

    /// Least and most; `None` when the price is unknown.
    fn cost(&self, model: &ModelSpec) -> Option<(Money, Money)> {
        let cost =
            |input, output| model.price.cost(&Usage { input_tokens: input, output_tokens: output, ..Usage::default() });
        cost(self.input.0, self.output.0).zip(cost(self.input.1, self.output.1))
    }
}

/// The output that a recorded step finds; `None` when it finds none.
pub(crate) fn recorded_output(
    systems: &Systems,
    library: &Library,
    row: &Row,
    system: &ReadySystem,
    step: &ReadyStep,
) -> Option<Value> {
    let mut machine = step.step.machine(step_input(row, systems, system, None));
    let mut answers = Vec::new();
    loop {
        match machine.poll(std::mem::take(&mut answers)) {
            Turn::Done(StepEnd::Output { output, .. }) => return Some(systems.privacy.output(output)),
            Turn::Done(_) => return None,
            Turn::Ask(asks) => answers = asks.into_iter().map(|ask| library.answer(ask)).collect(),
        }
    }
}

fn judge_sum(row: &Row, judge: &ReadyJudge, known: &Known, seed: u64) -> Sum {
    let output = u64::from(max_tokens(judge.max_tokens, Some(&judge.model)));
    let (calls, input) = match known {
        Known::Output(output) => {
            let input = JudgeInput { sample: &row.shown, output, seed };
            // The other output of a pair is taken to be as long as this one.
            match judge.machine.against(input, Some(&**output)).poll(Vec::new()) {
                Turn::Ask(asks) => (asks.len() as u64, certain(asks.iter().map(prompt_tokens).sum())),
                Turn::Done(_) => (0, (0, 0)),
            }
        }
        Known::Nothing => (0, (0, 0)),
        Known::Length(least, most) => {
            let pieces = judge.machine.expected_calls(&row.shown, seed);
            // A pair shows two outputs; one that is judged in pieces is shown to them and once as a whole.
            let times = if judge.partners.is_some() || pieces > 1 { 2 } else { 1 };
            let beside = pieces * judge.rubric_tokens + row_tokens(row);
            let input = |length: &u64| judge.rounds * (times * length + beside);
            (judge.rounds * pieces, (input(least), input(most)))
        }
    };
    let (output, most) = (calls * output, 1 + judge.reasks);
    Sum {
        calls: (calls, calls * most),
        input: (input.0, (input.1 + output) * most),
        output: (output.div_ceil(10), output * most),
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

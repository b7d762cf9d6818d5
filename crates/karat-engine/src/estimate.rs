//! What a run would do: cells, calls, tokens and money, found by walking the plan without making a call.
//!
//! A step whose input is known is polled once, so its calls and prompts are exact. What depends on outputs that do not
//! exist yet is bounded: one call a later step, inputs as long as the replies before may be, replies between a tenth
//! and the whole of `max_tokens`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use karat_scoring::judge::JudgeInput;
use karat_store::{Store, StoredRun};
use karat_suite::{Files, Plan};
use karat_types::{Action, Ask, Key, Machine, ModelSpec, Moment, Money, Request, Turn, Usage};
use serde_json::Value;

use crate::EngineError;
use crate::cell::{Row, step_input};
use crate::files::Library;
use crate::history::{Earlier, Place};
use crate::identity::{judgment_key, output_key, recorded_key};
use crate::steps::{DEFAULT_MAX_TOKENS, StepEnd};
use crate::systems::{ReadyJudge, ReadyStep, ReadySystem, Systems};

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
    /// By model, the matrix's first, then judges.
    pub models: Vec<ModelEstimate>,
    /// The most that a cell of a system is expected to cost on average, by system; `None` where a price is unknown.
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
    let mut walk = Walk {
        plan,
        store: given.oldest.map(|oldest| (store, oldest)),
        outputs: given.outputs.map(Earlier::new),
        systems: Arc::new(Systems::new(&plan.header, run.unwrap_or_default())?),
        library: Library::new(files),
        planned: HashSet::new(),
        sums: BTreeMap::new(),
        by_system: vec![(Some(Money::ZERO), 0); plan.header.systems.len()],
        services: crate::services::unstarted(&plan.header),
        outside: BTreeMap::new(),
        estimate: Estimate { cells: plan.header.cells(), ..Estimate::default() },
    };
    for row in plan.rows() {
        let sample = match row {
            Ok(sample) => sample,
            Err(error) if error.row.is_some() => continue,
            Err(error) => return Err(EngineError::Dataset(error)),
        };
        let row = Row::new(sample, &plan.header, &walk.systems, &walk.services);
        for at in 0..plan.header.systems.len() {
            for trial in 0..plan.header.systems[at].trials {
                walk.cell(&row, at, trial)?;
            }
        }
    }
    Ok(walk.finish())
}

/// What is known of an output that a judge or later step will read.
enum Known {
    Output(Arc<Value>),
    /// There is none yet, and the next step is the first.
    Nothing,
    /// Nothing but its greatest length in tokens.
    Length(u64),
}

struct Walk<'a> {
    plan: &'a Plan,
    /// Where results are found, and how old they may be.
    store: Option<(&'a Store, Moment)>,
    /// Where outputs are found, instead of being made.
    outputs: Option<Earlier>,
    systems: Arc<Systems>,
    library: Library,
    planned: HashSet<Key>,
    sums: BTreeMap<(bool, String), Sum>,
    by_system: Vec<(Option<Money>, i128)>,
    services: Value,
    /// Requests to services and programs.
    outside: BTreeMap<&'static str, u64>,
    estimate: Estimate,
}

#[derive(Default)]
struct Sum {
    calls: (u64, u64),
    input: (u64, u64),
    output: (u64, u64),
}

impl Walk<'_> {
    fn cell(&mut self, row: &Row, at: usize, trial: u32) -> Result<(), EngineError> {
        let systems = self.systems.clone();
        let system = &systems.systems[at];
        self.by_system[at].1 += 1;
        if let Some(earlier) = &self.outputs {
            let model = system.model.as_ref().map(|model| model.id.as_str());
            let place = Place { row: row.sample.row, sample: &row.sample.id, model, variant: &system.variant, trial };
            let Some(output) = earlier.stored(place)?.and_then(|cell| cell.output) else {
                self.estimate.skipped += 1;
                return Ok(());
            };
            self.estimate.reused += 1;
            return self.judgments(row, at, &Known::Output(output));
        }
        let mut known = Known::Nothing;
        let mut before = self.systems.root;
        if let Some(step) = &system.recorded {
            match recorded_output(&systems, &self.library, row, system, step) {
                Some(output) => {
                    before = recorded_key(&output);
                    known = Known::Output(Arc::new(output));
                }
                None => {
                    self.estimate.skipped += 1;
                    return Ok(());
                }
            }
        }
        let keys = system.keys(&systems, &row.digests, before, trial);
        let mut first = 0;
        for place in (0..keys.len()).rev() {
            if let Some(step) = self.stored(keys[place])? {
                known = Known::Output(step);
                first = place + 1;
                break;
            }
        }
        let mut sums = Vec::new();
        for (step, key) in system.chain.iter().zip(&keys).skip(first) {
            let shared = !self.planned.insert(*key);
            if let Some(kind) = outside(step).filter(|_| !shared) {
                *self.outside.entry(kind).or_default() += 1;
            }
            if step.model.is_none() {
                known = Known::Length(UNKNOWN_ANSWER);
                continue;
            }
            match self.step(row, system, step, &known) {
                None => {
                    self.estimate.skipped += 1;
                    return Ok(());
                }
                Some((sum, length)) => {
                    known = Known::Length(length);
                    if let Some(model) = &step.model {
                        sums.push((shared, model.clone(), sum));
                    }
                }
            }
        }
        if first < keys.len() {
            self.estimate.fresh += 1;
        } else {
            self.estimate.reused += 1;
        }
        for (shared, model, sum) in sums {
            self.charge(at, &model, &sum);
            if !shared {
                self.add(false, model.id.clone(), sum);
            }
        }
        self.judgments(row, at, &known)
    }

    fn stored(&self, key: Key) -> Result<Option<Arc<Value>>, EngineError> {
        let Some((store, oldest)) = self.store else { return Ok(None) };
        Ok(store.step(key)?.filter(|stored| stored.run_started_at >= oldest).map(|stored| stored.record.output))
    }

    /// Calls of one step and the greatest length of its output; `None` when it skips or fails before any call.
    fn step(&self, row: &Row, system: &ReadySystem, step: &ReadyStep, known: &Known) -> Option<(Sum, u64)> {
        let model = step.model.as_deref();
        let max_tokens = max_tokens(step.step.spec.parameters.max_tokens, model);
        let reasks = u64::from(step.step.spec.parse.as_ref().map_or(0, |parse| parse.reask));
        let (calls, input) = match known {
            Known::Length(length) => (1, 500 + length),
            Known::Output(_) | Known::Nothing => {
                let output = if let Known::Output(output) = known { Some(&**output) } else { None };
                let mut input = step_input(row, system, output);
                input.model = step.model.clone();
                match step.step.machine(input).poll(Vec::new()) {
                    Turn::Done(_) => return None,
                    Turn::Ask(asks) => (asks.len() as u64, asks.iter().map(prompt_tokens).sum()),
                }
            }
        };
        let output = calls * u64::from(max_tokens);
        let most = 1 + reasks;
        let sum = Sum {
            calls: (calls, calls * most),
            input: (input, (input + reasks * output) * most),
            output: (output.div_ceil(10), output * most),
        };
        Some((sum, output))
    }

    fn judgments(&mut self, row: &Row, at: usize, known: &Known) -> Result<(), EngineError> {
        let mut sums = Vec::new();
        for judge in &self.systems.clone().judges {
            if let (Some((store, oldest)), Known::Output(output)) = (self.store, known) {
                let columns = row.digests.get(&self.systems.reads, judge.reads);
                let stored = store.judgment(judgment_key(judge.identity, output_key(output), columns))?;
                if stored.is_some_and(|stored| stored.run_started_at >= oldest) {
                    self.estimate.judgments_reused += 1;
                    continue;
                }
            }
            self.estimate.judgments_fresh += 1;
            sums.push((judge.model.clone(), judge_sum(row, judge, known, self.plan.header.run.seed)));
        }
        for (judge, sum) in sums {
            self.charge(at, &judge, &sum);
            self.add(true, judge.id.clone(), sum);
        }
        Ok(())
    }

    fn charge(&mut self, system: usize, model: &ModelSpec, sum: &Sum) {
        let cost = sum.cost(model).map(|(_, most)| most);
        let charged = &mut self.by_system[system].0;
        *charged = charged.zip(cost).map(|(sum, cost)| sum + cost);
    }

    fn add(&mut self, judge: bool, model: String, more: Sum) {
        let sum = self.sums.entry((judge, model)).or_default();
        let add = |sum: &mut (u64, u64), more: (u64, u64)| *sum = (sum.0 + more.0, sum.1 + more.1);
        add(&mut sum.calls, more.calls);
        add(&mut sum.input, more.input);
        add(&mut sum.output, more.output);
    }

    fn finish(self) -> Estimate {
        let header = &self.plan.header;
        let specs = header.models.iter().map(|spec| (false, spec)).chain(header.judges.iter().map(|spec| (true, spec)));
        let models = specs.filter_map(|(judge, spec)| {
            let sum = self.sums.get(&(judge, spec.id.clone()))?;
            Some(ModelEstimate {
                id: spec.id.clone(),
                judge,
                calls: sum.calls,
                input_tokens: sum.input,
                output_tokens: sum.output,
                cost: sum.cost(spec),
                floor: sum.floor(spec),
            })
        });
        let models = models.chain(self.outside.iter().map(|(kind, calls)| ModelEstimate::outside(kind, *calls)));
        let models = models.collect();
        let per_cell = self.by_system.iter().map(|(sum, cells)| sum.map(|sum| Money(sum.0 / (*cells).max(1))));
        Estimate { models, per_cell: per_cell.collect(), ..self.estimate }
    }
}

impl Sum {
    fn floor(&self, model: &ModelSpec) -> Money {
        let usage = Usage { input_tokens: self.input.0 / 2, ..Usage::default() };
        model.price.cost(&usage).unwrap_or_default()
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
    let mut machine = step.step.machine(step_input(row, system, None));
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
            match judge.machine.machine(input).poll(Vec::new()) {
                Turn::Ask(asks) => (asks.len() as u64, asks.iter().map(prompt_tokens).sum()),
                Turn::Done(_) => (0, 0),
            }
        }
        Known::Nothing => (0, 0),
        Known::Length(length) => (1, length + judge.rubric_tokens + row_tokens(row)),
    };
    let (output, most) = (calls * output, 1 + judge.reasks);
    Sum {
        calls: (calls, calls * most),
        input: (input, (input + output) * most),
        output: (output.div_ceil(10), output * most),
    }
}

fn max_tokens(asked: Option<u32>, model: Option<&ModelSpec>) -> u32 {
    let bound = model.and_then(|model| model.max_output);
    let asked = asked.or(model.and_then(|model| model.parameters.max_tokens)).or(bound).unwrap_or(DEFAULT_MAX_TOKENS);
    bound.map_or(asked, |bound| asked.min(bound))
}

fn prompt_tokens(ask: &Ask) -> u64 {
    match &ask.request {
        Request::Chat(request) => request.messages.iter().map(|message| 4 + tokens_of(&message.content)).sum(),
        Request::File { .. } | Request::Http(_) | Request::Command(_) => 0,
    }
}

fn row_tokens(row: &Row) -> u64 {
    row.sample.columns.values().map(|value| tokens_of(&value.to_string())).sum()
}

/// Tokens of a text by script: four characters of ASCII a token, one character of anything else.
pub(crate) fn tokens_of(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|char| !char.is_ascii()).count() as u64;
    ascii.div_ceil(4) + other
}

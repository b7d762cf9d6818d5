//! Adds up the calls of cells: by model, counting shared calls once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_types::{Key, ModelSpec, Money, PlanHeader, Pricing, UncachedCost, Usage};
use rustc_hash::FxHashSet;

use super::ModelEstimate;
use crate::call::vectors::MAX_TEXTS;
use crate::estimate::usage_history::{LearnedInput, LikelyUsage};
use crate::plan::identity::seed_from_key;

/// The keys that are counted already, by their first bytes.
#[derive(Default)]
pub(super) struct CountedKeys(Mutex<SeenKeys>);

#[derive(Default)]
struct SeenKeys {
    keys: FxHashSet<u64>,
    /// Pairs of row and key, if repeats are counted.
    by_row: Option<FxHashSet<(u64, u64)>>,
    /// The number of times that a key of one row came again in another.
    again: u64,
}

impl CountedKeys {
    /// A set that counts how often rows repeat requests.
    pub fn counting_rows() -> Self {
        Self(Mutex::new(SeenKeys { by_row: Some(FxHashSet::default()), ..SeenKeys::default() }))
    }

    /// The number of times that a key of one row came again in another, if that is counted.
    pub fn repeat_count(&self) -> u64 {
        self.lock().again
    }

    /// Returns whether a key is counted for the first time.
    fn is_first(&self, row: u64, key: Key) -> bool {
        let (seen, key) = (&mut *self.lock(), seed_from_key(key));
        let is_first = seen.keys.insert(key);
        let is_of_row = seen.by_row.as_mut().is_some_and(|by_row| by_row.insert((row, key)));
        seen.again += u64::from(is_of_row && !is_first);
        is_first
    }

    fn lock(&self) -> MutexGuard<'_, SeenKeys> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of each model. Shared step outputs count once.
pub(super) struct CallTotals<'a> {
    counted: &'a CountedKeys,
    /// By whether they judge, whether they go by batches, and the id of the model.
    models: BTreeMap<(bool, bool, String), CallSum>,
    /// Texts that need a vector; the calls of a sum are counted in texts.
    texts: BTreeMap<String, CallSum>,
    /// Requests to services and programs.
    outside: BTreeMap<&'static str, ExternalTotals>,
}

/// Requests to services or programs.
#[derive(Default)]
struct ExternalTotals {
    count: u64,
    /// True if the cost of some requests is known only from their answers.
    metered: bool,
    /// Minimum and maximum of the likely cost of the others.
    cost: (Money, Money),
}

impl ExternalTotals {
    fn add(&mut self, Self { count, metered, cost }: Self) {
        self.count += count;
        self.metered |= metered;
        self.cost = (self.cost.0 + cost.0, self.cost.1 + cost.1);
    }
}

/// The calls of the whole plan with nothing cached.
pub(super) struct UncachedTotals<'a> {
    sums: CallTotals<'a>,
    by_system: Vec<Option<Money>>,
    /// True if the totals are of a sample of the rows.
    sampled: bool,
}

/// The calls of one step or judge of a cell.
pub(super) struct NeededCalls {
    /// Key of the step or judgment, which others may share; `None` if it is not known yet.
    pub key: Option<Key>,
    pub who: Recipient,
    pub sum: CallSum,
    /// Its usage in an earlier run.
    pub likely: Option<LikelyUsage>,
    /// Minimum and maximum of the cost that its answers reported there.
    pub fee: Option<(Money, Money)>,
}

/// The recipient of calls.
pub(super) enum Recipient {
    Model(Arc<ModelSpec>),
    Judge(Arc<ModelSpec>),
    /// A model that makes vectors: the calls are texts, of which one request holds many.
    Texts(Arc<ModelSpec>),
    /// Services or programs.
    Outside {
        kind: &'static str,
        /// True if the cost is known only from the answer.
        metered: bool,
        /// Minimum and maximum of the likely cost.
        cost: (Money, Money),
    },
}

impl NeededCalls {
    /// Replaces the possible usage by that of an earlier run.
    pub fn apply_history(&mut self) {
        if let (Recipient::Outside { metered, cost, .. }, Some(fee)) = (&mut self.who, self.fee) {
            (*metered, *cost) = (false, fee);
        }
        let Some(input) = self.likely_input() else { return };
        let Self { sum, likely: Some(likely), .. } = self else { return };
        (sum.input, sum.is_guess) = (input, false);
        if let Some(learned) = likely.input {
            let tokens = learned.of(midpoint(input));
            sum.input = ((tokens * 0.9) as u64, (tokens * 1.1).ceil() as u64);
        }
        sum.output = (likely.output.0.min(sum.output.1), likely.output.1.min(sum.output.1));
        sum.calls.1 = likely.calls.clamp(sum.calls.0, sum.calls.1);
    }

    /// The learned correction of its input, if there is one, with the input that is expected without it.
    pub fn expected_input(&self) -> Option<(LearnedInput, f64)> {
        let learned = self.likely.as_ref()?.input?;
        Some((learned, midpoint(self.likely_input()?)))
    }

    /// Input tokens for the likely number of calls; `None` if that is unknown or 0.
    fn likely_input(&self) -> Option<(u64, u64)> {
        let Self { sum: CallSum { calls, input, output, .. }, likely, .. } = self;
        let likely = likely.as_ref().filter(|_| calls.0 > 0)?;
        if likely.calls.clamp(calls.0, calls.1) > calls.0 {
            return Some(*input);
        }
        // Nothing is asked again, so no prompt quotes an earlier reply.
        let times = calls.1 / calls.0;
        Some((input.0, (input.1 / times).saturating_sub((times - 1) * output.1 / times).max(input.0)))
    }
}

fn midpoint((least, most): (u64, u64)) -> f64 {
    (least as f64 + most as f64) / 2.0
}

/// Minimum and maximum of calls and tokens.
#[derive(Clone, Default)]
pub(super) struct CallSum {
    pub calls: (u64, u64),
    pub input: (u64, u64),
    pub output: (u64, u64),
    /// Input tokens that are needed however short the missing outputs are.
    pub sure: u64,
    /// True if nothing is known of the length of some replies.
    pub is_guess: bool,
}

impl<'a> CallTotals<'a> {
    /// Empty totals that share the set of counted keys with others.
    pub fn new(counted: &'a CountedKeys) -> Self {
        Self { counted, models: BTreeMap::new(), texts: BTreeMap::new(), outside: BTreeMap::new() }
    }

    /// Adds the totals of another thread.
    pub fn join(&mut self, other: Self) {
        for (model, sum) in other.models {
            self.models.entry(model).or_default().add_if(true, &sum);
        }
        for (model, sum) in other.texts {
            self.texts.entry(model).or_default().add_if(true, &sum);
        }
        for (kind, requests) in other.outside {
            self.outside.entry(kind).or_default().add(requests);
        }
    }

    /// Adds the calls of a cell of this row.
    pub fn add(&mut self, row: u64, needed: &[NeededCalls]) {
        for NeededCalls { key, who, sum, .. } in needed {
            let is_first = key.is_none_or(|key| self.counted.is_first(row, key));
            match who {
                // Of several models that share a call, the first to come makes it.
                Recipient::Model(model) => self.models.entry(sum_key(false, model)).or_default().add_if(is_first, sum),
                Recipient::Judge(model) => self.models.entry(sum_key(true, model)).or_default().add_if(is_first, sum),
                Recipient::Texts(model) => {
                    self.texts.entry(model.id.clone()).or_default().add_if(is_first, sum);
                }
                Recipient::Outside { kind, metered, cost } => {
                    let (count, cost) = if is_first { (sum.calls.0, *cost) } else { Default::default() };
                    self.outside.entry(kind).or_default().add(ExternalTotals { count, metered: *metered, cost });
                }
            }
        }
    }

    /// One entry per model in the plan's order, then services and programs.
    pub fn models(&self, plan: &PlanHeader) -> Vec<ModelEstimate> {
        let specs = plan.models.iter().map(|spec| (false, spec)).chain(plan.judges.iter().map(|spec| (true, spec)));
        // A model whose prompts go by batches may also play agents, which are run live.
        let specs = specs.flat_map(|(judge, spec)| {
            let live = spec.live_price.as_ref().map(|_| (judge, Cow::Owned(spec.live())));
            std::iter::once((judge, Cow::Borrowed(spec))).chain(live)
        });
        let known = specs.filter_map(|(judge, spec)| {
            let sum = self.models.get(&sum_key(judge, &spec))?;
            Some(sum.estimate(judge, &spec))
        });
        let outside = self.outside.iter().map(|(kind, &ExternalTotals { count, metered, cost })| ModelEstimate {
            id: (*kind).to_owned(),
            judge: false,
            outside: true,
            calls: (count, count),
            input_tokens: (0, 0),
            output_tokens: (0, 0),
            cost: Some(cost),
            metered,
            by_batch: false,
            is_guess: false,
            floor: Money::ZERO,
        });
        let texts = plan.embedders.iter().filter_map(|spec| {
            let texts = self.texts.get(&spec.id)?;
            let calls = (texts.calls.0.div_ceil(MAX_TEXTS as u64), texts.calls.1.div_ceil(MAX_TEXTS as u64));
            Some(CallSum { calls, ..texts.clone() }.estimate(false, spec))
        });
        known.chain(texts).chain(outside).collect()
    }
}

fn sum_key(judge: bool, model: &ModelSpec) -> (bool, bool, String) {
    (judge, model.live_price.is_some(), model.id.clone())
}

impl<'a> UncachedTotals<'a> {
    /// Empty totals for so many systems.
    pub fn new(counted: &'a CountedKeys, systems: usize) -> Self {
        Self { sums: CallTotals::new(counted), by_system: vec![Some(Money::ZERO); systems], sampled: false }
    }

    /// Adds the calls of a cell of this row and system.
    pub fn add(&mut self, row: u64, system: usize, needed: &[NeededCalls]) {
        self.sums.add(row, needed);
        let charged = &mut self.by_system[system];
        for NeededCalls { who, sum, .. } in needed {
            let most = match who {
                Recipient::Model(model) | Recipient::Judge(model) | Recipient::Texts(model) => {
                    sum.cost(model).map(|(_, most)| most)
                }
                Recipient::Outside { metered, cost, .. } => (!metered).then_some(cost.1),
            };
            *charged = charged.zip(most).map(|(charged, most)| charged + most);
        }
    }

    /// Adds the totals of another thread.
    pub fn join(&mut self, other: Self) {
        self.sums.join(other.sums);
        self.sampled |= other.sampled;
        for (sum, more) in self.by_system.iter_mut().zip(other.by_system) {
            *sum = sum.zip(more).map(|(sum, more)| sum + more);
        }
    }

    /// Scales totals of `some` rows to `all` rows.
    pub fn scale_to(&mut self, all: u64, some: u64) {
        self.sampled = all > some;
        let money = |sum: Money| Money(sum.0 * i128::from(all) / i128::from(some));
        self.by_system.iter_mut().for_each(|sum| *sum = sum.map(money));
        let count = |count: &mut u64| *count = (u128::from(*count) * u128::from(all) / u128::from(some)) as u64;
        let sums = self.sums.models.values_mut().chain(self.sums.texts.values_mut());
        sums.for_each(|sum| sum.counters_mut().into_iter().for_each(count));
        self.sums.outside.values_mut().for_each(|requests| count(&mut requests.count));
    }

    /// The cost of the totals.
    pub fn total(&self, plan: &PlanHeader) -> UncachedCost {
        let costs = self.sums.models(plan).into_iter().filter_map(|model| model.cost);
        let total = costs.fold(Default::default(), |sum: (Money, Money), it| (sum.0 + it.0, sum.1 + it.1));
        let cells = plan.systems.iter().map(|system| i128::from(plan.dataset.rows) * i128::from(system.trials));
        let per_cell = self.by_system.iter().zip(cells).map(|(sum, cells)| sum.map(|sum| Money(sum.0 / cells.max(1))));
        UncachedCost { total, per_cell: per_cell.collect(), sampled: self.sampled }
    }
}

impl CallSum {
    /// The same if the calls may not be made at all.
    pub fn or_none(self) -> Self {
        let up_to = |(_, most): (u64, u64)| (0, most);
        let (calls, input, output) = (up_to(self.calls), up_to(self.input), up_to(self.output));
        Self { calls, input, output, sure: 0, ..self }
    }

    fn counters_mut(&mut self) -> [&mut u64; 7] {
        let Self { calls, input, output, sure, is_guess: _ } = self;
        [&mut calls.0, &mut calls.1, &mut input.0, &mut input.1, &mut output.0, &mut output.1, sure]
    }

    fn add_if(&mut self, is_added: bool, more: &Self) {
        if !is_added {
            return;
        }
        let add = |sum: &mut (u64, u64), more: (u64, u64)| *sum = (sum.0 + more.0, sum.1 + more.1);
        add(&mut self.calls, more.calls);
        add(&mut self.input, more.input);
        add(&mut self.output, more.output);
        self.sure += more.sure;
        self.is_guess |= more.is_guess;
    }

    fn estimate(&self, judge: bool, model: &ModelSpec) -> ModelEstimate {
        ModelEstimate {
            id: model.id.clone(),
            judge,
            outside: false,
            calls: self.calls,
            input_tokens: self.input,
            output_tokens: self.output,
            cost: self.cost(model),
            metered: false,
            by_batch: model.live_price.is_some(),
            is_guess: self.is_guess && self.calls.1 > 0,
            floor: price_of(model, self.calls.1, (self.sure / 2, 0)).unwrap_or_default(),
        }
    }

    /// Minimum and maximum of the cost; `None` when the price is unknown. Where no run has measured it, a provider may count
    /// a quarter less tokens in a prompt than we do.
    fn cost(&self, model: &ModelSpec) -> Option<(Money, Money)> {
        let input = if self.is_guess { self.input.0 / 4 * 3 } else { self.input.0 };
        let least = price_of(model, self.calls.0, (input, self.output.0));
        least.zip(price_of(model, self.calls.1, (self.input.1, self.output.1)))
    }
}

/// The price of so many calls that have these tokens of input and output together. Where long requests have rates of their
/// own, each call is as long as their average.
fn price_of(model: &ModelSpec, calls: u64, (input, output): (u64, u64)) -> Option<Money> {
    let usage = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
    match &model.price {
        Pricing::Known(price) if !price.base.above.is_empty() && calls > 0 => {
            let each = model.price.cost(&usage(input.div_ceil(calls), output.div_ceil(calls)))?;
            Some(Money(each.0 * i128::from(calls)))
        }
        price => price.cost(&usage(input, output)),
    }
}

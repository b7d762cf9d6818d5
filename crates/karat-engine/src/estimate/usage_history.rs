//! What calls took before: what an estimate goes by where the same model has answered the same step of the same variant, or
//! judged the same scorer, in an earlier run; and what the answers of services and programs said that they cost.
//!
//! Estimates are of many cells together, so the average counts, and not how far single cells are from it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_types::{
    Action, CellRow, CellStatus, MeterSpec, ModelSpec, Money, PlanHeader, RunRows, StepCost, StepSpec, Usage,
};

use crate::EngineError;

/// Cells that are looked at: the first ones of the run.
pub(crate) const SAMPLED_CELLS: u64 = 2_000;

/// With fewer of them nothing is said.
const MIN_OBSERVATIONS: usize = 20;

/// What cells' steps, and judgments, took in an earlier run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageHistory {
    /// What inputs took, by sample: tokens, and of how many; one for each [`LearnedInput`].
    inputs: Vec<TokensBySample>,
    /// By model, variant and step, one within the other.
    steps: BTreeMap<String, BTreeMap<String, BTreeMap<String, LikelyUsage>>>,
    /// What the answers of a step said that they cost, by variant and step: a tenth less than the average, and a tenth more.
    fees: BTreeMap<String, BTreeMap<String, (Money, Money)>>,
    /// By scorer and judge.
    judgments: BTreeMap<(String, String), LikelyUsage>,
}

/// What a step of a cell, or a judgment, is likely to take on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LikelyUsage {
    /// Output tokens: a tenth less than the average, and a tenth more.
    pub output: (u64, u64),
    /// Input tokens; `None` where prompt, model or dataset is another one now.
    pub input: Option<LearnedInput>,
    /// Calls that nine of ten do with.
    pub calls: u64,
}

/// Tokens by sample, and of how many inputs.
type TokensBySample = BTreeMap<String, (u64, u64)>;

/// What inputs took, against what is expected of the same ones: a prompt is known before it is sent, and may be many times as
/// long as those that were looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LearnedInput {
    /// Which of all that is known of inputs.
    at: usize,
    /// `None` until the two were compared, and where they cannot be.
    line: Option<TokenLine>,
}

/// Tokens that are taken, by those that are expected.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TokenLine {
    /// What a provider adds to each input.
    added: f64,
    /// How many tokens it counts for one of ours.
    times: f64,
}

/// Other tokenizers are taken to count up to so many times as many tokens, or as few,
const MAX_TOKENIZER_RATIO: f64 = 4.0;

/// and the same where inputs are all about as long: their standard deviation is below this part of their mean.
const MIN_SPREAD: f64 = 0.25;

/// RegressionSums of what is expected of inputs (x) and of what they took (y); one for each [`LearnedInput`].
pub(crate) struct InputComparison(Vec<RegressionSums>);

#[derive(Clone, Default)]
struct RegressionSums {
    count: usize,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl RegressionSums {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// The line of least squares; `None` where too few were compared.
    fn line(&self) -> Option<TokenLine> {
        let count = self.count as f64;
        let (x, y) = (self.x / count, self.y / count);
        let variance = self.xx / count - x * x;
        let are_alike = variance < (MIN_SPREAD * x).powi(2) || variance <= 0.0;
        let slope = if are_alike { 1.0 } else { (self.xy / count - x * y) / variance };
        let times = slope.clamp(1.0 / MAX_TOKENIZER_RATIO, MAX_TOKENIZER_RATIO);
        (self.count >= MIN_OBSERVATIONS).then_some(TokenLine { added: y - times * x, times })
    }
}

impl LearnedInput {
    /// What an input takes of which so many tokens are expected.
    pub fn of(self, expected: f64) -> f64 {
        self.line.map_or(expected, |TokenLine { added, times }| (added + times * expected).max(0.0))
    }
}

/// What was seen of one kind.
#[derive(Default)]
struct ObservedUsage {
    usage: Usage,
    calls: Vec<u64>,
    inputs: TokensBySample,
}

impl UsageHistory {
    /// What a stored run says of them, for a plan of the same suite.
    ///
    /// # Errors
    /// Its rows cannot be read.
    pub fn of(run: &dyn RunRows, plan: &PlanHeader) -> Result<Self, EngineError> {
        let then = &run.header().plan;
        let mut steps: BTreeMap<(usize, usize), ObservedUsage> = BTreeMap::new();
        let mut fees: BTreeMap<(usize, usize), Vec<Money>> = BTreeMap::new();
        let mut judgments: BTreeMap<(u16, u16), ObservedUsage> = BTreeMap::new();
        run.for_each(&mut |row| {
            if row.cell.ordinal >= SAMPLED_CELLS {
                return ControlFlow::Break(());
            }
            for (step, StepCost { usage, cost }, calls) in step_usages(then, &row) {
                steps.entry((row.system, step)).or_default().add(&row.sample.id, usage, calls);
                let variant = then.systems.get(row.system).map(|system| system.variant);
                if let (Some(variant), Some(cost)) = (variant, cost) {
                    fees.entry((variant, step)).or_default().push(cost);
                }
            }
            for judgment in row.judgments.iter().filter(|judgment| judgment.error.is_none()) {
                let seen = judgments.entry((judgment.scorer, judgment.judge)).or_default();
                seen.add(&row.sample.id, judgment.cost.usage, judgment.calls.len());
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| EngineError::Plan(error.to_string()))?;
        let same_data = then.dataset.sources == plan.dataset.sources;
        let mut inputs = Vec::new();
        let known = steps.into_iter().filter_map(|((system, step), seen)| {
            let variant = then.variants.get(then.systems.get(system)?.variant)?;
            let step = variant.steps.get(step)?;
            let model = match &step.model {
                Some(id) => then.models.iter().find(|model| model.id == *id)?,
                None => then.system_model(system)?,
            };
            let same = same_data && plan.variants.contains(variant) && has_model(&plan.models, model);
            Some((model, variant, step, seen.likely_usage(same.then_some(&mut inputs))?))
        });
        let mut steps: BTreeMap<String, BTreeMap<_, BTreeMap<_, _>>> = BTreeMap::new();
        for (model, variant, step, likely) in known {
            let variants = steps.entry(model.id.clone()).or_default();
            variants.entry(variant.id.clone()).or_default().insert(step.id.clone(), likely);
        }
        let said = fees.into_iter().filter_map(|((variant, step), costs)| {
            let variant = then.variants.get(variant)?;
            let step = variant.steps.get(step).filter(|step| reports_cost(step))?;
            Some((variant.id.clone(), step.id.clone(), within_a_tenth(&costs)?))
        });
        let mut fees: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (variant, step, fee) in said {
            fees.entry(variant).or_default().insert(step, fee);
        }
        let judgments = judgments.into_iter().filter_map(|((scorer, judge), seen)| {
            let (scorer, judge) = (then.scorers.get(usize::from(scorer))?, then.judges.get(usize::from(judge))?);
            let same = same_data && plan.scorers.contains(scorer) && has_model(&plan.judges, judge);
            Some(((scorer.id.clone(), judge.id.clone()), seen.likely_usage(same.then_some(&mut inputs))?))
        });
        let judgments = judgments.collect();
        Ok(Self { inputs, steps, fees, judgments })
    }

    /// Whether anything is known of inputs.
    pub(crate) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Nothing is compared yet.
    pub(crate) fn new_comparison(&self) -> InputComparison {
        InputComparison(vec![RegressionSums::default(); self.inputs.len()])
    }

    /// Compares what is expected of an input of a sample with what it took; nothing where that was not looked at.
    pub(crate) fn compare(&self, comparison: &mut InputComparison, learned: LearnedInput, sample: &str, expected: f64) {
        let taken = self.inputs.get(learned.at).and_then(|taken| taken.get(sample));
        if let (Some((tokens, count)), Some(sums)) = (taken, comparison.0.get_mut(learned.at)) {
            sums.add(expected, *tokens as f64 / *count as f64);
        }
    }

    /// Goes by what was compared.
    pub(crate) fn apply_comparison(&mut self, comparison: &InputComparison) {
        let steps = self.steps.values_mut().flat_map(BTreeMap::values_mut).flat_map(BTreeMap::values_mut);
        for learned in steps.chain(self.judgments.values_mut()).filter_map(|likely| likely.input.as_mut()) {
            learned.line = comparison.0.get(learned.at).and_then(RegressionSums::line);
        }
    }

    /// What a step is likely to take.
    pub(crate) fn step_usage(&self, model: &str, variant: &str, step: &str) -> Option<LikelyUsage> {
        self.steps.get(model)?.get(variant)?.get(step).copied()
    }

    /// What a step of a cell is likely to cost by the words of its answers, at least and at most.
    pub(crate) fn step_fee(&self, variant: &str, step: &str) -> Option<(Money, Money)> {
        self.fees.get(variant)?.get(step).copied()
    }

    /// What a judgment is likely to take.
    pub(crate) fn judgment_usage(&self, scorer: &str, judge: &str) -> Option<LikelyUsage> {
        self.judgments.get(&(scorer.to_owned(), judge.to_owned())).copied()
    }
}

/// What the steps of a cell have used, each with its place in its variant, and the most calls that it can have made: only how
/// many all of them made together is known, and each made one. Nothing where they were not kept apart.
fn step_usages(plan: &PlanHeader, row: &CellRow<'_>) -> Vec<(usize, StepCost, usize)> {
    let steps = plan.systems.get(row.system).and_then(|system| plan.variants.get(system.variant));
    let steps = steps.map_or(&[][..], |variant| &variant.steps);
    let first = steps.iter().rposition(|step| matches!(step.action, Action::Recorded(_))).unwrap_or_default();
    let kept = match &row.cell.facts.steps[..] {
        [] => vec![StepCost { usage: row.cell.cost.usage, cost: row.cell.cost.cost }],
        steps => steps.to_vec(),
    };
    if row.cell.status != CellStatus::Ok || first + kept.len() != steps.len() {
        return Vec::new();
    }
    let asking = steps[first..].iter().filter(|step| !matches!(step.action, Action::Recorded(_))).count();
    let calls = (row.cell.calls.len() + 1).saturating_sub(asking);
    kept.into_iter().enumerate().map(|(at, cost)| (first + at, cost, calls)).collect()
}

/// Whether the answers of a step say what they cost.
fn reports_cost(step: &StepSpec) -> bool {
    step.action.is_outside() && step.meter.as_ref().is_some_and(MeterSpec::has_cost)
}

/// A tenth less than the average, and a tenth more; `None` when too few were seen.
fn within_a_tenth(costs: &[Money]) -> Option<(Money, Money)> {
    let (sum, count) = (costs.iter().copied().sum::<Money>(), costs.len() as i128);
    (costs.len() >= MIN_OBSERVATIONS).then(|| (Money(sum.0 * 9 / (10 * count)), Money(sum.0 * 11 / (10 * count))))
}

/// Whether a model of this id and name is among these.
fn has_model(models: &[ModelSpec], model: &ModelSpec) -> bool {
    models.iter().any(|it| (&it.id, &it.model) == (&model.id, &model.model))
}

impl ObservedUsage {
    fn add(&mut self, sample: &str, usage: Usage, calls: usize) {
        if usage.output_tokens > 0 {
            let (tokens, count) = self.inputs.entry(sample.to_owned()).or_default();
            (*tokens, *count) = (*tokens + usage.input_tokens, *count + 1);
            self.usage += usage;
            self.calls.push(calls as u64);
        }
    }

    /// `None` when too few were seen. `inputs` gets what they took, where what is asked now is what was asked then.
    fn likely_usage(mut self, inputs: Option<&mut Vec<TokensBySample>>) -> Option<LikelyUsage> {
        let count = self.calls.len();
        if count < MIN_OBSERVATIONS {
            return None;
        }
        self.calls.sort_unstable();
        let around = |sum: u64| (sum * 9 / (10 * count as u64), (sum * 11).div_ceil(10 * count as u64));
        let input = inputs.map(|inputs| {
            inputs.push(self.inputs);
            LearnedInput { at: inputs.len() - 1, line: None }
        });
        Some(LikelyUsage { output: around(self.usage.output_tokens), input, calls: self.calls[(count - 1) * 9 / 10] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-05: the average of what was seen counts, where enough was seen.
    #[test]
    fn the_average_of_observations_counts() {
        let seen = |count: u64| {
            let mut seen = ObservedUsage::default();
            for at in 0..count {
                let usage = Usage { input_tokens: 100, output_tokens: 10 + 20 * (at % 2), ..Usage::default() };
                seen.add("s", usage, if at == 0 { 2 } else { 1 });
            }
            seen
        };
        let likely = LikelyUsage { output: (18, 22), input: Some(LearnedInput { at: 0, line: None }), calls: 1 };
        let mut inputs = Vec::new();
        assert_eq!(seen(20).likely_usage(Some(&mut inputs)), Some(likely));
        assert_eq!(inputs, [TokensBySample::from([("s".to_owned(), (2_000, 20))])]);
        assert_eq!(seen(20).likely_usage(None), Some(LikelyUsage { input: None, ..likely }));
        assert_eq!(seen(19).likely_usage(Some(&mut inputs)), None);
    }

    /// BY-05: an input is counted as those of the same samples were, whatever its length.
    #[test]
    fn inputs_follow_the_fitted_line() {
        let of = |taken: fn(f64) -> f64, usage_history: [f64; 2], expected: f64| {
            let mut sums = RegressionSums::default();
            usage_history.iter().cycle().take(20).for_each(|x| sums.add(*x, taken(*x)));
            LearnedInput { at: 0, line: sums.line() }.of(expected).round() as u64
        };
        let apart = [20.0, 40.0];
        assert_eq!(of(|x| 2.0 * x + 10.0, apart, 3_000.0), 6_010, "a provider's own tokens, and what it adds");
        assert_eq!((of(|x| x / 2.0, apart, 3_000.0), of(|_| 90.0, apart, 3_000.0)), (1_500, 833));
        let alike = [29.0, 31.0];
        assert_eq!((of(|x| 2.0 * x, alike, 30.0), of(|x| 2.0 * x, alike, 3_000.0)), (60, 3_030), "what it adds, alone");
        assert_eq!((of(|_| 1.0, alike, 10.0), of(|_| 5.0, [0.0, 0.0], 10.0)), (0, 15));
        let mut few = RegressionSums::default();
        (0..19).for_each(|_| few.add(30.0, 60.0));
        assert_eq!((few.line(), LearnedInput { at: 0, line: None }.of(30.0) as u64), (None, 30));
    }

    /// Only samples that were looked at are compared, and enough of them.
    #[test]
    fn only_observed_samples_are_compared() {
        let learned = LearnedInput { at: 0, line: None };
        let likely = LikelyUsage { output: (1, 1), input: Some(learned), calls: 1 };
        let taken = (0..20).map(|at| (format!("s{at}"), (100, 2))).collect();
        let mut usage_history = UsageHistory { inputs: vec![taken], ..UsageHistory::default() };
        usage_history.judgments.insert(("q".to_owned(), "j".to_owned()), likely);
        let line = |usage_history: &UsageHistory| usage_history.judgment_usage("q", "j").unwrap().input.unwrap().line;
        let mut comparison = usage_history.new_comparison();
        (1..21).for_each(|at| usage_history.compare(&mut comparison, learned, &format!("s{at}"), 25.0));
        usage_history.apply_comparison(&comparison);
        assert_eq!(line(&usage_history), None);
        usage_history.compare(&mut comparison, learned, "s0", 25.0);
        usage_history.apply_comparison(&comparison);
        assert_eq!(line(&usage_history), Some(TokenLine { added: 25.0, times: 1.0 }));
    }
}

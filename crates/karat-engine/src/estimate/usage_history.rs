//! The usage of calls in an earlier run. Estimates follow it where the same model has answered the same step of the
//! same variant, or judged the same scorer. It also holds the costs that services and programs reported.
//!
//! Estimates are sums over many cells, so averages matter and the spread of single cells does not.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_types::{
    Action, CellRow, CellStatus, MeterSpec, ModelSpec, Money, PlanHeader, RunRows, ScorerKind, ScorerSpec, StepCost,
    StepSpec, Usage,
};

use crate::EngineError;

/// Number of cells that are read: the first ones of the run.
pub(crate) const SAMPLED_CELLS: u64 = 2_000;

/// Observations below which no average is used.
const MIN_OBSERVATIONS: usize = 3;

/// Observations below which inputs are corrected by one ratio, and not by a line.
const MIN_LINE: usize = 20;

/// The usage of steps and judgments in an earlier run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageHistory {
    /// Input tokens by sample; one map for each [`LearnedInput`].
    inputs: Vec<TokensBySample>,
    /// By model, then variant, then step.
    steps: BTreeMap<String, BTreeMap<String, BTreeMap<String, LikelyUsage>>>,
    /// Costs that the answers of a step reported, by variant and step: the average, and how far it can be told.
    fees: BTreeMap<String, BTreeMap<String, (Money, Money)>>,
    /// By scorer and judge.
    judgments: BTreeMap<(String, String), LikelyUsage>,
}

/// The average usage of a step or judgment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LikelyUsage {
    /// Output tokens: the average, and how far it can be told.
    pub output: (u64, u64),
    /// Input tokens; `None` if the prompt, model or dataset has changed.
    pub input: Option<LearnedInput>,
    /// The 90th percentile of calls.
    pub calls: u64,
}

/// By sample: tokens, and the number of inputs that they are summed over.
type TokensBySample = BTreeMap<String, (u64, u64)>;

/// A correction of expected input lengths by measured ones: a prompt is known before it is sent, and may be many times
/// longer than the measured ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LearnedInput {
    /// Index into the inputs of the history.
    at: usize,
    /// The fitted line; `None` until the two were compared, and if they cannot be.
    line: Option<TokenLine>,
}

/// Measured tokens as a line over expected ones.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TokenLine {
    /// Tokens that a provider adds to each input.
    added: f64,
    /// Tokens that the provider counts for one of ours.
    times: f64,
}

/// Largest ratio between tokenizers that a fit may find.
const MAX_TOKENIZER_RATIO: f64 = 4.0;

/// Relative standard deviation of input lengths below which no slope is fitted.
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

    /// The least-squares line, or the ratio of both sums where the observations are few; `None` with too few of them.
    fn line(&self) -> Option<TokenLine> {
        if self.count < MIN_OBSERVATIONS {
            return None;
        }
        let count = self.count as f64;
        let (x, y) = (self.x / count, self.y / count);
        let variance = self.xx / count - x * x;
        let are_alike = variance < (MIN_SPREAD * x).powi(2) || variance <= 0.0;
        let slope = match () {
            () if self.count < MIN_LINE && x > 0.0 => y / x,
            () if are_alike => 1.0,
            () => (self.xy / count - x * y) / variance,
        };
        let times = slope.clamp(1.0 / MAX_TOKENIZER_RATIO, MAX_TOKENIZER_RATIO);
        Some(TokenLine { added: y - times * x, times })
    }
}

impl LearnedInput {
    /// The corrected length of an input with so many expected tokens.
    pub fn of(self, expected: f64) -> f64 {
        self.line.map_or(expected, |TokenLine { added, times }| (added + times * expected).max(0.0))
    }
}

/// The observations of one step or judgment.
#[derive(Default)]
struct ObservedUsage {
    outputs: Vec<f64>,
    calls: Vec<u64>,
    inputs: TokensBySample,
}

impl UsageHistory {
    /// Reads the history from a stored run, for a plan of the same suite.
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
        let reported = fees.into_iter().filter_map(|((variant, step), costs)| {
            let variant = then.variants.get(variant)?;
            let step = variant.steps.get(step).filter(|step| reports_cost(step))?;
            let costs: Vec<f64> = costs.iter().map(|cost| cost.0 as f64).collect();
            let (least, most) = around_mean(&costs)?;
            Some((variant.id.clone(), step.id.clone(), (Money(least as i128), Money(most.ceil() as i128))))
        });
        let mut fees: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (variant, step, fee) in reported {
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

    /// Returns whether it knows the usage of every model's step and every judgment of a plan.
    pub fn covers(&self, plan: &PlanHeader) -> bool {
        let has_steps = plan.systems.iter().enumerate().all(|(at, system)| {
            let Some(variant) = plan.variants.get(system.variant) else { return true };
            let mut asking =
                variant.steps.iter().filter(|step| matches!(step.action, Action::Prompt(_) | Action::Agent(_)));
            asking.all(|step| {
                let model = step.model.as_deref().or(plan.system_model(at).map(|model| model.id.as_str()));
                model.is_none_or(|model| self.step_usage(model, &variant.id, &step.id).is_some())
            })
        });
        let is_judged = |scorer: &ScorerSpec| match &scorer.kind {
            ScorerKind::Rubric(rubric) => {
                rubric.judges.iter().all(|judge| self.judgment_usage(&scorer.id, judge).is_some())
            }
            ScorerKind::Metric { .. } => true,
        };
        has_steps && plan.scorers.iter().all(is_judged)
    }

    /// The same with what only an older run knows.
    #[must_use]
    pub fn or(mut self, older: Self) -> Self {
        let shift = self.inputs.len();
        self.inputs.extend(older.inputs);
        let moved = |likely: LikelyUsage| LikelyUsage {
            input: likely.input.map(|learned| LearnedInput { at: learned.at + shift, ..learned }),
            ..likely
        };
        for (model, variants) in older.steps {
            for (variant, steps) in variants {
                let known = self.steps.entry(model.clone()).or_default().entry(variant).or_default();
                for (step, likely) in steps {
                    known.entry(step).or_insert_with(|| moved(likely));
                }
            }
        }
        for (variant, fees) in older.fees {
            let known = self.fees.entry(variant).or_default();
            fees.into_iter().for_each(|(step, fee)| {
                known.entry(step).or_insert(fee);
            });
        }
        for (judgment, likely) in older.judgments {
            self.judgments.entry(judgment).or_insert_with(|| moved(likely));
        }
        self
    }

    /// Returns whether input lengths are known.
    pub(crate) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// An empty comparison.
    pub(crate) fn new_comparison(&self) -> InputComparison {
        InputComparison(vec![RegressionSums::default(); self.inputs.len()])
    }

    /// Compares the expected length of a sample's input with the measured one, if there is one.
    pub(crate) fn compare(&self, comparison: &mut InputComparison, learned: LearnedInput, sample: &str, expected: f64) {
        let taken = self.inputs.get(learned.at).and_then(|taken| taken.get(sample));
        if let (Some((tokens, count)), Some(sums)) = (taken, comparison.0.get_mut(learned.at)) {
            sums.add(expected, *tokens as f64 / *count as f64);
        }
    }

    /// Fits the lines of all learned inputs.
    pub(crate) fn apply_comparison(&mut self, comparison: &InputComparison) {
        let steps = self.steps.values_mut().flat_map(BTreeMap::values_mut).flat_map(BTreeMap::values_mut);
        for learned in steps.chain(self.judgments.values_mut()).filter_map(|likely| likely.input.as_mut()) {
            learned.line = comparison.0.get(learned.at).and_then(RegressionSums::line);
        }
    }

    /// The likely usage of a step.
    pub(crate) fn step_usage(&self, model: &str, variant: &str, step: &str) -> Option<LikelyUsage> {
        self.steps.get(model)?.get(variant)?.get(step).copied()
    }

    /// Minimum and maximum of the likely cost that a step's answers report.
    pub(crate) fn step_fee(&self, variant: &str, step: &str) -> Option<(Money, Money)> {
        self.fees.get(variant)?.get(step).copied()
    }

    /// The likely usage of a judgment.
    pub(crate) fn judgment_usage(&self, scorer: &str, judge: &str) -> Option<LikelyUsage> {
        self.judgments.get(&(scorer.to_owned(), judge.to_owned())).copied()
    }
}

/// The usage of each step of a cell, with its index in the variant and the most calls that it can have made: only the
/// number of calls of all steps together is stored, and each made at least one. Empty if the steps' usage was not
/// stored separately.
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

/// Returns whether the answers of a step report their cost.
fn reports_cost(step: &StepSpec) -> bool {
    step.action.is_outside() && step.meter.as_ref().is_some_and(MeterSpec::has_cost)
}

/// The mean of observations with a tenth, or with two standard errors where those are more; at most half and twice the mean.
/// `None` with too few observations.
fn around_mean(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < MIN_OBSERVATIONS {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half = (2.0 * (variance / count).sqrt()).max(mean / 10.0);
    Some(((mean - half).max(mean / 2.0), (mean + half).min(mean * 2.0)))
}

/// Returns whether a model of this id and name is among these.
fn has_model(models: &[ModelSpec], model: &ModelSpec) -> bool {
    models.iter().any(|it| (&it.id, &it.model) == (&model.id, &model.model))
}

impl ObservedUsage {
    fn add(&mut self, sample: &str, usage: Usage, calls: usize) {
        if usage.output_tokens > 0 {
            let (tokens, count) = self.inputs.entry(sample.to_owned()).or_default();
            (*tokens, *count) = (*tokens + usage.input_tokens, *count + 1);
            self.outputs.push(usage.output_tokens as f64);
            self.calls.push(calls as u64);
        }
    }

    /// The average usage; `None` with too few observations. `inputs` gets the input lengths if the request is
    /// unchanged.
    fn likely_usage(mut self, inputs: Option<&mut Vec<TokensBySample>>) -> Option<LikelyUsage> {
        let (least, most) = around_mean(&self.outputs)?;
        let count = self.calls.len();
        self.calls.sort_unstable();
        let input = inputs.map(|inputs| {
            inputs.push(self.inputs);
            LearnedInput { at: inputs.len() - 1, line: None }
        });
        let output = (least as u64, most.ceil() as u64);
        Some(LikelyUsage { output, input, calls: self.calls[(count - 1) * 9 / 10] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F35, BY-05: the average of the observations counts, if there are three; of few it is told less exactly.
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
        let likely = LikelyUsage { output: (15, 25), input: Some(LearnedInput { at: 0, line: None }), calls: 1 };
        let mut inputs = Vec::new();
        assert_eq!(seen(20).likely_usage(Some(&mut inputs)), Some(likely));
        assert_eq!(inputs, [TokensBySample::from([("s".to_owned(), (2_000, 20))])]);
        assert_eq!(seen(20).likely_usage(None), Some(LikelyUsage { input: None, ..likely }));
        assert_eq!(seen(2).likely_usage(Some(&mut inputs)), None);
        let of_ten = seen(10).likely_usage(None).unwrap();
        assert!(of_ten.output.0 < 15 && of_ten.output.0 >= 10 && of_ten.output.1 <= 40, "{of_ten:?}");
    }

    /// BY-05: an input is corrected by those of the same samples, whatever its length.
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
        // Of few observations, however alike, the ratio is taken.
        let mut few = RegressionSums::default();
        (0..2).for_each(|_| few.add(30.0, 60.0));
        assert_eq!((few.line(), LearnedInput { at: 0, line: None }.of(30.0) as u64), (None, 30));
        (0..8).for_each(|_| few.add(30.0, 60.0));
        assert_eq!(LearnedInput { at: 0, line: few.line() }.of(3_000.0) as u64, 6_000);
    }

    /// Only measured samples are compared, and enough of them.
    #[test]
    fn only_observed_samples_are_compared() {
        let learned = LearnedInput { at: 0, line: None };
        let likely = LikelyUsage { output: (1, 1), input: Some(learned), calls: 1 };
        let taken = (0..20).map(|at| (format!("s{at}"), (100, 2))).collect();
        let mut usage_history = UsageHistory { inputs: vec![taken], ..UsageHistory::default() };
        usage_history.judgments.insert(("q".to_owned(), "j".to_owned()), likely);
        let line = |usage_history: &UsageHistory| usage_history.judgment_usage("q", "j").unwrap().input.unwrap().line;
        let mut comparison = usage_history.new_comparison();
        (18..22).for_each(|at| usage_history.compare(&mut comparison, learned, &format!("s{at}"), 25.0));
        usage_history.apply_comparison(&comparison);
        assert_eq!(line(&usage_history), None);
        usage_history.compare(&mut comparison, learned, "s0", 25.0);
        usage_history.apply_comparison(&comparison);
        assert_eq!(line(&usage_history), Some(TokenLine { added: 0.0, times: 2.0 }));
    }
}

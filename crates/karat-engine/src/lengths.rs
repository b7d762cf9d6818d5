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
const LOOKED_AT: u64 = 2_000;

/// With fewer of them nothing is said.
const ENOUGH: usize = 20;

/// What cells' steps, and judgments, took in an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lengths {
    /// By model, variant and step, one within the other.
    steps: BTreeMap<String, BTreeMap<String, BTreeMap<String, Likely>>>,
    /// What the answers of a step said that they cost, by variant and step: a tenth less than the average, and a tenth more.
    fees: BTreeMap<String, BTreeMap<String, (Money, Money)>>,
    /// By scorer and judge.
    judgments: BTreeMap<(String, String), Likely>,
}

/// What a step of a cell, or a judgment, is likely to take on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Likely {
    /// Output tokens: a tenth less than the average, and a tenth more.
    pub output: (u64, u64),
    /// The same of input tokens; `None` where prompt, model or dataset is another one now.
    pub input: Option<(u64, u64)>,
    /// Calls that nine of ten do with.
    pub calls: u64,
}

/// What was seen of one kind.
#[derive(Default)]
struct Seen {
    usage: Usage,
    calls: Vec<u64>,
}

impl Lengths {
    /// What a stored run says of them, for a plan of the same suite.
    ///
    /// # Errors
    /// Its rows cannot be read.
    pub fn of(run: &dyn RunRows, plan: &PlanHeader) -> Result<Self, EngineError> {
        let then = &run.header().plan;
        let mut steps: BTreeMap<(usize, usize), Seen> = BTreeMap::new();
        let mut fees: BTreeMap<(usize, usize), Vec<Money>> = BTreeMap::new();
        let mut judgments: BTreeMap<(u16, u16), Seen> = BTreeMap::new();
        run.for_each(&mut |row| {
            if row.cell.ordinal >= LOOKED_AT {
                return ControlFlow::Break(());
            }
            for (step, StepCost { usage, cost }, calls) in used(then, &row) {
                steps.entry((row.system, step)).or_default().add(usage, calls);
                let variant = then.systems.get(row.system).map(|system| system.variant);
                if let (Some(variant), Some(cost)) = (variant, cost) {
                    fees.entry((variant, step)).or_default().push(cost);
                }
            }
            for judgment in row.judgments.iter().filter(|judgment| judgment.error.is_none()) {
                let seen = judgments.entry((judgment.scorer, judgment.judge)).or_default();
                seen.add(judgment.cost.usage, judgment.calls.len());
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| EngineError::Plan(error.to_string()))?;
        let same_data = then.dataset.sources == plan.dataset.sources;
        let known = steps.into_iter().filter_map(|((system, step), seen)| {
            let variant = then.variants.get(then.systems.get(system)?.variant)?;
            let step = variant.steps.get(step)?;
            let model = match &step.model {
                Some(id) => then.models.iter().find(|model| model.id == *id)?,
                None => then.system_model(system)?,
            };
            let same = same_data && plan.variants.contains(variant) && has(&plan.models, model);
            Some((model, variant, step, seen.likely(same)?))
        });
        let mut steps: BTreeMap<String, BTreeMap<_, BTreeMap<_, _>>> = BTreeMap::new();
        for (model, variant, step, likely) in known {
            let variants = steps.entry(model.id.clone()).or_default();
            variants.entry(variant.id.clone()).or_default().insert(step.id.clone(), likely);
        }
        let said = fees.into_iter().filter_map(|((variant, step), costs)| {
            let variant = then.variants.get(variant)?;
            let step = variant.steps.get(step).filter(|step| says_its_cost(step))?;
            Some((variant.id.clone(), step.id.clone(), around(&costs)?))
        });
        let mut fees: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (variant, step, fee) in said {
            fees.entry(variant).or_default().insert(step, fee);
        }
        let judgments = judgments.into_iter().filter_map(|((scorer, judge), seen)| {
            let (scorer, judge) = (then.scorers.get(usize::from(scorer))?, then.judges.get(usize::from(judge))?);
            let same = same_data && plan.scorers.contains(scorer) && has(&plan.judges, judge);
            Some(((scorer.id.clone(), judge.id.clone()), seen.likely(same)?))
        });
        Ok(Self { steps, fees, judgments: judgments.collect() })
    }

    /// What a step is likely to take.
    pub(crate) fn of_step(&self, model: &str, variant: &str, step: &str) -> Option<Likely> {
        self.steps.get(model)?.get(variant)?.get(step).copied()
    }

    /// What a step of a cell is likely to cost by the words of its answers, at least and at most.
    pub(crate) fn fee_of_step(&self, variant: &str, step: &str) -> Option<(Money, Money)> {
        self.fees.get(variant)?.get(step).copied()
    }

    /// What a judgment is likely to take.
    pub(crate) fn of_judgment(&self, scorer: &str, judge: &str) -> Option<Likely> {
        self.judgments.get(&(scorer.to_owned(), judge.to_owned())).copied()
    }
}

/// What the steps of a cell have used, each with its place in its variant, and the most calls that it can have made: only how
/// many all of them made together is known, and each made one. Nothing where they were not kept apart.
fn used(plan: &PlanHeader, row: &CellRow<'_>) -> Vec<(usize, StepCost, usize)> {
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
fn says_its_cost(step: &StepSpec) -> bool {
    step.action.is_outside() && step.meter.as_ref().is_some_and(MeterSpec::has_cost)
}

/// A tenth less than the average, and a tenth more; `None` when too few were seen.
fn around(costs: &[Money]) -> Option<(Money, Money)> {
    let (sum, count) = (costs.iter().copied().sum::<Money>(), costs.len() as i128);
    (costs.len() >= ENOUGH).then(|| (Money(sum.0 * 9 / (10 * count)), Money(sum.0 * 11 / (10 * count))))
}

/// Whether a model of this id and name is among these.
fn has(models: &[ModelSpec], model: &ModelSpec) -> bool {
    models.iter().any(|it| (&it.id, &it.model) == (&model.id, &model.model))
}

impl Seen {
    fn add(&mut self, usage: Usage, calls: usize) {
        if usage.output_tokens > 0 {
            self.usage += usage;
            self.calls.push(calls as u64);
        }
    }

    /// `None` when too few were seen. `same`: whether what is asked now is what was asked then.
    fn likely(mut self, same: bool) -> Option<Likely> {
        let count = self.calls.len();
        if count < ENOUGH {
            return None;
        }
        self.calls.sort_unstable();
        let around = |sum: u64| (sum * 9 / (10 * count as u64), (sum * 11).div_ceil(10 * count as u64));
        Some(Likely {
            output: around(self.usage.output_tokens),
            input: same.then(|| around(self.usage.input_tokens)),
            calls: self.calls[(count - 1) * 9 / 10],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-05: the average of what was seen counts, where enough was seen.
    #[test]
    fn the_average_of_what_was_seen_counts() {
        let seen = |count: u64| {
            let mut seen = Seen::default();
            for at in 0..count {
                let usage = Usage { input_tokens: 100, output_tokens: 10 + 20 * (at % 2), ..Usage::default() };
                seen.add(usage, if at == 0 { 2 } else { 1 });
            }
            seen
        };
        let likely = Likely { output: (18, 22), input: Some((90, 110)), calls: 1 };
        assert_eq!(seen(20).likely(true), Some(likely));
        assert_eq!(seen(20).likely(false), Some(Likely { input: None, ..likely }));
        assert_eq!(seen(19).likely(true), None);
    }
}

//! What calls took before: what an estimate goes by where the same model has answered the same variant, or judged the same
//! scorer, in an earlier run.
//!
//! Estimates are of many cells together, so the average counts, and not how far single cells are from it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_types::{CellStatus, ModelSpec, PlanHeader, RunRows, Usage};

use crate::EngineError;

/// Cells that are looked at: the first ones of the run.
const LOOKED_AT: u64 = 2_000;

/// With fewer of them nothing is said.
const ENOUGH: usize = 20;

/// What cells' steps, and judgments, took in an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lengths {
    /// By model, where there is one, and variant.
    systems: BTreeMap<(Option<String>, String), Likely>,
    /// By scorer and judge.
    judgments: BTreeMap<(String, String), Likely>,
}

/// What the steps of a cell, or a judgment, are likely to take on average.
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
        let mut systems: Vec<Seen> = then.systems.iter().map(|_| Seen::default()).collect();
        let mut judgments: BTreeMap<(u16, u16), Seen> = BTreeMap::new();
        run.for_each(&mut |row| {
            if row.cell.ordinal >= LOOKED_AT {
                return ControlFlow::Break(());
            }
            if let Some(seen) = systems.get_mut(row.system).filter(|_| row.cell.status == CellStatus::Ok) {
                seen.add(row.cell.cost.usage, row.cell.calls.len());
            }
            for judgment in row.judgments.iter().filter(|judgment| judgment.error.is_none()) {
                let seen = judgments.entry((judgment.scorer, judgment.judge)).or_default();
                seen.add(judgment.cost.usage, judgment.calls.len());
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| EngineError::Plan(error.to_string()))?;
        let same_data = then.dataset.sources == plan.dataset.sources;
        let systems = then.systems.iter().zip(systems).filter_map(|(system, seen)| {
            let model = system.model.and_then(|at| then.models.get(at));
            let variant = then.variants.get(system.variant)?;
            let same = same_data && plan.variants.contains(variant) && model.is_none_or(|it| has(&plan.models, it));
            Some(((model.map(|model| model.id.clone()), variant.id.clone()), seen.likely(same)?))
        });
        let judgments = judgments.into_iter().filter_map(|((scorer, judge), seen)| {
            let (scorer, judge) = (then.scorers.get(usize::from(scorer))?, then.judges.get(usize::from(judge))?);
            let same = same_data && plan.scorers.contains(scorer) && has(&plan.judges, judge);
            Some(((scorer.id.clone(), judge.id.clone()), seen.likely(same)?))
        });
        Ok(Self { systems: systems.collect(), judgments: judgments.collect() })
    }

    /// What a cell's steps are likely to take together.
    pub(crate) fn of_system(&self, model: Option<&str>, variant: &str) -> Option<Likely> {
        self.systems.get(&(model.map(str::to_owned), variant.to_owned())).copied()
    }

    /// What a judgment is likely to take.
    pub(crate) fn of_judgment(&self, scorer: &str, judge: &str) -> Option<Likely> {
        self.judgments.get(&(scorer.to_owned(), judge.to_owned())).copied()
    }
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

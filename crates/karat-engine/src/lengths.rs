//! How long replies were before: what an estimate goes by where the same model has answered the same variant, or judged
//! the same scorer, in an earlier run.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_types::{CellStatus, RunRows};

use crate::EngineError;

/// Cells that are looked at: the first ones of the run.
const LOOKED_AT: u64 = 2_000;

/// With fewer of them nothing is said.
const ENOUGH: usize = 20;

/// Output tokens of a cell's steps, and of a judgment: the tenth and the ninetieth percentile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lengths {
    /// By model, where there is one, and variant.
    systems: BTreeMap<(Option<String>, String), (u64, u64)>,
    /// By scorer and judge.
    judgments: BTreeMap<(String, String), (u64, u64)>,
}

impl Lengths {
    /// What a stored run says of them.
    ///
    /// # Errors
    /// Its rows cannot be read.
    pub fn of(run: &dyn RunRows) -> Result<Self, EngineError> {
        let plan = &run.header().plan;
        let (mut systems, mut judgments) = (BTreeMap::new(), BTreeMap::new());
        run.for_each(&mut |row| {
            if row.cell.ordinal >= LOOKED_AT {
                return ControlFlow::Break(());
            }
            let system = plan.systems.get(row.system).filter(|_| row.cell.status == CellStatus::Ok);
            if let Some(system) = system {
                let model = system.model.and_then(|at| plan.models.get(at)).map(|model| model.id.clone());
                let variant = plan.variants.get(system.variant).map(|variant| variant.id.clone()).unwrap_or_default();
                add(&mut systems, (model, variant), row.cell.cost.usage.output_tokens);
            }
            for judgment in row.judgments.iter().filter(|judgment| judgment.error.is_none()) {
                let scorer = plan.scorers.get(usize::from(judgment.scorer)).map(|scorer| scorer.id.clone());
                let judge = plan.judges.get(usize::from(judgment.judge)).map(|judge| judge.id.clone());
                if let Some(key) = scorer.zip(judge) {
                    add(&mut judgments, key, judgment.cost.usage.output_tokens);
                }
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| EngineError::Plan(error.to_string()))?;
        Ok(Self { systems: percentiles(systems), judgments: percentiles(judgments) })
    }

    /// What a cell's steps are likely to reply together.
    pub(crate) fn of_system(&self, model: Option<&str>, variant: &str) -> Option<(u64, u64)> {
        self.systems.get(&(model.map(str::to_owned), variant.to_owned())).copied()
    }

    /// What a judgment is likely to take.
    pub(crate) fn of_judgment(&self, scorer: &str, judge: &str) -> Option<(u64, u64)> {
        self.judgments.get(&(scorer.to_owned(), judge.to_owned())).copied()
    }
}

fn add<K: Ord>(lengths: &mut BTreeMap<K, Vec<u64>>, key: K, tokens: u64) {
    if tokens > 0 {
        lengths.entry(key).or_default().push(tokens);
    }
}

fn percentiles<K: Ord>(lengths: BTreeMap<K, Vec<u64>>) -> BTreeMap<K, (u64, u64)> {
    let enough = lengths.into_iter().filter(|(_, lengths)| lengths.len() >= ENOUGH);
    enough
        .map(|(key, mut lengths)| {
            lengths.sort_unstable();
            let at = |share: usize| lengths[(lengths.len() - 1) * share / 10];
            (key, (at(1), at(9)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_what_was_seen_counts() {
        let seen = BTreeMap::from([("many", (1..=101).rev().collect()), ("few", vec![5; ENOUGH - 1])]);
        assert_eq!(percentiles(seen), BTreeMap::from([("many", (11, 91))]));
    }
}

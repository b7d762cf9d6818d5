//! Pairs evaluations of two sides: same sample, same pair of systems, trial by trial, as scores are paired.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::mean;

use super::Side;
use crate::analyses::Evaluation;
use crate::figures::groups::system_id;

/// Numbers by sample and pair of systems, then by trial.
type Numbers<'a> = BTreeMap<(&'a str, usize), BTreeMap<u32, f64>>;

/// The evaluations of a side.
pub(super) struct Evaluations<'a> {
    /// Index of the pair of systems, and the evaluation; other systems are left out.
    each: Vec<(usize, &'a Evaluation)>,
    /// Planned trials of each pair's system.
    trials: Vec<u32>,
}

impl<'a> Evaluations<'a> {
    /// The evaluations of a run, by pair of systems, without samples that changed.
    pub(super) fn of(all: &'a [Evaluation], side: &Side<'_>, systems: &[usize], changed: &BTreeSet<String>) -> Self {
        let plan = &side.findings.plan;
        let ids: Vec<String> = systems.iter().map(|system| system_id(plan, *system)).collect();
        let pair = |it: &Evaluation| match &it.system {
            Some(system) => ids.iter().position(|id| id == system),
            None => (!ids.is_empty()).then_some(0),
        };
        let trials = systems.iter().map(|system| plan.systems.get(*system).map_or(1, |it| it.trials));
        let same = all.iter().filter(|it| !changed.contains(&it.sample));
        Self { each: same.filter_map(|it| Some((pair(it)?, it))).collect(), trials: trials.collect() }
    }

    fn numbers(&self, number: impl Fn(&Evaluation) -> Option<f64>) -> Numbers<'a> {
        let mut numbers = Numbers::new();
        for (pair, it) in &self.each {
            if let Some(value) = number(it) {
                numbers.entry((it.sample.as_str(), *pair)).or_default().insert(it.trial, value);
            }
        }
        numbers
    }

    /// The evaluations.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Evaluation> {
        self.each.iter().map(|(_, it)| *it)
    }

    /// The mean of a number over the evaluations that have it.
    pub(super) fn mean(&self, number: impl Fn(&Evaluation) -> Option<f64>) -> Option<f64> {
        mean(&self.iter().filter_map(number).collect::<Vec<f64>>())
    }

    /// Samples with a number in any evaluation.
    pub(super) fn samples_with_number(&self, number: impl Fn(&Evaluation) -> Option<f64>) -> BTreeSet<&'a str> {
        self.numbers(number).into_keys().map(|(sample, _)| sample).collect()
    }

    /// The mean of a number by sample, (before, after), over the evaluations of both sides: the same trials if both
    /// systems have as many trials, else all trials of each.
    pub(super) fn paired_means(
        &self,
        after: &Self,
        number: impl Fn(&Evaluation) -> Option<f64> + Copy,
    ) -> BTreeMap<&'a str, (f64, f64)> {
        let (old, new) = (self.numbers(number), after.numbers(number));
        let mut both: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for ((sample, pair), before) in &old {
            let Some(after_it) = new.get(&(*sample, *pair)) else { continue };
            let by_trial = self.trials.get(*pair) == after.trials.get(*pair);
            let mean_of_common = |scores: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>| {
                let kept = scores.iter().filter(|(trial, _)| !by_trial || other.contains_key(trial));
                mean(&kept.map(|(_, value)| *value).collect::<Vec<f64>>())
            };
            if let Some((from, to)) = mean_of_common(before, after_it).zip(mean_of_common(after_it, before)) {
                let means = both.entry(sample).or_default();
                means.0.push(from);
                means.1.push(to);
            }
        }
        both.into_iter().filter_map(|(sample, (from, to))| Some((sample, mean(&from).zip(mean(&to))?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(sample: &str, trial: u32, score: Option<f64>) -> Evaluation {
        Evaluation { sample: sample.to_owned(), trial, score, ..Evaluation::default() }
    }

    fn side<'a>(all: &'a [(usize, Evaluation)], trials: &[u32]) -> Evaluations<'a> {
        Evaluations { each: all.iter().map(|(pair, it)| (*pair, it)).collect(), trials: trials.to_vec() }
    }

    /// SP-08: a trial that one side lacks is left out of both; with different numbers of trials all of each count.
    #[test]
    fn values_missing_on_one_side_are_not_a_change() {
        let before = [(0, evaluation("a", 0, Some(4.0))), (0, evaluation("a", 1, Some(8.0)))];
        let after = [(0, evaluation("a", 0, Some(4.0))), (0, evaluation("a", 1, None))];
        let change = |trials: u32| {
            let (before, after) = (side(&before, &[2]), side(&after, &[trials]));
            before.paired_means(&after, |it| it.score).get("a").map(|(before, after)| after - before)
        };
        assert_eq!((change(2), change(3)), (Some(0.0), Some(-2.0)));
    }

    /// SP-08: a variant that failed completely on one side changes nothing.
    #[test]
    fn systems_are_compared_with_their_partners() {
        let before = [(0, evaluation("a", 0, Some(4.0))), (1, evaluation("a", 0, Some(8.0)))];
        let after = [(0, evaluation("a", 0, Some(4.0))), (1, evaluation("a", 0, None))];
        let (before, after) = (side(&before, &[1, 1]), side(&after, &[1, 1]));
        assert_eq!(before.paired_means(&after, |it| it.score), BTreeMap::from([("a", (4.0, 4.0))]));
        assert_eq!(after.samples_with_number(|it| it.score), BTreeSet::from(["a"]));
    }
}

//! Reduces the trials of a sample to one value before anything else is computed.

use karat_stats::describe::{PassRule, Task, all_of_k, any_of_k, mean, median, pass_bounds};
use karat_types::{MetricSpec, PlanHeader};

/// The rule that reduces trials to one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduce {
    Mean,
    Median,
    Min,
    Max,
    Majority,
    PassAt(usize),
    PassAll(usize),
}

impl Reduce {
    /// Parses a scorer's `reduce`: `mean`, `median`, `min`, `max`, `majority`, `pass@3`, `pass^3`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let draws = |prefix| text.strip_prefix(prefix)?.parse().ok().filter(|k| *k > 0);
        match text {
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Median),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            "majority" => Some(Self::Majority),
            _ => draws("pass@").map(Self::PassAt).or_else(|| draws("pass^").map(Self::PassAll)),
        }
    }

    /// The rule of a metric's scorer; the mean if it has no scorer.
    pub(crate) fn of_metric(plan: &PlanHeader, metric: &MetricSpec) -> Option<Self> {
        plan.scorers.get(metric.scorer).map_or(Some(Self::Mean), |scorer| Self::parse(&scorer.reduce))
    }

    /// The reduced value; `None` without values, or for more draws than trials.
    pub(crate) fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(values),
            Self::Median => median(values),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Majority => majority(values),
            Self::PassAt(k) => any_of_k(task(values), k),
            Self::PassAll(k) => all_of_k(task(values), k),
        }
    }

    /// The reduced value if `missing` further trials are unknown. What passes of k trials is only a value where they cannot
    /// change it: a failed trial of pass^n, a passed one of pass@n. Other rules reduce what is there.
    pub(crate) fn of_known(self, known: &[f64], missing: usize) -> Option<f64> {
        let (rule, k) = match self {
            Self::PassAt(k) => (PassRule::Any, k),
            Self::PassAll(k) => (PassRule::All, k),
            _ => return self.of(known),
        };
        let Task { n, passed } = task(known);
        pass_bounds(passed, n - passed, missing, k, rule)?.value()
    }

    /// Returns true for pass@k and pass^k.
    pub(crate) fn counts_passes(self) -> bool {
        matches!(self, Self::PassAt(_) | Self::PassAll(_))
    }

    /// The most extreme value towards `end` (an end of the scale) if `missing` further trials are unknown. With a
    /// majority rule the missing ones can decide it.
    pub(crate) fn extreme(self, known: &[f64], missing: usize, end: f64) -> Option<f64> {
        match self {
            Self::Majority if missing > 0 => Some(end),
            _ => self.of(&[known, &vec![end; missing]].concat()),
        }
    }
}

/// A trial passes if its value is at least 0.5.
fn task(values: &[f64]) -> Task {
    Task { n: values.len(), passed: values.iter().filter(|value| **value >= 0.5).count() }
}

/// The most frequent value; for ties the mean of the tied values.
pub(crate) fn majority(values: &[f64]) -> Option<f64> {
    mean(&most_frequent(values))
}

/// The most frequent values, ascending: several in a tie.
pub(crate) fn most_frequent(values: &[f64]) -> Vec<f64> {
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let runs: Vec<&[f64]> = ascending.chunk_by(|a, b| a.total_cmp(b).is_eq()).collect();
    let most = runs.iter().map(|run| run.len()).max().unwrap_or(0);
    runs.iter().filter(|run| run.len() == most).filter_map(|run| run.first().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_the_language_is_known() {
        for rule in ["mean", "median", "min", "max", "majority", "pass@3", "pass^3"] {
            assert!(Reduce::parse(rule).is_some(), "{rule}");
        }
        for wrong in ["", "avg", "pass@", "pass@0", "pass^x"] {
            assert_eq!(Reduce::parse(wrong), None, "{wrong}");
        }
    }

    /// PE-10: trials are reduced by the declared rule.
    #[test]
    fn trials_become_one_value() {
        let trials = [0.0, 1.0, 1.0];
        assert_eq!(Reduce::Majority.of(&trials), Some(1.0));
        assert_eq!(Reduce::Median.of(&trials), Some(1.0));
        assert_eq!(Reduce::Min.of(&trials), Some(0.0));
        assert_eq!(Reduce::PassAt(3).of(&trials), Some(1.0));
        assert_eq!(Reduce::PassAll(3).of(&trials), Some(0.0));
        assert_eq!(Reduce::PassAt(4).of(&trials), None);
        assert_eq!(Reduce::Mean.of(&[]), None);
    }

    /// DC-05, F22: what the known trials decide counts, whatever the missing ones are.
    #[test]
    fn known_trials_may_decide() {
        assert_eq!(Reduce::PassAll(3).of_known(&[1.0, 0.0], 1), Some(0.0));
        assert_eq!(Reduce::PassAt(3).of_known(&[0.0, 1.0], 1), Some(1.0));
        assert_eq!(Reduce::PassAll(3).of_known(&[1.0, 1.0], 1), None);
        assert_eq!(Reduce::PassAt(3).of_known(&[0.0], 2), None);
        // Two of three: the third trial changes the share of pairs.
        assert_eq!(Reduce::PassAll(2).of_known(&[1.0, 1.0], 1), None);
        assert_eq!(Reduce::PassAll(4).of_known(&[0.0, 0.0], 1), None);
        assert_eq!(Reduce::Mean.of_known(&[0.0, 1.0], 1), Some(0.5));
    }

    #[test]
    fn a_tie_of_the_majority_is_settled_by_the_mean() {
        assert_eq!(majority(&[1.0, 1.0, 4.0, 4.0, 9.0]), Some(2.5));
    }
}

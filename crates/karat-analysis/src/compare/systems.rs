//! The change of each system by itself.
//!
//! These results are a family of tests of their own, over systems and metrics. They explain the average over systems,
//! whose metrics are the family that decides; neither family needs a correction for the other, because each has its own
//! guarantee and says over how many tests.

use std::collections::BTreeSet;

use serde::Serialize;

use super::matching::{Matching, MetricPair};
use super::significance::{Corrected, TestedMetric, correct};
use super::{CompareOptions, ComparedMetric, Family};
use crate::figures::groups::system_id;

/// The change of one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemChange {
    /// The baseline's system.
    pub baseline: String,
    /// The candidate's system.
    pub candidate: String,
    /// Its metrics, in the plan's order.
    pub metrics: Vec<ComparedMetric>,
}

/// The tests of one pair of systems.
struct TestedPair<'a> {
    /// The systems of baseline and candidate.
    systems: (usize, usize),
    tested: Vec<TestedMetric<'a>>,
    cost: Option<f64>,
}

/// The changes of all pairs of systems, and the number of p-values that are corrected together.
pub(super) fn changes(
    matching: &Matching<'_>,
    metrics: &[MetricPair<'_>],
    options: &CompareOptions,
) -> (Vec<SystemChange>, u64) {
    let pairs: Vec<TestedPair<'_>> =
        matching.pairs.chunks(1).filter_map(|pair| test_pair(matching, pair, metrics, options)).collect();
    let tested: Vec<&[TestedMetric<'_>]> = pairs.iter().map(|pair| pair.tested.as_slice()).collect();
    let corrected = correct(&tested, &BTreeSet::new(), Family::Other, options);
    let tests = corrected.iter().flatten().flatten().next().map_or(0, |place| place.tests);
    let change = |(pair, places): (&TestedPair<'_>, &Vec<Option<Corrected>>)| {
        let decided = pair.tested.iter().zip(places).filter_map(|(it, place)| it.decide((*place)?, pair.cost, options));
        SystemChange {
            baseline: system_id(&matching.baseline.findings.plan, pair.systems.0),
            candidate: system_id(&matching.candidate.findings.plan, pair.systems.1),
            metrics: decided.collect(),
        }
    };
    (pairs.iter().zip(&corrected).map(change).collect(), tests)
}

fn test_pair<'a>(
    matching: &Matching<'a>,
    pair: &'a [(usize, usize)],
    metrics: &[MetricPair<'a>],
    options: &CompareOptions,
) -> Option<TestedPair<'a>> {
    let single_pair = Matching { pairs: pair, ..*matching };
    let tested = single_pair.test_all(metrics, options).0;
    Some(TestedPair { systems: *pair.first()?, tested, cost: single_pair.cost_per_sample() })
}

#[cfg(test)]
mod tests {
    use crate::compare::{CompareOptions, ComparisonVerdict, Side, compare};
    use crate::testing::Sketch;
    use crate::{Options, analyse};
    use karat_stats::compare::multiplicity::StepRule;

    /// Two models: the first does not move on average, the second gains 1.
    fn comparison(correction: StepRule) -> crate::compare::RunComparison {
        let run = |lead: [f64; 2]| {
            let sketch = (0..40).fold(Sketch::new(2, 1, 40), |sketch, sample| {
                let base = 3.0 + (sample % 5) as f64;
                let shift = |salt: usize| 0.4 * (((sample * 7919 + salt) % 13) as f64 / 6.0 - 1.0);
                sketch.value(sample, 0, base + lead[0] * shift(3)).value(sample, 1, base + lead[1] + lead[0] * shift(5))
            });
            analyse(&sketch.run(), &Options::default()).unwrap()
        };
        let (before, after) = (run([0.0, 0.0]), run([1.0, 1.0]));
        let side = |label, findings| Side::of(label, findings, None, None).unwrap();
        let options = CompareOptions { correction, ..CompareOptions::default() };
        compare(&side("before", &before), &side("after", &after), &options).unwrap()
    }

    /// C5: each system has its own change, corrected over systems and metrics; the average has its own family.
    #[test]
    fn each_system_has_its_own_change() {
        let comparison = comparison(StepRule::Holm);
        assert_eq!((comparison.systems.len(), comparison.system_family, comparison.family), (2, 2, 1));
        let verdicts: Vec<ComparisonVerdict> = comparison.systems.iter().map(|it| it.metrics[0].verdict).collect();
        assert_eq!(verdicts, [ComparisonVerdict::Undecided, ComparisonVerdict::Better]);
        let second = &comparison.systems[1];
        assert_eq!(second.candidate, "model-b/variant-0");
        assert!((second.metrics[0].difference.value() - 1.0).abs() < 0.1);
        assert!(second.metrics[0].p_adjusted >= second.metrics[0].p);
        let average = comparison.metrics[0].difference.value();
        let sum: f64 = comparison.systems.iter().map(|it| it.metrics[0].difference.value()).sum();
        assert!((average - sum / 2.0).abs() < 1e-9, "{average} and {sum}");
    }

    /// C5: each system's interval stands at the level at which it is decided.
    #[test]
    fn the_correction_covers_all_systems() {
        let (with, without) = (comparison(StepRule::Holm), comparison(StepRule::Alone));
        let level =
            |it: &crate::compare::RunComparison, at: usize| it.systems[at].metrics[0].difference.level().unwrap();
        assert!((level(&without, 1) - 0.95).abs() < 1e-12);
        assert!((level(&with, 1) - 0.975).abs() < 1e-12, "{}", level(&with, 1));
        assert!((level(&with, 0) - 0.95).abs() < 1e-12, "{}", level(&with, 0));
    }
}

//! Paired results of two systems, compared by any aggregate.

use karat_stats::bootstrap::Resampling;
use karat_stats::numeric::seed::Seed;
use karat_types::PlanHeader;

use crate::infer::change::{Kind, PairedScores, PairedTest};
use crate::infer::resampled::bootstrap_change;
use crate::score::observations::{Aggregate, Observations};

/// Default number of resamples of the change of an aggregate: 1,999, so that the bounds at 2.5 % and 97.5 % fall on the
/// 50th and 1,950th of 2,000 equal steps.
const RESAMPLES: usize = 1_999;

/// Expected and found label, by number.
pub type LabelPair = (u32, u32);

/// The resampling of the change of an aggregate, with the number of resamples from the suite.
pub(crate) fn resampling(plan: &PlanHeader, seed: Seed) -> Resampling {
    let resamples = plan.statistics.resamples.map_or(RESAMPLES, |count| count as usize);
    Resampling { resamples, ..Resampling::new(seed) }
}

/// Paired scores of two systems, or of several pairs of systems, with the observations for figures other than means.
#[derive(Debug, Clone, Default)]
pub struct PairedFigures {
    scores: PairedScores,
    pub(crate) baseline: Observations,
    pub(crate) candidate: Observations,
}

impl PairedFigures {
    /// Starts without samples, from the empty observations of a metric whose scores differ by at most `largest`.
    pub(crate) fn within(largest: Option<f64>, baseline: Observations, candidate: Observations) -> Self {
        let scores = PairedScores::within(largest).with_design(candidate.design.clone());
        Self { scores, baseline, candidate }
    }

    /// Adds a sample with its cluster; a sample without one is its own cluster. All numbers are finite. `labels` are
    /// the (expected, found) labels of baseline and candidate; F1 and the like need them.
    pub fn push(&mut self, scores: [f64; 2], labels: Option<[LabelPair; 2]>, cluster: u32) {
        self.push_pair(scores, labels, (self.scores.len(), 0), cluster);
    }

    /// Adds the result of one of several pairs of systems, which have equal weight, on a sample.
    pub(crate) fn push_pair(
        &mut self,
        [before, after]: [f64; 2],
        labels: Option<[LabelPair; 2]>,
        (sample, pair): (usize, usize),
        cluster: u32,
    ) {
        self.scores.push_pair([before, after], (sample, pair), cluster);
        self.baseline.push_labelled(before, labels.map(|[before, _]| before), pair, cluster);
        self.candidate.push_labelled(after, labels.map(|[_, after]| after), pair, cluster);
    }

    /// Tests for a difference of the figures by an aggregate such as `mean`, `median`, `p95` or `f1`. `None` for an
    /// unknown aggregate.
    pub fn test_named(&mut self, kind: Kind, aggregate: &str, resampling: &Resampling) -> Option<PairedTest> {
        Some(self.test(kind, Aggregate::parse(aggregate)?, resampling))
    }

    /// Tests for a difference of the figures by an aggregate.
    pub(crate) fn test(&mut self, kind: Kind, aggregate: Aggregate, resampling: &Resampling) -> PairedTest {
        let clustered = self.scores.is_clustered();
        (self.baseline.clustered, self.candidate.clustered) = (clustered, clustered);
        let test_of_means = self.scores.test(kind);
        match aggregate {
            Aggregate::Mean => test_of_means,
            _ => {
                let change = bootstrap_change(&self.candidate, &self.baseline, aggregate, resampling);
                test_of_means.for_aggregate(aggregate, change)
            }
        }
    }

    /// Replaces the observations of both sides by those of samples: of several pairs of systems the weighted means from
    /// which the mean change is computed.
    pub(crate) fn reduce_to_samples(&mut self) {
        self.scores.reduce_into(&mut self.baseline, &mut self.candidate);
    }
}

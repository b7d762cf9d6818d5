//! Results of the same samples under two systems, compared by any aggregate.

use karat_stats::bootstrap::Resampling;
use karat_stats::seed::Seed;
use karat_types::PlanHeader;

use super::scores::{Kind, PairedScores, PairedTest};
use crate::figures::resampled::bootstrap_change;
use crate::score::observations::{Aggregate, Observations};

/// Resamples of the change of an aggregate where the suite says nothing: with one more the bounds at 5 % are two of them.
const RESAMPLES: usize = 1_999;

/// The label that was expected and the one that was found, by number.
pub type LabelPair = (u16, u16);

/// How the change of an aggregate is resampled: as often as the suite says.
pub(crate) fn resampling(plan: &PlanHeader, seed: Seed) -> Resampling {
    let resamples = plan.statistics.resamples.map_or(RESAMPLES, |asked| asked as usize);
    Resampling { resamples, ..Resampling::new(seed) }
}

/// Scores of the same samples under two systems, with what figures that are no means are made of.
#[derive(Debug, Clone, Default)]
pub struct PairedFigures {
    pub(super) scores: PairedScores,
    pub(super) baseline: Observations,
    pub(super) candidate: Observations,
}

impl PairedFigures {
    /// Adds a sample with its cluster; a sample that has none is its own. The numbers are finite. `labels` are those of baseline
    /// and candidate, where the figure is one of labels.
    pub fn push(&mut self, scores: [f64; 2], labels: Option<[LabelPair; 2]>, cluster: u32) {
        self.push_of(scores, labels, 0, cluster);
    }

    /// The same of one pair of several systems, which weigh the same.
    pub(crate) fn push_of(
        &mut self,
        [before, after]: [f64; 2],
        labels: Option<[LabelPair; 2]>,
        pair: usize,
        cluster: u32,
    ) {
        self.scores.push(before, after, cluster);
        self.baseline.push_labelled(before, labels.map(|[before, _]| before), pair, cluster);
        self.candidate.push_labelled(after, labels.map(|[_, after]| after), pair, cluster);
    }

    /// Of no samples yet, with what is known of the metric.
    pub(crate) fn of(empty: Observations) -> Self {
        Self { scores: PairedScores::default(), baseline: empty.clone(), candidate: empty }
    }

    /// Tests whether the figure of the two is the same, by the aggregate that makes it: `mean`, `median`, `p95`, `f1`, … `None`
    /// for an aggregate that is none.
    pub fn test(&mut self, kind: Kind, aggregate: &str, how: &Resampling) -> Option<PairedTest> {
        Some(self.test_of(kind, Aggregate::parse(aggregate)?, how))
    }

    /// The same by an aggregate that is known.
    pub(crate) fn test_of(&mut self, kind: Kind, aggregate: Aggregate, how: &Resampling) -> PairedTest {
        let clustered = self.scores.is_clustered();
        (self.baseline.clustered, self.candidate.clustered) = (clustered, clustered);
        let of_means = self.scores.test(kind);
        match aggregate {
            Aggregate::Mean => of_means,
            _ => of_means.for_aggregate(aggregate, bootstrap_change(&self.candidate, &self.baseline, aggregate, how)),
        }
    }
}

//! How many samples a difference takes, shared by what plans runs and by what compares them (BY-16).

use karat_stats::interval::Level;
use karat_stats::power::PairedDesign;
use serde::Serialize;

/// Power for which samples are planned.
pub const PLANNED_POWER: f64 = 0.8;

/// Samples that would decide.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needed {
    /// The difference that they would detect: the one wanted, or the one observed; of equivalence the margin within which
    /// they would show it.
    pub difference: f64,
    /// With which probability.
    pub power: f64,
    /// Samples in all.
    pub samples: u64,
    /// Samples among them that the metric applies to on both sides, as large a share as so far; `None` where it applies to
    /// all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// The clusters that they fall into, where samples are clustered: as large as those that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// Samples beside those that there are.
    pub more: u64,
    /// What those more would cost under both sides; `None` when a price is unknown.
    pub cost_usd: Option<f64>,
}

/// What is known before samples are planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planning {
    pub(crate) design: PairedDesign,
    /// Samples that there are.
    pub(crate) present: u64,
    /// The share of them that gives a pair, above 0: the metric may apply to some only.
    pub(crate) applies: f64,
    /// Confidence level of the test.
    pub(crate) level: Level,
    /// Clusters (samples, where each is its own) below which the test decides nothing.
    pub(crate) fewest: f64,
    /// What one sample costs, where that is known.
    pub(crate) cost_per_sample: Option<f64>,
}

impl Planning {
    /// The same for what so many clusters did not decide.
    pub(crate) fn with_more_than(self, clusters: usize) -> Self {
        Self { fewest: self.fewest.max((clusters + 1) as f64), ..self }
    }

    /// The smallest difference that the samples which there are detect with [`PLANNED_POWER`]; `None` where they are too
    /// few to decide anything.
    pub(crate) fn detectable(&self) -> Option<f64> {
        let present = Some(self.present as f64 * self.applies).filter(|n| self.design.clusters(*n) >= self.fewest)?;
        self.design.detectable(present, PLANNED_POWER, self.level)
    }

    /// What a difference takes. `None` for one that no number of samples detects.
    pub(crate) fn needed(&self, difference: f64) -> Option<Needed> {
        self.plan_clusters(difference, self.design.clusters_for(difference, PLANNED_POWER, self.level)?)
    }

    /// What it takes to show that two which do not differ are equivalent within a margin.
    pub(crate) fn needed_for_equivalence(&self, margin: f64) -> Option<Needed> {
        self.plan_clusters(margin, self.design.clusters_for_equivalence(margin, PLANNED_POWER, self.level)?)
    }

    fn plan_clusters(&self, difference: f64, clusters: f64) -> Option<Needed> {
        let clusters = clusters.max(self.fewest);
        let pairs = (clusters * self.design.cluster_size).ceil();
        let samples = (pairs / self.applies - 1e-9).ceil() as u64;
        let more = samples.saturating_sub(self.present);
        Some(Needed {
            difference,
            power: PLANNED_POWER,
            samples,
            pairs: (self.applies < 1.0).then_some(pairs as u64),
            clusters: (self.design.cluster_size > 1.0).then_some(clusters as u64),
            more,
            cost_usd: self.cost_per_sample.map(|cost| cost * more as f64),
        })
    }
}

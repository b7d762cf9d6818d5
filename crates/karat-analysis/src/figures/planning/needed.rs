//! The number of samples needed for a difference, used by planning and by comparisons.

use std::collections::BTreeMap;

use karat_stats::interval::Level;
use karat_stats::power::PairedDesign;
use karat_types::Threshold;
use serde::Serialize;

use crate::score::instrument::metric_names::matches_pattern;

/// The power that samples are planned for.
pub const PLANNED_POWER: f64 = 0.8;

/// The share of the scale that samples are planned for where nothing else is said.
const PLANNED_SHARE: f64 = 0.05;

/// The difference that samples of a metric are planned for: that of the first pattern that names it, else its margin, else a
/// twentieth of the largest possible change. The observed one plans nothing: samples that are added until it is significant
/// find it by chance.
pub(crate) fn planned_difference(
    (metric, margin): (&str, Option<Threshold>),
    mde: &BTreeMap<String, Threshold>,
    (figure, widest): (Option<f64>, Option<f64>),
) -> Option<f64> {
    let wanted = mde.iter().find(|(pattern, _)| matches_pattern(pattern, metric)).map(|(_, wanted)| *wanted);
    let wanted = wanted.or(margin).and_then(|wanted| wanted.from_figure(figure)).filter(|wanted| *wanted > 0.0);
    wanted.or(widest.map(|widest| PLANNED_SHARE * widest))
}

/// The samples needed for a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needed {
    /// The difference to detect: the wanted one, or a twentieth of the scale; for equivalence, the margin.
    pub difference: f64,
    /// Probability of detecting it.
    pub power: f64,
    /// Total number of samples.
    pub samples: u64,
    /// Number of them to which the metric applies on both sides, assuming the same share as so far; `None` if it
    /// applies to all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// Number of clusters, assuming the same cluster size, if samples are clustered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// Number of samples in addition to the present ones.
    pub more: u64,
    /// Cost of the additional samples under both sides; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
}

/// The inputs of planning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planning {
    pub(crate) design: PairedDesign,
    /// Number of present samples.
    pub(crate) present: u64,
    /// Share of them that gives a pair, above 0 and at most 1: the metric may apply to some samples only.
    pub(crate) applies: f64,
    /// Confidence level of the test.
    pub(crate) level: Level,
    /// The least number of clusters (or samples) with which the test can decide.
    pub(crate) fewest: f64,
    /// Cost of one sample, if known.
    pub(crate) cost_per_sample: Option<f64>,
}

impl Planning {
    /// The smallest difference that the present samples detect with [`PLANNED_POWER`]; `None` if they are too few to
    /// decide anything.
    pub(crate) fn detectable(&self) -> Option<f64> {
        let present = Some(self.present as f64 * self.applies).filter(|n| self.design.clusters(*n) >= self.fewest)?;
        self.design.detectable(present, PLANNED_POWER, self.level)
    }

    /// The samples needed to detect a difference. `None` if no number of samples detects it.
    pub(crate) fn required_samples(&self, difference: f64) -> Option<Needed> {
        self.plan_clusters(difference, self.design.clusters_for(difference, PLANNED_POWER, self.level)?)
    }

    /// The samples needed to show equivalence within a margin if there is no difference.
    pub(crate) fn needed_for_equivalence(&self, margin: f64) -> Option<Needed> {
        self.plan_clusters(margin, self.design.clusters_for_equivalence(margin, PLANNED_POWER, self.level)?)
    }

    /// The plan of so many clusters (samples, where none are clustered).
    pub(crate) fn plan_clusters(&self, difference: f64, clusters: f64) -> Option<Needed> {
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

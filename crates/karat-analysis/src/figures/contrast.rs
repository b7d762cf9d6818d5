//! A contrast: one change along an axis of a run, with its test, its family and its verdict. `compare::contrasts` makes them.

use karat_stats::interval::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::looks::Look;
use crate::figures::planning::needed::Needed;
use crate::infer::finding::Finding;

/// The compared axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeltaAxis {
    /// Variants, model by model.
    #[default]
    Variant,
    /// Models, variant by variant.
    Model,
    /// Each system now and in the pinned run that the suite names under `baseline`.
    Baseline,
}

/// The verdict on a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonVerdict {
    /// The candidate is better.
    Better,
    /// The candidate is worse.
    Worse,
    /// The two differ by less than the declared margin, even if that difference is significant.
    Equivalent,
    /// None of these can be concluded.
    Undecided,
}

/// The family whose p-values are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// The headline metrics of one axis of a run.
    Run,
    /// The headline metrics of two runs.
    Runs,
    /// The changes that gates decide by interval.
    Gates,
    /// Everything else: shown, never binding.
    Other,
}

/// A change between systems of a run that a gate decides by interval, so that it is not a test of its axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GatedChange {
    /// The systems as (base, other), in order.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// Index of the metric.
    pub(crate) metric: usize,
    /// The level of the gate's decision.
    pub(crate) level: Level,
    /// Number of decisions by interval that are corrected together.
    pub(crate) tests: u64,
}

/// One change along an axis of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// The compared axis.
    pub axis: DeltaAxis,
    /// The variant (model) that the other is compared with.
    pub base: String,
    /// The other variant (model).
    pub other: String,
    /// The metric.
    pub metric: String,
    /// Number of samples with a score on both sides.
    pub n: u64,
    /// Other − base, with the interval at the level of this decision.
    pub difference: Finding,
    /// The test that decides.
    pub test: &'static str,
    /// Its p-value; `None` without a test.
    pub p: Option<f64>,
    /// The p-value corrected over the family.
    pub p_adjusted: Option<f64>,
    /// The family.
    pub family: Family,
    /// Number of p-values in the family.
    pub tests: u64,
    /// The verdict on the other.
    pub verdict: ComparisonVerdict,
    /// The number of the look at this change.
    #[serde(flatten)]
    pub look: Look,
    /// The reason why no data could decide it. Only if undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// The samples needed for a decision, if undecided.
    pub needed: Option<Needed>,
}

impl Contrast {
    /// The same change seen from the other side.
    pub(crate) fn reverse(self) -> Self {
        let verdict = match self.verdict {
            ComparisonVerdict::Better => ComparisonVerdict::Worse,
            ComparisonVerdict::Worse => ComparisonVerdict::Better,
            open => open,
        };
        Self { base: self.other, other: self.base, difference: self.difference.negate(), verdict, ..self }
    }
}

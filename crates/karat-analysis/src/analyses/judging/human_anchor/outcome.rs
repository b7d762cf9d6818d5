//! Options and outcome of `human_anchor`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::infer::finding::Finding;
use crate::score::people::LabelDesignKind;

/// Options of `human_anchor`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanAnchorOptions {
    /// The rubric scorer whose judges are corrected by its `labels`.
    pub scorer: String,
    /// The method. `rogan_gladen` needs labels that were chosen at random.
    #[serde(default)]
    pub method: AnchorMethod,
    /// A wanted width of the interval, in the metric's unit; the result states the labels that it needs. Default: a tenth
    /// of the metric's range, if it has one.
    #[serde(default)]
    pub width: Option<f64>,
}

/// A way to correct a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnchorMethod {
    /// Prediction-powered, the judge's weight tuned.
    #[default]
    #[serde(rename = "ppi++")]
    Tuned,
    /// Prediction-powered, the judge at full weight.
    Ppi,
    /// The labels alone.
    Human,
    /// From the judge's sensitivity and specificity.
    RoganGladen,
}

/// Human-anchored figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HumanAnchor {
    /// The scorer.
    pub scorer: String,
    /// The method of correction.
    pub method: AnchorMethod,
    /// Number of labels used, and of all labels.
    pub labels: (u64, u64),
    /// Number of labels shown to judges as examples, which are left out.
    pub shown_to_judges: u64,
    /// Number of labels given for another version of the rubric or task, which are left out.
    pub other_version: u64,
    /// Number of labels on items that were chosen as hard ones, which are left out.
    pub targeted: u64,
    /// Number of labels whose outputs were chosen by verdicts that the judge of this run does not share, which are left out.
    pub other_verdicts: u64,
    /// Number of labels of a file: they are taken as a random choice of the outputs.
    pub from_file: u64,
    /// The closed tasks that asked the rubric, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<AnchoringTask>,
    /// By metric and system, in the plan's order.
    pub figures: Vec<AnchoredFigure>,
}

/// A closed task with labels for a scorer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnchoringTask {
    /// Name and version: `NAME@VERSION`.
    pub task: String,
    /// Number of its settled labels.
    pub settled: u64,
    /// Number of its labels that are open.
    pub open: u64,
    /// The rule by which its outputs were chosen.
    pub design: LabelDesignKind,
    /// False if its labels are left out.
    pub counts: bool,
}

/// One metric of one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnchoredFigure {
    /// The metric.
    pub metric: String,
    /// The system.
    pub system: String,
    /// Number of samples with a label and a grade of the judge.
    pub labelled: u64,
    /// Number of those whose labels are open: they count with the mean of their labels, and the interval holds whatever they
    /// become.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Number of samples with a grade only.
    pub judged: u64,
    /// The judge's mean over all of them.
    pub judge: Option<Finding>,
    /// People's mean of all outputs by the labels alone.
    pub human: Option<Finding>,
    /// The human-anchored mean: `ci` is for what people would say of all these outputs, `population` for what they would say
    /// of outputs like these.
    pub anchored: Option<Finding>,
    /// Mean of human − judge over all outputs, from the labelled ones: the bias of the judge.
    pub correction: Option<Finding>,
    /// Weight of the judge, 0 to 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<Finding>,
    /// Number of labels without a judge that would give the same precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worth: Option<Finding>,
    /// Labels needed for the wanted width: with the judge, and without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_needed: Option<(u64, u64)>,
    /// Labels that are missing for the wanted width, with the judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_missing: Option<u64>,
    /// Minutes of people's time that the missing labels take, at the median time of the newest task that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes_missing: Option<u64>,
    /// The reason why there is no anchored figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// For serde, which passes a reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

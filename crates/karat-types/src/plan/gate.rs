//! Gates of a suite or a policy file. A run keeps the gates that it was started with; others can be applied later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Gates and how they bind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GateRules {
    /// The gates.
    pub gates: Vec<Gate>,
    /// The policy for all gates.
    pub policy: Policy,
    /// Path of the baseline, where one is declared: a pinned run, or a folder with one pinned file a sample.
    pub baseline: Option<String>,
    /// Variants and models that gates may compare with and that the run leaves out, because others were selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<GateReference>,
    /// Scorers that are off because the suite has no judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<String>,
    /// True if the run is about a part of the suite's rows or systems, so that a gate may have nothing to look at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// A bound of a gate, or a difference that matters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "ThresholdForm")]
pub struct Threshold {
    /// The number; a percentage as a share.
    pub value: f64,
    /// True if it was written as a percentage. A difference (`max_drop`, `max_rise`, `margin`, `--mde`) is then relative
    /// to the figure that it is a difference from.
    pub percent: bool,
}

/// The forms that plans hold; those of 2026-11 had plain numbers for margins.
#[derive(Deserialize)]
#[serde(untagged)]
enum ThresholdForm {
    Number(#[serde(deserialize_with = "crate::json::float")] f64),
    Whole {
        #[serde(deserialize_with = "crate::json::float")]
        value: f64,
        percent: bool,
    },
}

impl From<ThresholdForm> for Threshold {
    fn from(form: ThresholdForm) -> Self {
        match form {
            ThresholdForm::Number(value) => Self::absolute(value),
            ThresholdForm::Whole { value, percent } => Self { value, percent },
        }
    }
}

impl Threshold {
    /// A number in the metric's unit.
    pub fn absolute(value: f64) -> Self {
        Self { value, percent: false }
    }

    /// The difference from a figure, in the metric's unit: a percentage is one of the figure's size. `None` for a
    /// percentage of something unknown.
    pub fn from_figure(self, figure: Option<f64>) -> Option<f64> {
        if self.percent { Some(self.value * figure?.abs()) } else { Some(self.value) }
    }
}

/// The reference of a gate on a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateReference {
    /// The pinned baseline.
    Baseline,
    /// The run before.
    Previous,
    /// A variant of the same run.
    Variant(String),
    /// A model of the same run.
    Model(String),
    /// A stored run.
    Run(String),
}

/// The basis of a gate's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateBasis {
    /// By the figure.
    #[default]
    Point,
    /// By its interval.
    Interval,
}

/// The subject of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A metric, or several by `*`.
    Metric(String),
    /// A path under `analyses`.
    Finding(String),
}

/// A rule over findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Its id; the name of its subject without one.
    pub id: String,
    /// The place of its declaration, such as `karat.yaml:12`; `None` for one from the command line. It does not affect the verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The subject.
    pub subject: Subject,
    /// Expression over `sample`, `model` and `variant`: which rows.
    pub condition: Option<String>,
    /// `system`, `run`, `sample`, or a column.
    pub per: String,
    /// The reference of a change.
    pub against: Option<GateReference>,
    /// At least this.
    pub min: Option<Threshold>,
    /// At most this.
    pub max: Option<Threshold>,
    /// At most this much lower than what it compares with.
    pub max_drop: Option<Threshold>,
    /// At most this much higher than what it compares with.
    pub max_rise: Option<Threshold>,
    /// Decides by the figure or by its interval.
    pub decide: GateBasis,
    /// True if only human-anchored judgments count.
    pub human_anchor: bool,
    /// True if a failure is only a warning (`on_fail: review`).
    pub review: bool,
    /// Overrides the policy: true if an undecided verdict fails.
    pub undecided_fails: Option<bool>,
}

impl Gate {
    /// A gate on a metric, per system, still without a bound.
    pub fn for_metric(metric: &str) -> Self {
        Self {
            id: metric.to_owned(),
            place: None,
            subject: Subject::Metric(metric.to_owned()),
            condition: None,
            per: "system".to_owned(),
            against: None,
            min: None,
            max: None,
            max_drop: None,
            max_rise: None,
            decide: GateBasis::Point,
            human_anchor: false,
            review: false,
            undecided_fails: None,
        }
    }

    /// Its least and its most, where no figure keeps both.
    pub fn contradictory_bounds(&self) -> Option<(f64, f64)> {
        let (min, max) = (self.min?.value, self.max?.value);
        (min > max).then_some((min, max))
    }

    /// Returns true if it looks at this metric, under exactly this name.
    pub fn is_for_metric(&self, metric: &str) -> bool {
        matches!(&self.subject, Subject::Metric(name) if name == metric)
    }
}

/// A correction for many comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Holm's step-down.
    #[default]
    Holm,
    /// Benjamini and Hochberg.
    Bh,
    /// None.
    None,
}

/// Rules that apply to all gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// True if gates bind only with `--gate`.
    pub on_request: bool,
    /// True if an undecided verdict fails.
    pub undecided_fails: bool,
    /// Share of what could be scored that may have no score: the scorer failed, or the cell.
    pub max_unscored: f64,
    /// Share of a system's cells that may be errors.
    pub max_errors: f64,
    /// Confidence of intervals.
    pub confidence: f64,
    /// Correction for many comparisons.
    pub correction: Correction,
    /// True if a review counts as a failure.
    pub strict: bool,
    /// The difference that further samples are planned for, by metric or pattern; a percentage is one of the figure.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mde: BTreeMap<String, Threshold>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            on_request: false,
            undecided_fails: false,
            max_unscored: 0.05,
            max_errors: 0.0,
            confidence: 0.95,
            correction: Correction::Holm,
            strict: false,
            mde: BTreeMap::new(),
        }
    }
}

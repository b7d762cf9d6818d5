//! A score below its threshold.

use serde::Serialize;

/// A score beyond its threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shortfall {
    /// The metric.
    pub metric: String,
    /// The score.
    pub value: f64,
    /// The threshold.
    pub threshold: f64,
    /// The reason given by the scorer or a judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

//! Thresholds that a corpus must reach.

use std::collections::BTreeMap;

use karat_scoring::metrics::summary::DIMENSIONS;
use serde::{Deserialize, Serialize};

use crate::corpus::CorpusReport;

/// The largest shortfall of a mean below its threshold that rounding alone explains.
const ROUNDING: f64 = 1e-9;

/// Lowest means that pass. A mean that equals its threshold passes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gates {
    /// The threshold of the overall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_overall: Option<f64>,
    /// The threshold of each dimension.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub min_dimensions: BTreeMap<String, f64>,
}

/// A gate that could never fail or never pass.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The dimension does not exist.
    #[error("a gate names the dimension `{0}`; the dimensions are title, summary, key_actions, outcome, aha_moments")]
    UnknownDimension(String),
    /// The threshold is outside 0..=1.
    #[error("the threshold of `{name}` is {threshold}, but means lie between 0 and 1")]
    OutOfRange {
        /// The metric that it is for.
        name: String,
        /// The threshold.
        threshold: f64,
    },
}

impl Gates {
    /// Checks that every gate can pass and can fail. Call it once, when gates are read.
    ///
    /// # Errors
    /// An unknown dimension; a threshold outside 0..=1.
    pub fn check(&self) -> Result<(), GateError> {
        if let Some(unknown) = self.min_dimensions.keys().find(|name| !DIMENSIONS.contains(&name.as_str())) {
            return Err(GateError::UnknownDimension(unknown.clone()));
        }
        match self.thresholds().find(|(_, threshold)| !(0.0..=1.0).contains(threshold)) {
            Some((name, threshold)) => Err(GateError::OutOfRange { name: name.to_owned(), threshold }),
            None => Ok(()),
        }
    }

    /// The gates that a report does not pass, in words, the overall first and then in the order of [`DIMENSIONS`]:
    /// `overall_mean 0.612 < gate 0.700`. Empty when all pass.
    pub fn failed_gates(&self, report: &CorpusReport) -> Vec<String> {
        let mean = |name: &str| match name {
            "overall" => report.overall_mean,
            dimension => report.dimension_means.get(dimension).copied().unwrap_or(0.0),
        };
        let failed = self.thresholds().filter(|(name, threshold)| mean(name) < *threshold - ROUNDING);
        failed.map(|(name, threshold)| format!("{name}_mean {:.3} < gate {threshold:.3}", mean(name))).collect()
    }

    fn thresholds(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let overall = self.min_overall.map(|threshold| ("overall", threshold));
        let of_dimension = |name: &&'static str| Some((*name, *self.min_dimensions.get(*name)?));
        overall.into_iter().chain(DIMENSIONS.iter().filter_map(of_dimension))
    }
}

impl CorpusReport {
    /// Returns the report with the gates that it does not pass.
    #[must_use]
    pub fn with_gates(mut self, gates: &Gates) -> Self {
        self.gates_failed = gates.failed_gates(&self);
        self
    }
}

//! One pair: a candidate against its reference.

use serde::{Deserialize, Serialize};

use super::dimensions::{self, MomentOverlap};
use super::{DIMENSIONS, Summary};

/// The largest distance of the sum of weights from 1: the error of decimal notation.
const SUM_TOLERANCE: f64 = 1e-6;

/// The weight of each dimension in the overall. Each is 0 or more, and they sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Of `title`.
    pub title: f64,
    /// Of `summary`.
    pub summary: f64,
    /// Of `key_actions`.
    pub key_actions: f64,
    /// Of `outcome`.
    pub outcome: f64,
    /// Of `aha_moments`.
    pub aha_moments: f64,
}

/// 0.20, 0.30, 0.30, 0.10, 0.10.
impl Default for Weights {
    fn default() -> Self {
        Self { title: 0.20, summary: 0.30, key_actions: 0.30, outcome: 0.10, aha_moments: 0.10 }
    }
}

/// Invalid weights.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// A weight is negative or not a number.
    #[error("the weight of `{dimension}` is {weight}, but must be 0 or more")]
    Negative {
        /// The dimension.
        dimension: &'static str,
        /// The weight.
        weight: f64,
    },
    /// The weights do not sum to 1.
    #[error(
        "the weights sum to {sum}, but must sum to 1; change one of title, summary, key_actions, outcome, aha_moments"
    )]
    Sum {
        /// Their sum.
        sum: f64,
    },
}

impl Weights {
    /// In the order of [`DIMENSIONS`].
    pub fn by_dimension(&self) -> [f64; 5] {
        [self.title, self.summary, self.key_actions, self.outcome, self.aha_moments]
    }

    /// Checks that they make an overall.
    ///
    /// # Errors
    /// A weight below 0 or not finite; a sum that is more than 10⁻⁶ away from 1.
    pub fn check(&self) -> Result<(), WeightsError> {
        let weights = self.by_dimension();
        let wrong = DIMENSIONS.into_iter().zip(weights).find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0));
        if let Some((dimension, weight)) = wrong {
            return Err(WeightsError::Negative { dimension, weight });
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE { Err(WeightsError::Sum { sum }) } else { Ok(()) }
    }
}

/// One dimension of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DimensionScore {
    /// One of [`DIMENSIONS`].
    pub dimension: String,
    /// 0 to 1.
    pub score: f64,
    /// The reason of the score.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// One session: every dimension, in the order of [`DIMENSIONS`], and their weighted sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionScore {
    /// The session's name.
    pub name: String,
    /// The dimensions.
    pub dimensions: Vec<DimensionScore>,
    /// 0 to 1.
    pub overall: f64,
}

impl SessionScore {
    /// A session whose dimensions are all 0 for one reason.
    pub fn nothing(name: &str, reason: &str) -> Self {
        let zero =
            |dimension: &str| DimensionScore { dimension: dimension.to_owned(), score: 0.0, reason: reason.to_owned() };
        Self { name: name.to_owned(), dimensions: DIMENSIONS.map(zero).into(), overall: 0.0 }
    }

    /// The score of a dimension by name; `None` for an unknown one.
    pub fn dimension(&self, name: &str) -> Option<&DimensionScore> {
        self.dimensions.iter().find(|score| score.dimension == name)
    }
}

/// Compares candidates with their references. The default has the default weights and compares moments by type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fidelity {
    weights: Weights,
    moments: MomentOverlap,
}

impl Fidelity {
    /// A scorer with these weights.
    ///
    /// # Errors
    /// Weights that do not pass [`Weights::check`].
    pub fn new(weights: Weights, moments: MomentOverlap) -> Result<Self, WeightsError> {
        weights.check()?;
        Ok(Self { weights, moments })
    }

    /// Scores one candidate. The same input always has the same score.
    ///
    /// - `title`: Jaccard similarity of the words, × 0.7 where one has more than twice the words of the other;
    /// - `summary`: the same, × 0.5 where the candidate has less than 0.3 of the reference's words, × 0.8 where it has
    ///   more than 3 times as many;
    /// - `key_actions`: F1 of the bullets that have a bullet with Jaccard similarity ≥ 0.3 on the other side;
    /// - `outcome`: 1 where equal after trimming and lower-casing;
    /// - `aha_moments`: 0.6 · (1 − |Δcount| / larger count) + 0.4 · overlap; 0.5 where only the reference has none.
    ///
    /// A dimension that is empty on both sides is 1, on one side 0. Words are runs of Unicode letters and decimal
    /// digits, lower-cased; each counts once. The overall is the weighted sum.
    pub fn score(&self, name: &str, reference: &Summary, candidate: &Summary) -> SessionScore {
        let scores = dimensions::scores(reference, candidate, self.moments);
        let overall: f64 =
            scores.iter().zip(self.weights.by_dimension()).map(|((score, _), weight)| score * weight).sum();
        let dimensions = DIMENSIONS.into_iter().zip(scores).map(|(dimension, (score, reason))| DimensionScore {
            dimension: dimension.to_owned(),
            score,
            reason,
        });
        SessionScore { name: name.to_owned(), dimensions: dimensions.collect(), overall: overall.clamp(0.0, 1.0) }
    }
}

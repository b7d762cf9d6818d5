//! Structured summaries of sessions against hand-reviewed ones: five lexical scores in 0..=1, each with a reason, weighed to
//! one overall. Deterministic, without a model.
//!
//! ```
//! use karat_scoring::metrics::summary::{Fidelity, Summary};
//!
//! let reference: Summary = serde_json::from_str(r#"{
//!     "title": "Fix the login loop", "summary": "The session cookie was dropped on redirect.",
//!     "key_actions": ["Kept the cookie on redirect", "Added a regression test"], "outcome": "success"
//! }"#)?;
//! let candidate = Summary { title: "Fix login loop".into(), ..reference.clone() };
//! let score = Fidelity::default().score("s-01", &reference, &candidate);
//! assert_eq!(score.dimensions[0].score, 0.75);
//! assert!((score.overall - 0.95).abs() < 1e-12);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod dimensions;
mod fidelity;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "scores are compared with the same arithmetic done by hand")]
mod tests;

use serde::{Deserialize, Deserializer, Serialize};

pub use dimensions::MomentOverlap;
pub use fidelity::{DimensionScore, Fidelity, SessionScore, Weights, WeightsError};

/// The reason why every dimension of a session without a candidate is 0.
pub const MISSING_CANDIDATE: &str = "missing_candidate";

/// The beginning of the reason for zeros where a session's candidate exists but is not a summary.
pub const BROKEN_CANDIDATE: &str = "broken_candidate";

/// The scored dimensions, in the order of every report.
pub const DIMENSIONS: [&str; 5] = ["title", "summary", "key_actions", "outcome", "aha_moments"];

/// The scored content of a session's summary. In JSON an absent or null field is empty; other fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The topic of the session, in a few words.
    #[serde(default, deserialize_with = "or_empty")]
    pub title: String,
    /// The main points, in a paragraph.
    #[serde(default, deserialize_with = "or_empty")]
    pub summary: String,
    /// The actions taken, one bullet each.
    #[serde(default, deserialize_with = "or_empty")]
    pub key_actions: Vec<String>,
    /// `success`, `partial` or `failed`.
    #[serde(default, deserialize_with = "or_empty")]
    pub outcome: String,
    /// Turning points.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub aha_moments: Vec<AhaMoment>,
    /// Topics of the session; not scored.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub topics_found: Vec<String>,
}

/// A turning point of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct AhaMoment {
    /// Its position in the session, in the producer's own unit.
    #[serde(default)]
    pub seq: i64,
    /// The kind of moment.
    #[serde(default, rename = "type", deserialize_with = "or_empty")]
    pub kind: String,
}

/// A field, or its empty value where it is null.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

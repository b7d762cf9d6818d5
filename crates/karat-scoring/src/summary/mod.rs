//! A quality gate for session summaries: structured summaries against hand-reviewed references.
//!
//! A summary has a title, a text, key actions, an outcome and moments of insight. [`Fidelity`] compares a candidate with
//! its reference in five [`DIMENSIONS`], each a lexical score in 0..=1 with a reason, and weighs them to one overall. It
//! is deterministic, needs no model and no network. What lexical scores cannot see, such as a good paraphrase, a
//! [`Judge`] can.
//!
//! # Score one pair
//! ```
//! use karat_scoring::summary::{Fidelity, Summary};
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
//!
//! # Score a corpus, and gate it
//! [`load_corpus`] and [`load_candidates`] read folders; a session without a candidate counts as all zeros.
//! ```
//! use std::collections::BTreeMap;
//! use karat_scoring::summary::{Fidelity, Gates, ReferenceSession, Summary};
//! use karat_types::Moment;
//!
//! let summary = |title: &str| Summary { title: title.into(), ..Summary::default() };
//! let corpus = ["s-01", "s-02"].map(|name| ReferenceSession::new(name, summary("Fix the login loop")));
//! let candidates = BTreeMap::from([("s-01".to_owned(), summary("Fix the login loop"))]);
//! let report = Fidelity::default().score_corpus(&corpus, &candidates, Moment(0));
//! assert_eq!((report.corpus_size, report.overall_mean), (2, 0.5));
//!
//! let gates = Gates { min_overall: Some(0.7), ..Gates::default() };
//! assert_eq!(gates.failed_gates(&report), ["overall_mean 0.500 < gate 0.700"]);
//! ```
//!
//! # Judge with a closure
//! Whoever can call a model can judge: a [`Completer`](crate::Completer) is one function from a prompt to a completion.
//! Without a reference the candidate is judged on its own merits.
//! ```
//! use karat_scoring::summary::{CompleterJudge, Judge, Summary};
//! use karat_scoring::{Completion, Prompt};
//!
//! let mut judge = CompleterJudge::new(|prompt: &Prompt<'_>| {
//!     assert!(prompt.user().contains("Fix login loop"));
//!     Ok(Completion::text(r#"{"dimensions": [{"dimension": "title", "score": 0.9, "reason": "Names it."}],
//!         "overall": 0.9, "rationale": "Short and right.", "suggestions": []}"#))
//! });
//! let candidate = Summary { title: "Fix login loop".into(), ..Summary::default() };
//! let judged = judge.score("s-01", None, &candidate)?;
//! assert_eq!(judged.overall, 0.9);
//! assert_eq!(judged.to_session_score().dimensions[1].score, 0.0);
//! # Ok::<(), karat_scoring::summary::JudgeError>(())
//! ```

mod corpus;
mod dimensions;
mod fidelity;
mod gates;
mod judge;
mod loading;
mod rubric;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "scores are compared with the same arithmetic done by hand")]
mod tests;

use serde::{Deserialize, Deserializer, Serialize};

pub use corpus::{BROKEN_CANDIDATE, CorpusReport, MISSING_CANDIDATE};
pub use dimensions::MomentOverlap;
pub use fidelity::{DimensionScore, Fidelity, SessionScore, Weights, WeightsError};
pub use gates::{GateError, Gates};
pub use judge::{CompleterJudge, Judge, JudgeError, JudgeResult, build_judge_prompt};
pub use loading::{LoadError, load_candidate, load_candidates, load_corpus, load_session};
pub use rubric::{JudgeOptions, judge_rubric};

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

/// A session with its hand-reviewed summary: `<corpus>/<name>/reference.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReferenceSession {
    /// The session's name: what the file says, else that of its folder.
    #[serde(default)]
    pub name: String,
    /// Why it was chosen and what a good summary must hold: for curators, not scored.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// The trusted summary.
    pub reference: Summary,
}

impl ReferenceSession {
    /// A session without notes.
    pub fn new(name: impl Into<String>, reference: Summary) -> Self {
        Self { name: name.into(), notes: String::new(), reference }
    }
}

/// A field, or its empty value where it is null.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The program of the guide, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../embedded/rust-library.md")]
struct Guide;

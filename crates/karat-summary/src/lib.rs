//! A quality gate for session summaries: structured summaries against hand-reviewed references.
//!
//! A summary has a title, a text, key actions, an outcome and moments of insight. [`Fidelity`] compares a candidate with
//! its reference in five [`DIMENSIONS`], each a lexical score in 0..=1 with a reason, and weighs them to one overall. It
//! is deterministic, needs no model and no network. A [`Judge`] sees more than lexical scores can, such as a good paraphrase.
//!
//! # Score a corpus, and gate it
//! [`load_corpus`] and [`load_candidates`] read folders; a session without a candidate counts as all zeros.
//! ```
//! use std::collections::BTreeMap;
//! use karat_summary::{Fidelity, Gates, ReferenceSession, Summary, score_corpus};
//! use karat_types::Moment;
//!
//! let summary = |title: &str| Summary { title: title.into(), ..Summary::default() };
//! let corpus = ["s-01", "s-02"].map(|name| ReferenceSession::new(name, summary("Fix the login loop")));
//! let candidates = BTreeMap::from([("s-01".to_owned(), summary("Fix the login loop"))]);
//! let report = score_corpus(&Fidelity::default(), &corpus, &candidates, Moment(0));
//! assert_eq!((report.corpus_size, report.overall_mean), (2, 0.5));
//!
//! let gates = Gates { min_overall: Some(0.7), ..Gates::default() };
//! assert_eq!(gates.failed_gates(&report), ["overall_mean 0.500 < gate 0.700"]);
//! ```
//!
//! # Judge with a closure
//! A judge needs a way to call a model: a [`Completer`](karat_scoring::Completer), one function from a prompt to a completion.
//! Without a reference the candidate is judged on its own merits.
//! ```
//! use karat_summary::{CompleterJudge, Judge, Summary};
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
//! # Ok::<(), karat_summary::JudgeError>(())
//! ```

#![deny(missing_docs)]

mod corpus;
mod gates;
mod judge;
mod loading;
mod rubric;
#[cfg(test)]
#[allow(clippy::float_cmp, reason = "scores are compared with the same arithmetic done by hand")]
mod tests;

pub use corpus::{CorpusReport, ReferenceSession, score_corpus};
pub use gates::{GateError, Gates};
pub use judge::{CompleterJudge, Judge, JudgeError, JudgeResult, build_judge_prompt};
pub use karat_scoring::metrics::summary::{
    AhaMoment, BROKEN_CANDIDATE, DIMENSIONS, DimensionScore, Fidelity, MISSING_CANDIDATE, MomentOverlap, SessionScore,
    Summary, Weights, WeightsError,
};
pub use loading::{LoadError, load_candidate, load_candidates, load_corpus, load_session};
pub use rubric::{JudgeOptions, judge_rubric};

/// The program of the guide, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../embedded/rust-library.md")]
struct Guide;

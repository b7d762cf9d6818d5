//! A whole corpus: every session, and what they are on average.

use std::collections::BTreeMap;

use karat_types::Moment;
use serde::{Deserialize, Serialize};

use super::fidelity::{Fidelity, SessionScore};
use super::{DIMENSIONS, ReferenceSession, Summary};

/// Why every dimension of a session without a candidate is 0.
pub const MISSING_CANDIDATE: &str = "missing_candidate";

/// The beginning of the reason for zeros where a session's candidate exists but is no summary.
pub const BROKEN_CANDIDATE: &str = "broken_candidate";

/// The scores of a corpus of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusReport {
    /// When it was scored: milliseconds since the Unix epoch, as the caller said.
    pub scored_at: Moment,
    /// Sessions, those without a candidate among them.
    pub corpus_size: usize,
    /// Mean of the overalls; 0 for an empty corpus.
    pub overall_mean: f64,
    /// The lowest overall; 0 for an empty corpus.
    pub overall_min: f64,
    /// The highest overall; 0 for an empty corpus.
    pub overall_max: f64,
    /// Mean by dimension; empty for an empty corpus.
    pub dimension_means: BTreeMap<String, f64>,
    /// The sessions, in the corpus's order.
    pub sessions: Vec<SessionScore>,
    /// The gates that [`with_gates`](Self::with_gates) found too low; empty without gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates_failed: Vec<String>,
}

impl Fidelity {
    /// Scores every session of a corpus against the candidate of its name. A session without one is all zeros with the
    /// reason [`MISSING_CANDIDATE`], and counts. Candidates of other names are not looked at.
    pub fn score_corpus(
        &self,
        corpus: &[ReferenceSession],
        candidates: &BTreeMap<String, Summary>,
        scored_at: Moment,
    ) -> CorpusReport {
        let score = |session: &ReferenceSession| match candidates.get(&session.name) {
            Some(candidate) => self.score(&session.name, &session.reference, candidate),
            None => SessionScore::nothing(&session.name, MISSING_CANDIDATE),
        };
        CorpusReport::of(corpus.iter().map(score).collect(), scored_at)
    }
}

impl CorpusReport {
    /// The report of sessions that were scored, by [`Fidelity`] or by a [`Judge`](super::Judge).
    pub fn of(sessions: Vec<SessionScore>, scored_at: Moment) -> Self {
        let overalls = || sessions.iter().map(|session| session.overall);
        let of_dimension =
            |name: &str| mean(sessions.iter().map(|session| session.dimension(name).map_or(0.0, |found| found.score)));
        Self {
            scored_at,
            corpus_size: sessions.len(),
            overall_mean: mean(overalls()).unwrap_or(0.0),
            overall_min: overalls().reduce(f64::min).unwrap_or(0.0),
            overall_max: overalls().reduce(f64::max).unwrap_or(0.0),
            dimension_means: DIMENSIONS
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), of_dimension(name)?)))
                .collect(),
            sessions,
            gates_failed: Vec::new(),
        }
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let n = values.len();
    (n > 0).then(|| values.sum::<f64>() / n as f64)
}

//! A whole corpus: every session, and what they are on average.

use std::collections::BTreeMap;

use karat_scoring::metrics::summary::{DIMENSIONS, Fidelity, MISSING_CANDIDATE, SessionScore, Summary};
use karat_types::Moment;
use serde::{Deserialize, Deserializer, Serialize};

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

/// Scores every session of a corpus against the candidate of its name. A session without one is all zeros with the reason
/// [`MISSING_CANDIDATE`], and counts. Candidates of other names are not looked at.
pub fn score_corpus(
    fidelity: &Fidelity,
    corpus: &[ReferenceSession],
    candidates: &BTreeMap<String, Summary>,
    scored_at: Moment,
) -> CorpusReport {
    let score = |session: &ReferenceSession| match candidates.get(&session.name) {
        Some(candidate) => fidelity.score(&session.name, &session.reference, candidate),
        None => SessionScore::nothing(&session.name, MISSING_CANDIDATE),
    };
    CorpusReport::of(corpus.iter().map(score).collect(), scored_at)
}

impl CorpusReport {
    /// The report of sessions that were scored, by [`Fidelity`] or by a [`Judge`](crate::Judge).
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

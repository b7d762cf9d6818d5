//! The result of a judgment.

use std::cmp::Ordering;

use karat_text::ladder::Rung;
use karat_types::{CellError, Dimension, Note, NoteKind, Rubric, Score};
use serde_json::{Map, Value};

use super::rubric::overall;

/// The use of a reference: shown or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It judged the output by itself.
    #[default]
    Absolute,
    /// It judged the output beside a reference.
    Paired,
}

impl Mode {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absolute => "absolute",
            Self::Paired => "paired",
        }
    }
}

/// One judge's verdict on one output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// A score per dimension, then the overall, in the rubric's order. Complete even when there is an error: then every
    /// score is *unscored*.
    pub scores: Vec<(String, Score)>,
    /// The judge's words.
    pub reasoning: String,
    /// Findings by name, and the scores of breakdowns.
    pub diagnostics: Map<String, Value>,
    /// Ids of the caps whose condition holds. A score that was lowered by one says so in its reason.
    pub caps: Vec<String>,
    /// The rung on which the reply was read; the lowest one of several pieces.
    pub rung: Option<Rung>,
    /// Seed of the order in which lists were shown.
    pub shuffle_seed: u64,
    /// `paired` where a reference was shown, else `absolute`.
    pub mode: Mode,
    /// Notes that a report must show.
    pub notes: Vec<Note>,
    /// Where the judge was asked more than once: what it said each time.
    pub rounds: Vec<VerdictRound>,
    /// Why nothing is scored.
    pub error: Option<CellError>,
    /// Where there is an error: ids of the calls whose replies could not be read. The replies to the others are good.
    pub unread: Vec<String>,
}

/// One of several times that a judge was asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VerdictRound {
    /// Position of the other output of the pair among those that were given; 0 without a pair.
    pub opponent: u16,
    /// True if the judged output was shown second.
    pub swapped: bool,
    /// Numbers by name; of a pair, 1 where the judged output is preferred, wherever it was shown.
    pub scores: Vec<(String, f64)>,
}

impl Verdict {
    /// A verdict in which every named score is the same.
    pub(super) fn uniform<'a>(names: impl IntoIterator<Item = &'a str>, score: &Score) -> Self {
        let scores = names.into_iter().map(|name| (name.to_owned(), score.clone())).collect();
        Self { scores, ..Self::default() }
    }

    /// The verdict on an output that is not there: every dimension at its lowest, and the overall accordingly.
    pub(super) fn lowest(rubric: &Rubric, reason: &str) -> Self {
        let score = |dimension: &Dimension| Score::value_because(dimension.scale.bounds().0, reason);
        let lowest: Vec<Score> = rubric.dimensions.iter().map(score).collect();
        let graded: Vec<(&Dimension, &Score)> = rubric.dimensions.iter().zip(&lowest).collect();
        let given = lowest.iter().min_by(|a, b| a.number().partial_cmp(&b.number()).unwrap_or(Ordering::Equal));
        let overall = rubric.overall.iter().map(|spec| {
            let score = match overall::overall(spec, &graded, given) {
                Score::Value { value, .. } => Score::value_because(value, reason),
                other => other,
            };
            (spec.id.clone(), score)
        });
        let named = rubric.dimensions.iter().map(|dimension| dimension.name.clone()).zip(lowest.iter().cloned());
        Self { scores: named.chain(overall).collect(), ..Self::default() }
    }

    /// A verdict without a score, and why.
    pub(super) fn without_scores<'a>(names: impl IntoIterator<Item = &'a str>, error: CellError) -> Self {
        Self { error: Some(error.clone()), ..Self::uniform(names, &Score::unscored(error.message)) }
    }
}

/// One note.
pub(super) fn note(kind: NoteKind, text: impl Into<String>) -> Note {
    Note { kind, text: text.into(), count: 1 }
}

/// Notes with equal ones counted instead of repeated.
pub(super) fn count_notes(notes: impl IntoIterator<Item = Note>) -> Vec<Note> {
    let mut counted: Vec<Note> = Vec::new();
    for note in notes {
        match counted.iter_mut().find(|known| known.kind == note.kind && known.text == note.text) {
            Some(known) => known.count += note.count,
            None => counted.push(note),
        }
    }
    counted
}

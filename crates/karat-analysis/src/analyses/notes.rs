//! `notes`: truncated replies, dropped chunks, lenient parses and the like: counted, never silent.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, Note, NoteKind, PlanHeader};
use serde::Serialize;

use super::{Analysis, NoOptions, Outcome, ScoredCell, Setting, options};
use crate::AnalysisError;
use crate::texts::excerpt;

/// Notes of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// What kind.
    pub kind: NoteKind,
    /// Cells that carry it.
    pub cells: u64,
    /// Judgments that carry it.
    pub judgments: u64,
    /// How often in all: chunks dropped, replies truncated, …
    pub times: u64,
    /// The first such note in plan order, in words.
    pub example: String,
    /// The sample of that note.
    pub sample: String,
}

/// What a report must not be silent about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Notes {
    /// By kind.
    pub kinds: Vec<NoteCount>,
    /// How many judges' replies were read on which rung of the JSON ladder.
    pub rungs: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Fold {
    kinds: BTreeMap<NoteKind, NoteCount>,
    rungs: BTreeMap<String, u64>,
}

pub(super) fn build(spec: &AnalysisSpec, _: &Arc<PlanHeader>) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    Ok(Some(Box::new(Fold::default())))
}

impl Fold {
    fn count(&mut self, note: &Note, sample: &str, of_judgment: bool) {
        let kind = self.kinds.entry(note.kind).or_insert_with(|| NoteCount {
            kind: note.kind,
            cells: 0,
            judgments: 0,
            times: 0,
            example: excerpt(&note.text, 200),
            sample: sample.to_owned(),
        });
        kind.cells += u64::from(!of_judgment);
        kind.judgments += u64::from(of_judgment);
        kind.times += u64::from(note.count);
    }
}

impl Analysis for Fold {
    fn cell(&mut self, cell: &ScoredCell<'_>) {
        let sample = &cell.row.sample.id;
        cell.row.cell.notes.iter().for_each(|note| self.count(note, sample, false));
        for judgment in cell.row.judgments {
            judgment.notes.iter().for_each(|note| self.count(note, sample, true));
            if let Some(rung) = &judgment.rung {
                *self.rungs.entry(rung.clone()).or_default() += 1;
            }
        }
    }

    fn finish(self: Box<Self>, _: &Setting<'_>) -> Outcome {
        Outcome::Notes(Notes { kinds: self.kinds.into_values().collect(), rungs: self.rungs })
    }
}

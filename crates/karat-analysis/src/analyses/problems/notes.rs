//! `notes`: truncated replies, dropped chunks, lenient parses and the like: counted, never silent.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, Note, NoteKind, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, NoOptions, Outcome, ScoredCell, Setting, excerpt, options};

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
struct NotesFold {
    kinds: BTreeMap<NoteKind, NoteCount>,
    rungs: BTreeMap<String, u64>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    _: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    Ok(Some(Box::new(NotesFold::default())))
}

impl NotesFold {
    /// Counts the notes that one cell or judgment carries, and it once for each kind of them.
    fn count(&mut self, notes: &[Note], sample: &str, of_judgment: bool) {
        for (at, note) in notes.iter().enumerate() {
            let kind = self.kinds.entry(note.kind).or_insert_with(|| NoteCount {
                kind: note.kind,
                cells: 0,
                judgments: 0,
                times: 0,
                example: excerpt(&note.text, 200),
                sample: sample.to_owned(),
            });
            let is_first = notes[..at].iter().all(|earlier| earlier.kind != note.kind);
            let carriers = if of_judgment { &mut kind.judgments } else { &mut kind.cells };
            *carriers += u64::from(is_first);
            kind.times += u64::from(note.count);
        }
    }
}

impl Analysis for NotesFold {
    fn cell(&mut self, cell: &ScoredCell<'_>) {
        let sample = &cell.row.sample.id;
        self.count(&cell.row.cell.notes, sample, false);
        for judgment in cell.row.judgments {
            self.count(&judgment.notes, sample, true);
            if let Some(rung) = &judgment.rung {
                *self.rungs.entry(rung.clone()).or_default() += 1;
            }
        }
    }

    fn finish(self: Box<Self>, _: &Setting<'_>) -> Outcome {
        Outcome::Notes(Notes { kinds: self.kinds.into_values().collect(), rungs: self.rungs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-20: who carries two notes of a kind is one of those that carry it.
    #[test]
    fn carriers_are_counted_once() {
        let note = |kind, count| Note { kind, count, text: "t".to_owned() };
        let mut fold = NotesFold::default();
        fold.count(
            &[note(NoteKind::Unmetered, 1), note(NoteKind::Unmetered, 2), note(NoteKind::Breach, 1)],
            "a",
            false,
        );
        fold.count(&[note(NoteKind::Unmetered, 1)], "b", false);
        fold.count(&vec![note(NoteKind::Unmetered, 1); 2], "b", true);
        let counted = |kind| (fold.kinds[&kind].cells, fold.kinds[&kind].judgments, fold.kinds[&kind].times);
        assert_eq!((counted(NoteKind::Unmetered), counted(NoteKind::Breach)), ((2, 1, 6), (1, 0, 1)));
    }
}

//! `notes`: counts truncated replies, dropped chunks, lenient parses and the like.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, Note, NoteKind, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, excerpt, options};

/// Notes of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteCount {
    /// The kind.
    pub kind: NoteKind,
    /// Number of cells with such a note.
    pub cells: u64,
    /// Number of judgments with such a note.
    pub judgments: u64,
    /// Total number of occurrences: chunks dropped, replies truncated, …
    pub times: u64,
    /// Text of the first such note in plan order.
    pub example: String,
    /// The sample of that note.
    pub sample: String,
    /// The cell of that note, by its ordinal in the plan.
    pub cell: u64,
}

/// Notes that every report must show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Notes {
    /// By kind.
    pub kinds: Vec<NoteCount>,
    /// Number of judges' replies by the rung of the JSON ladder that parsed them.
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
    /// Counts the notes of one cell or judgment, and the carrier once for each kind.
    fn count(&mut self, notes: &[Note], (sample, cell): (&str, u64), of_judgment: bool) {
        for (at, note) in notes.iter().enumerate() {
            let kind = self.kinds.entry(note.kind).or_insert_with(|| NoteCount {
                kind: note.kind,
                cells: 0,
                judgments: 0,
                times: 0,
                example: excerpt(&note.text, 200),
                sample: sample.to_owned(),
                cell,
            });
            let is_first = notes[..at].iter().all(|earlier| earlier.kind != note.kind);
            let carriers = if of_judgment { &mut kind.judgments } else { &mut kind.cells };
            *carriers += u64::from(is_first);
            kind.times += u64::from(note.count);
        }
    }
}

impl Analysis for NotesFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let place = (&*cell.row.sample.id, cell.row.cell.ordinal);
        self.count(&cell.row.cell.notes, place, false);
        for judgment in cell.row.judgments {
            self.count(&judgment.notes, place, true);
            if let Some(rung) = &judgment.rung {
                *self.rungs.entry(rung.clone()).or_default() += 1;
            }
        }
    }

    fn finish(self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        Outcome::Notes(Notes { kinds: self.kinds.into_values().collect(), rungs: self.rungs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-20: a carrier of two notes of a kind counts once.
    #[test]
    fn carriers_are_counted_once() {
        let note = |kind, count| Note { kind, count, text: "t".to_owned() };
        let mut fold = NotesFold::default();
        fold.count(
            &[note(NoteKind::Unmetered, 1), note(NoteKind::Unmetered, 2), note(NoteKind::Breach, 1)],
            ("a", 3),
            false,
        );
        fold.count(&[note(NoteKind::Unmetered, 1)], ("b", 4), false);
        fold.count(&vec![note(NoteKind::Unmetered, 1); 2], ("b", 4), true);
        let counted = |kind| (fold.kinds[&kind].cells, fold.kinds[&kind].judgments, fold.kinds[&kind].times);
        assert_eq!((counted(NoteKind::Unmetered), counted(NoteKind::Breach)), ((2, 1, 6), (1, 0, 1)));
        assert_eq!(fold.kinds[&NoteKind::Unmetered].cell, 3);
    }
}

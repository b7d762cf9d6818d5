//! The cells worth reading: those that failed, on which judges disagree, that moved, and the lowest.

use std::collections::{BTreeMap, BTreeSet};

use karat_analysis::{CellScores, DeltaAxis, Outcome};
use karat_types::CellStatus;

use crate::outputs::select::{FailureKind, Ranked, Selection, Thresholds, keep_worst, select};
use crate::shared::figures;
use crate::shared::report::{RenderError, Report};

/// Number of cells shown because judges disagree, and because they moved.
const EACH: usize = 20;

/// Number of cells shown because their score is the lowest.
const LOWEST: usize = 6;

/// The chosen cells and the reason for each.
pub(super) struct Chosen<'a> {
    pub selection: Selection<'a>,
    why: BTreeMap<u64, &'static str>,
}

impl<'a> Chosen<'a> {
    /// Returns the reason why a cell is worth reading.
    pub fn why(&self, ordinal: u64) -> Option<&'static str> {
        self.why.get(&ordinal).copied()
    }

    /// Returns the thresholds below which a score is low.
    pub fn selection_thresholds(&self) -> &Thresholds<'a> {
        &self.selection.thresholds
    }
}

/// Chooses at most `most` cells, and at most as many as are asked for.
pub(super) fn cells(report: Report<'_>, most: usize) -> Result<Chosen<'_>, RenderError> {
    match report.context.outputs.shown {
        Some(shown) => {
            let mut selection = select(report, shown)?;
            selection.ordinals.truncate(most);
            Ok(Chosen { selection, why: BTreeMap::new() })
        }
        None => worth_reading(report, report.context.outputs.cells.min(most)),
    }
}

/// Chooses in one pass over the rows.
fn worth_reading(report: Report<'_>, limit: usize) -> Result<Chosen<'_>, RenderError> {
    let (flagged, moved_samples) = (flagged_cells(report), moved_samples(report));
    let thresholds = Thresholds::of(report);
    let mut selection = Selection { ordinals: Vec::new(), failed: 0, of: 0, asked: 0, thresholds };
    let mut failed: Vec<Ranked> = Vec::new();
    let (mut disputed, mut moved): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut lowest: Vec<(f64, u64)> = Vec::new();
    report.cells().each_row(|row| {
        if row.cell.status == CellStatus::Skipped {
            return Ok(());
        }
        selection.of += 1;
        let ordinal = row.cell.ordinal;
        let scores = CellScores::of(&report.findings.plan, &row);
        if let Some((kind, severity)) = selection.thresholds.failure(&row, &scores) {
            selection.failed += 1;
            failed.push((kind, severity, ordinal));
            if failed.len() >= 2 * limit.max(64) {
                keep_worst(&mut failed, limit);
            }
        } else if flagged.contains(&ordinal) && disputed.len() < EACH {
            disputed.push(ordinal);
        } else if moved_samples.contains(&row.sample.id) && moved.len() < EACH {
            moved.push(ordinal);
        } else if let Some(value) =
            report.primary().and_then(|(at, metric)| figures::goodness(metric, scores.number(at)?))
        {
            // A full mark is not worth reading.
            if value < 1.0 {
                lowest.push((value, ordinal));
            }
            if lowest.len() >= 256 {
                keep_lowest(&mut lowest);
            }
        }
        Ok(())
    })?;
    keep_worst(&mut failed, limit);
    keep_lowest(&mut lowest);
    let mut why = BTreeMap::new();
    let because = |kind: FailureKind| match kind {
        FailureKind::Low => "A score is below its threshold.",
        FailureKind::Error => "There is no output.",
        FailureKind::Unscored => "A scorer failed.",
    };
    let failed = failed.into_iter().map(|(kind, _, ordinal)| (ordinal, because(kind)));
    let disputed = disputed.into_iter().map(|ordinal| (ordinal, "The judges disagree."));
    let moved = moved.into_iter().map(|ordinal| (ordinal, "It moved since the baseline."));
    let lowest = lowest.into_iter().map(|(_, ordinal)| (ordinal, "One of the lowest scores."));
    for (ordinal, reason) in failed.chain(disputed).chain(moved).chain(lowest).take(limit) {
        selection.ordinals.push(ordinal);
        why.insert(ordinal, reason);
    }
    selection.asked = selection.ordinals.len() as u64;
    Ok(Chosen { selection, why })
}

fn keep_lowest(lowest: &mut Vec<(f64, u64)>) {
    lowest.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    lowest.truncate(LOWEST);
}

/// The cells on which judges disagree.
fn flagged_cells(report: Report<'_>) -> BTreeSet<u64> {
    let grading = report.findings.analyses.iter().filter_map(|it| match &it.outcome {
        Outcome::Grading(found) => Some(found),
        _ => None,
    });
    grading.flat_map(|found| found.flagged.iter().map(|cell| cell.ordinal)).collect()
}

/// The samples that moved since the baseline.
fn moved_samples(report: Report<'_>) -> BTreeSet<String> {
    let since = report.findings.deltas().filter(|delta| delta.over == DeltaAxis::Baseline);
    let movers = since.flat_map(|delta| delta.comparisons.iter().flat_map(|it| it.movers.iter()));
    movers.map(|mover| mover.sample.clone()).collect()
}

//! The cells that are shown with their texts.

use karat_analysis::{CellScores, shortfall_severity};
use karat_types::{CellRow, CellStatus, MetricSpec, Score};

use crate::shared::report::{RenderError, Report, ShownOutputs};

/// Thresholds of the failure analysis, by metric index.
pub(crate) struct Thresholds<'a>(Vec<Option<(&'a MetricSpec, f64)>>);

/// The kind of a failure, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureKind {
    /// A score is below its threshold.
    Low,
    /// There is no output.
    Error,
    /// A scorer failed.
    Unscored,
}

impl<'a> Thresholds<'a> {
    pub(crate) fn of(report: Report<'a>) -> Self {
        let below = report.findings.failures().map(|failures| &failures.below);
        let limit = |metric: &'a MetricSpec| Some((metric, *below?.get(&metric.name)?));
        Self(report.findings.plan.metrics.iter().map(limit).collect())
    }

    /// Returns how far a score is below its threshold, from 0 to 1, or `None` if it is not.
    pub(crate) fn shortfall(&self, metric: usize, value: f64) -> Option<f64> {
        let (spec, limit) = self.0.get(metric)?.as_ref()?;
        shortfall_severity(spec, value, *limit)
    }

    /// Returns the kind of a cell's failure and its severity, or `None` if the cell did not fail.
    pub(crate) fn failure(&self, row: &CellRow<'_>, scores: &CellScores) -> Option<(FailureKind, f64)> {
        match row.cell.status {
            CellStatus::Error => return Some((FailureKind::Error, 0.0)),
            CellStatus::Skipped => return None,
            CellStatus::Ok => {}
        }
        let low = (0..self.0.len()).filter_map(|at| self.shortfall(at, scores.number(at)?)).max_by(f64::total_cmp);
        let unscored = || scores.scores.iter().flatten().any(|score| matches!(score, Score::Unscored { .. }));
        low.map(|severity| (FailureKind::Low, severity)).or_else(|| unscored().then_some((FailureKind::Unscored, 0.0)))
    }
}

/// The chosen cells of a run.
pub(crate) struct Selection<'a> {
    /// Their places in the plan, in the order in which they are shown.
    pub(crate) ordinals: Vec<u64>,
    /// Number of cells that failed.
    pub(crate) failed: u64,
    /// Number of all cells that were not skipped.
    pub(crate) of: u64,
    /// Number of cells that were asked for.
    pub(crate) asked: u64,
    pub(crate) thresholds: Thresholds<'a>,
}

/// A failed cell: kind, severity and place.
pub(crate) type Ranked = (FailureKind, f64, u64);

/// Chooses cells in one pass: the worst failed ones, then the first of the others if all are asked for.
pub(crate) fn select<'a>(report: Report<'a>, shown: ShownOutputs) -> Result<Selection<'a>, RenderError> {
    let thresholds = Thresholds::of(report);
    let mut selection = Selection { ordinals: Vec::new(), failed: 0, of: 0, asked: 0, thresholds };
    if shown == ShownOutputs::None {
        return Ok(selection);
    }
    let limit = report.context.outputs.cells;
    let (mut failed, mut others): (Vec<Ranked>, Vec<u64>) = (Vec::new(), Vec::new());
    report.cells().each_row(|row| {
        // A skipped cell has nothing to show.
        if row.cell.status == CellStatus::Skipped {
            return Ok(());
        }
        selection.of += 1;
        let scores = CellScores::of(&report.findings.plan, &row);
        match selection.thresholds.failure(&row, &scores) {
            Some((kind, severity)) => {
                selection.failed += 1;
                failed.push((kind, severity, row.cell.ordinal));
                if failed.len() >= 2 * limit.max(64) {
                    keep_worst(&mut failed, limit);
                }
            }
            None if others.len() < limit => others.push(row.cell.ordinal),
            None => {}
        }
        Ok(())
    })?;
    keep_worst(&mut failed, limit);
    selection.ordinals = failed.into_iter().map(|(_, _, ordinal)| ordinal).collect();
    selection.asked = selection.failed;
    if shown == ShownOutputs::All {
        selection.asked = selection.of;
        others.truncate(limit - selection.ordinals.len());
        selection.ordinals.append(&mut others);
        // Where nothing is left out, the order of the dataset is the one that a reader expects.
        if selection.of <= limit as u64 {
            selection.ordinals.sort_unstable();
        }
    }
    Ok(selection)
}

/// Keeps the worst, ties in plan order.
pub(crate) fn keep_worst(failed: &mut Vec<Ranked>, limit: usize) {
    failed.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    failed.truncate(limit);
}

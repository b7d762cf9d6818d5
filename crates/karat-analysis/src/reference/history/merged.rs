//! The merged grade of several judges.

use std::collections::BTreeSet;

use karat_types::{ConsensusMethod, PlanHeader, ScorerKind};

use super::{GradeRow, GradedMetric, mean};
use crate::score::instrument::served_models::{NamesByAsked, joined_names, merge_names};

/// The merged row of several judges with the given figures.
pub(super) fn merge_judges(figures: GradeRow, rows: &[GradeRow]) -> GradeRow {
    let names = |of: fn(&GradeRow) -> Option<&String>| joined_names(rows.iter().filter_map(of).map(String::as_str));
    let caps: BTreeSet<&String> = rows.iter().flat_map(|row| &row.caps).collect();
    let mut answered_as = NamesByAsked::new();
    rows.iter().for_each(|row| merge_names(&row.answered_as, &mut answered_as));
    GradeRow {
        judge: names(|row| row.judge.as_ref()),
        judge_model: names(|row| row.judge_model.as_ref()),
        prompt_version: names(|row| row.prompt_version.as_ref()),
        // The merged grade is as old as the oldest of its parts.
        made_at: rows.iter().map(|row| row.made_at).min().unwrap_or(figures.made_at),
        notes: rows
            .iter()
            .map(|row| row.notes.as_str())
            .filter(|notes| !notes.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        caps: caps.into_iter().cloned().collect(),
        answered_as,
        ..figures
    }
}

/// Returns true if the grades of several judges are merged by their mean without weights.
pub(super) fn is_plain_mean(plan: &PlanHeader, graded: &GradedMetric) -> bool {
    let kind = plan.scorers.get(graded.scorer).map(|scorer| &scorer.kind);
    matches!(kind, Some(ScorerKind::Rubric(it)) if it.consensus.method == ConsensusMethod::Mean && it.consensus.weights.is_empty())
}

/// The means of the figures that judges gave before caps, in the dimensions in which a cap lowered any of them.
pub(super) fn mean_before_caps(rows: &[GradeRow]) -> Vec<(String, f64)> {
    let lowered: BTreeSet<&String> = rows.iter().flat_map(|row| row.before_caps.iter().map(|(name, _)| name)).collect();
    let given = |row: &GradeRow, name: &String| {
        let figures = row.before_caps.iter().chain(&row.axes);
        figures.into_iter().find(|(axis, _)| axis == name).map_or(row.composite, |(_, value)| *value)
    };
    let before = |name: &String| mean(&rows.iter().map(|row| given(row, name)).collect::<Vec<f64>>());
    lowered.into_iter().map(|name| (name.clone(), before(name))).collect()
}

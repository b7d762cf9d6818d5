//! The figures that judges gave before caps lowered them.

use karat_types::{Cap, JudgmentRecord, PlanHeader, Score, ScorerKind};

use super::GradedMetric;

/// The figures that a judge gave and a cap lowered, by dimension; the composite stands under its own name.
pub(super) fn figures_before_caps(
    plan: &PlanHeader,
    graded: &GradedMetric,
    judgment: &JudgmentRecord,
) -> Vec<(String, f64)> {
    let Some(ScorerKind::Rubric(scorer)) = plan.scorers.get(graded.scorer).map(|scorer| &scorer.kind) else {
        return Vec::new();
    };
    let held = |id: &String| scorer.rubric.caps.iter().find(|cap| cap.id == *id);
    let caps: Vec<&Cap> = judgment.caps.iter().filter_map(held).collect();
    let composite = scorer.rubric.overall.as_ref().map(|overall| (overall.id.clone(), graded.metric));
    let figures = graded.axes.iter().cloned().chain(composite);
    let before = figures.filter_map(|(name, metric)| {
        let (_, score) = judgment.scores.iter().find(|(at, _)| usize::from(*at) == metric)?;
        let Score::Value { value, reason: Some(reason), .. } = score else { return None };
        let given =
            caps.iter().filter(|cap| cap.max.get(&name) == Some(value)).find_map(|cap| cap.lowered_from(reason))?;
        (given > *value).then_some((name, given))
    });
    before.collect()
}

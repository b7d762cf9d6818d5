//! Pass/fail checks: a bound turns a score into 0 or 1, and `pass` is 1 if all checks of a cell pass.

use std::ops::ControlFlow;
use std::sync::Arc;

use karat_types::{MetricSpec, PlanHeader, RowError, RunRows, Score, ScorerSpec};

/// Returns the plan with `verdicts` cleared for scorers that return numbers. A scorer that may return either is
/// classified by its first score; if it returns numbers, its failures leave no `pass` open.
///
/// # Errors
/// Rows that cannot be read.
pub fn resolve_checks(rows: &dyn RunRows) -> Result<Arc<PlanHeader>, RowError> {
    let mut plan = rows.header().plan.clone();
    if has_known_checks(&plan) {
        return Ok(plan);
    }
    let mut open: Vec<usize> =
        (0..plan.metrics.len()).filter(|at| plan.metrics.get(*at).is_some_and(may_be_check)).collect();
    let mut numbers = Vec::new();
    rows.for_each(&mut |row| {
        for (metric, score) in row.cell.scores.iter().filter(|(_, score)| score.number().is_some()) {
            let metric = usize::from(*metric);
            if let Some(place) = open.iter().position(|at| *at == metric) {
                open.swap_remove(place);
                numbers.extend((!score.is_verdict()).then_some(metric));
            }
        }
        if open.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if !numbers.is_empty() {
        let metrics = Arc::make_mut(&mut plan).metrics.iter_mut().enumerate();
        metrics.filter(|(at, _)| numbers.contains(at)).for_each(|(_, metric)| metric.verdicts = false);
    }
    Ok(plan)
}

/// Returns true if the plan alone determines which metrics are checks, or no metric depends on it.
pub(crate) fn has_known_checks(plan: &PlanHeader) -> bool {
    plan.pass().is_none() || !plan.metrics.iter().any(may_be_check)
}

fn may_be_check(metric: &MetricSpec) -> bool {
    metric.verdicts && !metric.binary
}

/// Applies the bounds of the plan's metrics to the scores of a cell, and fills in `pass`.
pub(crate) fn apply_bounds(plan: &PlanHeader, scores: &mut [Option<Score>]) {
    for (metric, score) in plan.metrics.iter().zip(scores.iter_mut()) {
        if let (true, Some(Score::Value { value, .. })) = (metric.bound.is_some(), &*score) {
            *score = Some(bound_score(metric, *value));
        }
    }
    if let Some(at) = plan.pass() {
        let others = plan.metrics.iter().zip(&*scores).enumerate().filter(|(other, _)| *other != at);
        // A cascade's judges do not grade every cell.
        let is_cascaded = |metric: &MetricSpec| plan.scorers.get(metric.scorer).is_some_and(ScorerSpec::is_in_cascade);
        let others = others.map(|(_, it)| it).filter(|(metric, _)| !is_cascaded(metric));
        let decisive: Vec<_> = others.filter(|(metric, score)| decides(metric, score)).collect();
        let all = pass_score(&decisive);
        if let Some(place) = scores.get_mut(at) {
            *place = all;
        }
    }
}

/// Returns true if the score is a check, or would be one if it had not failed.
fn decides(metric: &MetricSpec, score: &Option<Score>) -> bool {
    match score {
        _ if metric.binary => true,
        Some(Score::Value { verdict, .. }) => *verdict,
        _ => metric.verdicts,
    }
}

/// 1 if the bound holds, else 0, with the value as the reason: a reader of `count` wants the count. What is 1 or 0 already has
/// no other value to tell.
fn bound_score(metric: &MetricSpec, value: f64) -> Score {
    let is_told = metric.bound.min.is_some() || metric.bound.max.is_some();
    match metric.bound.passes(value) {
        true if is_told => Score::value_because(1.0, format!("it is {value}")),
        true => Score::value(1.0),
        false => Score::value_because(0.0, format!("it is {value}")),
    }
}

/// 0 if any check fails, with their names; else *unscored* if any is unscored; else 1. `None` if a score is still
/// missing; not applicable if no check applies.
fn pass_score(scores: &[(&MetricSpec, &Option<Score>)]) -> Option<Score> {
    let (mut failed, mut unscored, mut applies, mut open) = (Vec::new(), None, false, false);
    for (metric, score) in scores {
        match score {
            None => open = true,
            Some(Score::NotApplicable { .. }) => {}
            Some(Score::Unscored { unscored: why }) => unscored = unscored.or(Some(format!("{}: {why}", metric.name))),
            Some(Score::Value { value, .. }) => {
                applies = true;
                failed.extend((*value < 1.0).then_some(metric.name.as_str()));
            }
        }
    }
    match unscored {
        _ if !failed.is_empty() => Some(Score::value_because(0.0, format!("failed: {}", failed.join(", ")))),
        _ if open => None,
        Some(why) => Some(Score::unscored(why)),
        None if applies => Some(Score::value(1.0)),
        None => Some(Score::not_applicable("no pass/fail score applies")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use karat_types::{Better, Bound};

    fn metric(name: &str, binary: bool, bound: Bound) -> MetricSpec {
        MetricSpec {
            name: name.to_owned(),
            scorer: 0,
            range: None,
            binary,
            verdicts: !binary,
            better: Better::Higher,
            volatile: false,
            aggregate: "mean".to_owned(),
            bound,
            by_words: false,
        }
    }

    fn passed(scores: [Option<Score>; 3]) -> Option<Score> {
        let specs = ["a", "b", "c"].map(|name| metric(name, true, Bound::default()));
        pass_score(&specs.iter().zip(&scores).collect::<Vec<_>>())
    }

    /// F64: a count that passes its bound is told, as one that fails it.
    #[test]
    fn a_bound_makes_a_score_pass_or_fail_and_keeps_its_number() {
        let slow = metric("slow", true, Bound { max: Some(3000.0), ..Bound::default() });
        assert_eq!(bound_score(&slow, 12.0), Score::value_because(1.0, "it is 12"));
        let not = metric("not", true, Bound { not: true, ..Bound::default() });
        assert_eq!(bound_score(&not, 0.0), Score::value(1.0));
        assert_eq!(bound_score(&slow, 4000.5), Score::value_because(0.0, "it is 4000.5"));
    }

    #[test]
    fn all_checks_must_hold() {
        let (one, zero) = (|| Some(Score::value(1.0)), || Some(Score::value(0.0)));
        let (na, unscored) = (|| Some(Score::not_applicable("x")), || Some(Score::unscored("no JSON")));
        assert_eq!(passed([one(), na(), one()]), one());
        assert_eq!(passed([zero(), unscored(), zero()]), Some(Score::value_because(0.0, "failed: a, c")));
        assert_eq!(passed([one(), unscored(), one()]), Some(Score::unscored("b: no JSON")));
        assert_eq!(passed([one(), None, one()]), None);
        assert!(matches!(passed([na(), na(), na()]), Some(Score::NotApplicable { .. })));
    }

    /// BY-15: an unscored cell of a program that returns numbers leaves no `pass` open; a failing check does.
    #[test]
    fn numbers_are_not_checks() {
        let run = |first: Score| {
            let mut run = crate::testing::Sketch::new(1, 1, 2).fill(5.0).run();
            let mut plan = (*run.header.plan).clone();
            let other = |name: &str, binary, scorer| MetricSpec { scorer, ..metric(name, binary, Bound::default()) };
            plan.metrics = vec![other("tone", false, 0), other("hit", true, 0), other("pass", true, 9)];
            run.header.plan = plan.into();
            let (one, failed) = (|| Score::verdict(true), Score::unscored("the program ended"));
            run.cells[0].cell.scores = vec![(0, first), (1, one())];
            run.cells[1].cell.scores = vec![(0, failed), (1, one())];
            run
        };
        let passes = |first: Score| {
            let found = crate::analyse(&run(first), &crate::Options::default()).unwrap();
            let pass = &found.run.metrics[2];
            (pass.value(), pass.n(), pass.n_unscored())
        };
        assert_eq!(passes(Score::value(0.3)), (Some(1.0), 2, 0));
        assert_eq!(passes(Score::verdict(true)), (Some(1.0), 1, 1));
    }
}

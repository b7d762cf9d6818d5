//! The confidence level of each decision by interval, so that all of them together keep the policy's.
//!
//! A case's p-value is the α at which its own interval of level 1 − α touches the threshold, so p-value and interval
//! cannot disagree, whatever the method. Cases that compare the same values with the same threshold count as one. Over
//! the m cases decided by interval, with p ascending:
//!
//! - Holm: the j-th is decided while p₍ⱼ₎ ≤ α/(m − j + 1), at level 1 − α/(m − j + 1). From the first that is not, all
//!   are undecided and show that level.
//! - Benjamini–Hochberg: with R the largest j with p₍ⱼ₎ ≤ jα/m, the first R are decided; all show the level
//!   1 − α·max(R, 1)/m (intervals with false coverage rate α, Benjamini & Yekutieli 2005).
//! - none: all at level 1 − α.

use karat_stats::interval::Level;
use karat_types::{Correction, Gate, GateBasis, GateReference, Policy, RunRows};

use super::References;
use super::case::{GateCase, Target, gate_cases};
use super::decision::bound;
use super::evidence::{Basis, GateContext};
use super::scope::Scope;
use crate::AnalysisError;
use crate::figures::contrast::GatedChange;
use crate::figures::looks::Look;
use crate::findings::Findings;

/// The level of each case; the policy's own level for cases decided by their figure.
pub(super) fn levels(context: &GateContext<'_>, cases: &[GateCase<'_>]) -> Vec<Level> {
    correct(context, cases, 0).0
}

/// The level of each case, and the number of different tests. `unread` are cases that are corrected together with these, and
/// whose references are not read; they are taken for the least significant ones.
fn correct(context: &GateContext<'_>, cases: &[GateCase<'_>], unread: usize) -> (Vec<Level>, u64) {
    let alpha = 1.0 - context.policy.confidence;
    let plain = Level::from_alpha(alpha).unwrap_or(Level::P95);
    let mut levels = vec![plain; cases.len()];
    let tests = cases.iter().enumerate().filter_map(|(at, case)| IntervalTest::of(context, at, case));
    let mut tests: Vec<IntervalTest> = tests.collect();
    tests.sort_by(|a, b| a.p.total_cmp(&b.p).then(a.digest.cmp(&b.digest)));
    let questions: Vec<&[IntervalTest]> = tests.chunk_by(IntervalTest::is_same_test).collect();
    let p = questions.iter().filter_map(|same| Some(same.first()?.p));
    let p: Vec<f64> = p.chain(std::iter::repeat_n(1.0, unread)).collect();
    // Half of the error of a run that may stop early is spent on looking at it.
    let is_followed = context.findings.stop.as_deref().is_some_and(|stop| !stop.to_end);
    let left = if is_followed { 0.5 * alpha } else { alpha };
    for (same, alpha) in questions.iter().zip(alphas(&p, left, context.policy.correction)) {
        for test in *same {
            if let (Some(slot), Some(level)) = (levels.get_mut(test.case), Level::from_alpha(alpha / test.look)) {
                *slot = level;
            }
        }
    }
    (levels, p.len() as u64)
}

/// The changes between systems of a run that its gates decide by interval. Gates that cannot be read are left to the
/// decision itself.
///
/// # Errors
/// Unreadable rows.
pub(crate) fn gated_changes(
    findings: &Findings,
    rows: &dyn RunRows,
    gates: &[Gate],
    policy: &Policy,
) -> Result<Vec<GatedChange>, AnalysisError> {
    let by_interval = gates.iter().filter(|gate| gate.decide == GateBasis::Interval);
    let is_within = |gate: &Gate| matches!(gate.against, Some(GateReference::Variant(_) | GateReference::Model(_)));
    if !by_interval.clone().any(is_within) {
        return Ok(Vec::new());
    }
    let gates: Vec<Gate> = by_interval.cloned().collect();
    let scopes = Scope::read(findings, rows, &gates)?;
    let read = gates.iter().zip(&scopes).filter_map(|(gate, scope)| Some((gate, scope.as_ref().ok()?)));
    let cases: Vec<GateCase<'_>> = read.flat_map(|(gate, scope)| gate_cases(findings, gate, scope)).collect();
    let references = References::default();
    let context = GateContext { findings, references: &references, policy, missing: None };
    let unread = cases.iter().filter(|case| case.bound.is_change() && !is_within(case.gate)).count();
    let (levels, tests) = correct(&context, &cases, unread);
    let change = |(case, level): (&GateCase<'_>, Level)| match case.target {
        Target::Metric(metric) => Some(GatedChange { pairs: context.compared_systems(case)?, metric, level, tests }),
        Target::Finding(_) => None,
    };
    Ok(cases.iter().zip(levels).filter_map(change).collect())
}

/// A case that is decided by its interval.
struct IntervalTest {
    case: usize,
    p: f64,
    /// The factor of its p-value, above 1 for a later look.
    look: f64,
    /// Digest of the threshold and the values.
    digest: u64,
}

impl IntervalTest {
    /// `None` if there is no interval, or it decides nothing.
    fn of(context: &GateContext<'_>, at: usize, case: &GateCase<'_>) -> Option<Self> {
        if case.gate.decide != GateBasis::Interval && !context.is_estimated(case) {
            return None;
        }
        let evidence = context.evidence_for(case);
        let threshold = bound(case, evidence.reference).filter(|_| evidence.instrument_change.is_none())?;
        let look = evidence.look.as_ref().map_or(1.0, Look::factor);
        let p = (p_value(&evidence.basis, threshold)? * look).min(1.0);
        Some(Self { case: at, p, look, digest: evidence.basis.digest(threshold) })
    }

    /// Returns true if another case compares the same values with the same threshold, as `pass` does if there is only
    /// one check.
    fn is_same_test(&self, other: &Self) -> bool {
        self.digest == other.digest && self.p.total_cmp(&other.p).is_eq()
    }
}

/// The α of each test, for ascending p-values.
fn alphas(p: &[f64], alpha: f64, correction: Correction) -> Vec<f64> {
    let m = p.len() as f64;
    match correction {
        Correction::None => vec![alpha; p.len()],
        Correction::Holm => {
            let step = |at: usize| alpha / (m - at as f64);
            let first_open = p.iter().enumerate().position(|(at, p)| *p > step(at)).unwrap_or(p.len());
            (0..p.len()).map(|at| step(at.min(first_open))).collect()
        }
        Correction::Bh => {
            let decided = p.iter().enumerate().rposition(|(at, p)| *p <= alpha * (at + 1) as f64 / m);
            vec![alpha * decided.map_or(1, |at| at + 1) as f64 / m; p.len()]
        }
    }
}

/// The α at which the interval touches the threshold; 1 if the figure equals it. `None` without an interval.
pub(super) fn p_value(basis: &Basis, threshold: f64) -> Option<f64> {
    let holds = |alpha: f64| {
        let [lo, hi] = basis.finding_at(Level::from_alpha(alpha)?)?.ends()?;
        Some(lo.is_none_or(|lo| lo <= threshold) && hi.is_none_or(|hi| threshold <= hi))
    };
    if let Basis::Change(test) = basis {
        return test.p_of(threshold).filter(|_| test.open_reason().is_none());
    }
    let least = basis.min_alpha();
    let (mut inside, mut outside) = (least.ln(), 0.0_f64);
    if !holds(least)? {
        return Some(least);
    }
    for _ in 0..60 {
        let middle = 0.5 * (inside + outside);
        match holds(middle.exp()) {
            Some(true) => inside = middle,
            _ => outside = middle,
        }
    }
    Some(inside.exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::measure::Measure;
    use crate::score::observations::Observations;
    use karat_stats::compare::paired_t;

    fn basis(values: &[f64]) -> Basis {
        let mut observed = Observations::default();
        values.iter().enumerate().for_each(|(at, value)| observed.push(*value, 0, at as u32));
        let measure = Measure::of_mean(false, None, Level::P95);
        Basis::Observed(observed, measure)
    }

    #[test]
    fn the_inverted_interval_is_the_t_test() {
        let values = [0.4, -0.1, 0.9, 0.3, 0.2, 0.7, -0.3, 0.5];
        let expected = paired_t(&values, Level::P95).p_two_sided.unwrap();
        assert!((p_value(&basis(&values), 0.0).unwrap() - expected).abs() < 1e-9);
        assert!(p_value(&basis(&values), 0.325).unwrap() > 0.999);
        assert_eq!(p_value(&basis(&[1.0]), 0.0), None);
    }

    #[test]
    fn holm_stops_at_the_first_undecided_metric() {
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(&alphas(&[0.001, 0.03, 0.04], 0.06, Correction::Holm), &[0.02, 0.03, 0.06]));
        assert!(close(&alphas(&[0.001, 0.04, 0.05], 0.06, Correction::Holm), &[0.02, 0.03, 0.03]));
        assert!(close(&alphas(&[0.001, 0.04, 0.5], 0.06, Correction::Bh), &[0.04; 3]));
        assert!(close(&alphas(&[0.9, 0.95], 0.06, Correction::Bh), &[0.03; 2]));
        assert!(alphas(&[], 0.05, Correction::Holm).is_empty());
    }
}

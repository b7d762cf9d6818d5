//! The judge canary: judges a frozen set again and compares the grades with the pinned ones. Because the documents did
//! not change, a shift is the judge's.

use std::collections::BTreeMap;

use karat_stats::compare::{paired_t, sign_flip};
use karat_stats::interval::Level;
use karat_stats::multiplicity::StepRule;
use karat_stats::seed::Seed;
use serde::Serialize;

use crate::figures::finding::Finding;

/// Accepted probability of a false alarm, over all metrics together.
pub const ALPHA: f64 = 0.005;

const PATTERNS: u32 = 10_000;
const SEED: Seed = Seed(1);

/// The result of testing the instrument (judge and rubric).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstrumentStatus {
    /// No metric shifted by more than chance.
    Unchanged,
    /// At least one metric shifted.
    Moved,
    /// There are too few items to detect a shift.
    Unknown,
}

/// The shift of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricShift {
    /// Name of the metric.
    pub metric: String,
    /// Mean of current − pinned, with its 95 % t interval.
    #[serde(flatten)]
    pub change: Finding,
    /// p-value of the sign-flip test.
    pub p: Option<f64>,
    /// p-value after Holm's correction over the metrics.
    pub p_adjusted: Option<f64>,
    /// True if the corrected p-value is at most the accepted probability of a false alarm.
    pub moved: bool,
}

/// The result for a frozen set that was judged again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Canary {
    /// Accepted probability of a false alarm.
    pub alpha: f64,
    /// The overall result.
    pub ruler: InstrumentStatus,
    /// One entry per metric: shifted ones first, then by name.
    pub shifts: Vec<MetricShift>,
}

impl Canary {
    /// Tests pairs of (pinned, current) grades, by metric, for a shift. `None` without a pair.
    ///
    /// Uses the sign-flip test of the paired differences, exact up to 20 items, at `alpha` after Holm's correction over
    /// the metrics. With n items no p-value is below 2/2ⁿ: if that is above `alpha`, the result is unknown.
    pub fn of(pairs: &BTreeMap<String, Vec<(f64, f64)>>, alpha: f64) -> Option<Self> {
        let tested: Vec<(&String, Finding, Option<f64>)> = pairs
            .iter()
            .filter_map(|(metric, pairs)| {
                let differences: Vec<f64> = pairs.iter().map(|(pinned, now)| now - pinned).collect();
                let t = paired_t(&differences, Level::P95);
                let change = Finding::point(t.mean?, differences.len(), "paired t")?;
                let change = change.with_interval(t.interval, t.standard_error).mark_degenerate(t.degenerate);
                let p = sign_flip(&differences, PATTERNS, SEED).map(|test| test.p_two_sided);
                Some((metric, change, p.filter(|_| can_tell(differences.len(), alpha))))
            })
            .collect();
        let adjusted = StepRule::Holm.adjust(&tested.iter().map(|(_, _, p)| *p).collect::<Vec<_>>());
        let shift = |((metric, change, p), p_adjusted): ((&String, Finding, Option<f64>), Option<f64>)| MetricShift {
            metric: metric.clone(),
            change,
            p,
            p_adjusted,
            moved: p_adjusted.is_some_and(|p| p <= alpha),
        };
        let mut shifts: Vec<MetricShift> = tested.into_iter().zip(adjusted).map(shift).collect();
        shifts.sort_by_key(|shift| !shift.moved);
        let ruler = match shifts.first()? {
            first if first.moved => InstrumentStatus::Moved,
            _ if shifts.iter().all(|shift| shift.p.is_none()) => InstrumentStatus::Unknown,
            _ => InstrumentStatus::Unchanged,
        };
        Some(Self { alpha, ruler, shifts })
    }
}

/// Returns true if this many items can reach a p-value of at most `alpha`.
fn can_tell(items: usize, alpha: f64) -> bool {
    2.0 * 0.5_f64.powi(items.try_into().unwrap_or(i32::MAX)) <= alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `items` grades around 3.5, each graded a second time with noise and a shift.
    fn again(items: usize, shift: f64, seed: u64) -> BTreeMap<String, Vec<(f64, f64)>> {
        let mut state = seed;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut noise = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut grades = |shift: f64| -> Vec<(f64, f64)> {
            let mut pair = || {
                let pinned = 3.5 + 0.5 * noise();
                (pinned, pinned + shift + 0.8 * noise())
            };
            (0..items).map(|_| pair()).collect()
        };
        BTreeMap::from([("q.clarity".to_owned(), grades(0.0)), ("q.depth".to_owned(), grades(shift))])
    }

    /// BY-08: with 60 items a judge that grades half a point higher is detected in most runs, and an unchanged one
    /// raises a false alarm in fewer than one of a hundred.
    #[test]
    fn a_shifted_judge_is_found_and_a_steady_one_is_left_alone() {
        let moved = |shift: f64| -> usize {
            let one = |seed| Canary::of(&again(60, shift, seed), ALPHA).unwrap();
            (0..100).filter(|seed| one(*seed).ruler == InstrumentStatus::Moved).count()
        };
        assert!(moved(0.5) >= 90, "{}", moved(0.5));
        assert!(moved(0.0) <= 2, "{}", moved(0.0));
        let found = Canary::of(&again(60, 0.5, 3), ALPHA).unwrap();
        assert_eq!((found.shifts[0].metric.as_str(), found.shifts[1].moved), ("q.depth", false));
    }

    /// BY-08: few items give no result; equal grades are no drift, an equal shift of all is.
    #[test]
    fn few_items_say_nothing() {
        let all = |items: usize, shift: f64| BTreeMap::from([("q".to_owned(), vec![(3.0, 3.0 + shift); items])]);
        assert_eq!(Canary::of(&all(8, 1.0), ALPHA).unwrap().ruler, InstrumentStatus::Unknown);
        assert_eq!(Canary::of(&all(9, 1.0), ALPHA).unwrap().ruler, InstrumentStatus::Moved);
        assert_eq!(Canary::of(&all(9, 0.0), ALPHA).unwrap().ruler, InstrumentStatus::Unchanged);
        assert!(Canary::of(&BTreeMap::new(), ALPHA).is_none());
    }
}

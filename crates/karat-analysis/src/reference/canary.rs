//! The judge canary: judges a frozen set again and compares the grades with the pinned ones. Because the documents did
//! not change, a shift is the judge's.

use std::collections::BTreeMap;

use karat_stats::compare::multiplicity::{StepRule, local_levels};
use karat_stats::compare::{paired_t, sign_flip_exact, sign_flip_interval};
use karat_stats::interval::Level;
use serde::Serialize;

use crate::figures::finding::Finding;

/// Accepted probability of a false alarm, over all metrics together.
pub const ALPHA: f64 = 0.005;

/// Up to this many items the sign-flip test decides, beyond it the paired t test.
const SIGN_FLIP_UP_TO: usize = 20;

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
    /// Another judge graded the set than the pinned one, so the shifts do not test the pinned judge.
    OtherJudge,
}

/// The shift of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricShift {
    /// Name of the metric.
    pub metric: String,
    /// Mean of current − pinned. Its interval has the level at which Holm's procedure decided this metric, and belongs to
    /// the same test: it excludes 0 exactly if the metric shifted.
    #[serde(flatten)]
    pub change: Finding,
    /// p-value of the test.
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
    #[serde(rename = "ruler")]
    pub instrument: InstrumentStatus,
    /// One entry per metric: shifted ones first, then by name.
    pub shifts: Vec<MetricShift>,
}

impl Canary {
    /// Tests pairs of (pinned, current) grades, by metric, for a shift. `None` without a pair.
    ///
    /// Uses the exact sign-flip test of the paired differences up to 20 items, else the paired t test, at `alpha` after
    /// Holm's correction over the metrics. With n items the sign-flip test has no p-value below 2/2ⁿ: if that is above
    /// `alpha`, the result is unknown.
    pub fn of(pairs: &BTreeMap<String, Vec<(f64, f64)>>, alpha: f64) -> Option<Self> {
        let differences = |pairs: &Vec<(f64, f64)>| pairs.iter().map(|(pinned, now)| now - pinned).collect();
        let tests = pairs.iter().map(|(metric, pairs)| (metric, ShiftTest { differences: differences(pairs) }));
        let tests: Vec<(&String, ShiftTest)> = tests.collect();
        let p_values: Vec<Option<f64>> = tests.iter().map(|(_, test)| test.p(alpha)).collect();
        let (adjusted, levels) = (StepRule::Holm.adjust(&p_values), local_levels(&p_values, StepRule::Holm, alpha));
        let decided = tests.iter().zip(p_values).zip(adjusted.into_iter().zip(levels));
        let shifts = decided.filter_map(|(((metric, test), p), (p_adjusted, level))| {
            Some(MetricShift {
                metric: (*metric).clone(),
                change: test.change(Level::from_alpha(level)?)?,
                p,
                p_adjusted,
                moved: p_adjusted.is_some_and(|p| p <= alpha),
            })
        });
        let mut shifts: Vec<MetricShift> = shifts.collect();
        shifts.sort_by_key(|shift| !shift.moved);
        let instrument = match shifts.first()? {
            first if first.moved => InstrumentStatus::Moved,
            _ if shifts.iter().all(|shift| shift.p.is_none()) => InstrumentStatus::Unknown,
            _ => InstrumentStatus::Unchanged,
        };
        Some(Self { alpha, instrument, shifts })
    }

    /// The same shifts, found by another judge than the pinned one.
    #[must_use]
    pub(crate) fn by_other_judge(self) -> Self {
        Self { instrument: InstrumentStatus::OtherJudge, ..self }
    }
}

/// The test of one metric: the paired differences, current − pinned.
struct ShiftTest {
    differences: Vec<f64>,
}

impl ShiftTest {
    /// True if the sign-flip test decides.
    fn is_sign_flip(&self) -> bool {
        self.differences.len() <= SIGN_FLIP_UP_TO
    }

    /// The p-value; `None` if this many items cannot decide at `alpha`.
    fn p(&self, alpha: f64) -> Option<f64> {
        let p = match self.is_sign_flip() {
            true => sign_flip_exact(&self.differences).map(|test| test.p_two_sided),
            false => paired_t(&self.differences, Level::P95).p_two_sided,
        };
        p.filter(|_| can_tell(self.differences.len(), alpha))
    }

    /// The mean difference with the interval of the test that decides.
    fn change(&self, level: Level) -> Option<Finding> {
        let t = paired_t(&self.differences, level);
        let (name, interval) = match self.is_sign_flip() {
            true => ("sign-flip", sign_flip_interval(&self.differences, level)),
            false => ("paired t", t.interval),
        };
        let change = Finding::point(t.mean?, self.differences.len(), name)?;
        Some(change.with_interval(interval, t.standard_error).mark_degenerate(t.degenerate))
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
    fn a_shifted_judge_is_detected_and_a_steady_one_is_not() {
        let moved = |shift: f64| -> usize {
            let one = |seed| Canary::of(&again(60, shift, seed), ALPHA).unwrap();
            (0..100).filter(|seed| one(*seed).instrument == InstrumentStatus::Moved).count()
        };
        assert!(moved(0.5) >= 90, "{}", moved(0.5));
        assert!(moved(0.0) <= 2, "{}", moved(0.0));
        let found = Canary::of(&again(60, 0.5, 3), ALPHA).unwrap();
        assert_eq!((found.shifts[0].metric.as_str(), found.shifts[1].moved), ("q.depth", false));
    }

    /// BY-08: few items give no result; equal grades are no drift, an equal shift of all is.
    #[test]
    fn few_items_decide_nothing() {
        let all = |items: usize, shift: f64| BTreeMap::from([("q".to_owned(), vec![(3.0, 3.0 + shift); items])]);
        assert_eq!(Canary::of(&all(8, 1.0), ALPHA).unwrap().instrument, InstrumentStatus::Unknown);
        assert_eq!(Canary::of(&all(9, 1.0), ALPHA).unwrap().instrument, InstrumentStatus::Moved);
        assert_eq!(Canary::of(&all(9, 0.0), ALPHA).unwrap().instrument, InstrumentStatus::Unchanged);
        assert!(Canary::of(&BTreeMap::new(), ALPHA).is_none());
    }

    /// BY-08: the interval of each metric excludes 0 exactly if the metric shifted, with few and with many items.
    #[test]
    fn interval_and_verdict_agree() {
        for (items, shift, seed) in [(12, 0.4, 60), (12, 0.9, 61), (20, 0.5, 62), (44, 0.3, 63), (60, 0.35, 64)] {
            for seed in (0..20).map(|round| 100 * round + seed) {
                let found = Canary::of(&again(items, shift, seed), ALPHA).unwrap();
                for it in &found.shifts {
                    let excludes = it.change.interval().is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0);
                    assert_eq!(excludes, it.moved, "{items} items, seed {seed}: {it:?}");
                }
            }
        }
    }
}

//! The judge canary: judges a frozen set again and compares the grades with the pinned ones. Because the documents did
//! not change, a shift is the judge's.

use std::collections::BTreeMap;
use std::fmt;

use karat_stats::compare::multiplicity::{StepRule, local_levels};
use karat_stats::compare::{paired_t, sign_flip_exact, sign_flip_interval};
use karat_stats::describe::Proportion;
use karat_stats::interval::Level;
use serde::Serialize;

use crate::infer::finding::Finding;

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

impl InstrumentStatus {
    /// The result in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unchanged => "grading unchanged",
            Self::Moved => "grading shifted",
            Self::Unknown => "too few items to decide",
            Self::OtherJudge => "another judge than the pinned one",
        }
    }
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

/// Smaller differences are rounding errors: composites have a few decimals, and 4.2 − 3.7 is slightly more than 0.5.
const ROUNDING: f64 = 1e-9;

/// With fewer rises their share is bounded, not estimated.
const RISES_FROM: usize = 3;

/// The chance that a judge that did not change lowers some card of a set by more than `max_drop`. An unchanged judge rises
/// as often as it drops, so the cards that rose by as much say how often it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlarmChance {
    /// Number of cards.
    pub cards: usize,
    /// The largest allowed drop.
    pub max_drop: f64,
    /// Number of cards that dropped by more.
    pub drops: usize,
    /// Number of cards that rose by more.
    pub rises: usize,
    /// The chance, 0 to 1, that some card drops by more: 1 − (1 − p)^cards, where p is the share of cards that rose.
    pub chance: f64,
    /// True if the chance is an upper bound: p is the upper end of the 95 % Clopper-Pearson interval below 3 rises.
    pub is_bound: bool,
}

impl AlarmChance {
    /// The chance by the changes of all cards, current − pinned. `None` without cards.
    pub fn of(changes: &[f64], max_drop: f64) -> Option<Self> {
        let cards = changes.len();
        let beyond = |sign: f64| changes.iter().filter(|change| is_beyond(sign * **change, max_drop)).count();
        let (drops, rises) = (beyond(-1.0), beyond(1.0));
        let is_bound = rises < RISES_FROM;
        let share = match is_bound {
            true => Proportion::new(rises as f64, cards as f64)?.clopper_pearson(Level::P95).hi,
            false => rises as f64 / cards as f64,
        };
        let chance = 1.0 - (1.0 - share).powf(cards as f64);
        Some(Self { cards, max_drop, drops, rises, chance, is_bound })
    }
}

/// `1 of 44 cards dropped by more than 0.5; an unchanged judge does that to some card in 64 % of checks (5 rises in 44
/// cards)`.
impl fmt::Display for AlarmChance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cards, max_drop, drops, rises, chance, is_bound } = self;
        let share = 100.0 * chance;
        let share = match is_bound {
            true => format!("below {:.0}", share.ceil()),
            false if share > 99.0 => "over 99".to_owned(),
            false => format!("{share:.0}"),
        };
        let rises = if *rises == 1 { "1 rise".to_owned() } else { format!("{rises} rises") };
        write!(
            f,
            "{drops} of {cards} cards dropped by more than {max_drop}; an unchanged judge does that to some card in \
             {share} % of checks ({rises} in {cards} cards)"
        )
    }
}

/// Returns true if a change is larger than allowed.
pub(crate) fn is_beyond(change: f64, allowed: f64) -> bool {
    change > allowed + ROUNDING
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

    /// BY-08: few items give no result; equal grades are not drift, an equal shift of all is.
    #[test]
    fn few_items_decide_nothing() {
        let all = |items: usize, shift: f64| BTreeMap::from([("q".to_owned(), vec![(3.0, 3.0 + shift); items])]);
        assert_eq!(Canary::of(&all(8, 1.0), ALPHA).unwrap().instrument, InstrumentStatus::Unknown);
        assert_eq!(Canary::of(&all(9, 1.0), ALPHA).unwrap().instrument, InstrumentStatus::Moved);
        assert_eq!(Canary::of(&all(9, 0.0), ALPHA).unwrap().instrument, InstrumentStatus::Unchanged);
        assert!(Canary::of(&BTreeMap::new(), ALPHA).is_none());
    }

    /// DC-26: the chance that an unchanged judge alarms is read from the cards that rose; below three rises it is a bound.
    #[test]
    fn an_unchanged_judge_alarms_as_often_as_cards_rise() {
        let mut changes = vec![0.0; 220];
        changes[..5].fill(0.75);
        let found = AlarmChance::of(&changes, 0.5).unwrap();
        assert!((found.chance - (1.0 - (1.0_f64 - 5.0 / 220.0).powi(220))).abs() < 1e-12 && !found.is_bound);
        let mut changes = vec![0.1; 44];
        (changes[0], changes[1], changes[2]) = (-0.6, 0.5, 0.6);
        let found = AlarmChance::of(&changes, 0.5).unwrap();
        assert_eq!((found.drops, found.rises, found.is_bound), (1, 1, true));
        let p = Proportion::new(1.0, 44.0).unwrap().clopper_pearson(Level::P95).hi;
        assert!((found.chance - (1.0 - (1.0 - p).powi(44))).abs() < 1e-12);
        assert_eq!(
            found.to_string(),
            "1 of 44 cards dropped by more than 0.5; an unchanged judge does that to some card in below 100 % of checks (1 \
             rise in 44 cards)"
        );
        changes[3..7].fill(0.9);
        let text = AlarmChance::of(&changes, 0.5).unwrap().to_string();
        assert!(text.contains("in over 99 % of checks (5 rises in 44 cards)"), "{text}");
        // A drop of exactly the allowed size is none, also where floats make it slightly larger.
        assert_eq!(AlarmChance::of(&[3.7 - 4.2, 4.7 - 4.2], 0.5).map(|it| (it.drops, it.rises)), Some((0, 0)));
        assert_eq!(AlarmChance::of(&[], 0.5), None);
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

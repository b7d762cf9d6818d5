//! The judge canary: a frozen set that is judged again, held against the grades that were pinned. What moved while the
//! documents stood still is the ruler, not what it measures.

use std::collections::BTreeMap;

use karat_stats::compare::{paired_t, sign_flip};
use karat_stats::interval::Level;
use karat_stats::multiplicity::StepRule;
use karat_stats::seed::Seed;
use serde::Serialize;

use crate::figures::finding::Finding;

/// Share of false alarms that is accepted, over all metrics together.
pub const ALPHA: f64 = 0.005;

const PATTERNS: u32 = 10_000;
const SEED: Seed = Seed(1);

/// What is known of the ruler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstrumentStatus {
    /// No metric moved by more than chance.
    Unchanged,
    /// A metric moved.
    Moved,
    /// The items are too few to tell.
    Unknown,
}

/// How far grades of a metric moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricShift {
    /// Name of the metric.
    pub metric: String,
    /// Mean of now less pinned, with its t interval at 95 %.
    #[serde(flatten)]
    pub change: Finding,
    /// Of the sign-flip test.
    pub p: Option<f64>,
    /// Corrected by Holm over the metrics.
    pub p_adjusted: Option<f64>,
    /// Whether that is beyond chance.
    pub moved: bool,
}

/// A frozen set that was judged again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Canary {
    /// The share of false alarms.
    pub alpha: f64,
    /// What is known of the ruler.
    pub ruler: InstrumentStatus,
    /// By metric, those that moved first, else by name.
    pub shifts: Vec<MetricShift>,
}

impl Canary {
    /// Tests pairs of pinned and present grades, by metric, for a shift. `None` without a pair.
    ///
    /// Sign flips of the paired differences, exact up to 20 items, at `alpha` after Holm over the metrics. With n items no
    /// p-value is below 2/2ⁿ: where that is above `alpha`, nothing can be told.
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

/// Whether so many items can ever be below `alpha`.
fn can_tell(items: usize, alpha: f64) -> bool {
    2.0 * 0.5_f64.powi(items.try_into().unwrap_or(i32::MAX)) <= alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `items` grades around 3.5 that are given again with noise and a shift.
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

    /// BY-08: a judge that grades half a point higher is found by 60 items in most runs, and one that stays the same alarms
    /// in fewer than one run of a hundred.
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

    /// BY-08: few items say nothing; equal grades are no drift, an equal shift of all is.
    #[test]
    fn few_items_say_nothing() {
        let all = |items: usize, shift: f64| BTreeMap::from([("q".to_owned(), vec![(3.0, 3.0 + shift); items])]);
        assert_eq!(Canary::of(&all(8, 1.0), ALPHA).unwrap().ruler, InstrumentStatus::Unknown);
        assert_eq!(Canary::of(&all(9, 1.0), ALPHA).unwrap().ruler, InstrumentStatus::Moved);
        assert_eq!(Canary::of(&all(9, 0.0), ALPHA).unwrap().ruler, InstrumentStatus::Unchanged);
        assert!(Canary::of(&BTreeMap::new(), ALPHA).is_none());
    }
}

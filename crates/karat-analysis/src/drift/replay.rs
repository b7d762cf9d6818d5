//! Simulates planted shifts: the delay until a rule detects a shift of a given size in a series like this one, and its
//! rate of false alarms (BY-11).
//!
//! Each simulated series draws weeks of consecutive days from the given ones with replacement; the shift is added from one
//! day on. So the result reflects the series' own spread and weekly patterns, and most of how alike neighbouring days are.

use karat_stats::describe::median;
use karat_stats::numeric::seed::Seed;
use serde::Serialize;

use super::{DriftOptions, Method, Series, WatchedMetric, Worse, date_of};
use crate::reference::history::Day;

/// Length in days of a series without a shift.
const YEAR: i32 = 365;
/// Number of consecutive days drawn together.
const BLOCK: u32 = 7;
/// Number of days within which a shift must be detected.
const PATIENCE: i32 = 60;

/// The result of the simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayResult {
    /// The method.
    pub method: Method,
    /// Number of simulated series of each kind.
    pub series: u32,
    /// Number of days drawn from.
    pub drawn_from: usize,
    /// The planted shift.
    pub shift: f64,
    /// The direction of a decline; only alarms in this direction count.
    pub worse: Worse,
    /// Share of the shifted series with a detection within 60 days.
    pub found: f64,
    /// Median days from the shift to the first alert, among detections.
    pub median_delay_days: Option<f64>,
    /// Share of the years without a shift that raised an alert.
    pub false_alarm_share_per_year: f64,
    /// Seed of the draws.
    pub seed: u64,
    /// The reason why the figures are unreliable, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Simulates `series` years without a shift and as many series with it. `None` with fewer than two days, or invalid
/// options.
pub fn replay(
    days: &[Day],
    options: &DriftOptions,
    watched: WatchedMetric,
    shift: f64,
    series: u32,
    seed: u64,
) -> Option<ReplayResult> {
    if days.len() < 2 || series == 0 || options.problem().is_some() || !shift.is_finite() {
        return None;
    }
    let values: Vec<f64> = days.iter().map(Day::value).collect();
    let drawn = |at: u32, length: i32| -> Vec<f64> {
        let stream = Seed(seed).derive(u64::from(at));
        (0..length.unsigned_abs())
            .map(|day| {
                let (week, within) = (u64::from(day / BLOCK), u64::from(day % BLOCK));
                let first = stream.derive(week).0 % values.len() as u64;
                values[((first + within) % values.len() as u64) as usize]
            })
            .collect()
    };
    // Alerts count once the baseline is complete.
    let first_alert = |values: &[f64], from: i32| -> Option<i32> {
        let days: Vec<Day> = values.iter().zip(0..).map(|(value, day)| Day::new(date_of(day), *value)).collect();
        let last = i32::try_from(values.len()).unwrap_or(i32::MAX) - 1;
        let opened = Series::new(&days, last, options, watched, &[]).alert_days(last);
        opened.into_iter().find(|day| *day >= from)
    };
    let start = options.long;
    let kept = |value: f64| watched.range.map_or(value, |(low, high)| value.clamp(low, high));
    let delays: Vec<f64> = (0..series)
        .filter_map(|at| {
            let mut values = drawn(at, start + PATIENCE);
            values.iter_mut().skip(start.unsigned_abs() as usize).for_each(|value| *value = kept(*value + shift));
            Some(f64::from(first_alert(&values, start)? - start + 1))
        })
        .collect();
    let false_alarms = (0..series).filter(|at| first_alert(&drawn(series + at, start + YEAR), start).is_some()).count();
    Some(ReplayResult {
        method: options.method,
        series,
        drawn_from: days.len(),
        shift,
        worse: options.worse_of(watched.better),
        found: delays.len() as f64 / f64::from(series),
        median_delay_days: median(&delays),
        false_alarm_share_per_year: false_alarms as f64 / f64::from(series),
        seed,
        warning: thin_data_warning(&values, options),
    })
}

/// The warning about days that are too few or all equal.
fn thin_data_warning(values: &[f64], options: &DriftOptions) -> Option<String> {
    let (n, long) = (values.len(), options.long);
    if values.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq()) {
        return Some(format!(
            "the {n} days that series are drawn from are all equal: such series never raise a false alarm"
        ));
    }
    let is_few = n < long.unsigned_abs() as usize;
    is_few.then(|| {
        format!(
            "the series are drawn from {n} days, fewer than the {long} of the long window: other days may be noisier"
        )
    })
}

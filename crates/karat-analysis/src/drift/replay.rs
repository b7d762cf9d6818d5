//! Simulates planted shifts: the delay until a rule detects a shift of a given size in a series like this one, and its
//! rate of false alarms.
//!
//! Each simulated series draws weeks of consecutive days from the given ones with replacement; the shift is added from one
//! day on. So the result reflects the series' own spread and weekly patterns, and most of how alike neighbouring days are.

use std::fmt;
use std::ops::Range;

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

/// Number of simulated series.
pub const REPLAYS: u32 = 200;
/// Number of days with a score from which quiet years are simulated.
const QUIET_FROM: usize = 60;

/// The false alarms of a rule in years like a series, in which nothing changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuietYears {
    /// The method.
    pub method: Method,
    /// Number of simulated years.
    pub series: u32,
    /// Number of days drawn from.
    pub drawn_from: usize,
    /// Share of the years that raised an alert.
    pub false_alarm_share_per_year: f64,
    /// Seed of the draws.
    pub seed: u64,
}

/// `median_mad: a false alarm in 74 % of quiet years like this series (200 replays)`.
impl fmt::Display for QuietYears {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, share) = (self.method.as_str(), 100.0 * self.false_alarm_share_per_year);
        write!(f, "{method}: a false alarm in {share:.0} % of quiet years like this series ({} replays)", self.series)
    }
}

/// Simulates years without a shift. `None` with fewer than 60 days, or invalid options.
pub fn replay_quiet_years(days: &[Day], options: &DriftOptions, watched: WatchedMetric) -> Option<QuietYears> {
    let replay = Replay { days, options, watched, seed: 1 };
    let is_enough = days.len() >= QUIET_FROM && options.problem().is_none();
    is_enough.then(|| QuietYears {
        method: options.method,
        series: REPLAYS,
        drawn_from: days.len(),
        false_alarm_share_per_year: replay.false_alarm_share(0..REPLAYS),
        seed: 1,
    })
}

/// A series that others are drawn from.
struct Replay<'a> {
    days: &'a [Day],
    options: &'a DriftOptions,
    watched: WatchedMetric,
    seed: u64,
}

impl Replay<'_> {
    /// A series of whole weeks drawn with replacement.
    fn draw(&self, at: u32, length: i32) -> Vec<f64> {
        let stream = Seed(self.seed).derive(u64::from(at));
        let n = self.days.len() as u64;
        let value = |day: u32| {
            let (week, within) = (u64::from(day / BLOCK), u64::from(day % BLOCK));
            self.days.get(((stream.derive(week).0 % n + within) % n) as usize).map(Day::value)
        };
        (0..length.unsigned_abs()).filter_map(value).collect()
    }

    /// The first day of an alert. Alerts count from the day on which the baseline is complete.
    fn first_alert(&self, values: &[f64]) -> Option<i32> {
        let days: Vec<Day> = values.iter().zip(0..).map(|(value, day)| Day::new(date_of(day), *value)).collect();
        let last = i32::try_from(values.len()).unwrap_or(i32::MAX) - 1;
        let opened = Series::new(&days, last, self.options, self.watched, &[]).alert_days(last);
        opened.into_iter().find(|day| *day >= self.options.long)
    }

    /// The share of years without a shift that raise an alert.
    fn false_alarm_share(&self, series: Range<u32>) -> f64 {
        let of = series.len() as f64;
        let year = self.options.long + YEAR;
        series.filter(|at| self.first_alert(&self.draw(*at, year)).is_some()).count() as f64 / of
    }
}

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
    let replay = Replay { days, options, watched, seed };
    let start = options.long;
    let kept = |value: f64| watched.range.map_or(value, |(low, high)| value.clamp(low, high));
    let delays: Vec<f64> = (0..series)
        .filter_map(|at| {
            let mut values = replay.draw(at, start + PATIENCE);
            values.iter_mut().skip(start.unsigned_abs() as usize).for_each(|value| *value = kept(*value + shift));
            Some(f64::from(replay.first_alert(&values)? - start + 1))
        })
        .collect();
    Some(ReplayResult {
        method: options.method,
        series,
        drawn_from: days.len(),
        shift,
        worse: options.worse_of(watched.better),
        found: delays.len() as f64 / f64::from(series),
        median_delay_days: median(&delays),
        false_alarm_share_per_year: replay.false_alarm_share(series..2 * series),
        seed,
        warning: thin_data_warning(&days.iter().map(Day::value).collect::<Vec<f64>>(), options),
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

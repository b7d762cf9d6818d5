//! The daily drift rule: a short median against a long one, scaled by the spread of the long window.

use crate::describe::{median, median_absolute_deviation};
use crate::numeric::input::{InputError, in_domain, is_usable};

/// The relative distance beyond its threshold at which a z still counts as on it.
const NOISE: f64 = 1e-9;

/// A score of one calendar day; `day` counts days from any fixed date.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayScore {
    /// Day number.
    pub day: i32,
    /// The day's score.
    pub score: f64,
}

/// The rule of [`median_mad`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftRule {
    /// Calendar days of the short window.
    pub short_window: i32,
    /// Calendar days of the long window, which includes the short one.
    pub long_window: i32,
    /// A day is bad when z < −`z_threshold`. A z within 1e-9 of the threshold (relative, of thresholds below 1 absolute) is
    /// on it: the differences of scores such as 4.1 and 3.8 are not exact.
    pub z_threshold: f64,
    /// Days checked, and bad days needed for an alert.
    pub streak: usize,
    /// A day with fewer scores in the short window is skipped.
    pub min_short: usize,
    /// A day with fewer scores in the long window is skipped.
    pub min_long: usize,
    /// Smallest scale, in score units.
    pub min_scale: f64,
    /// The windows of earlier check days.
    pub history: History,
}

impl Default for DriftRule {
    /// 7 against 30 days, z < −1.5 on both of the last 2 days, at least 3 and 7 scores, scale ≥ 0.05.
    fn default() -> Self {
        Self {
            short_window: 7,
            long_window: 30,
            z_threshold: 1.5,
            streak: 2,
            min_short: 3,
            min_long: 7,
            min_scale: 0.05,
            history: History::Full,
        }
    }
}

/// The range of the windows of earlier check days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// Each check day has its own full long window.
    Full,
    /// Scores older than the long window of the last day are unknown to all check days, as in a tool
    /// that loads that one window only.
    LastWindow,
}

/// The verdict of [`median_mad`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriftStatus {
    /// The long window of the last day holds no score.
    NoData,
    /// Too few bad days; see [`DriftReport::days`] for days that were skipped.
    Ok,
    /// As many bad days as the streak asks for.
    Alert,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftReport {
    /// The verdict.
    pub status: DriftStatus,
    /// The check days, newest first; empty without data.
    pub days: Vec<DayCheck>,
}

impl DriftReport {
    /// The bad days as reports show them, newest first.
    pub fn alerts(&self) -> Vec<DriftAlert> {
        self.days.iter().filter_map(DayCheck::alert).collect()
    }
}

/// One checked day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayCheck {
    /// Day number.
    pub day: i32,
    /// Scores in the short window.
    pub n_short: usize,
    /// Scores in the long window.
    pub n_long: usize,
    /// The figures; `None` when the day was skipped for too few scores.
    pub figures: Option<DayFigures>,
    /// True if z is below the threshold.
    pub bad: bool,
}

/// The figures of one checked day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayFigures {
    /// Median of the short window.
    pub short_median: f64,
    /// Median of the long window.
    pub long_median: f64,
    /// Median absolute deviation of the long window from its median (raw, not × 1.4826).
    pub mad: f64,
    /// (short − long) / max(MAD, floor).
    pub z: f64,
}

/// A bad day with figures rounded to two decimals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftAlert {
    /// Day number.
    pub day: i32,
    /// Median of the short window.
    pub short_median: f64,
    /// Median of the long window.
    pub long_median: f64,
    /// The z of the day.
    pub z: f64,
}

impl DayCheck {
    fn alert(&self) -> Option<DriftAlert> {
        let figures = self.figures.filter(|_| self.bad)?;
        Some(DriftAlert {
            day: self.day,
            short_median: two_decimals(figures.short_median),
            long_median: two_decimals(figures.long_median),
            z: two_decimals(figures.z),
        })
    }
}

/// Checks the last days of a series up to `as_of`: z = (short median − long median)/max(MAD, floor).
///
/// Windows of k calendar days end on the check day; days without a run are checked on what their
/// windows hold. The rule is one-sided and clears itself once a lasting drop fills the long window:
/// latch the alert. Later scores than `as_of` are ignored.
///
/// ```
/// use karat_stats::drift::{DayScore, DriftRule, DriftStatus, median_mad};
///
/// // Three weeks around 4.2, then a week at 3.4.
/// let score = |day: i32| if day < 21 { 4.2 + 0.1 * f64::from(day % 3 - 1) } else { 3.4 };
/// let days: Vec<DayScore> = (0..28).map(|day| DayScore { day, score: score(day) }).collect();
/// assert_eq!(median_mad(&days, 27, &DriftRule::default())?.status, DriftStatus::Alert);
/// assert_eq!(median_mad(&days, 20, &DriftRule::default())?.status, DriftStatus::Ok);
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
///
/// # Errors
/// Scores that are not finite, windows or a scale that are not positive.
pub fn median_mad(scores: &[DayScore], as_of: i32, rule: &DriftRule) -> Result<DriftReport, InputError> {
    if let Some(index) = scores.iter().position(|score| !is_usable(score.score)) {
        return Err(InputError::NotFinite { name: "daily scores", index });
    }
    let positive = |name, value: f64| in_domain(name, value, "more than 0", value > 0.0);
    positive("short window", f64::from(rule.short_window))?;
    positive("long window", f64::from(rule.long_window))?;
    positive("smallest scale", rule.min_scale)?;
    let oldest = match rule.history {
        History::Full => i32::MIN,
        History::LastWindow => as_of.saturating_sub(rule.long_window - 1),
    };
    let window = |end: i32, length: i32| -> Vec<f64> {
        let start = end.saturating_sub(length - 1).max(oldest);
        let inside = scores.iter().filter(|score| (start..=end).contains(&score.day));
        inside.map(|score| score.score).collect()
    };
    if window(as_of, rule.long_window).is_empty() {
        return Ok(DriftReport { status: DriftStatus::NoData, days: Vec::new() });
    }
    let check_days = (0..=i32::MAX).take(rule.streak).map(|back| as_of.saturating_sub(back));
    let days: Vec<DayCheck> =
        check_days.map(|day| rule.check(day, window(day, rule.short_window), window(day, rule.long_window))).collect();
    let bad = days.iter().filter(|day| day.bad).count();
    let status = if bad >= rule.streak { DriftStatus::Alert } else { DriftStatus::Ok };
    Ok(DriftReport { status, days })
}

impl DriftRule {
    fn check(&self, day: i32, short: Vec<f64>, long: Vec<f64>) -> DayCheck {
        let (n_short, n_long) = (short.len(), long.len());
        let enough = n_short >= self.min_short && n_long >= self.min_long;
        let figures = if enough { self.figures(&short, &long) } else { None };
        DayCheck { day, n_short, n_long, figures, bad: figures.is_some_and(|figures| self.is_bad(figures.z)) }
    }

    fn is_bad(&self, z: f64) -> bool {
        z < -self.z_threshold - NOISE * self.z_threshold.abs().max(1.0)
    }

    fn figures(&self, short: &[f64], long: &[f64]) -> Option<DayFigures> {
        let (short_median, long_median) = (median(short)?, median(long)?);
        let mad = median_absolute_deviation(long)?;
        Some(DayFigures { short_median, long_median, mad, z: (short_median - long_median) / mad.max(self.min_scale) })
    }
}

/// Half-even on the exact binary value, as `{:.2}` and Python's `round(x, 2)` do.
fn two_decimals(value: f64) -> f64 {
    format!("{value:.2}").parse().unwrap_or(value)
}

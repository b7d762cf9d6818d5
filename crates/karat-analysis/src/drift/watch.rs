//! Computes the figures of every day of a series in which low is worse.

use karat_stats::describe::{mean, median, median_absolute_deviation, standard_deviation};
use karat_stats::drift::{Cusum, DayScore, DriftRule, History, cusum, e_detector, median_mad};

use super::options::{DriftOptions, Method};

/// A checked day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CheckedDay {
    pub day: i32,
    pub n_short: usize,
    pub n_long: usize,
    /// `None` with too few scores.
    pub figures: Option<DayFigures>,
}

/// The figures of a day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DayFigures {
    pub short_median: f64,
    pub long_median: f64,
    /// max(MAD of the long window, floor).
    pub scale: f64,
    /// The method's statistic: low is bad.
    pub z: f64,
    pub bad: bool,
}

/// A series, ascending by day, oriented so that low is worse, with the options and the range of its scores.
#[derive(Debug, Clone)]
pub(super) struct SeriesWatch<'a> {
    pub scores: &'a [DayScore],
    pub options: &'a DriftOptions,
    /// Lowest and highest possible score.
    pub range: Option<(f64, f64)>,
}

impl SeriesWatch<'_> {
    /// Width of the range of the scores; 4, as on a scale from 1 to 5, if unbounded.
    fn width(&self) -> f64 {
        self.range.map_or(4.0, |(low, high)| high - low).max(f64::MIN_POSITIVE)
    }

    fn floor(&self) -> f64 {
        self.options.floor.unwrap_or(0.05 * self.width() / 4.0)
    }

    /// The limit beyond which the method's statistic is bad.
    pub fn limit(&self) -> f64 {
        let options = self.options;
        match options.method {
            Method::MedianMad => options.z,
            Method::Cusum => options.h.unwrap_or(6.0),
            Method::EDetector => options.days_between().max(1.0 + 1e-9),
        }
    }

    /// Scores of the window of `length` calendar days that ends on a day.
    fn window(&self, day: i32, length: i32) -> Vec<f64> {
        self.between(day.saturating_sub(length - 1), day)
    }

    /// Scores of the days from one to another.
    pub fn between(&self, first: i32, last: i32) -> Vec<f64> {
        let from = self.scores.partition_point(|score| score.day < first);
        let to = self.scores.partition_point(|score| score.day <= last);
        self.scores.get(from..to).unwrap_or_default().iter().map(|score| score.score).collect()
    }

    /// max(MAD of the long window, floor).
    pub fn scale(&self, day: i32) -> Option<f64> {
        Some(median_absolute_deviation(&self.window(day, self.options.long))?.max(self.floor()))
    }

    /// Returns true if the long window of a day has a score.
    pub fn has_data(&self, day: i32) -> bool {
        !self.window(day, self.options.long).is_empty()
    }

    /// Checks some days. A day depends only on the scores up to it.
    pub fn check(&self, days: &[i32]) -> Vec<CheckedDay> {
        match self.options.method {
            Method::MedianMad => days.iter().map(|day| self.median_mad(*day)).collect(),
            _ => self.chart(days),
        }
    }

    fn median_mad(&self, day: i32) -> CheckedDay {
        let rule = DriftRule {
            short_window: self.options.short,
            long_window: self.options.long,
            z_threshold: self.options.z,
            streak: 1,
            min_short: self.options.min_short,
            min_long: self.options.min_long,
            min_scale: self.floor(),
            history: History::Full,
        };
        let (n_short, n_long) = (self.window(day, self.options.short).len(), self.window(day, self.options.long).len());
        let found = median_mad(self.scores, day, &rule).ok().and_then(|report| report.days.first().copied());
        let figures = found.and_then(|found| {
            let figures = found.figures?;
            Some(DayFigures {
                short_median: figures.short_median,
                long_median: figures.long_median,
                scale: figures.mad.max(self.floor()),
                z: figures.z,
                bad: found.bad,
            })
        });
        CheckedDay { day, n_short, n_long, figures }
    }

    /// Checks days by a chart: the state after the last score up to each day.
    fn chart(&self, days: &[i32]) -> Vec<CheckedDay> {
        let points = self.points();
        days.iter()
            .map(|day| {
                let short = self.window(*day, self.options.short);
                let long = self.window(*day, self.options.long);
                let at = self.scores.partition_point(|score| score.day <= *day).checked_sub(1);
                let point = at.and_then(|at| points.get(at).copied().flatten());
                let enough = short.len() >= self.options.min_short.min(1) && !short.is_empty();
                let figures = point.filter(|_| enough).and_then(|(z, bad)| {
                    let (short_median, long_median) = (median(&short)?, median(&long)?);
                    Some(DayFigures { short_median, long_median, scale: self.scale(*day)?, z, bad })
                });
                CheckedDay { day: *day, n_short: short.len(), n_long: long.len(), figures }
            })
            .collect()
    }

    /// By score: the chart's statistic (low is bad), and whether it is beyond its limit. Scores of the baseline have
    /// none, nor has any score while the baseline is incomplete.
    fn points(&self) -> Vec<Option<(f64, bool)>> {
        let values: Vec<f64> = self.scores.iter().map(|score| score.score).collect();
        let options = self.options;
        let first = usize::try_from(options.long).unwrap_or(usize::MAX);
        let Some((base, rest)) = values.split_at_checked(first).filter(|(_, rest)| !rest.is_empty()) else {
            return Vec::new();
        };
        let (Some(target), Some(sd)) = (mean(base), standard_deviation(base)) else { return Vec::new() };
        let sigma = sd.max(self.floor());
        let found = match options.method {
            Method::Cusum => self.cusum(rest, target, sigma),
            Method::EDetector => self.e_detector(rest, target, sigma),
            Method::MedianMad => None,
        };
        let blank = std::iter::repeat_n(None, first);
        blank.chain(found.unwrap_or_default().into_iter().map(Some)).collect()
    }

    fn cusum(&self, values: &[f64], target: f64, sigma: f64) -> Option<Vec<(f64, bool)>> {
        let limit = self.limit();
        let chart = Cusum { target, sigma, slack: self.options.k.unwrap_or(0.5), limit, reset_on_alarm: true };
        let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        let chart = cusum(&values, &chart).ok()?;
        Some(chart.down.iter().flatten().map(|sum| (-sum, *sum > limit)).collect())
    }

    fn e_detector(&self, values: &[f64], target: f64, sigma: f64) -> Option<Vec<(f64, bool)>> {
        let (low, _) = self.range?;
        let share = |value: f64| ((value - low) / self.width()).clamp(0.0, 1.0);
        let bound = share(target - self.options.k.unwrap_or(0.5) * sigma);
        let most = 1.0 / (1.0 - bound).max(1e-9);
        let limit = self.limit();
        let values: Vec<f64> = values.iter().map(|value| share(*value)).collect();
        let bets = [0.1, 0.3, 0.6, 0.9].map(|share| share * most);
        let found = e_detector(&values, bound, &bets, 1.0 / limit).ok()?;
        Some(found.shiryaev_roberts.iter().map(|wealth| (-wealth, *wealth >= limit)).collect())
    }
}

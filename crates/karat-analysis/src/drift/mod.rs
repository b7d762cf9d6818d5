//! Drift of a daily series: tests whether the last days are worse than the weeks before them.
//!
//! All results are pure functions of the given days, so a stored history always gives the same result. A day depends
//! only on the days up to it. `watch` computes the figures of a day, `incident` tracks alerts over days, `accepted`
//! suppresses alerts at a level that was accepted by closing an incident, `systems` combines several systems, `replay`
//! simulates planted shifts, `past` lists ranges and incidents of all days; `digest` summarises a window of days.

mod accepted;
mod calendar;
pub mod digest;
mod incident;
mod options;
mod past;
mod replay;
mod systems;
mod watch;

use karat_stats::drift::DayScore;
use serde::Serialize;

use crate::reference::history::{Day, judge_mix_warnings};

use accepted::AcceptedDays;
pub use accepted::AcceptedLevel;
pub use calendar::{date_of, day_number};
pub use incident::{Incident, IncidentClosing, resolve_incident};
pub use options::{DriftOptions, Method, WatchedMetric, Worse};
pub use past::{DriftPast, UsualRange, drift_past};
pub use replay::{QuietYears, REPLAYS, ReplayResult, replay, replay_quiet_years};
pub use systems::SystemDrifts;
use watch::{CheckedDay, SeriesWatch};

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftStatus {
    /// No alert, as far as the days that were not skipped show.
    Ok,
    /// All of the last days are bad.
    Alert,
    /// The long window has no score.
    NoData,
}

/// The result of a drift check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The checked day, YYYY-MM-DD.
    pub as_of: String,
    /// The system of the series; `None` if nothing was judged.
    pub system: Option<String>,
    /// The verdict.
    pub status: DriftStatus,
    /// Length of the short window in calendar days.
    pub short_window: i32,
    /// Length of the long window in calendar days.
    pub long_window: i32,
    /// The threshold of z, or the limit of another method.
    pub z_thresh: f64,
    /// Number of last days that must all be bad.
    pub streak_required: u32,
    /// The method's statistic on the checked day; `None` with too few scores.
    pub z: Option<f64>,
    /// The bad days among the last ones, newest first.
    pub alerts: Vec<DriftDay>,
    /// Skipped days among the last ones with the reason, newest first.
    pub skipped: Vec<SkippedDay>,
    /// The metric.
    pub metric: String,
    /// The direction of a decline.
    pub worse: Worse,
    /// The method.
    pub method: Method,
    /// Number of days with a score in the long window.
    pub n: usize,
    /// Models that judged within the long window.
    pub judges: Vec<String>,
    /// Prompt versions within the long window.
    pub prompt_versions: Vec<String>,
    /// The open incident, or the last one.
    pub incident: Option<Incident>,
    /// The accepted level in force because an incident was closed at it: no alert until the series changes again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptedLevel>,
    /// Warnings about the figures.
    pub warnings: Vec<String>,
}

/// A bad day, rounded to two decimals.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct DriftDay {
    /// The day.
    pub day: String,
    /// Median of the short window.
    pub short_median: f64,
    /// Median of the long window.
    pub long_median: f64,
    /// The method's statistic; negative if below the long window.
    pub z: f64,
    /// Number of scores in the short window.
    pub n_short: usize,
    /// Number of scores in the long window.
    pub n_long: usize,
}

/// A day with too few scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedDay {
    /// The day.
    pub day: String,
    /// The reason.
    pub reason: String,
}

impl Drift {
    /// Returns true if there are scores, but too few on each of the last days, so that drift could not have been found.
    pub fn is_silent(&self) -> bool {
        self.status == DriftStatus::Ok && self.skipped.len() == self.streak_required as usize
    }

    /// The incident, if it is open.
    pub fn open_incident(&self) -> Option<&Incident> {
        self.incident.as_ref().filter(|incident| incident.is_open())
    }

    /// The result if there is no data, because no day has a date.
    pub(crate) fn unknown(as_of: String, options: &DriftOptions, problem: String) -> Self {
        Self {
            as_of,
            system: None,
            status: DriftStatus::NoData,
            short_window: options.short,
            long_window: options.long,
            z_thresh: options.z,
            streak_required: options.streak(),
            z: None,
            alerts: Vec::new(),
            skipped: Vec::new(),
            metric: options.metric.clone(),
            worse: options.worse.unwrap_or_default(),
            method: options.method,
            n: 0,
            judges: Vec::new(),
            prompt_versions: Vec::new(),
            incident: None,
            accepted: None,
            warnings: vec![problem],
        }
    }
}

impl Serialize for Method {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Checks the days up to `as_of`. Days with an invalid date and later closings are ignored.
///
/// # Errors
/// Invalid options or an invalid date; the text names the problem.
pub fn drift(
    days: &[Day],
    as_of: &str,
    options: &DriftOptions,
    watched: WatchedMetric,
    closings: &[IncidentClosing],
) -> Result<Drift, String> {
    if let Some(problem) = options.problem() {
        return Err(problem);
    }
    if options.method == Method::EDetector && watched.range.is_none() {
        return Err(format!("the metric {} has no range, which e_detector needs", options.metric));
    }
    let last = day_number(as_of).ok_or_else(|| date_problem(as_of))?;
    let series = Series::new(days, last, options, watched, closings);
    let checked = series.last_days(last);
    let bad = checked.iter().filter(|day| day.figures.is_some_and(|figures| figures.bad)).count();
    let status = match () {
        () if !series.has_data(last) => DriftStatus::NoData,
        () if bad == checked.len() => DriftStatus::Alert,
        () => DriftStatus::Ok,
    };
    let window = series.window_days(days, last);
    let names = |of: fn(&Day) -> &std::collections::BTreeSet<String>| -> Vec<String> {
        window
            .iter()
            .flat_map(|day| of(day).iter().cloned())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let unscored = (status == DriftStatus::NoData).then(|| match series.is_empty() {
        true => {
            format!(
                "no day up to {as_of} has a score of {}: either every judgment failed or there is none",
                options.metric
            )
        }
        false => format!("the {} days up to {as_of} have no score of {}", options.long, options.metric),
    });
    let (judges, prompt_versions) = (names(|day| &day.judges), names(|day| &day.prompt_versions));
    let has_data = status != DriftStatus::NoData;
    Ok(Drift {
        as_of: as_of.to_owned(),
        system: None,
        status,
        short_window: options.short,
        long_window: options.long,
        z_thresh: series.threshold(),
        streak_required: options.streak(),
        z: checked.first().and_then(|day| day.figures).map(|figures| two_decimals(figures.z)),
        alerts: checked.iter().filter_map(bad_day).collect(),
        skipped: checked.iter().filter(|_| has_data).filter_map(|day| skipped_day(day, options)).collect(),
        metric: options.metric.clone(),
        worse: options.worse_of(watched.better),
        method: options.method,
        n: window.len(),
        incident: series.incidents(closings, last).pop(),
        accepted: series.accepted_level(last).cloned(),
        warnings: unscored.into_iter().chain(judge_mix_warnings(window, "the long window")).collect(),
        judges,
        prompt_versions,
    })
}

fn date_problem(as_of: &str) -> String {
    if as_of.is_empty() {
        return "no sample has a date: name the column under `dataset.date`".to_owned();
    }
    format!("{as_of} is not a date; write it as YYYY-MM-DD")
}

fn bad_day(day: &CheckedDay) -> Option<DriftDay> {
    let figures = day.figures.filter(|figures| figures.bad)?;
    Some(DriftDay {
        day: date_of(day.day),
        short_median: two_decimals(figures.short_median),
        long_median: two_decimals(figures.long_median),
        z: two_decimals(figures.z),
        n_short: day.n_short,
        n_long: day.n_long,
    })
}

fn skipped_day(day: &CheckedDay, options: &DriftOptions) -> Option<SkippedDay> {
    if day.figures.is_some() {
        return None;
    }
    let reason = match options.method {
        Method::MedianMad => format!(
            "{} scores in {} days and {} in {}, where {} and {} are needed",
            day.n_short, options.short, day.n_long, options.long, options.min_short, options.min_long
        ),
        _ => {
            format!("no score in {} days, or no score beyond the {} days of the baseline", options.short, options.long)
        }
    };
    Some(SkippedDay { day: date_of(day.day), reason })
}

/// Rounding error of bands, which are stored with two decimals.
const ROUNDING: f64 = 0.005;

/// Rounds half to even on the exact binary value, as `{:.2}` and Python's `round(x, 2)` do; a result of 0 has no sign.
fn two_decimals(value: f64) -> f64 {
    format!("{value:.2}").parse().unwrap_or(value) + 0.0
}

/// The scores of a series in each watched direction.
struct Series<'a> {
    options: &'a DriftOptions,
    directions: Vec<Direction>,
    /// Days with an accepted level.
    stretches: Vec<AcceptedDays>,
}

/// A series oriented so that low is worse; for rises the series is negated.
struct Direction {
    scores: Vec<DayScore>,
    range: Option<(f64, f64)>,
    /// The factor of the scores, 1 or −1.
    sign: f64,
}

impl<'a> Series<'a> {
    fn new(
        days: &[Day],
        last: i32,
        options: &'a DriftOptions,
        watched: WatchedMetric,
        closings: &[IncidentClosing],
    ) -> Self {
        let known = days.iter().filter_map(|day| Some((day_number(&day.date)?, day.value())));
        let mut known: Vec<(i32, f64)> = known.filter(|(day, _)| *day <= last).collect();
        known.sort_by_key(|(day, _)| *day);
        let direction = |sign: f64| {
            let scores = known.iter().map(|(day, score)| DayScore { day: *day, score: sign * score }).collect();
            let range = watched.range.map(|(low, high)| if sign > 0.0 { (low, high) } else { (-high, -low) });
            Direction { scores, range, sign }
        };
        let signs: &[f64] = match options.worse_of(watched.better) {
            Worse::Lower => &[1.0],
            Worse::Higher => &[-1.0],
            Worse::Both => &[1.0, -1.0],
        };
        let directions = signs.iter().map(|sign| direction(*sign)).collect();
        let series = Self { options, directions, stretches: Vec::new() };
        Self { stretches: series.all_accepted_days(closings, last), ..series }
    }

    fn watches(&self) -> impl Iterator<Item = (SeriesWatch<'_>, f64)> {
        self.directions
            .iter()
            .map(|it| (SeriesWatch { scores: &it.scores, options: self.options, range: it.range }, it.sign))
    }

    fn is_empty(&self) -> bool {
        self.directions.iter().all(|it| it.scores.is_empty())
    }

    fn has_data(&self, day: i32) -> bool {
        self.watches().any(|(watch, _)| watch.has_data(day))
    }

    /// Checks some days; with two directions the worse one counts. A day with an accepted level is not bad.
    fn check(&self, days: &[i32]) -> Vec<CheckedDay> {
        let each: Vec<Vec<CheckedDay>> = self
            .watches()
            .map(|(watch, sign)| watch.check(days).into_iter().map(|day| flip(day, sign)).collect())
            .collect();
        let mut each = each.into_iter();
        let first = each.next().unwrap_or_default();
        let mut checked =
            each.fold(first, |known, other| known.into_iter().zip(other).map(|(a, b)| worse_day(a, b)).collect());
        for day in checked.iter_mut().filter(|day| self.accepted_level(day.day).is_some()) {
            day.figures.iter_mut().for_each(|figures| figures.bad = false);
        }
        checked
    }

    /// The last days, newest first.
    fn last_days(&self, last: i32) -> Vec<CheckedDay> {
        let days: Vec<i32> = (0..self.options.streak()).map(|back| last.saturating_sub_unsigned(back)).collect();
        self.check(&days)
    }

    fn window_days<'d>(&self, days: &'d [Day], last: i32) -> Vec<&'d Day> {
        let first = last.saturating_sub(self.options.long - 1);
        days.iter().filter(|day| day_number(&day.date).is_some_and(|day| (first..=last).contains(&day))).collect()
    }

    fn threshold(&self) -> f64 {
        self.watches().next().map_or(self.options.z, |(watch, _)| watch.limit())
    }
}

fn flip(day: CheckedDay, sign: f64) -> CheckedDay {
    let figures = day.figures.map(|figures| watch::DayFigures {
        short_median: sign * figures.short_median,
        long_median: sign * figures.long_median,
        z: sign * figures.z,
        ..figures
    });
    CheckedDay { figures, ..day }
}

fn worse_day(one: CheckedDay, other: CheckedDay) -> CheckedDay {
    let weight = |day: &CheckedDay| day.figures.map_or((false, 0.0), |figures| (figures.bad, figures.z.abs()));
    if weight(&other) > weight(&one) { other } else { one }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests;

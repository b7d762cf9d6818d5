//! The options of `drift`.

use karat_types::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Days between false alarms of `e_detector`.
const DAYS_BETWEEN: f64 = 365.0;

/// The watched metric.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WatchedMetric {
    /// Lowest and highest possible value.
    pub range: Option<(f64, f64)>,
    /// Direction.
    pub better: Better,
}

/// The method of drift detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The short window's median compared with the long window's, in median absolute deviations.
    MedianMad,
    /// Cumulative sums against a baseline of the first `long` scores: detects small lasting steps.
    Cusum,
    /// A betting e-detector: no false alarm within `limit` days on average, assuming only the metric's range.
    #[default]
    EDetector,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 3] = [Self::MedianMad, Self::Cusum, Self::EDetector];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MedianMad => "median_mad",
            Self::Cusum => "cusum",
            Self::EDetector => "e_detector",
        }
    }
}

/// The direction of a decline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Worse {
    /// Lower scores.
    #[default]
    #[serde(rename = "down")]
    Lower,
    /// Higher scores.
    #[serde(rename = "up")]
    Higher,
    /// Either direction.
    Both,
}

/// Options of `drift`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftOptions {
    /// The watched metric.
    pub metric: String,
    /// The method; without it `median_mad` where `z`, `min_short` or `min_long` is given, or the metric has no range.
    #[serde(default)]
    pub method: Method,
    /// Length of the short window in calendar days.
    #[serde(default = "seven")]
    #[schemars(range(min = 1, max = 3660))]
    pub short: i32,
    /// Length of the long window in calendar days, and number of scores of a chart's baseline.
    #[serde(default = "thirty")]
    #[schemars(range(min = 2, max = 3660))]
    pub long: i32,
    /// A day is bad if z is beyond this; for `median_mad`.
    #[serde(default = "one_and_a_half")]
    #[schemars(range(min = 0.0))]
    pub z: f64,
    /// Number of last days that must all be bad; default 2 for `median_mad`, 1 for other methods.
    #[schemars(range(min = 1, max = 366))]
    pub streak: Option<u32>,
    /// Smallest scale in score units; default 0.05 for a scale from 1 to 5, in proportion for other ranges.
    #[schemars(range(min = 0.000_000_001))]
    pub floor: Option<f64>,
    /// A day with fewer scores in the short window is skipped.
    #[serde(default = "three")]
    pub min_short: usize,
    /// A day with fewer scores in the long window is skipped.
    #[serde(default = "seven_scores")]
    pub min_long: usize,
    /// Slack in standard deviations (0.5): of `cusum`; for `e_detector` the tolerated distance below the baseline.
    #[schemars(range(min = 0.0))]
    pub k: Option<f64>,
    /// Decision limit of `cusum` in standard deviations (6).
    #[schemars(range(min = 0.0))]
    pub h: Option<f64>,
    /// Days between false alarms of all systems together (365); for `e_detector`.
    #[schemars(range(min = 0.0))]
    pub limit: Option<f64>,
    /// The direction of a decline; default: the metric's own.
    pub worse: Option<Worse>,
}

fn seven() -> i32 {
    7
}

fn thirty() -> i32 {
    30
}

fn one_and_a_half() -> f64 {
    1.5
}

fn three() -> usize {
    3
}

fn seven_scores() -> usize {
    7
}

impl DriftOptions {
    /// The defaults for a metric.
    pub fn of(metric: impl Into<String>) -> Self {
        Self {
            metric: metric.into(),
            method: Method::default(),
            short: seven(),
            long: thirty(),
            z: one_and_a_half(),
            streak: None,
            floor: None,
            min_short: three(),
            min_long: seven_scores(),
            k: None,
            h: None,
            limit: None,
            worse: None,
        }
    }

    /// The method where `with` names none: that of the keys of the windows' medians, if one is given there or `by_flags`, and
    /// of a metric without a range, which the e-detector needs.
    #[must_use]
    pub fn imply_method(self, with: &Map<String, Value>, by_flags: bool, watched: WatchedMetric) -> Self {
        let is_median = by_flags || ["z", "min_short", "min_long"].iter().any(|key| with.contains_key(*key));
        match !with.contains_key("method") && (is_median || watched.range.is_none()) {
            true => Self { method: Method::MedianMad, ..self },
            false => self,
        }
    }

    /// The options of each of several systems: so many e-detectors together raise a false alarm as often as one, if each
    /// waits as many times longer.
    #[must_use]
    pub fn of_systems(self, systems: usize) -> Self {
        match self.method == Method::EDetector && systems > 1 {
            true => Self { limit: Some(self.days_between() * systems as f64), ..self },
            false => self,
        }
    }

    /// A note on the limit of several systems.
    pub fn systems_note(&self, systems: usize) -> Option<String> {
        let days = self.days_between();
        (self.method == Method::EDetector && systems > 1).then(|| {
            format!(
                "e_detector: each of {systems} systems has a limit of {} days, so that all of them together raise a false alarm \
                 every {days} days at most, on average",
                days * systems as f64
            )
        })
    }

    /// The days between false alarms of `e_detector`.
    pub(super) fn days_between(&self) -> f64 {
        self.limit.unwrap_or(DAYS_BETWEEN)
    }

    /// Selects another method; options specific to the old one are reset to their defaults.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        if self.method == method {
            return self;
        }
        Self { method, streak: None, k: None, h: None, limit: None, ..self }
    }

    /// The direction of a decline for a metric with a direction.
    pub fn worse_of(&self, better: Better) -> Worse {
        self.worse.unwrap_or(match better {
            Better::Higher => Worse::Lower,
            Better::Lower => Worse::Higher,
        })
    }

    /// Number of last days that must all be bad.
    pub fn streak(&self) -> u32 {
        self.streak.unwrap_or(if self.method == Method::MedianMad { 2 } else { 1 })
    }

    /// The first problem of the options, if any.
    pub fn problem(&self) -> Option<String> {
        let positive = |name: &str, value: Option<f64>| {
            let wrong = value.filter(|value| !(value.is_finite() && *value > 0.0))?;
            Some(format!("{name} is {wrong}; it must be above 0"))
        };
        if self.short < 1 || self.long < 2 || self.short > self.long || self.long > 3660 {
            return Some(format!(
                "the windows are {} and {} days; the short window must be at least 1 day, the long one at most 3660, and the \
                 short one must not be longer than the long one",
                self.short, self.long
            ));
        }
        let windows = [("short", self.short, self.min_short), ("long", self.long, self.min_long)];
        let never = windows.into_iter().find(|(_, days, least)| *least > days.unsigned_abs() as usize);
        if let Some((name, days, least)) = never.filter(|_| self.method == Method::MedianMad) {
            return Some(format!(
                "min_{name} is {least}, but the {name} window has {days} days, so no day would ever be checked"
            ));
        }
        if !self.z.is_finite() || self.z < 0.0 {
            return Some(format!("z is {}; it must be 0 or more", self.z));
        }
        if !(1..=366).contains(&self.streak()) {
            return Some(format!("streak is {}; it must be 1 to 366 days", self.streak()));
        }
        positive("floor", self.floor)
            .or_else(|| positive("h", self.h))
            .or_else(|| positive("limit", self.limit))
            .or_else(|| {
                self.k.filter(|k| !(k.is_finite() && *k >= 0.0)).map(|k| format!("k is {k}; it must be 0 or more"))
            })
    }
}

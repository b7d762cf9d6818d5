//! The options of `drift`.

use karat_types::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a change is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The short window's median against the long window's, in median absolute deviations.
    #[default]
    MedianMad,
    /// Cumulative sums against a baseline of the first `long` scores: finds small lasting steps.
    Cusum,
    /// An exponentially weighted average against the same baseline: finds slow drift.
    Ewma,
    /// The Page-Hinkley test: no baseline, parameters in score units.
    PageHinkley,
    /// A betting e-detector: on average no false alarm within `limit` days, without assumptions but the metric's range.
    EDetector,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 5] = [Self::MedianMad, Self::Cusum, Self::Ewma, Self::PageHinkley, Self::EDetector];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MedianMad => "median_mad",
            Self::Cusum => "cusum",
            Self::Ewma => "ewma",
            Self::PageHinkley => "page_hinkley",
            Self::EDetector => "e_detector",
        }
    }
}

/// Which way is worse.
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
    /// Either.
    Both,
}

/// Options of `drift`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftOptions {
    /// The metric that is watched.
    pub metric: String,
    /// How.
    #[serde(default)]
    pub method: Method,
    /// Calendar days of the short window.
    #[serde(default = "seven")]
    #[schemars(range(min = 1, max = 3660))]
    pub short: i32,
    /// Calendar days of the long window, and scores of a chart's baseline.
    #[serde(default = "thirty")]
    #[schemars(range(min = 2, max = 3660))]
    pub long: i32,
    /// With `median_mad`, a day is bad when z is beyond this.
    #[serde(default = "one_and_a_half")]
    #[schemars(range(min = 0.0))]
    pub z: f64,
    /// Last days that must all be bad; 2 for `median_mad`, 1 for the others.
    #[schemars(range(min = 1, max = 366))]
    pub streak: Option<u32>,
    /// Smallest scale in score units; 0.05 of a scale from 1 to 5, and as much of any other range.
    #[schemars(range(min = 0.000_000_001))]
    pub floor: Option<f64>,
    /// A day with fewer scores in the short window is skipped.
    #[serde(default = "three")]
    pub min_short: usize,
    /// A day with fewer scores in the long window is skipped.
    #[serde(default = "seven_scores")]
    pub min_long: usize,
    /// Slack: of `cusum` in standard deviations (0.5), of `page_hinkley` in score units (a fortieth of the range), of `e_detector` how far
    /// below the baseline is still fine, in standard deviations (0.5).
    #[schemars(range(min = 0.0))]
    pub k: Option<f64>,
    /// Decision limit: of `cusum` in standard deviations (6), of `page_hinkley` in score units (half of the range).
    #[schemars(range(min = 0.0))]
    pub h: Option<f64>,
    /// With `ewma`, the weight of the newest score.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub lambda: Option<f64>,
    /// Limit: of `ewma` in standard deviations of the average (2.7), of `e_detector` the days between false alarms (365).
    #[schemars(range(min = 0.0))]
    pub limit: Option<f64>,
    /// Which way is worse; the metric's own direction without it.
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
            method: Method::MedianMad,
            short: seven(),
            long: thirty(),
            z: one_and_a_half(),
            streak: None,
            floor: None,
            min_short: three(),
            min_long: seven_scores(),
            k: None,
            h: None,
            lambda: None,
            limit: None,
            worse: None,
        }
    }

    /// The same watch by a method: what belongs to another one is left to its defaults.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        if self.method == method {
            return self;
        }
        Self { method, streak: None, k: None, h: None, lambda: None, limit: None, ..self }
    }

    /// Which way is worse, of a metric with a direction.
    pub fn worse_of(&self, better: Better) -> Worse {
        self.worse.unwrap_or(match better {
            Better::Higher => Worse::Lower,
            Better::Lower => Worse::Higher,
        })
    }

    /// Last days that must all be bad.
    pub fn streak(&self) -> u32 {
        self.streak.unwrap_or(if self.method == Method::MedianMad { 2 } else { 1 })
    }

    /// What is wrong with them, where something is.
    pub fn problem(&self) -> Option<String> {
        let positive = |name: &str, value: Option<f64>| {
            let wrong = value.filter(|value| !(value.is_finite() && *value > 0.0))?;
            Some(format!("{name} is {wrong}; it must be above 0"))
        };
        if self.short < 1 || self.long < 2 || self.short > self.long || self.long > 3660 {
            return Some(format!(
                "the windows are {} and {} days; the short one has at least 1, the long one at most 3660, and the short \
                 one is not the longer",
                self.short, self.long
            ));
        }
        let windows = [("short", self.short, self.min_short), ("long", self.long, self.min_long)];
        let never = windows.into_iter().find(|(_, days, least)| *least > days.unsigned_abs() as usize);
        if let Some((name, days, least)) = never.filter(|_| self.method == Method::MedianMad) {
            return Some(format!(
                "min_{name} is {least}, and the {name} window has {days} days: no day would ever be judged"
            ));
        }
        if !self.z.is_finite() || self.z < 0.0 {
            return Some(format!("z is {}; it must be 0 or more", self.z));
        }
        if !(1..=366).contains(&self.streak()) {
            return Some(format!("streak is {}; it must be 1 to 366 days", self.streak()));
        }
        let lambda = self.lambda.filter(|lambda| !(*lambda > 0.0 && *lambda <= 1.0));
        positive("floor", self.floor)
            .or_else(|| positive("h", self.h))
            .or_else(|| positive("limit", self.limit))
            .or_else(|| lambda.map(|lambda| format!("lambda is {lambda}; it must be above 0 and at most 1")))
            .or_else(|| {
                self.k.filter(|k| !(k.is_finite() && *k >= 0.0)).map(|k| format!("k is {k}; it must be 0 or more"))
            })
    }
}

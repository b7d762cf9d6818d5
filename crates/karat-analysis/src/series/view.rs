//! The data of the page of a suite.

use karat_types::{Better, Moment};

use super::flags::{CardFilter, CardFlags};
use super::judge_choice::JudgeChoice;
use super::parts::Contributions;
use super::rubric::{AxisSpec, CapRule};
use crate::Finding;
use crate::drift::{Drift, DriftPast, DriftStatus, QuietYears};

/// The page of a dated suite.
#[derive(Debug, Clone)]
pub struct SeriesView {
    /// The suite.
    pub suite: String,
    /// One line about it.
    pub about: Option<String>,
    /// The composite metric.
    pub metric: String,
    /// The unit of its values, if it has one.
    pub unit: Option<String>,
    /// Lowest and highest possible value.
    pub range: Option<(f64, f64)>,
    /// Direction.
    pub better: Better,
    /// The system shown.
    pub system: String,
    /// All systems with grades.
    pub systems: Vec<String>,
    /// The judges shown.
    pub judge: JudgeChoice,
    /// All judges with grades.
    pub judges: Vec<String>,
    /// The last day looked at.
    pub as_of: String,
    /// First date asked for.
    pub since: Option<String>,
    /// Last date asked for.
    pub until: Option<String>,
    /// The axes, in the rubric's order.
    pub axes: Vec<AxisSpec>,
    /// The caps of the rubric.
    pub caps: Vec<CapRule>,
    /// The gate on the composite alone.
    pub gate: Option<SeriesGate>,
    /// Every bound of a card, as text.
    pub rules: Vec<String>,
    /// The drop from the baseline above which a card has regressed.
    pub max_drop: Option<f64>,
    /// The bound of the best quarter of the scale.
    pub high: Option<f64>,
    /// The name of the baseline, or the reason why there is none.
    pub baseline: Option<String>,
    /// True if there is a baseline.
    pub has_baseline: bool,
    /// Calendar days of the moving median.
    pub short_window: i32,
    /// The reason why composites cannot be split into contributions of axes.
    pub no_parts: Option<String>,
    /// The cards, newest first.
    pub cards: Vec<SeriesCard>,
    /// Every calendar day from the first to the last card, oldest first.
    pub days: Vec<SeriesDay>,
    /// Days with cards that lie before the first of `days`, because the calendar would be too long.
    pub earlier_days: usize,
    /// Figures over all cards.
    pub figures: SeriesFigures,
    /// The drift of the system.
    pub drift: Option<SeriesDrift>,
    /// Grades without a date, which are on no card.
    pub undated: usize,
    /// Warnings about the grades.
    pub warnings: Vec<String>,
}

impl SeriesView {
    /// Number of cards that pass a filter.
    pub fn count(&self, filter: CardFilter) -> u64 {
        self.cards.iter().filter(|card| card.flags.passes(filter)).count() as u64
    }

    /// The card of a key, or the first card of a date.
    pub fn card(&self, key: &str) -> Option<&SeriesCard> {
        let own = self.cards.iter().find(|card| card.key == key);
        own.or_else(|| self.cards.iter().find(|card| card.date == key))
    }

    /// Returns true if all axes have the scale of the composite.
    pub fn is_one_scale(&self) -> bool {
        self.axes.iter().all(|axis| axis.range == self.range)
    }
}

/// The gate on the composite of single samples.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesGate {
    /// Its id.
    pub id: String,
    /// The bound.
    pub bound: f64,
    /// True if values must be at least the bound; else at most.
    pub is_least: bool,
}

impl SeriesGate {
    /// Returns true if a value keeps the bound.
    pub fn holds(&self, value: f64) -> bool {
        if self.is_least { value >= self.bound } else { value <= self.bound }
    }
}

/// One axis of a card.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AxisValue {
    /// The grade.
    pub value: Option<f64>,
    /// The pinned grade.
    pub baseline: Option<f64>,
}

impl AxisValue {
    /// The grade minus the pinned one.
    pub fn delta(&self) -> Option<f64> {
        Some(self.value? - self.baseline?)
    }
}

/// One graded sample of a day.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesCard {
    /// Its key on the page: the date, with sample, trial and judge where a date has several cards.
    pub key: String,
    /// The date, YYYY-MM-DD.
    pub date: String,
    /// Id of the sample.
    pub sample: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// The composite.
    pub composite: f64,
    /// The pinned composite.
    pub baseline: Option<f64>,
    /// The axes, in the view's order.
    pub axes: Vec<AxisValue>,
    /// Positions of its caps in the view's list.
    pub caps: Vec<usize>,
    /// The judge's reasoning.
    pub notes: String,
    /// The models that judged.
    pub judge: Option<String>,
    /// Their prompt version.
    pub prompt_version: Option<String>,
    /// Start of the run that judged.
    pub made_at: Moment,
    /// The run that has the grade.
    pub run: String,
    /// Ordinal of the cell in that run.
    pub cell: u64,
    /// True if the run was a golden check.
    pub is_golden_check: bool,
    /// True if the grade replaced a different one of an earlier run.
    pub is_regraded: bool,
    /// The contributions of its axes.
    pub parts: Option<Contributions>,
    /// The filters that it passes.
    pub flags: CardFlags,
}

impl SeriesCard {
    /// The composite minus the pinned one.
    pub fn delta(&self) -> Option<f64> {
        Some(self.composite - self.baseline?)
    }
}

/// One calendar day.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesDay {
    /// The date, YYYY-MM-DD.
    pub date: String,
    /// Number of its cards.
    pub cards: usize,
    /// Mean composite of its cards.
    pub value: Option<f64>,
    /// Median of the days of the short window that ends here; `None` with fewer than three, and on days without a card.
    pub median: Option<f64>,
    /// Mean pinned composite of its cards.
    pub baseline: Option<f64>,
    /// The usual range.
    pub usual: Option<(f64, f64)>,
    /// The contributions of axes, each the mean of its cards.
    pub parts: Option<Contributions>,
    /// True if a later run changed it, or it changed after an alert was raised.
    pub is_superseded: bool,
}

/// A count out of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShareOf {
    /// The count.
    pub count: u64,
    /// The total.
    pub of: u64,
}

/// Figures over all cards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesFigures {
    /// Median composite.
    pub median: Option<Finding>,
    /// Mean composite.
    pub mean: Option<Finding>,
    /// Cards that fail a gate on single samples; `None` if there is no such gate.
    pub gate_fails: Option<ShareOf>,
    /// Pinned samples that regressed, of those with a card; `None` without a baseline.
    pub regressions: Option<ShareOf>,
    /// Pinned samples without a card.
    pub pinned_unseen: u64,
    /// Median of each axis, in the view's order.
    pub axes: Vec<Option<Finding>>,
    /// Mean pinned value of each axis over the cards with one.
    pub axis_baselines: Vec<Option<f64>>,
    /// Cards with each cap, in the view's order.
    pub caps: Vec<u64>,
}

/// The drift of the system, and its past.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesDrift {
    /// The result on the last day looked at.
    pub drift: Drift,
    /// Days whose value appeared or changed after an alert was raised or an incident closed.
    pub late: Vec<String>,
    /// Usual ranges and incidents.
    pub past: DriftPast,
    /// False alarms of the rule in quiet years, where there are enough days.
    pub replay: Option<QuietYears>,
}

/// The state of drift in one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriftState {
    /// No alert.
    Ok,
    /// All of the last days are bad, since this one.
    Alert(String),
    /// An incident is open since this day.
    Incident(String),
    /// No score in the long window.
    NoData,
    /// Too few scores on each of the last days.
    Skipped,
}

impl SeriesDrift {
    /// The state.
    pub fn state(&self) -> DriftState {
        let open = self.drift.open_incident().map(|incident| incident.opened.clone());
        let oldest = self.drift.alerts.iter().map(|alert| &alert.day).min();
        match (self.drift.status, open) {
            (DriftStatus::Alert, open) => DriftState::Alert(open.or(oldest.cloned()).unwrap_or_default()),
            (_, Some(opened)) => DriftState::Incident(opened),
            (DriftStatus::NoData, None) => DriftState::NoData,
            (DriftStatus::Ok, None) if self.drift.is_silent() => DriftState::Skipped,
            (DriftStatus::Ok, None) => DriftState::Ok,
        }
    }
}

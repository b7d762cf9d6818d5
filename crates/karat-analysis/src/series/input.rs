//! The input of the page of a suite.

use karat_types::{GateRules, MetricSpec, PlanHeader};

use super::judge_choice::JudgeChoice;
use super::view::SeriesDrift;
use crate::{GradeRow, History, Pinned};

/// The input of the page of a suite.
#[derive(Debug)]
pub struct SeriesInput<'a> {
    /// The grades; of one judge only, if one is chosen.
    pub history: &'a History,
    /// The newest plan.
    pub plan: &'a PlanHeader,
    /// Its gates.
    pub rules: &'a GateRules,
    /// The pinned grades: a golden set or a pinned run.
    pub baseline: Option<&'a Pinned>,
    /// The name of the baseline, or the reason why there is none.
    pub baseline_name: Option<String>,
    /// The composite metric.
    pub metric: &'a str,
    /// The system shown.
    pub system: &'a str,
    /// All systems with grades.
    pub systems: Vec<String>,
    /// The judges shown.
    pub judge: JudgeChoice,
    /// All judges with grades.
    pub judges: Vec<String>,
    /// The last day looked at.
    pub as_of: String,
    /// First date of the cards.
    pub since: Option<String>,
    /// Last date of the cards.
    pub until: Option<String>,
    /// The drift of the system, and its past.
    pub drift: Option<SeriesDrift>,
}

impl SeriesInput<'_> {
    pub(super) fn metric_spec(&self) -> Option<&MetricSpec> {
        self.plan.metric(self.metric).and_then(|at| self.plan.metrics.get(at))
    }

    /// The chosen rows of the system, with or without a date, by date and sample.
    pub(super) fn rows(&self) -> Vec<&GradeRow> {
        let rows: Vec<&GradeRow> = match self.judge {
            JudgeChoice::All => self.history.rows().collect(),
            _ => self.history.cells().filter_map(|cell| cell.grade()).collect(),
        };
        rows.into_iter().filter(|row| row.system == self.system).collect()
    }

    /// Returns true if a date is shown.
    pub(super) fn shows(&self, date: &str) -> bool {
        let from = self.since.as_deref().is_none_or(|since| date >= since);
        from && date <= self.as_of.as_str() && self.until.as_deref().is_none_or(|until| date <= until)
    }
}

/// The first and the last date of the grades of a system, if any has a date.
pub fn date_span(history: &History, system: &str) -> Option<(String, String)> {
    let dates = || history.rows().filter(|row| row.system == system).filter_map(|row| row.date.as_deref());
    Some((dates().min()?.to_owned(), dates().max()?.to_owned()))
}

//! Closed incidents, and the level that is accepted by closing them.
//!
//! Closing an incident declares the new level normal. The rule cannot know that: its long window (or the baseline of a
//! chart) still contains the days before. Therefore the accepted level replaces that baseline, and no day is bad until the
//! series changes again: until it is worse than the accepted level, or back in the range of the incident.

use karat_stats::describe::{median, median_absolute_deviation};
use serde::Serialize;

use super::incident::{Incident, IncidentClosing};
use super::{
    Day, DriftOptions, Method, ROUNDING, Series, WatchedMetric, date_of, date_problem, day_number, two_decimals,
};

/// An accepted level in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AcceptedLevel {
    /// The day on which the incident was closed.
    pub since: String,
    /// The median that was accepted, with two decimals.
    pub level: f64,
    /// Allowed distance of the short median on the worse side, with two decimals.
    pub reach: f64,
}

impl IncidentClosing {
    /// Closes an incident on a day, at the series' level on that day.
    ///
    /// The level is the median of the short window (for charts, without scores before the incident). The allowed
    /// distance is `z` times the larger of the spreads of the short and the long window.
    ///
    /// # Errors
    /// An invalid date.
    pub fn of(
        incident: &Incident,
        days: &[Day],
        day: &str,
        why: &str,
        options: &DriftOptions,
        watched: WatchedMetric,
    ) -> Result<Self, String> {
        let last = day_number(day).ok_or_else(|| date_problem(day))?;
        let opened = day_number(&incident.opened).ok_or_else(|| date_problem(&incident.opened))?;
        let series = Series::new(days, last, options, watched, &[]);
        Ok(Self {
            opened: incident.opened.clone(),
            day: day.to_owned(),
            why: why.to_owned(),
            band: incident.band,
            accepted: series.level(opened, last),
        })
    }
}

/// A range of days with an accepted level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AcceptedDays {
    first: i32,
    last: i32,
    accepted: AcceptedLevel,
}

impl Series<'_> {
    /// The ranges that result from the closings up to a day, oldest first.
    pub(super) fn all_accepted_days(&self, closings: &[IncidentClosing], last: i32) -> Vec<AcceptedDays> {
        let mut dated: Vec<(i32, &IncidentClosing)> =
            closings.iter().filter_map(|closing| Some((day_number(&closing.day)?, closing))).collect();
        dated.retain(|(day, _)| *day < last);
        dated.sort_by_key(|(day, _)| *day);
        let next = dated.iter().skip(1).map(|(day, _)| *day).chain([last]);
        dated.iter().zip(next).filter_map(|((day, closing), until)| self.accepted_days(*day, closing, until)).collect()
    }

    /// The days after a closing, up to `until`, on which its level is in force.
    fn accepted_days(&self, closed: i32, closing: &IncidentClosing, until: i32) -> Option<AcceptedDays> {
        let level = closing.accepted?;
        let opened = day_number(&closing.opened)?;
        let follows = self.options.method == Method::MedianMad;
        // Once the long window no longer contains days before the closing, the rule adapts to the new level by itself.
        let until = if follows { until.min(closed.saturating_add(self.options.long)) } else { until };
        let holds = |day: &i32| {
            let Some((now, _)) = self.level(opened, *day) else { return true };
            self.is_as_good(now, level) && !self.has_recovered(now, level, closing.band)
        };
        let last = (closed + 1..=until).take_while(holds).last()?;
        let accepted =
            AcceptedLevel { since: date_of(closed), level: two_decimals(level.0), reach: two_decimals(level.1) };
        Some(AcceptedDays { first: closed + 1, last, accepted })
    }

    /// The level of a day, and the allowed distance from it.
    fn level(&self, opened: i32, day: i32) -> Option<(f64, f64)> {
        let (watch, sign) = self.watches().next()?;
        let first = day.saturating_sub(self.options.short - 1);
        let first = if self.options.method == Method::MedianMad { first } else { first.max(opened) };
        let scores = watch.between(first, day);
        let spread = median_absolute_deviation(&scores)?.max(watch.scale(day)?);
        Some((sign * median(&scores)?, self.options.z * spread))
    }

    /// Returns true if a value is no further than allowed on the worse side of a level, in every watched direction.
    fn is_as_good(&self, value: f64, (level, reach): (f64, f64)) -> bool {
        self.directions.iter().all(|it| it.sign * (value - level) >= -reach)
    }

    /// Returns true if a value is better than a level, and back in the incident's band.
    fn has_recovered(&self, value: f64, (level, reach): (f64, f64), (low, high): (f64, f64)) -> bool {
        let is_better = self.directions.iter().any(|it| it.sign * (value - level) > reach);
        is_better && self.is_as_good(value, (f64::midpoint(low, high), 0.5 * (high - low) + ROUNDING))
    }

    /// The accepted level in force on a day.
    pub(super) fn accepted_level(&self, day: i32) -> Option<&AcceptedLevel> {
        self.stretches.iter().find(|stretch| (stretch.first..=stretch.last).contains(&day)).map(|it| &it.accepted)
    }
}

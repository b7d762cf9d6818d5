//! Incidents: an alert opens an incident, which stays open until the series is back in its band.
//!
//! The plain rule clears itself some weeks after a lasting drop, because the drop fills the long window. An incident
//! keeps the band of its first day.

use serde::{Deserialize, Serialize};

use super::{
    CheckedDay, Day, DriftOptions, Method, ROUNDING, Series, WatchedMetric, date_of, date_problem, day_number,
    two_decimals,
};

/// A manual closing of an incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentClosing {
    /// The first day of the incident.
    pub opened: String,
    /// The day on which it was closed.
    pub day: String,
    /// The reason given.
    pub why: String,
    /// The band of the incident.
    #[serde(default)]
    pub band: (f64, f64),
    /// The level accepted from the next day on, and the allowed distance; absent in older files.
    #[serde(default)]
    pub accepted: Option<(f64, f64)>,
}

impl IncidentClosing {
    /// The incident that was closed, as it was opened.
    pub fn incident(&self) -> Incident {
        Incident { opened: self.opened.clone(), closed: None, band: self.band, closed_by_hand: None }
    }
}

/// A range of days with a decline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// The first day with an alert.
    pub opened: String,
    /// The first day on which the short median was back in the band, or the day of a manual closing; `None` while open.
    /// Charts react before the short median does, so its window must have begun with the incident or later.
    pub closed: Option<String>,
    /// The band: the long median of the first day, ± the allowed distance.
    pub band: (f64, f64),
    /// The reason given, if it was closed manually.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by_hand: Option<String>,
}

impl Incident {
    /// Returns true if it is open.
    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    fn close_with(self, closing: &IncidentClosing) -> Self {
        Self { closed: Some(closing.day.clone()), closed_by_hand: Some(closing.why.clone()), ..self }
    }
}

/// Returns an incident with its end up to `as_of`: the day of a manual closing, else the first day on which the series,
/// as known now, was back in its band.
///
/// # Errors
/// An invalid date.
pub fn resolve_incident(
    days: &[Day],
    as_of: &str,
    options: &DriftOptions,
    watched: WatchedMetric,
    closings: &[IncidentClosing],
    opened: &Incident,
) -> Result<Incident, String> {
    let last = day_number(as_of).ok_or_else(|| date_problem(as_of))?;
    let first = day_number(&opened.opened).ok_or_else(|| date_problem(&opened.opened))?;
    let by_hand = closings.iter().rfind(|closing| closing.opened == opened.opened && closing.day.as_str() <= as_of);
    if let Some(closing) = by_hand {
        return Ok(opened.clone().close_with(closing));
    }
    let series = Series::new(days, last, options, watched, closings);
    Ok(Incident { closed: series.recovery_day(first, opened.band, last).map(date_of), ..opened.clone() })
}

impl Series<'_> {
    /// The days with an alert up to a day: each ends a streak of bad days of the required length.
    pub(super) fn alert_days(&self, last: i32) -> Vec<i32> {
        let mut bad_days = 0;
        let mut alerts = Vec::new();
        for checked in self.check(&self.days(last)) {
            bad_days = if checked.figures.is_some_and(|figures| figures.bad) { bad_days + 1 } else { 0 };
            if bad_days >= self.options.streak() {
                alerts.push(checked.day);
            }
        }
        alerts
    }

    /// Every day from the first score on.
    pub(super) fn days(&self, last: i32) -> Vec<i32> {
        let firsts = self.directions.iter().filter_map(|it| it.scores.first());
        firsts.map(|score| score.day).min().map_or_else(Vec::new, |first| (first..=last).collect())
    }

    /// The incidents up to a day, oldest first. A closing ends the incident open on its day.
    pub(super) fn incidents(&self, closings: &[IncidentClosing], last: i32) -> Vec<Incident> {
        let by_hand = |day: i32| closings.iter().rfind(|closing| day_number(&closing.day) == Some(day));
        let streak = self.options.streak();
        let mut incidents: Vec<Incident> = Vec::new();
        let mut open: Option<OpenIncident> = None;
        let mut bad_days = 0;
        for checked in self.check(&self.days(last)) {
            let figures = checked.figures;
            bad_days = if figures.is_some_and(|figures| figures.bad) { bad_days + 1 } else { 0 };
            match (open, figures) {
                (None, Some(figures)) if bad_days >= streak => {
                    let reach = self.options.z * figures.scale;
                    open = Some(OpenIncident { day: checked.day, centre: figures.long_median, reach });
                    let (low, high) = (figures.long_median - reach, figures.long_median + reach);
                    let band = (two_decimals(low), two_decimals(high));
                    incidents.push(Incident { opened: date_of(checked.day), closed: None, band, closed_by_hand: None });
                }
                (Some(opened), Some(_)) if self.is_recovery_day(&checked, opened) => {
                    open = None;
                    if let Some(incident) = incidents.last_mut() {
                        incident.closed = Some(date_of(checked.day));
                    }
                }
                _ => {}
            }
            if let (Some(_), Some(closing)) = (open, by_hand(checked.day)) {
                open = None;
                let closed = incidents.pop().map(|incident| incident.close_with(closing));
                incidents.extend(closed);
            }
        }
        incidents
    }

    /// The first day after one on which the series is back in a band.
    fn recovery_day(&self, after: i32, (low, high): (f64, f64), last: i32) -> Option<i32> {
        let opened =
            OpenIncident { day: after, centre: f64::midpoint(low, high), reach: 0.5 * (high - low) + ROUNDING };
        let mut later = self.check(&self.days(last)).into_iter().filter(|checked| checked.day > after);
        later.find(|checked| self.is_recovery_day(checked, opened)).map(|checked| checked.day)
    }

    /// Returns true if a day is not bad and its short median is within the band, in every watched direction.
    fn is_recovery_day(&self, checked: &CheckedDay, OpenIncident { day, centre, reach }: OpenIncident) -> bool {
        // A chart reacts to a drop before the short median, which still covers the days before.
        let has_felt = self.options.method == Method::MedianMad || checked.day - day >= self.options.short - 1;
        let within = |median: f64| self.directions.iter().all(|it| it.sign * (median - centre) >= -reach);
        has_felt && checked.figures.is_some_and(|figures| !figures.bad && within(figures.short_median))
    }
}

/// The first day of an open incident, and the band that ends it.
#[derive(Clone, Copy)]
struct OpenIncident {
    day: i32,
    centre: f64,
    reach: f64,
}

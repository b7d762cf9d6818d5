//! The past of a series under its drift rule: the usual range of every day, and all incidents. For charts over time.

use super::{Day, DriftOptions, Incident, IncidentClosing, Series, WatchedMetric, date_of, date_problem, day_number};

/// The usual range of one day: the long median ± `z` times the scale.
#[derive(Debug, Clone, PartialEq)]
pub struct UsualRange {
    /// The date, YYYY-MM-DD.
    pub date: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The past of a series up to a day.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DriftPast {
    /// The usual range of each day with enough scores, oldest first.
    pub ranges: Vec<UsualRange>,
    /// All incidents, oldest first.
    pub incidents: Vec<Incident>,
}

/// Returns the past of a series up to `as_of`.
///
/// # Errors
/// Invalid options or an invalid date; the text names the problem.
pub fn drift_past(
    days: &[Day],
    as_of: &str,
    options: &DriftOptions,
    watched: WatchedMetric,
    closings: &[IncidentClosing],
) -> Result<DriftPast, String> {
    if let Some(problem) = options.problem() {
        return Err(problem);
    }
    let last = day_number(as_of).ok_or_else(|| date_problem(as_of))?;
    let series = Series::new(days, last, options, watched, closings);
    let ranges = series.check(&series.days(last)).into_iter().filter_map(|checked| {
        let figures = checked.figures?;
        let reach = options.z * figures.scale;
        let (low, high) = (figures.long_median - reach, figures.long_median + reach);
        Some(UsualRange { date: date_of(checked.day), low, high })
    });
    Ok(DriftPast { ranges: ranges.collect(), incidents: series.incidents(closings, last) })
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::super::Method;
    use super::*;

    /// BR-13, DB-30: the range of a day depends on the days up to it, and each incident is listed.
    #[test]
    fn every_day_has_its_own_range() {
        let level = |day: i32| if (40..52).contains(&day) { 2.0 } else { 4.0 };
        let days: Vec<Day> = (0..90).map(|day| Day::new(date_of(20_000 + day), level(day))).collect();
        let options = DriftOptions::of("q").with_method(Method::MedianMad);
        let past = |last: usize| drift_past(&days, &days[last].date, &options, WatchedMetric::default(), &[]).unwrap();
        let (early, late) = (past(60), past(89));
        assert_eq!(early.ranges[..], late.ranges[..early.ranges.len()]);
        assert_eq!(
            late.ranges.first().map(|it| (it.date.as_str(), it.low, it.high)),
            Some((date_of(20_006).as_str(), 3.925, 4.075))
        );
        assert_eq!(late.incidents.len(), 1);
        assert!(drift_past(&days, "soon", &options, WatchedMetric::default(), &[]).is_err());
    }
}

//! The instants at which a cron expression is due in a time zone.
//!
//! An expression that names times of the day is due once for each, every day that has it: a time that the clocks skip is
//! due at the first instant after the gap (several there once), a time that comes twice only at its first pass. An
//! interval, such as every half hour, is due whenever the clock on the wall shows a matching minute: skipped times are
//! left out, and repeated ones come twice.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Span, Timestamp, Zoned};

use crate::cron::{Cron, CronError};

/// Days searched for the next due time: leap days are up to eight years apart.
const SEARCHED_DAYS: i32 = 9 * 366;

/// A cron expression in a time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
}

/// A timetable that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimetableError {
    /// The expression is wrong.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// The zone is unknown.
    #[error("there is no time zone `{0}`; write a name such as Europe/Berlin or UTC")]
    Zone(String),
}

impl Timetable {
    /// A timetable from its expression and the name of its zone.
    ///
    /// # Errors
    /// The expression is wrong, or there is no such zone.
    pub fn parse(cron: &str, zone: &str) -> Result<Self, TimetableError> {
        let cron = Cron::parse(cron)?;
        let zone = TimeZone::get(zone).map_err(|_| TimetableError::Zone(zone.to_owned()))?;
        Ok(Self { cron, zone })
    }

    /// The expression.
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The time zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The first due time after an instant; `None` where the calendar ends.
    pub fn next_after(&self, instant: Timestamp) -> Option<Timestamp> {
        if self.cron.is_fixed() { self.next_fixed(instant) } else { self.next_of_interval(instant) }
    }

    /// All due times after an instant, in order.
    pub fn after(&self, instant: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::successors(self.next_after(instant), |due| self.next_after(*due))
    }

    /// The last due time at or before an instant, and after `since`.
    pub fn last_between(&self, since: Timestamp, instant: Timestamp) -> Option<Timestamp> {
        self.after(since).take_while(|due| *due <= instant).last()
    }

    fn next_fixed(&self, instant: Timestamp) -> Option<Timestamp> {
        // A day that a zone skips altogether is due on the day after, so the search begins early.
        let mut day = instant.to_zoned(self.zone.clone()).date().checked_sub(Span::new().days(2)).ok()?;
        for _ in 0..SEARCHED_DAYS {
            if self.cron.has_day(day) {
                let mut times = self.times_of(day).filter_map(|time| self.instant_of(time));
                if let Some(due) = times.find(|due| *due > instant) {
                    return Some(due);
                }
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    /// The named times of a day, in order.
    fn times_of(&self, day: Date) -> impl Iterator<Item = DateTime> + '_ {
        let minutes = self.cron.minutes();
        self.cron.hours().iter().flat_map(move |hour| minutes.iter().map(move |minute| day.at(*hour, *minute, 0, 0)))
    }

    /// The instant of a time of the wall clock: its first pass if it has two, the end of the gap if it has none.
    fn instant_of(&self, time: DateTime) -> Option<Timestamp> {
        let ambiguous = self.zone.to_ambiguous_timestamp(time);
        match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => ambiguous.earlier().ok(),
            AmbiguousOffset::Fold { .. } => ambiguous.earlier().ok(),
            AmbiguousOffset::Gap { before, .. } => {
                let behind = before.to_timestamp(time).ok()?;
                let next = behind.checked_add(Span::new().nanoseconds(1)).ok()?;
                self.zone.preceding(next).next().map(|change| change.timestamp())
            }
        }
    }

    fn next_of_interval(&self, instant: Timestamp) -> Option<Timestamp> {
        let mut at = self.next_minute(&instant.to_zoned(self.zone.clone()))?;
        let end = at.date().checked_add(Span::new().days(SEARCHED_DAYS)).ok()?;
        while at.date() < end {
            at = if !self.cron.has_day(at.date()) {
                at.tomorrow().and_then(|day| day.start_of_day()).ok()?
            } else if !self.cron.hours().contains(&at.hour()) {
                self.next_hour(&at)?
            } else if !self.cron.minutes().contains(&at.minute()) {
                self.next_minute(&at)?
            } else {
                return Some(at.timestamp());
            };
        }
        None
    }

    /// The next instant at which the wall clock shows a whole minute.
    fn next_minute(&self, at: &Zoned) -> Option<Zoned> {
        let past = i64::from(at.second());
        let start = at.timestamp().checked_sub(Span::new().nanoseconds(at.subsec_nanosecond())).ok()?;
        Some(start.checked_add(Span::new().seconds(60 - past)).ok()?.to_zoned(self.zone.clone()))
    }

    /// The next whole hour, or the next change of the clocks if that comes first.
    fn next_hour(&self, at: &Zoned) -> Option<Zoned> {
        let hour = at.timestamp().checked_add(Span::new().minutes(60 - i64::from(at.minute()))).ok()?;
        let change = self.zone.following(at.timestamp()).next().map(|change| change.timestamp());
        let next = change.filter(|change| *change < hour).unwrap_or(hour);
        Some(next.to_zoned(self.zone.clone()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Due times in `[from, to)`, as text without seconds.
    fn due(cron: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
        let before = instant(from).checked_sub(Span::new().nanoseconds(1)).unwrap();
        let end = instant(to);
        let timetable = Timetable::parse(cron, zone).unwrap();
        timetable
            .after(before)
            .take_while(|due| *due < end)
            .map(|due| due.strftime("%m-%dT%H:%M").to_string())
            .collect()
    }

    fn local(zone: &str, text: &str) -> String {
        let time: DateTime = text.parse().unwrap();
        time.to_zoned(TimeZone::get(zone).unwrap()).unwrap().timestamp().to_string()
    }

    /// SV-12: the table of the specification: gaps, repeated hours, a change of half an hour, a change at midnight.
    #[test]
    fn times_of_the_day_come_once_a_day() {
        let berlin = |cron: &str, from: &str, to: &str| due(cron, "Europe/Berlin", from, to);
        assert_eq!(
            berlin("30 2 * * *", "2027-03-27T00:00Z", "2027-03-30T00:00Z"),
            ["03-27T01:30", "03-28T01:00", "03-29T00:30"]
        );
        assert_eq!(
            berlin("30 2 * * *", "2027-10-30T00:00Z", "2027-11-02T00:00Z"),
            ["10-30T00:30", "10-31T00:30", "11-01T01:30"]
        );
        assert_eq!(berlin("0,30 2,3 * * *", "2027-03-28T00:00Z", "2027-03-28T12:00Z"), ["03-28T01:00", "03-28T01:30"]);
        assert_eq!(
            due("30 2 * * *", "America/New_York", "2027-03-13T05:00Z", "2027-03-16T04:00Z"),
            ["03-13T07:30", "03-14T07:00", "03-15T06:30"]
        );
        let lord_howe = "Australia/Lord_Howe";
        let day = |from, to| (local(lord_howe, from), local(lord_howe, to));
        let (from, to) = day("2027-10-03T00:00", "2027-10-04T00:00");
        assert_eq!(due("15 2 * * *", lord_howe, &from, &to), ["10-02T15:30"]);
        let (from, to) = day("2027-04-04T00:00", "2027-04-05T00:00");
        assert_eq!(due("45 1 * * *", lord_howe, &from, &to), ["04-03T14:45"]);
        assert_eq!(
            due("0 0 * * *", "America/Santiago", "2027-09-04T03:30Z", "2027-09-06T12:00Z"),
            ["09-04T04:00", "09-05T04:00", "09-06T03:00"]
        );
    }

    /// SV-12: an interval follows the wall clock: both passes of a repeated hour, nothing in a gap.
    #[test]
    fn intervals_follow_the_wall_clock() {
        let berlin = |cron: &str, from: &str, to: &str| due(cron, "Europe/Berlin", from, to);
        assert_eq!(
            berlin("*/30 * * * *", "2027-10-31T00:00Z", "2027-10-31T02:30Z"),
            ["10-31T00:00", "10-31T00:30", "10-31T01:00", "10-31T01:30", "10-31T02:00"]
        );
        assert_eq!(
            berlin("0 */2 * * *", "2027-10-30T22:00Z", "2027-10-31T06:00Z"),
            ["10-30T22:00", "10-31T00:00", "10-31T01:00", "10-31T03:00", "10-31T05:00"]
        );
        let of_day = |day: &str, next: &str| {
            berlin("0 * * * *", &local("Europe/Berlin", day), &local("Europe/Berlin", next)).len()
        };
        assert_eq!(of_day("2027-03-28T00:00", "2027-03-29T00:00"), 23);
        assert_eq!(of_day("2027-10-31T00:00", "2027-11-01T00:00"), 25);
    }

    /// SV-12: a day that a zone skips is made up for at the first instant after it.
    #[test]
    fn a_skipped_day_is_due_when_it_is_over() {
        assert_eq!(
            due("0 2 * * *", "Pacific/Apia", "2011-12-29T00:00Z", "2011-12-31T14:00Z"),
            ["12-29T12:00", "12-30T10:00", "12-30T12:00", "12-31T12:00"]
        );
    }

    #[test]
    fn an_unknown_zone_is_named() {
        let error = Timetable::parse("@daily", "Europe/Berlni").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no time zone `Europe/Berlni`; write a name such as Europe/Berlin or UTC"
        );
    }

    #[test]
    fn the_last_due_time_is_found() {
        let daily = Timetable::parse("@daily", "UTC").unwrap();
        let last = |instant_: &str| daily.last_between(instant("2027-01-01T00:00Z"), instant(instant_));
        assert_eq!(last("2027-01-03T12:00Z"), Some(instant("2027-01-03T00:00Z")));
        assert_eq!(last("2027-01-01T12:00Z"), None);
    }

    fn zones() -> Vec<String> {
        jiff::tz::db().available().map(|name| name.to_string()).collect()
    }

    /// The due times by brute force: every minute of the wall clock, instant by instant.
    fn interval_by_hand(cron: &Cron, zone: &TimeZone, from: Timestamp, minutes: i64) -> Vec<Timestamp> {
        (1..=minutes)
            .filter_map(|minute| from.checked_add(Span::new().minutes(minute)).ok())
            .filter(|at| {
                let at = at.to_zoned(zone.clone());
                cron.has_day(at.date()) && cron.hours().contains(&at.hour()) && cron.minutes().contains(&at.minute())
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

        /// SV-12: due times strictly increase, in all zones over ten years.
        #[test]
        fn due_times_increase(
            zone in proptest::sample::select(zones()),
            cron in proptest::sample::select(vec![
                "30 2 * * *", "0 0 * * *", "0,30 0-3 * * *", "*/20 1-2 * * *", "0 */6 * * *", "5 0 1 * *", "0 0 29 2 *",
            ]),
            start in 0_i64..3650,
        ) {
            let timetable = Timetable::parse(cron, &zone).unwrap();
            let from = instant("2020-01-01T00:00Z").checked_add(Span::new().hours(start * 24)).unwrap();
            let due: Vec<Timestamp> = timetable.after(from).take(60).collect();
            prop_assert_eq!(due.len(), 60);
            prop_assert!(due[0] > from);
            prop_assert!(due.is_sorted_by(|one, next| one < next));
        }

        /// SV-12: an interval is due just when the wall clock shows one of its minutes.
        #[test]
        fn intervals_equal_the_wall_clock(
            zone in proptest::sample::select(zones()),
            cron in proptest::sample::select(vec!["*/30 * * * *", "7 */2 * * *", "*/15 1-3 * * SUN", "0 * L * *"]),
            start in 0_i64..3650,
        ) {
            let timetable = Timetable::parse(cron, &zone).unwrap();
            let from = instant("2020-01-01T00:00Z").checked_add(Span::new().hours(start * 24)).unwrap();
            let end = from.checked_add(Span::new().minutes(2000)).unwrap();
            let found: Vec<Timestamp> = timetable.after(from).take_while(|due| *due <= end).collect();
            prop_assert_eq!(found, interval_by_hand(timetable.cron(), timetable.zone(), from, 2000));
        }
    }
}

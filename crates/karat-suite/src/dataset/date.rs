//! The calendar day of a row.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use serde_json::Value;

/// The day, as YYYY-MM-DD, of a date, a local time, or a point in time seen from a zone. `None` for anything else.
pub(crate) fn day(value: &Value, zone: &TimeZone) -> Option<String> {
    let text = value.as_str()?.trim();
    let date = match text.parse::<Timestamp>() {
        Ok(moment) => moment.to_zoned(zone.clone()).date(),
        Err(_) => match text.parse::<Zoned>() {
            Ok(moment) => moment.with_time_zone(zone.clone()).date(),
            Err(_) => text.parse::<DateTime>().map(DateTime::date).or_else(|_| text.parse::<Date>()).ok()?,
        },
    };
    Some(date.to_string())
}

/// The day `days` days earlier, or the first day of the calendar.
pub(crate) fn before(day: Date, days: i64) -> Date {
    Span::new().try_days(days).and_then(|span| day.checked_sub(span)).unwrap_or(Date::MIN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_zone_cuts_time_into_days() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(day(&json!("2026-03-01"), &berlin).as_deref(), Some("2026-03-01"));
        assert_eq!(day(&json!("2026-03-01T23:30:00Z"), &berlin).as_deref(), Some("2026-03-02"));
        assert_eq!(day(&json!("2026-03-01T23:30:00Z"), &TimeZone::UTC).as_deref(), Some("2026-03-01"));
        assert_eq!(day(&json!("2026-03-01T23:30:00"), &berlin).as_deref(), Some("2026-03-01"));
        assert_eq!(day(&json!("yesterday"), &berlin), None);
        assert_eq!(day(&json!(20260301), &berlin), None);
    }
}

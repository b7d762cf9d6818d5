//! Converts dates to day numbers and back.

use jiff::Span;
use jiff::civil::{Date, date};

const FIRST: Date = date(1970, 1, 1);

/// The number of days since 1970-01-01 of a date YYYY-MM-DD.
pub fn day_number(text: &str) -> Option<i32> {
    let day: Date = text.parse().ok()?;
    i32::try_from(day.duration_since(FIRST).as_hours() / 24).ok()
}

/// The date of a number of days since 1970-01-01, clamped to the calendar's range.
pub fn date_of(day: i32) -> String {
    let date = Span::new().try_days(day).and_then(|span| FIRST.checked_add(span));
    date.unwrap_or(if day < 0 { Date::MIN } else { Date::MAX }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_numbers_are_the_same_days() {
        assert_eq!((day_number("1970-01-02"), day_number("2024-02-29")), (Some(1), Some(19_782)));
        assert_eq!(date_of(19_783), "2024-03-01");
        assert_eq!((day_number("2023-02-29"), day_number("soon")), (None, None));
        assert_eq!((date_of(i32::MAX), date_of(i32::MIN)), ("9999-12-31".to_owned(), "-009999-01-01".to_owned()));
    }
}

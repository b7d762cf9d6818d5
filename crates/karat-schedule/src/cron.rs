//! A cron expression of five fields.

use std::fmt;

use croner::Weekday;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::Date;

/// The days in which an expression must have a matching one: leap days are up to eight years apart.
const SEARCHED_DAYS: i32 = 9 * 366;

/// A cron expression: minute, hour, day of month, month, day of week. It has names, lists, ranges, steps, `L` and `#`;
/// `@daily` and its like stand for whole expressions. If both day fields are given, either of them is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    pattern: croner::CronPattern,
    hours: Vec<i8>,
    minutes: Vec<i8>,
    is_fixed: bool,
}

/// An expression that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Not five fields.
    #[error("`{text}` has {fields} fields; a cron expression has five: minute, hour, day of month, month, day of week")]
    Fields {
        /// The expression.
        text: String,
        /// Their number.
        fields: usize,
    },
    /// A name such as `@hourly` that does not exist, or `@reboot`.
    #[error("there is no `{0}`; there are @yearly, @monthly, @weekly, @daily and @hourly")]
    Nickname(String),
    /// A field that cannot be read.
    #[error("`{text}` is not a cron expression: {why}")]
    Field {
        /// The expression.
        text: String,
        /// The parser's reason.
        why: String,
    },
    /// A date such as 30 February.
    #[error("`{0}` never comes: no year has such a day")]
    Never(String),
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// It has not five fields, a field is wrong, or no day matches it.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let text = text.trim();
        let fields = match text.strip_prefix('@') {
            Some(_) => expression_of(text).ok_or_else(|| CronError::Nickname(text.to_owned()))?,
            None => text,
        };
        let parts: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, ..] = parts[..] else {
            return Err(CronError::Fields { text: text.to_owned(), fields: parts.len() });
        };
        if parts.len() != 5 {
            return Err(CronError::Fields { text: text.to_owned(), fields: parts.len() });
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let parsed =
            parser.parse(fields).map_err(|error| CronError::Field { text: text.to_owned(), why: reason(&error) })?;
        let numbers = |values: Vec<u16>| values.into_iter().filter_map(|value| i8::try_from(value).ok()).collect();
        let pattern = parsed.pattern;
        let cron = Self {
            text: text.to_owned(),
            hours: numbers(pattern.hours.values()),
            minutes: numbers(pattern.minutes.values()),
            is_fixed: ![minute, hour].iter().any(|field| field.contains(['*', '/'])),
            pattern,
        };
        let mut day = Date::constant(2000, 1, 1);
        for _ in 0..SEARCHED_DAYS {
            if cron.has_day(day) {
                return Ok(cron);
            }
            day = day.saturating_add(jiff::Span::new().days(1));
        }
        Err(CronError::Never(text.to_owned()))
    }

    /// Returns true if it names its hours and minutes one by one, with neither `*` nor `/`: then it means times of the
    /// day, otherwise an interval.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Returns true if it names this day.
    pub fn has_day(&self, day: Date) -> bool {
        let (Ok(month), Ok(number)) = (u32::try_from(day.month()), u32::try_from(day.day())) else { return false };
        let from_sunday = u32::from(day.weekday().to_sunday_zero_offset().unsigned_abs());
        let weekday = Weekday::from_days_from_sunday(from_sunday);
        self.pattern.month_match(month).unwrap_or(false)
            && self.pattern.day_match(i32::from(day.year()), month, number, weekday).unwrap_or(false)
    }

    /// Its hours, 0 to 23, in order.
    pub fn hours(&self) -> &[i8] {
        &self.hours
    }

    /// Its minutes, 0 to 59, in order.
    pub fn minutes(&self) -> &[i8] {
        &self.minutes
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The five fields that a nickname stands for.
fn expression_of(nickname: &str) -> Option<&'static str> {
    Some(match nickname.to_ascii_lowercase().as_str() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return None,
    })
}

/// The parser's reason as the end of a sentence.
fn reason(error: &croner::errors::CronError) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(": ").map_or(text.as_str(), |(_, end)| end);
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Cron::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_expression_says_why() {
        assert_eq!(
            error("30 2 * *"),
            "`30 2 * *` has 4 fields; a cron expression has five: minute, hour, day of month, month, day of week"
        );
        assert_eq!(
            error("0 30 2 * * *"),
            "`0 30 2 * * *` has 6 fields; a cron expression has five: minute, hour, day of month, month, day of week"
        );
        assert_eq!(error("@often"), "there is no `@often`; there are @yearly, @monthly, @weekly, @daily and @hourly");
        assert_eq!(error("0 0 30 2 *"), "`0 0 30 2 *` never comes: no year has such a day");
        for wrong in ["61 2 * * *", "a b c d e", "0 24 * * *", "5-1 * * * *", "*/0 * * * *", ""] {
            assert!(Cron::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_leap_day_comes() {
        assert!(Cron::parse("0 0 29 2 *").is_ok());
    }

    #[test]
    fn either_day_field_is_enough() {
        let cron = Cron::parse("0 0 13 * FRI").unwrap();
        assert!(cron.has_day(Date::constant(2027, 3, 13)), "a Saturday");
        assert!(cron.has_day(Date::constant(2027, 3, 12)), "a Friday");
        assert!(!cron.has_day(Date::constant(2027, 3, 11)));
    }

    #[test]
    fn the_last_and_the_second_day_of_a_kind_are_known() {
        let last = Cron::parse("0 0 L * *").unwrap();
        assert!(last.has_day(Date::constant(2028, 2, 29)) && !last.has_day(Date::constant(2028, 2, 28)));
        let second = Cron::parse("0 0 * * 1#2").unwrap();
        assert!(second.has_day(Date::constant(2027, 3, 8)) && !second.has_day(Date::constant(2027, 3, 1)));
    }

    #[test]
    fn stars_and_steps_make_an_interval() {
        for (text, is_fixed) in
            [("30 2 * * *", true), ("0,30 2-4 * * *", true), ("@daily", true), ("*/30 2 * * *", false)]
        {
            assert_eq!(Cron::parse(text).unwrap().is_fixed(), is_fixed, "{text}");
        }
    }
}

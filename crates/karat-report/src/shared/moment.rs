//! Times and durations as text.

use karat_types::Moment;

/// Formats a moment as RFC 3339 in UTC, to the millisecond. A moment outside the calendar becomes its number.
pub(crate) fn rfc3339(moment: Moment) -> String {
    let text = jiff::Timestamp::from_millisecond(moment.0).map(|timestamp| format!("{timestamp:.3}"));
    text.unwrap_or_else(|_| moment.0.to_string())
}

/// Returns the time between a moment and `later`, in its largest whole unit.
pub(crate) fn age(moment: Moment, later: Moment) -> String {
    let minutes = later.0.saturating_sub(moment.0).max(0) / 60_000;
    let count_noun = |n: i64, unit: &str| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
    match minutes {
        0 => "less than a minute".to_owned(),
        1..60 => count_noun(minutes, "minute"),
        60..1_440 => count_noun(minutes / 60, "hour"),
        _ => count_noun(minutes / 1_440, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc() {
        assert_eq!(rfc3339(Moment(1_767_261_725_500)), "2026-01-01T10:02:05.500Z");
        assert_eq!(rfc3339(Moment(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(Moment(i64::MAX)), i64::MAX.to_string());
    }

    #[test]
    fn an_age_has_one_unit() {
        let ago = |minutes: i64| age(Moment(0), Moment(minutes * 60_000));
        assert_eq!(
            [ago(0), ago(1), ago(59), ago(119), ago(60 * 49)],
            ["less than a minute", "1 minute", "59 minutes", "1 hour", "2 days"]
        );
        assert_eq!(age(Moment(5), Moment(0)), "less than a minute");
    }
}

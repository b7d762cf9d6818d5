//! Rate limits that providers report in headers.

use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::answer::named_wait::{moment_of, parse_duration};

/// Header names of the remaining quota and its reset: OpenAI's, which many copy, and Anthropic's.
const LEFT: [(&str, &str); 4] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
];

/// Upper bound of a reset: no provider counts over a longer time.
const MOST: Duration = Duration::from_secs(120);

/// The time for which an answer reports that nothing is left.
pub(crate) fn exhausted_for(headers: &HeaderMap) -> Option<Duration> {
    // Most servers report nothing, and looking up names takes longer than scanning the headers once.
    if !headers.keys().any(|name| name.as_str().contains("ratelimit")) {
        return None;
    }
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    LEFT.iter()
        .filter(|(left, _)| text(left) == Some("0"))
        .filter_map(|(_, reset)| time(text(reset)?, headers))
        .filter(|time| !time.is_zero())
        .max()
        .map(|time| time.min(MOST))
}

/// `1s`, `6m0s`, `20ms`, seconds, or a moment, which is read against the date of the same answer.
fn time(text: &str, headers: &HeaderMap) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    if let Ok(until) = text.parse::<jiff::Timestamp>() {
        let now = moment_of(headers)?;
        return Some(Duration::try_from(until.duration_since(now)).unwrap_or_default());
    }
    parse_duration(text)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        exhausted_for(&pairs.collect())
    }

    #[test]
    fn both_header_dialects_are_read() {
        let requests = |reset| read(&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", reset)]);
        assert_eq!(requests("1s"), Some(Duration::from_secs(1)));
        assert_eq!(requests("1m0.5s"), Some(Duration::from_millis(60_500)));
        assert_eq!(requests("20ms"), Some(Duration::from_millis(20)));
        assert_eq!(requests("7"), Some(Duration::from_secs(7)));
        assert_eq!(requests("9h"), Some(MOST));
        for nonsense in ["soon", "1x", "-3", "s", "NaN"] {
            assert_eq!(requests(nonsense), None, "{nonsense}");
        }
        let anthropic = read(&[
            ("date", "Sun, 06 Nov 1994 08:49:30 GMT"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:37Z"),
        ]);
        assert_eq!(anthropic, Some(Duration::from_secs(7)));
    }

    #[test]
    fn remaining_quota_slows_nothing() {
        assert_eq!(read(&[("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", "1s")]), None);
        assert_eq!(read(&[]), None);
    }
}

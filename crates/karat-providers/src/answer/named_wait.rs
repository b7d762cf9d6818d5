//! The wait that a provider names before another attempt: in its headers, or in the body of its refusal.
//!
//! Read here: `retry-after-ms` and `retry-after`, then Google's `RetryInfo`, then words such as "try again in 6m0.5s". A
//! wait that is 0, past or unreadable says nothing, so the own backoff holds.

use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use regex::Regex;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use serde_json::Value;

use crate::answer::json::without_bom;

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The wait that headers name: milliseconds in their own header, seconds, or an HTTP date. A date is compared with the
/// date of the same answer, so that no local clock can be wrong, and with `now` if the answer has none.
pub(crate) fn retry_after(headers: &HeaderMap, now: impl FnOnce() -> Option<Timestamp>) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name, unit: f64| {
        let seconds = text(name)?.parse::<f64>().ok()? * unit;
        // A duration beyond any clock is as good as endless.
        let is_endless = seconds.is_finite() && seconds >= Duration::MAX.as_secs_f64();
        let wait = if is_endless { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() };
        wait.filter(is_wait)
    };
    let date = || {
        let (until, now) = (moment(text(RETRY_AFTER)?)?, moment_of(headers).or_else(now)?);
        Duration::try_from(until.duration_since(now)).ok().filter(is_wait)
    };
    number(RETRY_AFTER_MS, 1e-3).or_else(|| number(RETRY_AFTER, 1.0)).or_else(date)
}

/// The date of an answer, by the server's clock.
pub(crate) fn moment_of(headers: &HeaderMap) -> Option<Timestamp> {
    moment(headers.get(DATE)?.to_str().ok()?.trim())
}

fn moment(date: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

/// The wait that the body of a refusal names. The words of a reply are none: only an error's own are read, or a whole body
/// that is not JSON, if `is_refused` says that the answer's status is one of an error.
pub(crate) fn wait_in_body(body: &[u8], is_refused: bool) -> Option<Duration> {
    let Ok(json) = serde_json::from_slice::<Value>(without_bom(body)) else {
        return is_refused.then(|| wait_in_text(&String::from_utf8_lossy(body))).flatten();
    };
    // Google wraps the refusals of its OpenAI protocol into a list.
    let json = match &json {
        Value::Array(items) => items.first()?,
        json => json,
    };
    let error = json.get("error").filter(|error| !error.is_null()).or(is_refused.then_some(json))?;
    retry_delay(error).or_else(|| texts_of(error).filter_map(wait_in_text).max())
}

/// The `retryDelay` of Google's `RetryInfo`, at any depth.
fn retry_delay(value: &Value) -> Option<Duration> {
    match value {
        Value::Array(items) => items.iter().find_map(retry_delay),
        Value::Object(members) => members.iter().find_map(|(name, value)| match value {
            Value::String(text) if is_retry_delay(name) => parse_duration(text).filter(is_wait),
            Value::Object(parts) if is_retry_delay(name) => {
                let part = |name| parts.get(name).map_or(Some(0.0), number_of);
                Duration::try_from_secs_f64(part("seconds")? + part("nanos")? * 1e-9).ok().filter(is_wait)
            }
            value => retry_delay(value),
        }),
        _ => None,
    }
}

fn is_retry_delay(name: &str) -> bool {
    matches!(name, "retryDelay" | "retry_delay")
}

/// A number, or one in a text, as protocol buffers write whole numbers.
fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// All texts of a value. A gateway puts the provider's refusal as text into its own.
fn texts_of(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(texts_of)),
        Value::Object(members) => Box::new(members.values().flat_map(texts_of)),
        _ => Box::new(std::iter::empty()),
    }
}

/// A number with its unit, as `6m0.5s`, `20ms` or `1 minute and 5 seconds` write it.
const PART: &str =
    r"\d+(?:\.\d+)?\s*(?:milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)";

/// The longest wait that words name, such as "try again in 6m0.5s", "retry after 7 seconds" or a `RetryInfo` as text.
fn wait_in_text(text: &str) -> Option<Duration> {
    static WORDS: OnceLock<Option<(Regex, Regex)>> = OnceLock::new();
    let (wait, part) = WORDS
        .get_or_init(|| {
            let duration = format!(r"({PART}(?:(?:\s|,|\band\b)*{PART})*)(?:[^a-z0-9]|$)");
            let before = r#"(?:try(?:ing)?(?:\s+(?:again|(?:your|the|this)\s+request))?\s+(?:in|after)|wait(?:\s+for)?|retry_?delay\W{1,8})"#;
            let wait = format!(r"(?i){before}\s*(?:(?:about|at least|another|approximately)\s+)?{duration}");
            Some((Regex::new(&wait).ok()?, Regex::new(&format!("(?i){PART}")).ok()?))
        })
        .as_ref()?;
    let durations = wait.captures_iter(text).filter_map(|found| found.get(1));
    let sum = |text: &str| part.find_iter(text).map(|part| parse_duration(part.as_str())).sum::<Option<Duration>>();
    durations.filter_map(|found| sum(found.as_str())).filter(is_wait).max()
}

/// Numbers with units, such as `6m0s` or `5 seconds`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let (mut text, mut sum) = (text.trim(), 0.0);
    if text.is_empty() {
        return None;
    }
    while !text.is_empty() {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, rest) = text.split_at(digits);
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        sum += number.parse::<f64>().ok()? * seconds_of(&unit.trim().to_ascii_lowercase())?;
        text = rest;
    }
    Duration::try_from_secs_f64(sum).ok()
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "millis" | "millisecond" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86_400.0),
        _ => None,
    }
}

fn is_wait(wait: &Duration) -> bool {
    !wait.is_zero()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    /// F34, RE-36: a wait of 0, a moment that has passed and garbage name no wait.
    #[test]
    fn retry_after_has_three_forms() {
        let read = |pairs: &[(&'static str, &'static str)]| {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            retry_after(&pairs.collect(), || moment("Sun, 06 Nov 1994 08:49:00 GMT"))
        };
        let now = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        assert_eq!(read(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(read(&[("retry-after", "2"), ("retry-after-ms", "150")]), Some(Duration::from_millis(150)));
        assert_eq!(read(&[("retry-after", "2"), ("retry-after-ms", "0")]), Some(Duration::from_secs(2)));
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), now]), Some(Duration::from_secs(7)));
        // Without the answer's own date, ours.
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(Duration::from_secs(37)));
        for endless in ["18446744073709551615", "99999999999999999999", "1e300"] {
            assert_eq!(read(&[("retry-after", endless), now]), Some(Duration::MAX), "{endless}");
        }
        for nothing in ["-1", "soon", "NaN", "inf", "", "0", "0.0", "-0", "Sun, 06 Nov 1994 08:49:07 GMT"] {
            assert_eq!(read(&[("retry-after", nothing), now]), None, "{nothing}");
        }
    }

    fn named(error: Value) -> Option<f64> {
        wait_in_body(json!({ "error": error }).to_string().as_bytes(), true).map(|wait| wait.as_secs_f64())
    }

    /// F33, RE-36: Google names the wait in `RetryInfo`, in each of its protocols, and it holds over words.
    #[test]
    fn retry_info_names_a_wait() {
        let info = |delay: Value| {
            json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}])
        };
        for (delay, seconds) in [
            (json!("35s"), Some(35.0)),
            (json!("0.5s"), Some(0.5)),
            (json!("23.076343s"), Some(23.076343)),
            (json!({"seconds": 35, "nanos": 500_000_000}), Some(35.5)),
            (json!({"seconds": "35"}), Some(35.0)),
            (json!("0s"), None),
            (json!("soon"), None),
            (json!("-3s"), None),
        ] {
            assert_eq!(
                named(json!({"code": 429, "message": "quota", "details": info(delay.clone())})),
                seconds,
                "{delay}"
            );
        }
        let both = json!({"message": "Please retry in 23.07s.", "details": info(json!("35s"))});
        assert_eq!(named(both.clone()), Some(35.0));
        let listed = json!([{ "error": both }]).to_string();
        assert_eq!(wait_in_body(listed.as_bytes(), true), Some(Duration::from_secs(35)));
        let proxied = json!({"message": format!("litellm.RateLimitError: {}", json!({"details": info(json!("35s"))}))});
        assert_eq!(named(proxied), Some(35.0));
    }

    /// F33, RE-36: the words of an error name the wait as OpenAI, Azure, Groq, Google and gateways write it.
    #[test]
    fn words_name_a_wait() {
        for (words, seconds) in [
            (
                "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3. Please try again in 20s. Visit x",
                20.0,
            ),
            ("Limit 30000, Used 29500, Requested 800. Please try again in 172ms.", 0.172),
            ("Please try again in 6m0.5s.", 360.5),
            ("Please try again in 1h12m3s", 4323.0),
            ("Please try again in 7m12.48s. Need more tokens?", 432.48),
            ("You exceeded your current quota. Please retry in 23.076343s.", 23.076343),
            ("have exceeded call rate limit of your S0 pricing tier. Please retry after 7 seconds.", 7.0),
            ("Please try your request again, or wait 30 seconds", 30.0),
            ("try again after 1 minute and 5 seconds", 65.0),
            ("Try again in about 2 hours", 7200.0),
            ("two limits: try again in 6s, try again in 20s", 20.0),
        ] {
            let wait = named(json!({"message": words})).unwrap_or_default();
            assert!((wait - seconds).abs() < 1e-6, "{words}: {wait}");
            assert_eq!(named(json!(words)), named(json!({"message": words})), "an error that is a text: {words}");
            let plain = wait_in_body(words.as_bytes(), true).unwrap_or_default();
            assert!((plain.as_secs_f64() - seconds).abs() < 1e-6, "a body that is a text: {words}");
        }
        for nothing in [
            "Rate limit reached",
            "try again later",
            "Please try again in 0s.",
            "limit 10 per 60s",
            "retry in -5s",
            "try again in a moment",
            "try again in 5 songs",
            "retry in 5",
            "We await 30 metrics",
        ] {
            assert_eq!(named(json!({"message": nothing})), None, "{nothing}");
        }
    }

    /// RE-36: the words of a reply never make a call wait.
    #[test]
    fn words_of_a_reply_name_no_wait() {
        let reply = json!({"choices": [{"message": {"content": "Please try again in 20s."}}]}).to_string();
        assert_eq!(wait_in_body(reply.as_bytes(), false), None);
        assert_eq!(wait_in_body(b"Please try again in 20s.", false), None);
        let refusal = json!({"error": {"code": 429, "message": "try again in 20s"}}).to_string();
        assert_eq!(wait_in_body(refusal.as_bytes(), false), Some(Duration::from_secs(20)));
    }
}

//! Waits between attempts: a pure function of the failures so far.

use std::time::Duration;

use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// Exponential backoff with full jitter, within bounds.
///
/// The n-th wait is drawn uniformly from 0 to min(`most`, `first` · 2ⁿ). If the provider names a wait, it is that wait
/// plus a draw of the first kind, so that callers with the same `retry-after` do not return together. All waits of a
/// call stay below `total`; a longer `retry-after` is not waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Upper bound of the first wait.
    pub first: Duration,
    /// Upper bound of a wait that the provider did not name.
    pub most: Duration,
    /// Upper bound of all waits of one call.
    pub total: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), most: Duration::from_secs(60), total: Duration::from_secs(600) }
    }
}

/// Upper bound of all waits of a call to an address that refuses connections and has never answered: it is rather wrong
/// than busy.
const UNREACHABLE_TOTAL: Duration = Duration::from_secs(1);

/// The waits of one call.
pub(crate) struct Waits {
    backoff: Backoff,
    left: u32,
    failures: u32,
    waited: Duration,
    seed: u64,
}

impl Waits {
    pub fn new(backoff: Backoff, retries: u32, seed: u64) -> Self {
        Self { backoff, left: retries, failures: 0, waited: Duration::ZERO, seed }
    }

    /// As [`Waits::next`], for an address that refuses connections and has never answered.
    pub fn next_brief(&mut self) -> Option<Duration> {
        self.next(None).filter(|_| self.waited <= UNREACHABLE_TOTAL)
    }

    /// Returns the wait before the next attempt; `None` if there is none.
    pub fn next(&mut self, named_wait: Option<Duration>) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        let Backoff { first, most, total } = self.backoff;
        let wait = match named_wait {
            Some(named_wait) => named_wait.saturating_add(self.draw(first)),
            None => self.draw(first.saturating_mul(2_u32.saturating_pow(self.failures)).min(most)),
        };
        self.failures += 1;
        self.waited = self.waited.checked_add(wait).filter(|waited| *waited <= total)?;
        Some(wait)
    }

    /// A draw from 0 to `bound`, fixed by the seed and the number of failures.
    fn draw(&self, bound: Duration) -> Duration {
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        generator.set_stream(u64::from(self.failures));
        bound.mul_f64((generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The wait that the provider names: milliseconds in its own header, seconds, or an HTTP date. A date is compared with
/// the date of the same answer, so that no local clock can be wrong, and with `now` if the answer has none.
pub(crate) fn retry_after(headers: &HeaderMap, now: impl FnOnce() -> Option<Timestamp>) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name, unit: f64| {
        let seconds = text(name)?.parse::<f64>().ok()? * unit;
        // A duration beyond any clock is as good as endless.
        let is_endless = seconds.is_finite() && seconds >= Duration::MAX.as_secs_f64();
        if is_endless { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
    };
    let date = || {
        let (until, now) = (moment(text(RETRY_AFTER)?)?, moment_of(headers).or_else(now)?);
        Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn waits(retries: u32, seed: u64, named_wait: Option<Duration>) -> Vec<Duration> {
        let mut waits = Waits::new(Backoff::default(), retries, seed);
        std::iter::from_fn(|| waits.next(named_wait)).collect()
    }

    #[test]
    fn waits_are_seeded_jittered_and_bounded() {
        assert_eq!(waits(5, 7, None), waits(5, 7, None));
        assert_ne!(waits(5, 7, None), waits(5, 8, None));
        assert_eq!(waits(5, 7, None).len(), 5);
        for seed in 0..200 {
            for (n, wait) in waits(12, seed, None).into_iter().enumerate() {
                assert!(wait <= Duration::from_millis(500 << n).min(Duration::from_secs(60)), "{n}: {wait:?}");
            }
        }
    }

    /// PE-27: no number of retries waits for days.
    #[test]
    fn all_waits_together_are_bounded() {
        let all = waits(u32::MAX, 1, Some(Duration::from_secs(120)));
        assert!(all.len() == 4 && all.iter().sum::<Duration>() <= Duration::from_secs(600), "{all:?}");
        assert!(all.iter().all(|wait| *wait >= Duration::from_secs(120)));
        assert_eq!(waits(5, 1, Some(Duration::from_secs(3600))), []);
        assert_eq!(waits(5, 1, Some(Duration::MAX)), []);
        assert!(waits(1_000_000, 1, None).iter().sum::<Duration>() <= Duration::from_secs(600));
    }

    /// D14: an address that refuses connections is given up within a second, whatever the number of retries.
    #[test]
    fn an_unreachable_address_is_given_up_soon() {
        for seed in 0..200 {
            let mut waits = Waits::new(Backoff::default(), 100, seed);
            let all: Vec<Duration> = std::iter::from_fn(|| waits.next_brief()).collect();
            assert!(!all.is_empty() && all.iter().sum::<Duration>() <= Duration::from_secs(1), "{seed}: {all:?}");
        }
    }

    #[test]
    fn retry_after_is_kept_with_a_little_jitter() {
        let named_wait = Duration::from_secs(3);
        for wait in waits(5, 1, Some(named_wait)) {
            assert!(wait >= named_wait && wait <= named_wait + Duration::from_millis(500), "{wait:?}");
        }
    }

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
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), now]), Some(Duration::from_secs(7)));
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), now]), Some(Duration::ZERO));
        // Without the answer's own date, ours.
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(Duration::from_secs(37)));
        for endless in ["18446744073709551615", "99999999999999999999", "1e300"] {
            assert_eq!(read(&[("retry-after", endless), now]), Some(Duration::MAX), "{endless}");
        }
        for nonsense in ["-1", "soon", "NaN", "inf", ""] {
            assert_eq!(read(&[("retry-after", nonsense), now]), None, "{nonsense}");
        }
    }
}

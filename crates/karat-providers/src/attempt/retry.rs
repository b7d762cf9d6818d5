//! Waits between attempts: a pure function of the failures so far.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Exponential backoff with full jitter, within bounds.
///
/// The n-th wait is drawn uniformly from 0 to min(`most`, `first` · 2ⁿ). If the provider names a wait, it is the larger of
/// that draw and the named wait with up to a tenth of it, so that callers with the same `retry-after` do not return
/// together. All waits of a call stay within `total`; a longer named wait is not waited for.
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
        let left = self.time_left();
        let own = self.draw(first.saturating_mul(2_u32.saturating_pow(self.failures)).min(most));
        let wait = match named_wait {
            Some(named_wait) if named_wait > left => return None,
            Some(named_wait) => (named_wait + self.draw(named_wait / 10)).min(left).max(own),
            None => own,
        };
        self.failures += 1;
        self.waited = self.waited.checked_add(wait).filter(|waited| *waited <= total)?;
        Some(wait)
    }

    /// The time that the call may still wait.
    pub fn time_left(&self) -> Duration {
        self.backoff.total.saturating_sub(self.waited)
    }

    /// A draw from 0 to `bound`, fixed by the seed and the number of failures.
    fn draw(&self, bound: Duration) -> Duration {
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        generator.set_stream(u64::from(self.failures));
        bound.mul_f64((generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
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

    /// F34, RE-36: a wait is as long as the provider says, with at most a tenth more, and never shorter than without its
    /// words.
    #[test]
    fn a_named_wait_never_shortens_the_own() {
        for seed in 0..200 {
            let own = waits(5, seed, None);
            for named_wait in [Duration::from_millis(1), Duration::from_millis(900), Duration::from_secs(35)] {
                let all = waits(5, seed, Some(named_wait));
                assert_eq!(all.len(), 5);
                for (wait, own) in all.into_iter().zip(&own) {
                    let most = (named_wait + named_wait / 10).max(*own);
                    assert!(wait >= named_wait && wait >= *own && wait <= most, "{seed} {named_wait:?}: {wait:?}");
                }
            }
        }
    }

    /// RE-36: a wait that just fits is waited for, whatever its jitter, and then none is left.
    #[test]
    fn jitter_never_takes_a_wait_beyond_the_bound() {
        for seed in 0..50 {
            assert_eq!(waits(5, seed, Some(Duration::from_secs(600))), [Duration::from_secs(600)], "{seed}");
        }
    }
}

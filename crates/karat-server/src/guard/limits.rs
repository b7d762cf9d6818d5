//! Counts requests: those at work at one time, and those of one token in a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Requests at work at one time.
const AT_WORK: usize = 256;

/// Requests of a token in a second.
const PER_SECOND: f64 = 100.0;

/// Requests of a token at once.
const BURST: f64 = 200.0;

/// The limits of a server. Clones share them.
#[derive(Clone)]
pub(crate) struct RequestLimits {
    at_work: Arc<Semaphore>,
    tokens: Arc<Mutex<HashMap<String, Allowance>>>,
}

/// The requests that a token may make at a moment.
struct Allowance {
    left: f64,
    at: Instant,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { at_work: Arc::new(Semaphore::new(AT_WORK)), tokens: Arc::default() }
    }
}

impl RequestLimits {
    /// A place for a request, unless too many are at work.
    pub fn start(&self) -> Option<SemaphorePermit<'_>> {
        self.at_work.try_acquire().ok()
    }

    /// Returns whether a token may make a request now, and counts it.
    pub fn allows(&self, token: &str, now: Instant) -> bool {
        // Only valid tokens come here, so nobody can fill the memory.
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let allowance = tokens.entry(token.to_owned()).or_insert(Allowance { left: BURST, at: now });
        let passed = now.saturating_duration_since(allowance.at).as_secs_f64();
        allowance.left = (allowance.left + passed * PER_SECOND).min(BURST);
        allowance.at = now;
        let is_allowed = allowance.left >= 1.0;
        allowance.left -= f64::from(u8::from(is_allowed));
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// SV-05: 200 requests of a token at once, then 100 a second; others are not slowed down.
    #[test]
    fn a_token_has_a_burst_and_a_rate() {
        let limits = RequestLimits::default();
        let now = Instant::now();
        let count = |token: &str, at: Instant| (0..500).filter(|_| limits.allows(token, at)).count();
        assert_eq!((count("a", now), count("b", now)), (200, 200));
        assert_eq!(count("a", now + Duration::from_secs(1)), 100);
        assert_eq!(count("a", now + Duration::from_secs(60)), 200);
    }
}

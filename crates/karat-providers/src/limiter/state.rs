//! The arithmetic of limits, without waiting and without a clock.

use karat_types::Limits;
use tokio::time::{Duration, Instant};

/// Initial window of a model with declared limits, in calls in flight.
const INITIAL_WINDOW: f64 = 4.0;

/// Size of a token bucket, in seconds of its rate.
const TOKEN_SECONDS: f64 = 1.0;

/// Size of a request bucket, in seconds of its rate; at least one request.
const REQUEST_SECONDS: f64 = 0.05;

/// The reason why a call has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until this moment.
    Until(Instant),
    /// Until a call in flight ends.
    ForOthers,
}

/// See [`super::Limiter`].
#[derive(Debug)]
pub(crate) struct LimiterState {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    window: Window,
    in_flight: usize,
    paused_until: Option<Instant>,
}

impl LimiterState {
    pub fn new(limits: Limits, now: Instant) -> Self {
        let bucket = |rate: f64, seconds: f64| Bucket::new(rate / 60.0, (rate / 60.0 * seconds).max(1.0), now);
        let declared = limits.rpm.is_some() || limits.tpm.is_some();
        Self {
            requests: limits.rpm.map(|rate| bucket(f64::from(rate.max(1)), REQUEST_SECONDS)),
            tokens: limits.tpm.map(|rate| bucket(rate.max(1) as f64, TOKEN_SECONDS)),
            window: Window::new(limits.concurrency.map_or(f64::INFINITY, |calls| f64::from(calls.max(1))), declared),
            in_flight: 0,
            paused_until: None,
        }
    }

    /// Admits a call, or returns what it has to wait for.
    pub fn admit(&mut self, now: Instant, tokens: f64) -> Result<(), Wait> {
        if let Some(moment) = self.paused_until.filter(|moment| *moment > now) {
            return Err(Wait::Until(moment));
        }
        if !self.window.has_room(self.in_flight) {
            return Err(Wait::ForOthers);
        }
        let ready = |bucket: &mut Option<Bucket>, amount| bucket.as_mut().and_then(|bucket| bucket.ready(now, amount));
        if let Some(moment) = ready(&mut self.requests, 1.0).max(ready(&mut self.tokens, tokens)) {
            return Err(Wait::Until(moment));
        }
        if let Some(bucket) = &mut self.requests {
            bucket.level -= 1.0;
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.level -= tokens;
        }
        self.in_flight += 1;
        Ok(())
    }

    /// A call is over.
    pub fn leave(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub fn record_success(&mut self) {
        self.window.grow();
    }

    /// Reports that a call admitted at `sent` was rejected for its rate.
    pub fn record_rate_limit(&mut self, sent: Instant, now: Instant) {
        self.window.shrink(sent, now, self.in_flight);
    }

    /// Tokens that were reserved and not used; negative when more were used.
    pub fn give_back(&mut self, tokens: f64) {
        if let Some(bucket) = &mut self.tokens {
            bucket.level = (bucket.level + tokens).min(bucket.size);
        }
    }

    /// Takes back a call of this number of tokens that was not sent.
    pub fn take_back(&mut self, tokens: f64) {
        self.give_back(tokens);
        if let Some(bucket) = &mut self.requests {
            bucket.level = (bucket.level + 1.0).min(bucket.size);
        }
    }

    /// Returns whether no call may be sent now, admitted or not.
    pub fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|moment| moment > now)
    }

    pub fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }
}

/// A token bucket: it fills at a rate, up to its size. Usage beyond an estimate makes it negative, and later calls wait
/// for it.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    size: f64,
    level: f64,
    filled_at: Instant,
}

impl Bucket {
    fn new(per_second: f64, size: f64, now: Instant) -> Self {
        Self { per_second, size, level: size, filled_at: now }
    }

    /// The moment at which it holds the amount; `None` if it does now. An amount larger than the bucket waits until it
    /// is full.
    fn ready(&mut self, now: Instant, amount: f64) -> Option<Instant> {
        self.level = (self.level + now.duration_since(self.filled_at).as_secs_f64() * self.per_second).min(self.size);
        self.filled_at = now;
        let missing = amount.min(self.size) - self.level;
        // A rounding error is not worth a timer.
        if missing <= 1e-9 {
            return None;
        }
        Some(now + Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::MAX / 4))
    }
}

/// The adaptive limit of calls in flight.
#[derive(Debug)]
struct Window {
    size: f64,
    most: f64,
    /// Below it each success opens the window by one call, above it by a fraction.
    slow_from: f64,
    shrunk_at: Option<Instant>,
}

impl Window {
    fn new(most: f64, careful: bool) -> Self {
        let size = if careful { most.min(INITIAL_WINDOW) } else { most };
        Self { size, most, slow_from: f64::INFINITY, shrunk_at: None }
    }

    fn has_room(&self, in_flight: usize) -> bool {
        (in_flight as f64) < self.size.floor().max(1.0)
    }

    fn grow(&mut self) {
        let step = if self.size < self.slow_from { 1.0 } else { 1.0 / self.size };
        self.size = (self.size + step).min(self.most);
    }

    /// Calls sent before the last rejection was known tell nothing new.
    fn shrink(&mut self, sent: Instant, now: Instant, in_flight: usize) {
        if self.shrunk_at.is_some_and(|shrunk| sent < shrunk) {
            return;
        }
        self.size = (self.size.min(in_flight as f64) / 2.0).max(1.0);
        self.slow_from = self.size;
        self.shrunk_at = Some(now);
    }
}

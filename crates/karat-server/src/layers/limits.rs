//! Limits of requests (SV-05): those at work at one time, and those of one token in a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State as Extracted};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use karat_app::Access;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::problem::Problem;
use crate::state::State;

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
    /// Returns whether a token may make a request now, and counts it.
    fn allows(&self, token: &str, now: Instant) -> bool {
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

/// Refuses a request while too many are at work. Health is answered all the same.
pub(crate) async fn at_work(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    if matches!(request.uri().path(), "/livez" | "/healthz") {
        return next.run(request).await;
    }
    let Ok(_place) = state.limits().at_work.try_acquire() else {
        return Problem { retry_after_s: Some(1), ..Problem::too_many("too many requests are at work") }
            .into_response();
    };
    next.run(request).await
}

/// Refuses a request of a token that has made too many. A server without tokens belongs to one user.
pub(crate) async fn of_token(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    let token = request.extensions().get::<Access>().map(|access| access.token.clone()).unwrap_or_default();
    if !token.is_empty() && !state.limits().allows(&token, Instant::now()) {
        let detail = "a token may make 100 requests a second, and 200 at once";
        return Problem { retry_after_s: Some(1), ..Problem::too_many(detail) }.into_response();
    }
    next.run(request).await
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

//! Rate limits of models, and slots for calls in flight.
//!
//! 1. Declared limits (`rpm`, `tpm`, `concurrency`) hold from the first call. Requests and tokens flow into a bucket each at
//!    the declared rate; a call waits until both hold what it needs. Tokens are reserved on an estimate (prompt and longest
//!    reply), and the difference is returned once usage is known.
//! 2. Undeclared limits are discovered: a 429 halves the number of calls in flight, once for all calls that were on their
//!    way, and all calls wait as long as the provider says. Each success opens the window again, first by one call, above
//!    half of the size that failed by one call for each full window (as TCP does).
//! 3. If a provider reports that its quota is exhausted until some moment, calls wait before it has to reject them.
//!
//! Without declared limits and without a 429 nothing is slowed down. Calls pass in order of arrival. Models of one account
//! share only what providers count together: address, key and model name.
//!
//! Files: `pool` (one limiter for each account of the process), `state` (the arithmetic of limits), `headers` (limits that providers report), `gate` (slots of the whole run), `response_memory` (memory for large answers). An
//! attempt passes an [`AdmissionPath`]: first its model's [`Limiter`], then the [`Gate`].

mod gate;
mod headers;
mod pool;
pub(crate) mod response_memory;
mod state;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use karat_types::{CallError, Limits};
use tokio::sync::Notify;
use tokio::time::Instant;

use gate::QueueId;
pub use gate::{Gate, QueueEntry, SlotGuard};
pub(crate) use headers::exhausted_for;
pub(crate) use pool::LimiterKey;
pub use pool::LimiterPool;
use state::{LimiterState, Wait};

/// Upper bound of a rejection: longer than any run, and within what a clock can count.
const LONGEST_CLOSING: Duration = Duration::from_secs(366 * 24 * 3600);

/// The rate limits of one model of one account. Runs of several runtimes may share it.
pub(crate) struct Limiter {
    state: Mutex<LimiterState>,
    /// The first call waits for the state; all others wait for this lock, in order.
    turn: tokio::sync::Mutex<()>,
    changed: Notify,
    /// The time until which the provider refuses all calls, and its error, if that is longer than any call waits.
    closed: Mutex<Option<(Instant, CallError)>>,
}

/// A call that may be made now. Dropping it ends the call; without a reported end it counts as not made.
pub(crate) struct Admission<'a> {
    limiter: &'a Limiter,
    tokens: f64,
    at: Instant,
    is_made: bool,
}

/// The end of an admitted call, as far as limits are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// With a reply that used this number of tokens, if its provider reports it.
    Succeeded(Option<u64>),
    /// Rejected for its rate.
    RateLimited,
    /// In any other way: its usage is unknown.
    Failed,
}

impl Limiter {
    /// A limiter for these limits.
    pub fn new(limits: Limits) -> Arc<Self> {
        let state = Mutex::new(LimiterState::new(limits, Instant::now()));
        Arc::new(Self { state, turn: tokio::sync::Mutex::default(), changed: Notify::new(), closed: Mutex::default() })
    }

    /// Rejects calls with this error for this time, which is longer than any call waits.
    pub fn close(&self, named_wait: Duration, error: &CallError) {
        let until = Instant::now() + named_wait.min(LONGEST_CLOSING);
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some((until, error.clone()));
    }

    /// The error of calls that are rejected at present.
    pub fn closing_error(&self) -> Option<CallError> {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.as_ref().filter(|(until, _)| *until > Instant::now()).map(|(_, error)| error.clone())
    }

    /// Waits until a call of about this number of tokens may be made.
    pub async fn admit(&self, tokens: u64) -> Admission<'_> {
        let tokens = tokens as f64;
        let _turn = self.turn.lock().await;
        loop {
            let now = Instant::now();
            let wait = match self.state().admit(now, tokens) {
                Ok(()) => return Admission { limiter: self, tokens, at: now, is_made: false },
                Err(wait) => wait,
            };
            match wait {
                Wait::Until(moment) => tokio::select! {
                    () = tokio::time::sleep_until(moment) => {}
                    () = self.changed.notified() => {}
                },
                Wait::ForOthers => self.changed.notified().await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission<'_> {
    /// Reports the end of the call, and the time for which no other should be made.
    pub fn end(mut self, ended: CallEnd, pause: Option<Duration>) {
        self.is_made = true;
        let now = Instant::now();
        let mut state = self.limiter.state();
        if let Some(time) = pause {
            state.pause(now + time);
        }
        match ended {
            CallEnd::Succeeded(used) => {
                state.record_success();
                if let Some(used) = used {
                    state.give_back(self.tokens - used as f64);
                }
            }
            CallEnd::RateLimited => {
                state.record_rate_limit(self.at, now);
                state.give_back(self.tokens);
            }
            CallEnd::Failed => state.give_back(self.tokens),
        }
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.leave();
        if !self.is_made {
            state.take_back(self.tokens);
        }
        drop(state);
        self.limiter.changed.notify_one();
    }
}

/// The path of an attempt: the limits of its model, then the gate of the run, so that calls that wait for a slow model
/// hold no slot.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionPath<'a> {
    pub gate: &'a Gate,
    /// The queue of the model or service.
    pub queue: QueueId,
    /// The model's limits; services and programs have none.
    pub limiter: Option<&'a Limiter>,
    /// Tokens that the call may need.
    pub tokens: u64,
}

/// The permission to make one attempt.
pub(crate) type Admitted<'a> = (SlotGuard, Option<Admission<'a>>);

impl<'a> AdmissionPath<'a> {
    /// Waits for limits and a slot. `None` once the gate is shut.
    pub async fn admit(&self) -> Option<Admitted<'a>> {
        self.gate
            .until_shut(async {
                loop {
                    let admission = match self.limiter {
                        Some(limiter) => Some(limiter.admit(self.tokens).await),
                        None => None,
                    };
                    let slot = self.gate.slot(self.queue).await?;
                    // A pause that began meanwhile holds for this call, too.
                    if self.limiter.is_none_or(|limiter| !limiter.state().is_paused(Instant::now())) {
                        return Some((slot, admission));
                    }
                }
            })
            .await?
    }

    /// Waits for this time. `None` once the gate is shut.
    pub async fn wait(&self, wait: Duration) -> Option<()> {
        self.gate.until_shut(tokio::time::sleep(wait)).await
    }
}

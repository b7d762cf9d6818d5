//! How fast a model may be called.
//!
//! 1. Declared limits (`rpm`, `tpm`, `concurrency`) are kept from the first call on. Requests and tokens flow into a
//!    bucket each at the declared rate; a call waits until both hold what it needs. Tokens are reserved on an estimate,
//!    prompt and longest reply, and what the reply did not need goes back when its usage is known.
//! 2. What is not declared is found out: a 429 halves the number of calls that may be in flight, once for all calls that
//!    were on their way, and everybody waits as long as the provider says. Each success then opens the window again, at
//!    first by one, beyond the half where it went wrong by one for a whole window (as TCP does it).
//! 3. A provider that says that nothing is left until some moment is believed before it has to refuse.
//!
//! Nothing is slowed down before there is a reason: without declared limits and without a 429 the window is open.
//! Calls pass in the order in which they came. Models of one account share nothing but what providers count together:
//! address, key and model name.

mod gate;
mod headers;
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
use state::{LimiterState, Wait};

/// No run is still under way after so long; no clock counts as far as some providers can say.
const LONGEST_CLOSING: Duration = Duration::from_secs(366 * 24 * 3600);

/// The limits of one model of one account.
pub(crate) struct Limiter {
    state: Mutex<LimiterState>,
    /// Who stands first waits for the state; all others wait for their turn.
    turn: tokio::sync::Mutex<()>,
    changed: Notify,
    /// Until when the provider wants to be left alone, where no call waits so long, and what it said.
    closed: Mutex<Option<(Instant, CallError)>>,
}

/// A call that may be made now. Dropped, it is over; where nobody said how it ended, it was not made.
pub(crate) struct Admission<'a> {
    limiter: &'a Limiter,
    tokens: f64,
    at: Instant,
    is_made: bool,
}

/// How an admitted call ended, as far as limits are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// With a reply that used so many tokens, where the provider said how many.
    Succeeded(Option<u64>),
    /// Refused for its rate; the provider may have said for how long.
    RateLimited(Option<Duration>),
    /// In any other way: what it used is unknown.
    Failed,
}

impl Limiter {
    /// A limiter that keeps these limits.
    pub fn new(limits: Limits) -> Arc<Self> {
        let state = Mutex::new(LimiterState::new(limits, Instant::now()));
        Arc::new(Self { state, turn: tokio::sync::Mutex::default(), changed: Notify::new(), closed: Mutex::default() })
    }

    /// The provider wants to be left alone for so long, and no call waits until then: those that follow end with the error.
    pub fn close(&self, told: Duration, error: &CallError) {
        let until = Instant::now() + told.min(LONGEST_CLOSING);
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some((until, error.clone()));
    }

    /// Why no call may be made at present.
    pub fn closing_error(&self) -> Option<CallError> {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.as_ref().filter(|(until, _)| *until > Instant::now()).map(|(_, error)| error.clone())
    }

    /// Waits until a call of about so many tokens may be made.
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
    /// Says how the call ended, and for how long the provider says that nothing is left.
    pub fn end(mut self, ended: CallEnd, exhausted: Option<Duration>) {
        self.is_made = true;
        let now = Instant::now();
        let mut state = self.limiter.state();
        if let Some(time) = exhausted {
            state.pause(now + time);
        }
        match ended {
            CallEnd::Succeeded(used) => {
                state.succeeded();
                if let Some(used) = used {
                    state.give_back(self.tokens - used as f64);
                }
            }
            CallEnd::RateLimited(told) => {
                state.refused(self.at, now);
                state.give_back(self.tokens);
                if let Some(told) = told {
                    state.pause(now + told);
                }
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

/// What an attempt passes: the limits of who is called, then the gate of the run, so that calls which wait for a slow
/// model keep no slot from the others.
#[derive(Clone, Copy)]
pub(crate) struct AdmissionPath<'a> {
    pub gate: &'a Gate,
    /// Of who is called.
    pub queue: QueueId,
    /// The model's limits; what is no model has none.
    pub limiter: Option<&'a Limiter>,
    /// Tokens that the call may need.
    pub tokens: u64,
}

/// The right to make one attempt.
pub(crate) type Admitted<'a> = (SlotGuard, Option<Admission<'a>>);

impl<'a> AdmissionPath<'a> {
    /// Waits its turn. `None` once the gate is shut.
    pub async fn admit(&self) -> Option<Admitted<'a>> {
        self.gate
            .until_shut(async {
                loop {
                    let admission = match self.limiter {
                        Some(limiter) => Some(limiter.admit(self.tokens).await),
                        None => None,
                    };
                    let slot = self.gate.slot(self.queue).await?;
                    // Somebody may have been told to wait in the meantime: then all do.
                    if self.limiter.is_none_or(|limiter| !limiter.state().is_paused(Instant::now())) {
                        return Some((slot, admission));
                    }
                }
            })
            .await?
    }

    /// Waits so long. `None` once the gate is shut.
    pub async fn wait(&self, wait: Duration) -> Option<()> {
        self.gate.until_shut(tokio::time::sleep(wait)).await
    }
}

//! One call, as it is asked for and as it comes back.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, ChatRequest, Reply, Usage};

use crate::attempt::failure::Failure;
use crate::limiter::SlotGuard;

/// One call to a connected model.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Registry id of the model.
    pub model: &'a str,
    /// What is asked, with the settings of step or judge and model already joined.
    pub request: &'a ChatRequest,
    /// Its body as [`Providers::request_body`](crate::Providers::request_body) has written it; without it, it is written now.
    pub body: Option<&'a Bytes>,
    /// How long one attempt may take, from its first byte to its last.
    pub timeout: Duration,
    /// How many attempts may follow the first.
    pub retries: u32,
    /// Seed of the waits between attempts.
    pub jitter_seed: u64,
}

/// What a call was and became. Bytes are as sent and as received, but for known secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The body of the request.
    pub request: Bytes,
    /// The body of the last attempt's answer: its first 64 KiB at most when it broke off or is too large, nothing when
    /// none came.
    pub response: Bytes,
    /// HTTP status of the last attempt; `None` when none came, and for models without a server.
    pub status: Option<u16>,
    /// Attempts made; 0 when the request could not even be written.
    pub attempts: u32,
    /// How long the last attempt took, in milliseconds. Waits are not in it.
    pub latency_ms: f64,
    /// How a program behind the model was asked.
    pub program_run: Option<ProgramRun>,
    /// Whether it comes from a recording: nothing was sent, and nothing is paid.
    pub is_replayed: bool,
    /// What was billed, or may have been, beside the reply.
    pub failed_attempts: FailedAttempts,
    /// The reply, read from `response`, or why there is none.
    pub outcome: Result<Reply, CallError>,
}

impl Exchange {
    /// No attempt was made, for this reason.
    pub fn without_attempt(error: CallError) -> Self {
        Self {
            request: Bytes::new(),
            response: Bytes::new(),
            status: None,
            attempts: 0,
            latency_ms: 0.0,
            program_run: None,
            is_replayed: false,
            failed_attempts: FailedAttempts::default(),
            outcome: Err(error),
        }
    }
}

/// What attempts have cost that gave no reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailedAttempts {
    /// Tokens that answers without a usable reply were billed for, by their own words.
    pub usage: Usage,
    /// Attempts that were sent and of which nobody knows what they cost: no answer came, or it broke off.
    pub unknown: u32,
    /// Those of them whose answers counted more tokens than any call has.
    pub impossible: u32,
}

impl FailedAttempts {
    /// Counts an attempt that failed.
    pub(crate) fn add(&mut self, failure: &Failure) {
        self.usage += failure.billed_usage().unwrap_or_default();
        self.unknown += u32::from(failure.is_of_unknown_cost());
        self.impossible += u32::from(failure.is_impossible());
    }
}

/// How a program was asked, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRun {
    /// Its words; `<prompt>` stands for the prompt. Secrets are removed.
    pub command: String,
    /// Its exit code; `None` when it did not start, or was stopped.
    pub code: Option<i32>,
}

/// Who pays for the attempts of a call.
pub trait Payer: Sync {
    /// Why an attempt may not be made.
    type Refusal: Send;

    /// The next attempt has its slot and is sent once this is done: what it may cost must be on disk by then.
    ///
    /// # Errors
    /// It may not be sent.
    fn pay(&self) -> impl Future<Output = Result<(), Self::Refusal>> + Send;

    /// The attempt that was paid for last was not sent, and no other follows.
    fn withdraw(&self);

    /// An attempt has failed, and another one shall follow after a wait. `wasted` is what all attempts so far came to.
    fn attempt_failed(&self, wasted: &FailedAttempts);

    /// The wait is over, and another attempt shall follow; no slot is held.
    ///
    /// # Errors
    /// No other may follow.
    fn reserve_next(&self) -> impl Future<Output = Result<(), Self::Refusal>> + Send;
}

/// Pays everything: calls that cost nobody anything.
pub(crate) struct UnmeteredPayer;

impl Payer for UnmeteredPayer {
    type Refusal = Infallible;

    async fn pay(&self) -> Result<(), Infallible> {
        Ok(())
    }

    fn withdraw(&self) {}

    fn attempt_failed(&self, _: &FailedAttempts) {}

    async fn reserve_next(&self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// An exchange, and the slot that it holds until it is on disk; none where nothing was sent.
pub type ExchangeWithSlot = (Exchange, Option<SlotGuard>);

/// A latency in milliseconds, to the microsecond: what is finer is noise, and takes room in every report.
pub(crate) fn milliseconds(latency: Duration) -> f64 {
    latency.as_micros() as f64 / 1e3
}

/// A call that could not be made.
pub(crate) fn unsent_exchange(message: String) -> Exchange {
    let error = CallError { code: CallErrorCode::Unsupported, message, status: None };
    Exchange::without_attempt(error)
}

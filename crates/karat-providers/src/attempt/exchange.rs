//! A call and its result, and the payer that is asked before each attempt.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, ChatRequest, Reply, Usage};

use crate::answer::failure::{FailedBill, Failure};
use crate::limiter::SlotGuard;

/// One call to a connected model.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Registry id of the model.
    pub model: &'a str,
    /// The request, with the settings of step or judge and model merged.
    pub request: &'a ChatRequest,
    /// Its body as written by [`Providers::request_body`](crate::Providers::request_body); without it the body is
    /// written now.
    pub body: Option<&'a Bytes>,
    /// Timeout of one attempt, from its first byte to its last.
    pub timeout: Duration,
    /// Maximum number of retries.
    pub retries: u32,
    /// Seed of the waits between attempts.
    pub jitter_seed: u64,
}

/// A call that was made. Bytes are as sent and as received, with known secrets removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The body of the request.
    pub request: Bytes,
    /// The body of the last attempt's answer: at most its first 64 KiB if it broke off or is too large, empty if none
    /// came.
    pub response: Bytes,
    /// HTTP status of the last attempt; `None` if none came, and for models without a server.
    pub status: Option<u16>,
    /// Attempts made; 0 if the request could not be written.
    pub attempts: u32,
    /// Duration of the last attempt in milliseconds, without waits.
    pub latency_ms: f64,
    /// The program behind the model, and how it ended.
    pub program_run: Option<ProgramRun>,
    /// True if it comes from a recording: nothing was sent, and nothing is paid.
    pub is_replayed: bool,
    /// The cost of its failed attempts, known and unknown.
    pub failed_attempts: FailedAttempts,
    /// The address that refused every attempt in a way that no other call to it would escape: nothing listens there, its
    /// host is unknown, the key or the model is not accepted. `None` for any other end.
    pub refused_by: Option<String>,
    /// The reply, parsed from `response`, or the error.
    pub outcome: Result<Reply, CallError>,
}

impl Exchange {
    /// An exchange without an attempt, for this reason.
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
            refused_by: None,
            outcome: Err(error),
        }
    }
}

/// An attempt that is followed by another, as it would stand in an [`Exchange`].
#[derive(Debug, Clone, Copy)]
pub struct FailedAttempt<'a> {
    /// The body of the request.
    pub request: &'a Bytes,
    /// The body of the answer.
    pub response: &'a Bytes,
    /// HTTP status.
    pub status: Option<u16>,
    /// Its duration in milliseconds.
    pub latency_ms: f64,
    /// Its error; a reply without content has none.
    pub error: Option<&'a CallError>,
}

/// The cost of attempts without a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedAttempts {
    /// The bills of answers without a usable reply.
    pub bills: Vec<FailedBill>,
    /// Attempts of unknown cost: sent, and no answer came or it broke off.
    pub unknown: u32,
    /// Attempts whose answers report more tokens than any call has.
    pub impossible: u32,
}

impl FailedAttempts {
    /// Counts a failed attempt.
    pub(crate) fn add(&mut self, failure: &Failure) {
        let is_impossible = failure.bill.as_ref().is_some_and(|bill| bill.is_impossible());
        self.bills.extend(failure.bill.as_deref().filter(|_| !is_impossible).cloned());
        self.unknown += u32::from(failure.is_of_unknown_cost());
        self.impossible += u32::from(is_impossible);
    }

    /// The tokens that its answers count, all together.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.bills.iter().filter_map(|bill| bill.usage).for_each(|usage| sum += usage);
        sum
    }
}

/// A program that was run for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRun {
    /// Its command line, with `<prompt>` for the prompt. Secrets are removed.
    pub command: String,
    /// Its exit code; `None` if it did not start or was stopped.
    pub code: Option<i32>,
}

/// Decides whether attempts may be sent, and accounts for their cost.
pub trait Payer: Sync {
    /// The reason why an attempt is refused.
    type Refusal: Send;

    /// Called before an attempt with a slot is sent: its upper cost must be on disk when this returns.
    ///
    /// # Errors
    /// The attempt is refused.
    fn pay(&self) -> impl Future<Output = Result<(), Self::Refusal>> + Send;

    /// Takes back the last payment: its attempt was not sent, and no other follows.
    fn withdraw(&self);

    /// Called after an attempt that is followed by another. `failed_attempts` is the sum of all attempts so far.
    fn attempt_failed(&self, failed_attempts: &FailedAttempts, attempt: FailedAttempt<'_>);

    /// Reserves the next attempt after the wait; no slot is held.
    ///
    /// # Errors
    /// The attempt is refused.
    fn reserve_next(&self) -> impl Future<Output = Result<(), Self::Refusal>> + Send;
}

/// Accepts every attempt: for calls that cost nothing.
pub(crate) struct UnmeteredPayer;

impl Payer for UnmeteredPayer {
    type Refusal = Infallible;

    async fn pay(&self) -> Result<(), Infallible> {
        Ok(())
    }

    fn withdraw(&self) {}

    fn attempt_failed(&self, _: &FailedAttempts, _: FailedAttempt<'_>) {}

    async fn reserve_next(&self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// An exchange and the slot to hold until it is on disk; no slot if nothing was sent.
pub type ExchangeWithSlot = (Exchange, Option<SlotGuard>);

/// A latency in milliseconds, rounded to the microsecond: anything finer is noise and takes space in every report.
pub(crate) fn milliseconds(latency: Duration) -> f64 {
    latency.as_micros() as f64 / 1e3
}

/// An exchange for a call that could not be made.
pub(crate) fn unsent_exchange(message: String) -> Exchange {
    let error = CallError { code: CallErrorCode::Unsupported, message, status: None };
    Exchange::without_attempt(error)
}

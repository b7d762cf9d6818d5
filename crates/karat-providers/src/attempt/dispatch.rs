//! The retry loop of all calls: each attempt passes the limits of its model and the gate of the run; failures that may
//! pass are retried.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, Event, FinishReason, Observer, Reply, Usage};
use tokio::time::Instant;

use crate::answer::failure::{CallTarget, Failure};
use crate::answer::named_wait::wait_in_body;
use crate::answer::secrets::Secrets;
use crate::attempt::exchange::{
    Exchange, ExchangeWithSlot, FailedAttempt, FailedAttempts, Payer, ProgramRun, milliseconds, unsent_exchange,
};
use crate::attempt::retry::{Backoff, Waits};
use crate::http::compressed::detect_compression;
use crate::http::request::PreparedRequest;
use crate::http::transport::{ReceivedResponse, Transport};
use crate::limiter::response_memory::MemoryGrant;
use crate::limiter::{AdmissionPath, Admitted, CallEnd, Limiter};

/// A source of attempts at one call.
pub(crate) trait AttemptSource: Sync {
    /// Gets what an attempt needs beside its request, before anything is paid for.
    ///
    /// # Errors
    /// It cannot be had, so that no attempt is made.
    fn prepare(&self) -> impl Future<Output = Result<(), Failure>> + Send {
        std::future::ready(Ok(()))
    }

    /// Makes one attempt.
    fn attempt(&self) -> impl Future<Output = Attempt> + Send;
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub response: Bytes,
    pub status: Option<u16>,
    pub latency: Duration,
    /// The time for which the provider's limits are exhausted.
    pub exhausted: Option<Duration>,
    /// The memory granted to a large body.
    pub memory: Option<MemoryGrant>,
    /// The program behind the model, and how it ended.
    pub program_run: Option<ProgramRun>,
    pub outcome: Result<Reply, Failure>,
    /// The body that was sent in place of the given one, and how often a request was sent before it.
    pub rewritten: Option<RewrittenBody>,
}

/// A body without settings that the model refused.
#[derive(Debug)]
pub(crate) struct RewrittenBody {
    pub body: Bytes,
    /// Requests that were refused for a setting, which costs nothing.
    pub refused: u32,
}

/// An HTTP attempt whose body is not parsed yet: it returned a 2xx status, or failed.
pub(crate) type HttpAttempt = (ReceivedResponse, Result<u16, Failure>);

impl Attempt {
    /// The attempt of an HTTP request; `read` parses the body of a 2xx answer.
    pub fn read(sent: HttpAttempt, read: impl FnOnce(u16, &ReceivedResponse) -> Result<Reply, Failure>) -> Self {
        let (received, end) = sent;
        let outcome = end.and_then(|code| read(code, &received));
        let outcome = outcome.map_err(|failure| received.with_wait(failure));
        let ReceivedResponse { body: response, status, exhausted, memory, took: latency, .. } = received;
        Self { response, status, latency, exhausted, memory, program_run: None, outcome, rewritten: None }
    }

    /// An attempt for which nothing could be sent.
    pub fn unsent(failure: Failure) -> Self {
        Self {
            response: Bytes::new(),
            status: None,
            latency: Duration::ZERO,
            exhausted: None,
            memory: None,
            program_run: None,
            outcome: Err(failure),
            rewritten: None,
        }
    }

    fn lacks_descriptor(&self) -> bool {
        self.outcome.as_ref().is_err_and(|failure| failure.lacks_descriptor)
    }
}

/// Wait for a file descriptor before the next look.
const DESCRIPTOR_WAIT: Duration = Duration::from_millis(100);

/// A call to make, with the waits between its attempts.
pub(crate) struct RetrySpec<'a> {
    /// The model or service, for messages.
    pub target: CallTarget<'a>,
    /// The request as stored.
    pub request: Bytes,
    pub waits: Waits,
}

/// Shared settings of all attempts: secrets to remove, and the backoff.
pub(crate) struct Dispatch {
    pub secrets: Secrets,
    pub backoff: Backoff,
    /// The models and services that have answered.
    reached: RwLock<HashSet<String>>,
}

impl Dispatch {
    pub fn new(secrets: Secrets, backoff: Backoff) -> Self {
        Self { secrets, backoff, reached: RwLock::default() }
    }

    fn has_answered(&self, who: &str) -> bool {
        self.reached.read().unwrap_or_else(PoisonError::into_inner).contains(who)
    }

    fn note_answer(&self, who: &str) {
        if !self.has_answered(who) {
            self.reached.write().unwrap_or_else(PoisonError::into_inner).insert(who.to_owned());
        }
    }

    /// Makes attempts until one succeeds, another cannot help, or no retry is left. The payer is asked before each
    /// attempt; slots are returned before a wait.
    ///
    /// # Errors
    /// The refusal of `payer`, which knows the attempts that were sent before.
    pub async fn retry<'a, P: Payer>(
        &self,
        spec: RetrySpec<'_>,
        path: AdmissionPath<'a>,
        payer: &P,
        observer: &dyn Observer,
        source: &impl AttemptSource,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let RetrySpec { target, mut request, mut waits } = spec;
        let who = target.who.name();
        let Some(mut admitted) = path.admit().await else { return Ok((stopped_exchange(who, 0), None)) };
        let (mut attempts, mut failed_attempts) = (0, FailedAttempts::default());
        // Retries of failures that have a limit of their own.
        let mut limited_retries = 0;
        let mut refused_by = None;
        loop {
            if let Some(error) = path.limiter.and_then(Limiter::closing_error) {
                return Ok((Exchange { request, attempts, failed_attempts, ..Exchange::without_attempt(error) }, None));
            }
            if let Err(failure) = source.prepare().await {
                let error = failure.error(target, attempts, &self.secrets);
                return Ok((Exchange { request, attempts, failed_attempts, ..Exchange::without_attempt(error) }, None));
            }
            payer.pay().await?;
            attempts += 1;
            let (mut slot, admission) = admitted;
            let Some(attempt) = self.attempt_with_descriptor(path, source).await else {
                payer.withdraw();
                return Ok((stopped_exchange(who, attempts - 1), None));
            };
            let is_starved = attempt.lacks_descriptor();
            let Attempt { response, status, latency, exhausted, memory, program_run, outcome, rewritten } = attempt;
            if let Some(RewrittenBody { body, refused }) = rewritten {
                attempts += refused;
                request = self.secrets.clean(body);
            }
            slot.hold_memory(memory);
            if status.is_some() {
                self.note_answer(who);
            }
            if is_starved {
                payer.withdraw();
                attempts -= 1;
            } else if let Some(admission) = admission {
                let exhausted = exhausted.map(|time| time.min(self.backoff.most));
                admission.end(limit_outcome(&outcome), exhausted.max(self.pause_after(&outcome)));
            }
            // A reply without content is paid like any other. It is asked for once more, and then it is the answer.
            let (outcome, empty) = match outcome {
                Ok(reply) if is_without_content(&reply) && limited_retries < 1 => {
                    (Err(Failure { status, ..Failure::without_content(&reply) }), Some(reply))
                }
                outcome => (outcome, None),
            };
            let outcome = match outcome {
                Ok(reply) => {
                    refused_by = None;
                    Ok(reply)
                }
                Err(failure) => {
                    let address = failure.refusing_address(target);
                    refused_by = if attempts == 1 {
                        address
                    } else {
                        refused_by.filter(|known| Some(known) == address.as_ref())
                    };
                    let failure = failure.limit_wait(waits.time_left());
                    let error = failure.error(target, attempts, &self.secrets);
                    let excessive = failure.excessive_wait().filter(|wait| *wait > self.backoff.total);
                    if let (Some(named_wait), Some(limiter)) = (excessive, path.limiter) {
                        limiter.close(named_wait, &error);
                    }
                    let is_limited = failure.most_retries < u32::MAX;
                    let wait = match failure.retry {
                        true if is_limited && limited_retries >= failure.most_retries => None,
                        true if failure.is_unreachable && !self.has_answered(who) => waits.next_brief(),
                        true => waits.next(failure.named_wait),
                        false => None,
                    };
                    if let Some(wait) = wait {
                        limited_retries += u32::from(is_limited);
                        failed_attempts.add(&failure);
                        drop(slot);
                        let delay_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                        observer.on_event(&Event::Retrying { model: who, attempt: attempts, delay_ms, error: &error });
                        let failed = FailedAttempt {
                            request: &request,
                            response: &response,
                            status,
                            latency_ms: milliseconds(latency),
                            error: Some(&error).filter(|_| empty.is_none()),
                        };
                        payer.attempt_failed(&failed_attempts, failed);
                        // Boxed: few attempts are followed by another.
                        admitted = match Box::pin(next_turn(wait, path, payer)).await? {
                            Some(admitted) => admitted,
                            None => return Ok((stopped_exchange(who, attempts), None)),
                        };
                        continue;
                    }
                    match empty {
                        Some(reply) => Ok(reply),
                        None => {
                            failed_attempts.add(&failure);
                            Err(error)
                        }
                    }
                }
            };
            let latency_ms = milliseconds(latency);
            let is_replayed = false;
            let exchange = Exchange {
                request,
                response,
                status,
                attempts,
                latency_ms,
                program_run,
                is_replayed,
                failed_attempts,
                refused_by,
                outcome,
            };
            return Ok((exchange, Some(slot)));
        }
    }

    /// One attempt. Without a file descriptor nothing was sent, so it is repeated while waits are allowed: calls in
    /// flight free their descriptors. `None` once the gate is shut.
    async fn attempt_with_descriptor(&self, path: AdmissionPath<'_>, source: &impl AttemptSource) -> Option<Attempt> {
        let started = Instant::now();
        loop {
            let attempt = source.attempt().await;
            if !attempt.lacks_descriptor() || started.elapsed() >= self.backoff.total {
                return Some(attempt);
            }
            path.wait(DESCRIPTOR_WAIT).await?;
        }
    }

    /// Makes the only attempt of a call that is never retried.
    ///
    /// # Errors
    /// The refusal of `payer`; then nothing was done.
    pub async fn run_once<'a, P: Payer>(
        &self,
        who: &str,
        path: AdmissionPath<'a>,
        payer: &P,
        attempt_future: impl Future<Output = Exchange>,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let Some((slot, admission)) = path.admit().await else { return Ok((stopped_exchange(who, 0), None)) };
        payer.pay().await?;
        let exchange = attempt_future.await;
        if let Some(admission) = admission {
            let used = exchange.outcome.as_ref().ok().map(tokens_used);
            admission.end(used.map_or(CallEnd::Failed, CallEnd::Succeeded), None);
        }
        Ok((exchange, Some(slot)))
    }

    /// Sends one HTTP attempt and removes secrets from its answer.
    pub async fn send(&self, transport: &Transport, prepared: &PreparedRequest, timeout: Duration) -> HttpAttempt {
        let (mut received, end) = transport.send(prepared, timeout).await;
        let compression = detect_compression(received.compression, &received.body);
        received.body = match compression {
            // Secrets in compressed bytes cannot be found, so none of them are stored.
            Some(_) => Bytes::new(),
            None => self.secrets.capture(received.body, end.is_ok()),
        };
        let end = end.and_then(|()| match (received.status, compression) {
            (Some(200..=299), Some(name)) => {
                Err(Failure::of_gateway(format!("compressed ({name}), which was not requested")))
            }
            (Some(status @ 200..=299), None) => Ok(status),
            (status, _) => {
                let location = received.location.take().map(|location| self.secrets.clean_text(location));
                let location = location.as_ref().map(|location| self.secrets.redact_for_message(location.as_bytes()));
                let (status, said) = (status.unwrap_or_default(), self.secrets.redact_for_message(&received.body));
                let refusal = Failure::of_status(status, location.as_deref(), &said);
                Err(match transport.proxy(prepared) {
                    Some(proxy) => proxy.name_in_refusal(refusal),
                    None => refusal,
                })
            }
        });
        (received, end)
    }

    /// The time for which the whole model waits: the provider answered one call for all.
    fn pause_after(&self, outcome: &Result<Reply, Failure>) -> Option<Duration> {
        let failure = outcome.as_ref().err().filter(|failure| failure.retry)?;
        failure.named_wait.filter(|named_wait| *named_wait <= self.backoff.total)
    }
}

impl ReceivedResponse {
    /// The failure with the status of this answer and the wait that it names.
    fn with_wait(&self, failure: Failure) -> Failure {
        use CallErrorCode::{RateLimited, ServerError};
        let is_refused = self.status.is_some_and(|status| !(200..=299).contains(&status));
        let is_busy = matches!(failure.code, RateLimited | ServerError);
        let in_body = || (is_refused || is_busy).then(|| wait_in_body(&self.body, is_refused)).flatten();
        let by_quota = || self.exhausted.filter(|_| failure.code == RateLimited);
        let named_wait = match failure.code.is_retryable() {
            true => self.retry_after.or_else(in_body).or_else(by_quota),
            false => None,
        };
        Failure { status: self.status, named_wait, ..failure }
    }
}

fn limit_outcome(outcome: &Result<Reply, Failure>) -> CallEnd {
    match outcome {
        Ok(reply) => CallEnd::Succeeded(tokens_used(reply)),
        Err(failure) if failure.code == CallErrorCode::RateLimited => CallEnd::RateLimited,
        Err(_) => CallEnd::Failed,
    }
}

/// Waits, then for the next slot. `None` once the gate is shut.
///
/// # Errors
/// The refusal of `payer`.
async fn next_turn<'a, P: Payer>(
    wait: Duration,
    path: AdmissionPath<'a>,
    payer: &P,
) -> Result<Option<Admitted<'a>>, P::Refusal> {
    if path.wait(wait).await.is_some() {
        payer.reserve_next().await?;
    }
    Ok(path.admit().await)
}

/// Returns whether a reply ended by itself and says nothing.
fn is_without_content(reply: &Reply) -> bool {
    reply.finish == FinishReason::Stop && reply.is_empty()
}

/// Tokens of a call, if its provider reports a possible number.
fn tokens_used(reply: &Reply) -> Option<u64> {
    reply.usage.filter(Usage::is_possible).map(|usage| usage.total())
}

/// The result of a call that ends because the run was stopped.
pub(crate) fn stopped_exchange(who: &str, attempts: u32) -> Exchange {
    let message = format!("{who}: the run was stopped before this call was answered");
    let error = CallError { code: CallErrorCode::Cancelled, message, status: None };
    Exchange { attempts, outcome: Err(error), ..unsent_exchange(String::new()) }
}

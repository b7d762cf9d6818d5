//! Attempts: each passes the limits of who is asked and the gate of the run, and what may help is tried again.

use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, Event, Observer, Reply, Usage};
use tokio::time::Instant;

use crate::attempt::exchange::{Exchange, Held, Payer, Ran, Wasted, milliseconds, unsent};
use crate::attempt::failure::{Failure, Place};
use crate::attempt::retry::{Backoff, Waits};
use crate::capture::secrets::Secrets;
use crate::http::compressed::compression;
use crate::http::request::Letter;
use crate::http::response_memory::Room;
use crate::http::transport::{Received, Transport};
use crate::limiter::{Ended, Limiter, Passed, Way};

/// What can be tried again.
pub(crate) trait Tries: Sync {
    /// One attempt.
    fn attempt(&self) -> impl Future<Output = Attempt> + Send;
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub response: Bytes,
    pub status: Option<u16>,
    pub latency: Duration,
    /// How long nothing is left of the provider's limits.
    pub exhausted: Option<Duration>,
    /// What a large body takes of the memory for answers.
    pub room: Option<Room>,
    /// How a program behind a model was asked.
    pub ran: Option<Ran>,
    pub outcome: Result<Reply, Failure>,
}

/// An attempt over HTTP whose body is not read yet: it ended with a status that is 2xx, or failed.
pub(crate) type Sent = (Received, Result<u16, Failure>);

impl Attempt {
    /// What became of a request over HTTP; `read` reads the body of a 2xx answer.
    pub fn read(sent: Sent, read: impl FnOnce(u16, &[u8]) -> Result<Reply, Failure>) -> Self {
        let (received, end) = sent;
        let Received { body: response, status, exhausted, room, took: latency, .. } = received;
        let outcome = end.and_then(|code| read(code, &response)).map_err(|failure| Failure { status, ..failure });
        Self { response, status, latency, exhausted, room, ran: None, outcome }
    }

    fn is_starved(&self) -> bool {
        self.outcome.as_ref().is_err_and(|failure| failure.is_starved)
    }
}

/// How long is waited for a file descriptor before the next look.
const STARVED: Duration = Duration::from_millis(100);

/// What is asked, as often as it takes.
pub(crate) struct Quest<'a> {
    /// Who is asked, for messages.
    pub place: Place<'a>,
    /// What is kept of the request.
    pub request: Bytes,
    pub waits: Waits,
}

/// How attempts are made: what must not be kept of them, and how long is waited between them.
pub(crate) struct Dispatch {
    pub secrets: Secrets,
    pub backoff: Backoff,
}

impl Dispatch {
    /// Attempts until one succeeds, none can help, or no wait is left. Each is paid for before it is sent; slots are given
    /// back before a wait.
    ///
    /// # Errors
    /// That of `payer`, who knows what was sent before.
    pub async fn retried<'a, P: Payer>(
        &self,
        quest: Quest<'_>,
        way: Way<'a>,
        payer: &P,
        observer: &dyn Observer,
        tries: &impl Tries,
    ) -> Result<Held, P::Refusal> {
        let Quest { place, request, mut waits } = quest;
        let who = place.who.name();
        let Some(mut passed) = way.pass().await else { return Ok((shut_out(who, 0), None)) };
        let (mut attempts, mut wasted) = (0, Wasted::default());
        loop {
            if let Some(error) = way.limiter.and_then(Limiter::closed) {
                return Ok((Exchange { request, attempts, wasted, ..Exchange::unmade(error) }, None));
            }
            payer.pay().await?;
            attempts += 1;
            let (mut slot, admission) = passed;
            let Some(attempt) = self.supplied(way, tries).await else {
                payer.unsent();
                return Ok((shut_out(who, attempts - 1), None));
            };
            let is_starved = attempt.is_starved();
            let Attempt { response, status, latency, exhausted, room, ran, outcome } = attempt;
            slot.keep(room);
            if is_starved {
                payer.unsent();
                attempts -= 1;
            } else if let Some(admission) = admission {
                admission.end(self.ended(&outcome), exhausted.map(|time| time.min(self.backoff.most)));
            }
            let outcome = match outcome {
                Ok(reply) => Ok(reply),
                Err(failure) => {
                    wasted.add(&failure);
                    let failure = failure.within(self.backoff.total);
                    let error = failure.error(place, attempts, &self.secrets);
                    if let (Some(told), Some(limiter)) = (failure.too_long(), way.limiter) {
                        limiter.close(told, &error);
                    }
                    let wait = if failure.retry { waits.next(failure.retry_after) } else { None };
                    if let Some(wait) = wait {
                        drop(slot);
                        let delay_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                        observer.on(&Event::Retrying { model: who, attempt: attempts, delay_ms, error: &error });
                        payer.failed(&wasted);
                        // Boxed: few attempts are not the last.
                        passed = match Box::pin(turn_after(wait, way, payer)).await? {
                            Some(passed) => passed,
                            None => return Ok((shut_out(who, attempts), None)),
                        };
                        continue;
                    }
                    Err(error)
                }
            };
            let latency_ms = milliseconds(latency);
            let is_replayed = false;
            let exchange =
                Exchange { request, response, status, attempts, latency_ms, ran, is_replayed, wasted, outcome };
            return Ok((exchange, Some(slot)));
        }
    }

    /// One attempt. One for which this machine has no file descriptor costs nobody anything, and is made again as long as
    /// calls wait at all: those under way give theirs back. `None` once the gate is shut.
    async fn supplied(&self, way: Way<'_>, tries: &impl Tries) -> Option<Attempt> {
        let begun = Instant::now();
        loop {
            let attempt = tries.attempt().await;
            if !attempt.is_starved() || begun.elapsed() >= self.backoff.total {
                return Some(attempt);
            }
            way.rest(STARVED).await?;
        }
    }

    /// The only attempt of what is never tried again.
    ///
    /// # Errors
    /// That of `payer`: then nothing was done.
    pub async fn once<'a, P: Payer>(
        &self,
        who: &str,
        way: Way<'a>,
        payer: &P,
        made: impl Future<Output = Exchange>,
    ) -> Result<Held, P::Refusal> {
        let Some((slot, admission)) = way.pass().await else { return Ok((shut_out(who, 0), None)) };
        payer.pay().await?;
        let exchange = made.await;
        if let Some(admission) = admission {
            let used = exchange.outcome.as_ref().ok().map(used);
            admission.end(used.map_or(Ended::Badly, Ended::Well), None);
        }
        Ok((exchange, Some(slot)))
    }

    /// One attempt over HTTP.
    pub async fn sent(&self, transport: &Transport, letter: &Letter, timeout: Duration) -> Sent {
        let (mut received, end) = transport.send(letter, timeout).await;
        let compression = compression(received.compression, &received.body);
        received.body = match compression {
            // Secrets within what is compressed cannot be found, so nothing of it is kept.
            Some(_) => Bytes::new(),
            None => self.secrets.captured(received.body, end.is_ok()),
        };
        let end = end.and_then(|()| match (received.status, compression) {
            (Some(200..=299), Some(name)) => {
                Err(Failure::of_gateway(format!("compressed ({name}), which was not asked for")))
            }
            (Some(status @ 200..=299), None) => Ok(status),
            (status, _) => {
                let location = received.location.take().map(|location| self.secrets.clean_text(location));
                let location = location.as_ref().map(|location| self.secrets.quotable(location.as_bytes()));
                let (status, said) = (status.unwrap_or_default(), self.secrets.quotable(&received.body));
                let refusal = Failure::of_status(status, location.as_deref(), received.retry_after, &said);
                Err(match transport.proxy(letter) {
                    Some(proxy) => proxy.refused(refusal),
                    None => refusal,
                })
            }
        });
        (received, end)
    }

    fn ended(&self, outcome: &Result<Reply, Failure>) -> Ended {
        match outcome {
            Ok(reply) => Ended::Well(used(reply)),
            Err(failure) if failure.code == CallErrorCode::RateLimited => {
                Ended::Refused(failure.retry_after.filter(|told| *told <= self.backoff.total))
            }
            Err(_) => Ended::Badly,
        }
    }
}

/// Waits, and then for the next turn. `None` once the gate is shut.
///
/// # Errors
/// That of `payer`.
async fn turn_after<'a, P: Payer>(wait: Duration, way: Way<'a>, payer: &P) -> Result<Option<Passed<'a>>, P::Refusal> {
    if way.rest(wait).await.is_some() {
        payer.pay_again().await?;
    }
    Ok(way.pass().await)
}

/// Tokens of a call, where its provider says what can be true.
fn used(reply: &Reply) -> Option<u64> {
    reply.usage.filter(Usage::is_possible).map(|usage| usage.total())
}

/// A call that was given up before its next attempt, because nobody waits for it any more.
pub(crate) fn shut_out(who: &str, attempts: u32) -> Exchange {
    let message = format!("{who}: the run was stopped before this call was answered");
    let error = CallError { code: CallErrorCode::Cancelled, message, status: None };
    Exchange { attempts, outcome: Err(error), ..unsent(String::new()) }
}

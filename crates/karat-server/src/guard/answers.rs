//! Answers that callers who ask for the same thing at the same time share.
//!
//! Few callers get an answer whose making began after they asked. A crowd that keeps asking gets one that is at most some
//! twenty times older than the time its making took, so that making it anew costs a tenth of a processor however many
//! ask; never one from before a change that this server made.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as BlockingMutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header;
use http::response::Parts;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::problem::Problem;

/// Callers who ask while one answer is made, from which on they are a crowd.
const CROWD: u64 = 8;

/// Age to which a crowd is given an answer, in times of its making.
const TIMES: u32 = 10;

/// Greatest age to which a crowd is given an answer that is not being made anew.
const LONGEST: Duration = Duration::from_secs(5);

/// The answers that are being made, waited for, or kept for a crowd. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SharedAnswers(Arc<BlockingMutex<HashMap<Vec<u8>, Arc<Turn>>>>);

/// The turn to make the answer to one question.
#[derive(Default)]
struct Turn {
    /// The number of answers whose making has begun.
    begun: AtomicU64,
    /// Callers since the making of the last one began.
    asked: AtomicU64,
    /// Held while one is made.
    making: Mutex<()>,
    last: BlockingMutex<Option<LastAnswer>>,
}

/// The last answer that was made.
struct LastAnswer {
    number: u64,
    answer: Answer,
    /// The change after which its making began.
    change: u64,
    begun: Instant,
    /// The age to which a crowd is given it: none if only few asked.
    good_for: Duration,
}

#[derive(Clone)]
struct Answer {
    head: Parts,
    body: Bytes,
}

impl Answer {
    fn into_response(self) -> Response {
        Response::from_parts(self.head, Body::from(self.body))
    }
}

impl Turn {
    fn last(&self) -> MutexGuard<'_, Option<LastAnswer>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer for a crowd. While the next one is being made, the last is good for as long again.
    fn kept_answer(&self, change: u64) -> Option<Answer> {
        let is_being_made = self.making.try_lock().is_err();
        let last = self.last();
        let last = last.as_ref().filter(|last| last.change == change && !last.good_for.is_zero())?;
        let good_for = if is_being_made { last.good_for * 2 } else { last.good_for };
        (last.begun.elapsed() < good_for).then(|| last.answer.clone())
    }

    /// The age at which the last answer is of no use to anybody who comes.
    fn useful_for(&self) -> Duration {
        let last = self.last();
        last.as_ref().map(|last| (last.good_for * 2).saturating_sub(last.begun.elapsed())).unwrap_or_default()
    }
}

impl SharedAnswers {
    fn turns(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Arc<Turn>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self, question: &[u8]) -> Arc<Turn> {
        Arc::clone(self.turns().entry(question.to_vec()).or_default())
    }

    /// Forgets an answer that nobody waits for, once it is too old for a crowd.
    fn leave(&self, question: &[u8], turn: Arc<Turn>) {
        let mut turns = self.turns();
        // The map and this caller.
        if Arc::strong_count(&turn) > 2 {
            return;
        }
        let useful_for = turn.useful_for();
        if useful_for.is_zero() {
            turns.remove(question);
        }
    }

    /// Forgets an answer for a crowd when the crowd has gone.
    fn forget_later(&self, question: &[u8], turn: &Arc<Turn>) {
        let (answers, question, turn) = (self.clone(), question.to_vec(), Arc::downgrade(turn));
        tokio::spawn(async move {
            loop {
                let Some(useful_for) = turn.upgrade().map(|turn| turn.useful_for()) else { return };
                if useful_for.is_zero() {
                    break;
                }
                tokio::time::sleep(useful_for).await;
            }
            turn.upgrade().into_iter().for_each(|turn| answers.leave(&question, turn));
        });
    }

    /// The answer to a question: one whose making begins now or later, made by this caller or by another; or the last one,
    /// if a crowd asks and there was no other `change` since.
    pub async fn find_or_make(&self, question: &[u8], change: u64, make: impl Future<Output = Response>) -> Response {
        let place = Place { answers: self, question, turn: Some(self.turn(question)) };
        let Some(turn) = &place.turn else { return Problem::internal().into_response() };
        let before = turn.begun.load(Ordering::SeqCst);
        turn.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(answer) = turn.kept_answer(change) {
            return answer.into_response();
        }
        let _making = turn.making.lock().await;
        let made = turn.last().as_ref().filter(|last| last.number > before).map(|last| last.answer.clone());
        if let Some(answer) = made {
            return answer.into_response();
        }
        let number = turn.begun.fetch_add(1, Ordering::SeqCst) + 1;
        turn.asked.store(0, Ordering::SeqCst);
        let begun = Instant::now();
        let response = make.await;
        if is_stream(&response) {
            return response;
        }
        let (head, body) = response.into_parts();
        let Ok(body) = to_bytes(body, usize::MAX).await else { return Problem::internal().into_response() };
        let answer = Answer { head, body };
        let is_crowd = turn.asked.load(Ordering::SeqCst) >= CROWD && answer.head.status.is_success();
        let good_for = if is_crowd { (begun.elapsed() * TIMES).min(LONGEST) } else { Duration::ZERO };
        *turn.last() = Some(LastAnswer { number, answer: answer.clone(), change, begun, good_for });
        if is_crowd {
            self.forget_later(question, turn);
        }
        answer.into_response()
    }
}

/// The place of a caller at a turn; left also if the caller goes away.
struct Place<'a> {
    answers: &'a SharedAnswers,
    question: &'a [u8],
    turn: Option<Arc<Turn>>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.answers.leave(self.question, turn);
        }
    }
}

/// Marks an answer that is sent while it is made.
#[derive(Clone, Copy)]
pub(crate) struct IsStream;

/// Returns whether the response is sent while it is made, or a stream of events, which has no end to wait for.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    response.extensions().get::<IsStream>().is_some() || kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    async fn text(response: Response) -> String {
        String::from_utf8(to_bytes(response.into_body(), 100).await.unwrap().to_vec()).unwrap()
    }

    /// SV-28: many who ask at once share an answer that is made after they asked, and nothing is kept for later.
    #[tokio::test]
    async fn an_answer_is_shared_by_those_who_asked_before_it_was_begun() {
        let (answers, made) = (SharedAnswers::default(), AtomicUsize::new(0));
        let gate = tokio::sync::Semaphore::new(0);
        let ask = || {
            answers.find_or_make(b"page", 0, async {
                let number = made.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                number.to_string().into_response()
            })
        };
        // One begins; the others ask while it is being made and wait for the next, which is made once for all of them.
        let first = ask();
        let others = futures::future::join_all((0..20).map(|_| ask()));
        let release = async {
            tokio::task::yield_now().await;
            gate.add_permits(2);
        };
        let (first, others, ()) = tokio::join!(first, others, release);
        assert_eq!(text(first).await, "0");
        for other in others {
            assert_eq!(text(other).await, "1");
        }
        assert!(answers.turns().is_empty());
        gate.add_permits(1);
        assert_eq!(text(ask().await).await, "2");
    }

    /// SV-28: a caller who goes away does not keep the others waiting.
    #[tokio::test]
    async fn an_answer_that_its_maker_gave_up_is_made_by_the_next() {
        let answers = SharedAnswers::default();
        let stuck = answers.find_or_make(b"page", 0, std::future::pending());
        let stuck = tokio::time::timeout(Duration::from_millis(5), stuck);
        let next = answers.find_or_make(b"page", 0, async { "made".into_response() });
        let (stuck, next) = tokio::join!(stuck, next);
        assert!(stuck.is_err());
        assert_eq!(text(next).await, "made");
        assert!(answers.turns().is_empty());
    }

    /// SV-28: a crowd that keeps asking is given the last answer for ten times as long as its making took, and while the next
    /// one is made; a change ends that at once, and nothing is kept when the crowd has gone.
    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_given_the_last_answer() {
        let (answers, made) = (SharedAnswers::default(), AtomicUsize::new(0));
        let ask = async |change| {
            let answer = answers.find_or_make(b"page", change, async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                made.fetch_add(1, Ordering::SeqCst).to_string().into_response()
            });
            text(answer.await).await
        };
        let crowd = async |change| futures::future::join_all((0..20).map(|_| ask(change))).await;
        assert_eq!(crowd(0).await[1..], vec!["1"; 19]);
        // The second was asked for by all before it was begun, and by nobody since: the crowd has to show again.
        assert_eq!(ask(0).await, "2");
        let (first, others) = tokio::join!(ask(0), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            crowd(0).await
        });
        assert_eq!((first.as_str(), others), ("3", vec!["4".to_owned(); 20]));
        let _ = tokio::join!(ask(0), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            tokio::time::timeout(Duration::from_millis(1), crowd(0)).await
        });
        let last = ask(0).await;
        tokio::time::sleep(Duration::from_millis(800)).await;
        assert_eq!(ask(0).await, last);
        // It is old now: one makes the next, the others do not wait.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let (next, others) = tokio::join!(ask(0), crowd(0));
        assert!(next != last && others.iter().all(|other| *other == last), "{next} {others:?}");
        assert_eq!(ask(0).await, next);
        assert!(ask(1).await != next, "an answer from before a change was given");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(answers.turns().is_empty());
    }
}

//! Answers that callers who ask for the same thing at the same time share (SV-28).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as BlockingMutex, PoisonError};

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::response::Parts;
use tokio::sync::Mutex;

use crate::layers::entity::is_stream;
use crate::problem::Problem;

/// The answers that are being made or waited for.
#[derive(Default)]
pub(crate) struct SharedAnswers(BlockingMutex<HashMap<Vec<u8>, Arc<Turn>>>);

/// The turn to make the answer to one question.
#[derive(Default)]
struct Turn {
    /// The number of answers whose making has begun.
    begun: AtomicU64,
    /// The last answer with its number. Held while one is made.
    last: Mutex<Option<(u64, Answer)>>,
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

impl SharedAnswers {
    fn turn(&self, question: &[u8]) -> Arc<Turn> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(question.to_vec()).or_default())
    }

    /// Forgets an answer that nobody waits for.
    fn leave(&self, question: &[u8], turn: Arc<Turn>) {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The map and this caller.
        if Arc::strong_count(&turn) <= 2 {
            turns.remove(question);
        }
    }

    /// The answer to a question: one whose making begins now or later, made by this caller or by another.
    pub async fn find_or_make(&self, question: &[u8], make: impl Future<Output = Response>) -> Response {
        let place = Place { answers: self, question, turn: Some(self.turn(question)) };
        let Some(turn) = &place.turn else { return Problem::internal().into_response() };
        let before = turn.begun.load(Ordering::SeqCst);
        let mut last = turn.last.lock().await;
        if let Some((_, answer)) = last.as_ref().filter(|(number, _)| *number > before) {
            return answer.clone().into_response();
        }
        let number = turn.begun.fetch_add(1, Ordering::SeqCst) + 1;
        *last = None;
        let response = make.await;
        if is_stream(&response) {
            return response;
        }
        let (head, body) = response.into_parts();
        let Ok(body) = to_bytes(body, usize::MAX).await else { return Problem::internal().into_response() };
        let answer = Answer { head, body };
        *last = Some((number, answer.clone()));
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
            answers.find_or_make(b"page", async {
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
        assert!(answers.0.lock().unwrap().is_empty());
        gate.add_permits(1);
        assert_eq!(text(ask().await).await, "2");
    }

    /// SV-28: a caller who goes away does not keep the others waiting.
    #[tokio::test]
    async fn an_answer_that_its_maker_gave_up_is_made_by_the_next() {
        let answers = SharedAnswers::default();
        let stuck = answers.find_or_make(b"page", std::future::pending());
        let stuck = tokio::time::timeout(std::time::Duration::from_millis(5), stuck);
        let next = answers.find_or_make(b"page", async { "made".into_response() });
        let (stuck, next) = tokio::join!(stuck, next);
        assert!(stuck.is_err());
        assert_eq!(text(next).await, "made");
        assert!(answers.0.lock().unwrap().is_empty());
    }
}

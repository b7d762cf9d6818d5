//! Drives steps and judges to their ends: answers their requests from what is paid, or by a call.
//!
//! The rule of *finished* stands here, for everything that takes several calls: chunks, turns of an agent, votes, orders of
//! a pair, re-asks. A machine has a result only when everything that it asked for was asked. If the run stops in between,
//! there is none, whatever the machine would make of the rest: the replies that are there stay paid, and `resume` asks for
//! the others.

use std::sync::PoisonError;

use futures::future::{FutureExt, join_all};
use karat_store::StoreError;
use karat_types::{
    Answer, Ask, AskId, CallErrorCode, CellError, ChatRequest, Event, Key, Machine, Money, Request, Turn,
};

use crate::call::conversations::{Conversations, call_program_with_state, limit_answers};
use crate::call::executor::CallExecutor;
use crate::call::settlement::SettledCall;
use crate::call::tally::Tally;
use crate::control::target::Target;
use crate::plan::identity::call_key;
use crate::steps::parameters;

/// The caller of a machine.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    /// The content key below which its calls are keyed.
    pub key: Key,
    pub target: &'a Target,
    /// True if replies that other runs have paid for may be used.
    pub may_reuse: bool,
}

/// The failure of a machine.
pub(crate) struct Failure<'a> {
    pub error: &'a CellError,
    /// Ids of the calls whose replies could not be read; empty if the machine does not tell them.
    pub unread: &'a [String],
}

impl CallExecutor {
    /// Drives a machine to its end. If it failed on unreadable replies that were paid before, drives a new one that asks for
    /// them again. `failure` returns the reason if an end is a failure. The tally holds the cost of all of them.
    ///
    /// The inner error: the run stops, and the machine has no end.
    pub async fn drive<D>(
        &self,
        machine: impl Fn() -> Box<dyn Machine<Done = D>>,
        owner: Owner<'_>,
        failure: impl Fn(&D) -> Option<Failure<'_>>,
    ) -> (Result<D, CellError>, Tally) {
        let mut paid = Money::ZERO;
        loop {
            let mut tally = Tally::default();
            let end = self.drive_once(machine(), owner, &mut tally).await;
            paid += tally.paid;
            let given_up = end.as_ref().ok().and_then(&failure).is_some_and(|failure| {
                let unread: Vec<Key> =
                    failure.unread.iter().map(|id| call_key(owner.key, &AskId::new(id.as_str()))).collect();
                let calls = if unread.is_empty() { &tally.calls } else { &unread };
                self.paid.give_up(self.store(), calls, failure.error)
            });
            if !given_up {
                return (end, Tally { paid, ..tally });
            }
        }
    }

    async fn drive_once<D>(
        &self,
        mut machine: Box<dyn Machine<Done = D>>,
        owner: Owner<'_>,
        tally: &mut Tally,
    ) -> Result<D, CellError> {
        let (mut answers, mut is_first) = (Vec::new(), true);
        let mut conversations = Conversations::default();
        let end = loop {
            match machine.poll(std::mem::take(&mut answers)) {
                Turn::Done(done) => break Ok(done),
                Turn::Ask(asks) => {
                    conversations.note(&asks);
                    answers = self.answer_all(owner, asks, is_first, tally).await;
                    is_first = false;
                }
            }
            let stop = |answer: &Answer| answer.outcome.as_ref().err().filter(|error| error.code.is_stop()).cloned();
            if let Some(stop) = answers.iter().find_map(stop) {
                break Err(stop.into());
            }
        };
        conversations.end(&self.providers).await;
        end
    }

    async fn answer_all(&self, owner: Owner<'_>, mut asks: Vec<Ask>, is_first: bool, tally: &mut Tally) -> Vec<Answer> {
        let mut slowest = 0.0_f64;
        let target = Some(owner.target);
        if let Some(refusal) = limit_answers(&asks, target, tally) {
            return refusal;
        }
        let mut answer_to = |ask: Ask, made: Option<SettledCall>| match (made, &ask.request) {
            (Some(made), Request::SimulatedUser(_)) => Answer { id: ask.id, outcome: tally.add_user(made) },
            (Some(made), request) => {
                slowest = slowest.max(made.latency_ms);
                let outcome = match request {
                    Request::Tool(_) => made.outcome,
                    _ => tally.add(made, target),
                };
                Answer { id: ask.id, outcome }
            }
            (None, _) => self.recorded_files.answer(ask),
        };
        let answers = match asks.pop() {
            // Most machines ask for one thing at a time.
            Some(only) if asks.is_empty() => {
                let made = self.answer_one(owner, &only, is_first).await;
                vec![answer_to(only, made)]
            }
            last => {
                asks.extend(last);
                let made = join_all(asks.iter().map(|ask| self.answer_one(owner, ask, is_first))).await;
                asks.into_iter().zip(made).map(|(ask, made)| answer_to(ask, made)).collect()
            }
        };
        tally.latency_ms += slowest;
        answers
    }

    /// Answers one request; `None` if it needs no call.
    async fn answer_one(&self, owner: Owner<'_>, ask: &Ask, is_first: bool) -> Option<SettledCall> {
        let target = owner.target.recipient(&ask.request);
        let key = call_key(owner.key, &ask.id);
        let user_request;
        let request = match (&ask.request, &target.model) {
            (Request::File { .. }, _) | (Request::Chat(_) | Request::SimulatedUser(_), None) => return None,
            (Request::Tool(tool), _) => {
                return Some(Box::pin(call_program_with_state((&self.providers, &self.stop), key, tool, target)).await);
            }
            (Request::SimulatedUser(chat), Some(model)) => {
                let parameters = parameters(&chat.parameters, Some(model));
                user_request = Request::Chat(ChatRequest { parameters, ..chat.clone() });
                &user_request
            }
            (request, _) => request,
        };
        match self.paid_answer(owner, key, (request, target), is_first) {
            Ok(Some(paid)) => return Some(paid),
            Ok(None) => {}
            Err(stop) => return Some(SettledCall::refusal(key, CallErrorCode::Cancelled, stop.message)),
        }
        // Boxed: the state of a call is many times larger than that of the futures around it, which are moved.
        match self.recorded_files.with_media(request) {
            Ok(None) => Some(self.make_call((owner.key, key), request, target, &|_| Ok(())).boxed().await),
            Ok(Some(whole)) => Some(match self.keep_media(&whole) {
                Ok(()) => self.make_call((owner.key, key), &whole, target, &|_| Ok(())).boxed().await,
                Err(stop) => SettledCall::refusal(key, CallErrorCode::Cancelled, stop.message),
            }),
            Err(problem) => {
                let message = format!("{}: {problem}", target.who);
                Some(SettledCall::refusal(key, CallErrorCode::NotFound, message))
            }
        }
    }

    /// The answer to a request that is paid: by an earlier part of this run, else by another run.
    ///
    /// # Errors
    /// The store cannot be asked, and the run stops.
    fn paid_answer(
        &self,
        owner: Owner<'_>,
        key: Key,
        (request, target): (&Request, &Target),
        is_first: bool,
    ) -> Result<Option<SettledCall>, CellError> {
        // A reply whose content was not stored cannot be used again.
        if !self.privacy.keeps_content() {
            return Ok(None);
        }
        if let Some(record) = self.check_found(self.paid.reply(self.store(), key))? {
            return Ok(Some(SettledCall::from_ledger(record, request, target, self.paid.is_unreported(key))));
        }
        if !owner.may_reuse {
            return Ok(None);
        }
        let other = self.check_found(self.paid.reply_of_another_run(self.store(), key))?;
        // The first requests follow from the key. Later ones follow from the replies before them.
        let other = other.filter(|record| is_first || self.is_request_of(record, request, target));
        let answer = other.map(|record| SettledCall::from_ledger(record, request, target, false));
        let answer = answer.filter(|answer| answer.outcome.is_ok());
        answer.iter().for_each(|answer| self.paid.take(answer.key));
        Ok(answer)
    }

    /// The result of a look-up in the store. A stored result that is damaged is made again, which is said. Any other
    /// failure stops the run: a store that cannot be asked must not make a paid result look unpaid.
    ///
    /// # Errors
    /// The run stops.
    pub fn check_found<T>(&self, found: Result<Option<T>, StoreError>) -> Result<Option<T>, CellError> {
        match found {
            Ok(found) => Ok(found),
            Err(error @ StoreError::Damaged { .. }) => {
                self.warn_of_damage(&error);
                Ok(None)
            }
            Err(error) => Err(self.stop_for(error)),
        }
    }

    /// Says that something stored is damaged and is made again; once, though many cells may need it.
    pub fn warn_of_damage(&self, damage: &StoreError) {
        let text = format!("{damage}. What is lost by it is made again");
        if self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone()) {
            self.observer.on_event(&Event::Warning(&text));
        }
    }

    /// The cost of these calls of a saved step that no cell has reported: the first cell to ask reports it.
    ///
    /// # Errors
    /// The store cannot be asked, and the run stops.
    pub fn unreported_cost(&self, calls: &[Key]) -> Result<Money, CellError> {
        let costs = self.paid.take_unreported(calls).into_iter().map(|key| {
            let record = self.check_found(self.paid.reply(self.store(), key))?;
            Ok::<_, CellError>(record.and_then(|record| record.cost).unwrap_or_default())
        });
        costs.sum()
    }
}

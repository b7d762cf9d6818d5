//! Recipients that are not called any more in this part of the run, because calling them again would be for nothing.
//!
//! A recipient that *refuses* every call (D13, D14): a wrong address, key or name, or a key that was revoked. Such an error
//! does not pass by itself, so a few steps or judgments show it as well as all of them. If the first [`ENOUGH`] of a recipient
//! are refused alike, it is stopped. An answer of any other kind, also a failed one, shows that the recipient is there: from
//! then on only a refused key counts, since one that was accepted may be revoked or run out of credit.
//!
//! A model, judge, embedder or program that *fails* every call: it answers with a page or a stream, drops connections, or
//! always breaks its reply off. If its first [`ENOUGH`] calls fail, it is stopped. An attempt that may have been paid counts
//! as a call by itself, so that retries do not multiply the bill; one that costs nothing counts once its call has no retry
//! left. A reply of any kind ends the count. Of a judge, judgments whose replies cannot be read count as well.
//!
//! Under a budget, a model gets only [`ENOUGH`] calls at a time, those that failed included, until its first reply: that shows that
//! it works and what it bills. Each settled reply allows one call more, so the number doubles with each round of replies: a model
//! that bills more than its requests allow is found out while few calls are under way.
//!
//! The first [`ENOUGH`] calls that failed are results of their cells, which show the cause. Other cells that need a stopped
//! recipient are left unmade, as at a stop; a later part of the run calls it again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_providers::Exchange;
use karat_types::{CallError, CallErrorCode, Key, Request};
use tokio::sync::Notify;

use crate::control::target::{CallFate, Target};

/// Steps or judgments refused in a row, or calls failed from the first one on, after which a recipient is not called any
/// more. A single one may be refused for its content.
const ENOUGH: usize = 4;

/// Settled replies after which a model gets as many calls at a time as the run makes.
const PROVEN: u64 = 32;

/// A model, service or program that is not called any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusingTarget {
    /// Its name: the id of a model, or the step or scorer.
    pub name: String,
    /// The error of its calls, with the place and the advice.
    pub error: String,
    /// The fault of its calls.
    pub fault: TargetFault,
    /// Calls refused in a row or failed, with those that were under way when it was stopped.
    pub calls: u64,
    /// Cells that were not made, or not judged.
    pub left: u64,
}

/// The reason why a recipient is not called any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetFault {
    /// It refused its first calls.
    Refuses,
    /// It gave another answer before it refused.
    RefusesNow,
    /// Its first calls failed.
    Fails,
    /// The first replies of a judge could not be read.
    Unreadable,
}

/// The recipients of a run's calls, by name.
#[derive(Default)]
pub(crate) struct Refusals {
    states: Mutex<BTreeMap<String, TargetState>>,
    /// True if recipients get few calls at a time at first.
    begins_slowly: bool,
    ended: Notify,
}

/// A call of a recipient whose calls at a time are limited.
pub(crate) struct FirstCall<'a> {
    refusals: &'a Refusals,
    name: String,
}

#[derive(Default)]
struct TargetState {
    has_answered: bool,
    /// True once a call has brought a reply.
    has_replied: bool,
    /// Calls that are settled since: each lets another begin.
    settled: u64,
    /// Calls under way while their number is limited.
    first_calls: u64,
    /// Calls that failed before any reply.
    failures: u64,
    /// Calls whose failure is the result of their cell.
    kept: u64,
    /// The error of the latest call that may have been paid.
    paid_error: Option<String>,
    /// The address that refused the latest calls in a row; empty if the latest was not refused.
    address: String,
    /// The steps and judgments of these calls.
    owners: Vec<Key>,
    refusals: u64,
    /// The error of a recipient that is not called any more.
    stopped: Option<(TargetFault, String)>,
    left: u64,
}

impl Refusals {
    /// Recipients of which nothing is known. With `begins_slowly`, each gets few calls at a time at first.
    pub fn new(begins_slowly: bool) -> Self {
        Self { begins_slowly, ..Self::default() }
    }

    /// Waits until a call may begin. The result is kept until the call is settled, or waits for its next attempt.
    pub async fn begin(&self, target: &Target) -> Option<FirstCall<'_>> {
        if !self.begins_slowly {
            return None;
        }
        let name = target_name(target);
        loop {
            let ended = self.ended.notified();
            match self.with_state(name, TargetState::begin) {
                Some(true) => return Some(FirstCall { refusals: self, name: name.to_owned() }),
                Some(false) => ended.await,
                None => return None,
            }
        }
    }

    /// Notes the end of a call of `owner`, a step or judgment.
    pub fn note(&self, target: &Target, owner: Key, request: &Request, exchange: &Exchange) -> CallFate {
        if exchange.attempts == 0 || exchange.is_replayed {
            return CallFate::Stands;
        }
        self.with_state(target_name(target), |state| {
            let is_left = state.note_refusal(owner, exchange);
            let error = match &exchange.outcome {
                Ok(_) => {
                    state.has_replied = true;
                    return CallFate::Stands;
                }
                Err(error) => error,
            };
            let is_own = counts(target, request, error);
            if is_own {
                state.note_failure(error);
            }
            // Ended between two attempts by the stop of its recipient.
            let is_ended = error.code == CallErrorCode::Budget && !state.has_replied && state.stopped.is_some();
            let is_kept = state.kept < ENOUGH as u64 && (is_ended || is_own);
            state.kept += u64::from(is_kept);
            match (is_left, is_kept) {
                (_, true) if is_ended => CallFate::Failed,
                (true, false) => CallFate::Left,
                _ => CallFate::Stands,
            }
        })
    }

    /// Notes an attempt that failed and will be retried.
    pub fn note_attempt(&self, target: &Target, request: &Request, error: &CallError) {
        if may_be_paid(error) && counts(target, request, error) {
            self.with_state(target_name(target), |state| state.note_failure(error));
        }
    }

    /// Notes a judgment: the error of its reply, or none. Returns `true` if the judge is not asked any more.
    pub fn note_judgment(&self, target: &Target, unreadable: Option<&str>) -> bool {
        self.with_state(&judge_name(&target.who, target_name(target)), |state| {
            match unreadable {
                None => state.has_replied = true,
                Some(error) if !state.has_replied && !is_script(target) => {
                    state.failures += 1;
                    if state.failures >= ENOUGH as u64 {
                        state.stopped.get_or_insert((TargetFault::Unreadable, error.to_owned()));
                    }
                }
                Some(_) => {}
            }
            state.stopped.is_some()
        })
    }

    /// The reason why a recipient is not called any more.
    pub fn refusal(&self, target: &Target) -> Option<String> {
        let states = self.states();
        let is_judge = |name: &str| {
            let scorer = name.strip_prefix(target_name(target)).and_then(|rest| rest.strip_prefix(JUDGES));
            scorer == Some(&*target.who)
        };
        let of_judge = || states.iter().find(|(name, state)| state.is_unreadable() && is_judge(name));
        let own = states.get(target_name(target)).and_then(|state| state.stopped.as_ref());
        let (fault, error) = own.or_else(|| of_judge()?.1.stopped.as_ref())?;
        let why = match fault {
            TargetFault::Refuses | TargetFault::RefusesNow => "earlier calls were refused",
            TargetFault::Fails => "its first calls failed",
            TargetFault::Unreadable => "its first replies could not be read",
        };
        Some(format!("not called, because {why}: {error}"))
    }

    /// Counts a cell that was left, for the first of its recipients that is not called any more.
    pub fn count_left<'a>(&self, names: impl Iterator<Item = Cow<'a, str>>) {
        let mut states = self.states();
        for name in names {
            if let Some(state) = states.get_mut(&*name).filter(|state| state.stopped.is_some()) {
                state.left += 1;
                return;
            }
        }
    }

    /// The recipients that are not called any more, and for which cells were left. With `all`, also those that have failed
    /// every call so far: they are why the budget is used up.
    pub fn refusing_targets(&self, all: bool) -> Vec<RefusingTarget> {
        let states = self.states();
        let refusing = states.iter().filter_map(|(name, state)| {
            let (fault, error) = match &state.stopped {
                Some(stopped) => stopped.clone(),
                None => (TargetFault::Fails, state.paid_error.clone().filter(|_| !state.has_replied)?),
            };
            let calls = match fault {
                TargetFault::Refuses | TargetFault::RefusesNow => state.refusals,
                TargetFault::Fails | TargetFault::Unreadable => state.failures,
            };
            let is_told = all || (state.stopped.is_some() && state.left > 0);
            is_told.then(|| RefusingTarget { name: name.clone(), error, fault, calls, left: state.left })
        });
        refusing.collect()
    }

    /// The error of the latest call that failed and may have been paid.
    pub fn paid_error(&self) -> Option<String> {
        self.states().values().find_map(|state| state.paid_error.clone())
    }

    fn with_state<T>(&self, name: &str, change: impl FnOnce(&mut TargetState) -> T) -> T {
        let mut states = self.states();
        if !states.contains_key(name) {
            states.insert(name.to_owned(), TargetState::default());
        }
        match states.get_mut(name) {
            Some(state) => change(state),
            None => change(&mut TargetState::default()),
        }
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<String, TargetState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FirstCall<'_> {
    fn drop(&mut self) {
        self.refusals.with_state(&self.name, |state| {
            state.first_calls = state.first_calls.saturating_sub(1);
            state.settled += u64::from(state.has_replied);
        });
        self.refusals.ended.notify_waiters();
    }
}

impl TargetState {
    /// Returns whether a call may begin now; `None` if there is no limit.
    fn begin(&mut self) -> Option<bool> {
        let is_known = self.has_replied && self.first_calls == 0 && self.settled == 0;
        if self.settled >= PROVEN || self.stopped.is_some() || is_known {
            return None;
        }
        let failures = if self.has_replied { 0 } else { self.failures };
        let may_begin = self.first_calls + failures < ENOUGH as u64 + self.settled;
        self.first_calls += u64::from(may_begin);
        Some(may_begin)
    }

    fn note_failure(&mut self, error: &CallError) {
        if may_be_paid(error) {
            self.paid_error = Some(error.message.clone());
        }
        if self.has_replied {
            return;
        }
        self.failures += 1;
        if self.failures >= ENOUGH as u64 && self.stopped.is_none() {
            self.stopped = Some((TargetFault::Fails, error.message.clone()));
        }
    }

    fn is_unreadable(&self) -> bool {
        matches!(self.stopped, Some((TargetFault::Unreadable, _)))
    }

    fn note_refusal(&mut self, owner: Key, exchange: &Exchange) -> bool {
        let refusal = match (&exchange.refused_by, &exchange.outcome) {
            (Some(address), Err(error)) if !self.has_answered || error.code == CallErrorCode::Auth => {
                Some((address, error))
            }
            _ => None,
        };
        if let Some((fault, _)) = &self.stopped {
            // A call that was refused and waited for its next attempt when the recipient was stopped gets none.
            let is_ended = |error: &CallError| matches!(error.code, CallErrorCode::Cancelled | CallErrorCode::Budget);
            let is_ended = exchange.outcome.as_ref().is_err_and(is_ended);
            if *fault == TargetFault::Fails {
                return exchange.outcome.is_err();
            }
            self.refusals += u64::from(refusal.is_some() || is_ended);
            return refusal.is_some();
        }
        let Some((address, error)) = refusal else {
            self.note_other_answer();
            return false;
        };
        if !self.owners.is_empty() && self.address != *address {
            // Each row may have an address of its own.
            self.note_other_answer();
            return false;
        }
        address.clone_into(&mut self.address);
        self.refusals += 1;
        if !self.owners.contains(&owner) {
            self.owners.push(owner);
        }
        if self.owners.len() >= ENOUGH {
            let fault = if self.has_answered { TargetFault::RefusesNow } else { TargetFault::Refuses };
            self.stopped = Some((fault, error.message.clone()));
        }
        false
    }

    /// Ends a row of refusals.
    fn note_other_answer(&mut self) {
        (self.has_answered, self.refusals) = (true, 0);
        self.owners.clear();
        self.address.clear();
    }
}

/// Returns whether an attempt with this error may have been paid: it was answered with a good status, or was under way.
fn may_be_paid(error: &CallError) -> bool {
    use CallErrorCode::{CellTimeout, Cut, Malformed, Process, Timeout, TooLarge};
    match error.status {
        Some(status) => (200..=299).contains(&status),
        None => matches!(error.code, Cut | Malformed | Process | Timeout | TooLarge | CellTimeout),
    }
}

/// True if one of several texts may cause an error: the server cannot take it, or fails or is too slow over it, or its vector
/// makes the answer unreadable or too long.
pub(crate) fn may_be_of_one(code: CallErrorCode) -> bool {
    use CallErrorCode::{BadRequest, Cut, Malformed, ServerError, Timeout, TooLarge};
    matches!(code, BadRequest | Cut | Malformed | ServerError | Timeout | TooLarge)
}

/// Returns whether an error speaks against the recipient as a whole. Services are asked for what each row says, and a request
/// for the vectors of several texts is split where one of them may be why.
fn counts(target: &Target, request: &Request, error: &CallError) -> bool {
    use CallErrorCode::{Budget, Cancelled, CostLimit, ReplayMiss, TimeLimit};
    let is_split = matches!(request, Request::Chat(chat) if chat.wants_vectors() && chat.messages.len() > 1);
    match error.code {
        Budget | Cancelled | CostLimit | ReplayMiss | TimeLimit => false,
        code if is_split && may_be_of_one(code) => false,
        _ if is_script(target) => false,
        _ => target.model.is_some() || matches!(request, Request::Command(_)),
    }
}

/// Returns whether a script plays the model, as in results of another tool: it has no outage, and its rows have nothing to do
/// with each other.
fn is_script(target: &Target) -> bool {
    target.model.as_ref().is_some_and(|model| model.is_scripted())
}

/// Between the judge and the scorer in the name of a recipient.
const JUDGES: &str = ", judge of ";

/// The name of a judge whose replies cannot be read: its model may do other work.
pub(crate) fn judge_name(scorer: &str, model: &str) -> String {
    format!("{model}{JUDGES}{scorer}")
}

/// The name of a recipient: calls of one model count together, whichever step or judge makes them.
pub(crate) fn target_name(target: &Target) -> &str {
    target.model.as_ref().map_or(&*target.who, |model| &model.id)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures::future::FutureExt;

    use super::*;

    fn target(who: &str) -> Target {
        let who = Arc::from(who);
        Target {
            who,
            model: None,
            meter: None,
            timeout: Duration::ZERO,
            retries: 0,
            time: None,
            agent: None,
            is_live: false,
            is_demo: false,
        }
    }

    fn exchange_of(code: CallErrorCode, refused_by: Option<&str>) -> Exchange {
        let error = CallError { code, message: "401".to_owned(), status: None };
        Exchange { attempts: 1, refused_by: refused_by.map(str::to_owned), ..Exchange::without_attempt(error) }
    }

    fn exchange(refused_by: Option<&str>) -> Exchange {
        exchange_of(CallErrorCode::Connect, refused_by)
    }

    fn http() -> Request {
        Request::Http(karat_types::HttpRequest {
            method: "GET".to_owned(),
            url: karat_types::EnvTemplate::default(),
            headers: Vec::new(),
            body: serde_json::Value::Null,
        })
    }

    fn chat() -> Request {
        Request::Chat(karat_types::ChatRequest::default())
    }

    fn model(id: &str) -> Target {
        Target { model: Some(Arc::new(karat_types::ModelSpec::new(id, "openai"))), ..target("step v.s") }
    }

    fn failed(code: CallErrorCode, status: Option<u16>) -> CallError {
        CallError { code, message: "it begins \"<html>\"".to_owned(), status }
    }

    fn key(owner: usize) -> Key {
        Key::of("owner", owner.to_string().as_bytes())
    }

    /// F29, F31: under a budget, a model gets four calls at a time before its first reply, of which those that failed are a part.
    #[tokio::test]
    async fn a_model_begins_with_few_calls() {
        let (refusals, m) = (Refusals::new(true), model("m"));
        let mut calls: Vec<_> = (0..4).map(|_| refusals.begin(&m).now_or_never().unwrap().unwrap()).collect();
        assert!(refusals.begin(&m).now_or_never().is_none(), "it waits");
        assert!(refusals.begin(&model("other")).now_or_never().is_some(), "each model by itself");
        // One that was refused for nothing makes room for another, one that may be paid does not.
        drop(calls.pop());
        calls.push(refusals.begin(&m).now_or_never().unwrap().unwrap());
        refusals.note_attempt(&m, &chat(), &failed(CallErrorCode::Malformed, Some(200)));
        drop(calls.pop());
        let mut waiting = Box::pin(refusals.begin(&m));
        assert!(waiting.as_mut().now_or_never().is_none());
        let reply = karat_types::Reply::new("hi", karat_types::FinishReason::Stop);
        let replied = Exchange { outcome: Ok(reply), ..exchange(None) };
        refusals.note(&m, key(0), &chat(), &replied);
        assert!(waiting.as_mut().now_or_never().is_none(), "the reply is not settled yet");
        drop(calls.pop());
        assert!(waiting.await.is_some(), "the reply lets another begin");
        assert!(Refusals::new(false).begin(&m).await.is_none());
    }

    /// X16: under a budget, the calls of a model at a time double with each round of its replies, until it is known.
    #[tokio::test]
    async fn calls_of_a_model_double_with_its_replies() {
        let (refusals, m) = (Refusals::new(true), model("m"));
        for at_once in [4, 8, 16, 32] {
            let calls: Vec<_> = std::iter::from_fn(|| refusals.begin(&m).now_or_never()).take(99).collect();
            assert_eq!(calls.len(), at_once);
            for (owner, call) in calls.into_iter().enumerate() {
                let reply = karat_types::Reply::new("hi", karat_types::FinishReason::Stop);
                refusals.note(&m, key(owner), &chat(), &Exchange { outcome: Ok(reply), ..exchange(None) });
                drop(call.unwrap());
            }
        }
        assert!(refusals.begin(&m).now_or_never().unwrap().is_none());
    }

    /// Notes the ends of calls of one owner each; returns whether the recipient is refused then.
    fn is_refused(ends: &[Option<&str>]) -> bool {
        let (refusals, query) = (Refusals::default(), target("query"));
        for (owner, refused_by) in ends.iter().enumerate() {
            assert!(!refusals.note(&query, key(owner), &http(), &exchange(*refused_by)).is_left());
        }
        refusals.refusal(&query).is_some()
    }

    /// D13: four refusals of one address and nothing else stop a recipient; any other end before them never does.
    #[test]
    fn only_unbroken_refusals_stop_a_recipient() {
        let refused = Some("http://a");
        assert!(is_refused(&[refused; 4]));
        for others in
            [&[refused; 3][..], &[None, refused, refused, refused, refused], &[refused, refused, None, refused]]
        {
            assert!(!is_refused(others), "{others:?}");
        }
        let hosts = ["http://a", "http://b", "http://c", "http://d", "http://e"].map(Some);
        assert!(!is_refused(&hosts), "each row has a host of its own");
    }

    /// D13: calls of one step or judgment count once, and others are counted from the moment it is stopped.
    #[test]
    fn a_stopped_recipient_counts_what_it_left() {
        let (refusals, query) = (Refusals::default(), target("query"));
        for owner in [0, 0, 0, 1, 2] {
            refusals.note(&query, key(owner), &http(), &exchange(Some("a")));
        }
        assert_eq!(refusals.refusal(&query), None);
        refusals.note(&query, key(3), &http(), &exchange(Some("a")));
        assert!(refusals.note(&query, key(4), &http(), &exchange(Some("a"))).is_left(), "a call that was under way");
        assert!(
            !refusals.note(&query, key(5), &http(), &exchange_of(CallErrorCode::Budget, None)).is_left(),
            "one between attempts"
        );
        assert!(refusals.refusing_targets(false).is_empty());
        refusals.count_left(["other", "query", "query"].into_iter().map(Cow::Borrowed));
        let (name, error) = ("query".to_owned(), "401".to_owned());
        let left = RefusingTarget { name, error, fault: TargetFault::Refuses, calls: 8, left: 1 };
        assert_eq!(refusals.refusing_targets(false), [left]);
    }

    /// D31: after an answer, four refused keys in a row stop a recipient; an answer between them starts the count again.
    #[test]
    fn a_revoked_key_stops_a_recipient_that_has_answered() {
        let (refusals, query) = (Refusals::default(), target("query"));
        let denied = exchange_of(CallErrorCode::Auth, Some("a"));
        let ends = [exchange(None), denied.clone(), denied.clone(), denied.clone(), exchange(None)];
        for (owner, end) in ends.iter().chain([&denied; 4]).enumerate() {
            assert_eq!(refusals.refusal(&query), None, "{owner}");
            assert!(!refusals.note(&query, key(owner), &http(), end).is_left());
        }
        assert!(refusals.refusal(&query).is_some());
        assert!(refusals.note(&query, key(20), &http(), &denied).is_left(), "a call that was under way");
        assert!(!refusals.note(&query, key(21), &http(), &exchange(None)).is_left(), "an answer that was under way");
        refusals.count_left(["query"].into_iter().map(Cow::Borrowed));
        let [left] = &refusals.refusing_targets(false)[..] else { panic!("one was stopped") };
        assert!(left.fault == TargetFault::RefusesNow && left.calls == 5 && left.left == 1, "{left:?}");
    }

    /// F31: four attempts that may have been paid, or four calls that failed for good, stop a model that never replied; a reply
    /// before them does not, and services are left alone.
    #[test]
    fn a_model_that_never_replies_is_stopped() {
        use CallErrorCode::{Cut, Malformed, ServerError, Timeout};
        let page = failed(Malformed, Some(200));
        for error in [page.clone(), failed(Cut, None), failed(Timeout, None), failed(ServerError, Some(200))] {
            let refusals = Refusals::default();
            for attempt in 0..4 {
                assert_eq!(refusals.refusal(&model("m")), None, "{attempt}");
                refusals.note_attempt(&model("m"), &chat(), &error);
            }
            assert!(refusals.refusal(&model("m")).is_some_and(|why| why.contains("<html>")), "{error:?}");
            assert_eq!(refusals.refusal(&model("other")), None);
        }
        let ended = |error: &CallError| Exchange { attempts: 6, ..Exchange::without_attempt(error.clone()) };
        let (refusals, busy) = (Refusals::default(), failed(ServerError, Some(503)));
        for owner in 0..4 {
            assert_eq!(refusals.refusal(&model("m")), None);
            (0..5).for_each(|_| refusals.note_attempt(&model("m"), &chat(), &busy));
            assert!(!refusals.note(&model("m"), key(owner), &chat(), &ended(&busy)).is_left());
        }
        assert!(refusals.refusal(&model("m")).is_some());
        assert!(refusals.note(&model("m"), key(9), &chat(), &ended(&busy)).is_left(), "a call that was under way");
        refusals.count_left(["m"].into_iter().map(Cow::Borrowed));
        let [left] = &refusals.refusing_targets(false)[..] else { panic!("one was stopped") };
        assert!(left.fault == TargetFault::Fails && left.calls == 5, "{left:?}");
        let (refusals, denied) = (Refusals::default(), exchange(Some("a")));
        for (owner, end) in [ended(&busy), denied.clone(), denied.clone(), denied].iter().enumerate() {
            assert_eq!(refusals.refusal(&model("m")), None, "{owner}");
            refusals.note(&model("m"), key(owner), &chat(), end);
        }
        assert!(refusals.refusal(&model("m")).is_some(), "failures of several kinds");
        let (refusals, reply) = (Refusals::default(), karat_types::Reply::new("a", karat_types::FinishReason::Stop));
        refusals.note(&model("m"), key(0), &chat(), &Exchange { outcome: Ok(reply), ..ended(&busy) });
        (1..9).for_each(|owner| _ = refusals.note(&model("m"), key(owner), &chat(), &ended(&page)));
        assert_eq!(refusals.refusal(&model("m")), None);
        assert!(refusals.paid_error().is_some());
        (0..9).for_each(|owner| _ = refusals.note(&target("query"), key(owner), &http(), &ended(&page)));
        assert_eq!(refusals.refusal(&target("query")), None);
    }

    /// F53: the first failed calls are results of their cells, also those whose retries the stop took away; the others are
    /// left.
    #[test]
    fn the_first_failed_calls_are_results() {
        let (page, ended) = (failed(CallErrorCode::Malformed, Some(200)), exchange_of(CallErrorCode::Budget, None));
        let refusals = Refusals::default();
        refusals.note_attempt(&model("m"), &chat(), &page);
        assert_eq!(refusals.note(&model("m"), key(0), &chat(), &ended), CallFate::Stands, "`resume` makes it");
        (1..4).for_each(|_| refusals.note_attempt(&model("m"), &chat(), &page));
        let fates: Vec<CallFate> =
            (1..6).map(|owner| refusals.note(&model("m"), key(owner), &chat(), &ended)).collect();
        assert_eq!(fates[..4], [CallFate::Failed; 4]);
        let (refusals, reply) = (Refusals::default(), karat_types::Reply::new("a", karat_types::FinishReason::Stop));
        refusals.note(&model("m"), key(0), &chat(), &Exchange { outcome: Ok(reply), ..exchange(None) });
        refusals.note_attempt(&model("m"), &chat(), &page);
        assert_eq!(refusals.note(&model("m"), key(1), &chat(), &ended), CallFate::Stands, "`resume` makes it");
    }

    /// F31: a request for several vectors that is refused is split, so it says nothing of the embedder.
    #[test]
    fn refused_texts_do_not_stop_an_embedder() {
        let (refusals, refused) = (Refusals::default(), failed(CallErrorCode::BadRequest, Some(400)));
        let texts = |count| Request::Chat(karat_types::ChatRequest::of_texts(vec!["a"; count], None));
        let ended = Exchange { attempts: 1, ..Exchange::without_attempt(refused) };
        (0..9).for_each(|owner| _ = refusals.note(&model("e"), key(owner), &texts(2), &ended));
        assert_eq!(refusals.refusal(&model("e")), None);
        (0..4).for_each(|owner| _ = refusals.note(&model("e"), key(owner), &texts(1), &ended));
        assert!(refusals.refusal(&model("e")).is_some());
    }

    /// F31: a judge whose first four replies cannot be read is not asked any more; its model may do other work.
    #[test]
    fn an_unreadable_judge_is_stopped() {
        let judge = Target { who: "scorer tone".into(), ..model("m") };
        let refusals = Refusals::default();
        for expected in [false, false, false, true] {
            assert_eq!(refusals.note_judgment(&judge, Some("no JSON")), expected);
        }
        assert!(refusals.refusal(&judge).is_some() && refusals.refusal(&model("m")).is_none());
        let refusals = Refusals::default();
        refusals.note_judgment(&judge, None);
        assert!(!(0..9).any(|_| refusals.note_judgment(&judge, Some("no JSON"))));
    }
}

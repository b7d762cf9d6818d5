//! Calls: reserved, made, made durable, and only then answered (design law 5).
//!
//! 1. A call that an earlier part of the run has paid is answered from the ledger.
//! 2. Otherwise it waits for a slot (`max_concurrency` calls in flight) and for the budget.
//! 3. It is made, with retries. The slot is held until its record is on disk, so after a crash at most
//!    `max_concurrency` calls are unknown to the ledger.
//! 4. The answer is parsed from the recorded bytes, so a resumed run reads what the first one read.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use karat_providers::{Call, Errand, Exchange, Providers};
use karat_store::{Ledger, PaidCalls};
use karat_types::{
    Answer, Ask, CallError, CallErrorCode, CallRecord, ChatRequest, Facts, Key, Machine, ModelSpec, Money, Note,
    NoteKind, Observer, Pricing, Record, Reply, Request, Score, Turn, Usage,
};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::budget::{Budget, Refusal};
use crate::files::Library;
use crate::identity::{call_key, seed_of};
use crate::privacy::Privacy;
use crate::steps::{DEFAULT_MAX_TOKENS, Metered};
use crate::stop::Stop;
use crate::systems::ReadyScorer;

/// Attempts after the first to get a score from a service or program.
const SCORER_RETRIES: u32 = 2;
/// How long a stopped run waits for the answers to calls that are under way.
const GRACE: Duration = Duration::from_secs(20);

/// Who answers the calls of a machine, and how long it may take.
#[derive(Clone)]
pub(crate) struct Target {
    /// The step or scorer, for messages.
    pub who: Arc<str>,
    /// The model, where one is called.
    pub model: Option<Arc<ModelSpec>>,
    pub timeout: Duration,
    pub retries: u32,
    pub deadline: Option<Instant>,
}

/// What the calls of a machine came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub usage: Usage,
    /// Sum of known costs.
    pub cost: Money,
    /// Whether a call had no known price.
    pub unpriced: bool,
    /// What was paid now.
    pub paid: Money,
    pub latency_ms: f64,
    pub calls: Vec<Key>,
    pub notes: Vec<Note>,
    pub facts: Facts,
}

impl Tally {
    /// Adds what an answer says of itself.
    pub fn meter(&mut self, metered: &Metered) {
        self.usage += metered.usage;
        self.cost += metered.cost.unwrap_or_default();
        self.unpriced |= metered.cost.is_none();
        self.latency_ms = metered.latency_ms.unwrap_or(self.latency_ms);
        self.facts = metered.facts.clone();
    }

    pub fn known_cost(&self) -> Option<Money> {
        (!self.unpriced).then_some(self.cost)
    }
}

/// Everything a call needs.
pub(crate) struct Calls {
    providers: Arc<Providers>,
    ledger: Arc<Ledger>,
    observer: Arc<dyn Observer>,
    library: Library,
    slots: Semaphore,
    budget: Budget,
    paid: PaidCalls,
    stop: Stop,
    privacy: Privacy,
    /// Money of durable reservation blocks that no call has drawn yet, in nano-dollars.
    block_credit: AtomicI64,
    block_calls: u64,
    made: AtomicU64,
    spent: AtomicU64,
}

/// One answered call and what it came to.
struct Made {
    key: Key,
    outcome: Result<Arc<Reply>, CallError>,
    usage: Usage,
    cost: Option<Money>,
    paid: Money,
    latency_ms: f64,
    note: Option<Note>,
}

/// What [`Calls`] is made of.
pub(crate) struct CallsInit {
    pub providers: Arc<Providers>,
    pub ledger: Arc<Ledger>,
    pub observer: Arc<dyn Observer>,
    pub library: Library,
    pub budget: Budget,
    pub paid: PaidCalls,
    pub stop: Stop,
    pub privacy: Privacy,
    pub concurrency: usize,
}

impl Calls {
    pub fn new(init: CallsInit) -> Self {
        Self {
            providers: init.providers,
            ledger: init.ledger,
            observer: init.observer,
            library: init.library,
            slots: Semaphore::new(init.concurrency),
            budget: init.budget,
            paid: init.paid,
            stop: init.stop,
            privacy: init.privacy,
            block_credit: AtomicI64::new(0),
            block_calls: init.concurrency as u64,
            made: AtomicU64::new(0),
            spent: AtomicU64::new(0),
        }
    }

    /// Calls made, and money spent, by this process.
    pub fn made(&self) -> (u64, Money) {
        (self.made.load(Ordering::Relaxed), Money(i128::from(self.spent.load(Ordering::Relaxed))))
    }

    /// Whether the budget refused a call.
    pub fn budget_stopped(&self) -> bool {
        self.budget.stopped()
    }

    /// Gives back what was reserved in blocks and not drawn: at an orderly end nothing is open.
    pub async fn release(&self) {
        let credit = self.block_credit.swap(0, Ordering::AcqRel);
        if credit > 0 {
            let record = Record::Reserved { calls: 0, upper: Money(-i128::from(credit)) };
            if let Err(error) = self.ledger.append(vec![record]).await {
                self.stop.fail(error.to_string());
            }
        }
    }

    /// Drives a machine to its end. Calls are keyed below `owner`.
    pub async fn drive<D>(
        &self,
        mut machine: Box<dyn Machine<Done = D>>,
        owner: Key,
        target: Option<&Target>,
        tally: &mut Tally,
    ) -> D {
        let mut answers = Vec::new();
        loop {
            match machine.poll(std::mem::take(&mut answers)) {
                Turn::Done(done) => return done,
                Turn::Ask(asks) => answers = self.answer(owner, asks, target, tally).await,
            }
        }
    }

    async fn answer(&self, owner: Key, asks: Vec<Ask>, target: Option<&Target>, tally: &mut Tally) -> Vec<Answer> {
        let made = join_all(asks.iter().map(|ask| self.one(owner, ask, target))).await;
        let mut slowest = 0.0_f64;
        let mut answers = Vec::with_capacity(made.len());
        for (ask, made) in asks.into_iter().zip(made) {
            if let Some(made) = &made {
                tally.usage += made.usage;
                tally.cost += made.cost.unwrap_or_default();
                tally.unpriced |= made.cost.is_none();
                tally.paid += made.paid;
                tally.notes.extend(made.note.clone());
                tally.calls.push(made.key);
                slowest = slowest.max(made.latency_ms);
            }
            answers.push(match made {
                Some(made) => Answer { slot: ask.slot, outcome: made.outcome },
                None => self.library.answer(ask),
            });
        }
        tally.latency_ms += slowest;
        answers
    }

    /// `None` for what needs no call.
    async fn one(&self, owner: Key, ask: &Ask, target: Option<&Target>) -> Option<Made> {
        let target = target?;
        let bound = match (&ask.request, &target.model) {
            (Request::File { .. }, _) | (Request::Chat(_), None) => return None,
            (Request::Chat(request), Some(model)) => upper_bound(request, &model.price),
            (Request::Http(_) | Request::Command(_), _) => Money::ZERO,
        };
        let key = call_key(owner, &ask.slot);
        match self.paid.get(key) {
            // A reply whose content was not kept cannot be used again.
            Ok(Some(record)) if self.privacy.keeps_content() => Some(remembered(record, &ask.request, target)),
            _ => Some(self.call(key, &ask.request, bound, target).await),
        }
    }

    async fn call(&self, key: Key, request: &Request, upper: Money, target: &Target) -> Made {
        let refused = |code, message: String| Made {
            key,
            outcome: Err(CallError { code, message, status: None }),
            usage: Usage::default(),
            cost: Some(Money::ZERO),
            paid: Money::ZERO,
            latency_ms: 0.0,
            note: None,
        };
        let Ok(_slot) = self.slots.acquire().await else {
            return refused(CallErrorCode::Cancelled, "the run is being stopped".to_owned());
        };
        if self.stop.is_set() {
            return refused(CallErrorCode::Cancelled, "the run was stopped before this call was made".to_owned());
        }
        if let Err(refusal) = self.reserve(upper).await {
            return refused(CallErrorCode::Budget, refusal);
        }
        let Some(exchange) = self.exchange(key, request, target).await else {
            return refused(CallErrorCode::Cancelled, "the run was stopped while this call was under way".to_owned());
        };
        let exchange = self.redacted(exchange, request, target);
        self.made.fetch_add(1, Ordering::Relaxed);
        let (usage, note) = usage_of(&exchange.outcome, request);
        let cost = target.model.as_ref().map_or(Some(Money::ZERO), |model| model.price.cost(&usage));
        // A replayed call has its price, and nobody pays it.
        let paid = if exchange.is_replayed { Some(Money::ZERO) } else { cost };
        let spent = paid.unwrap_or_default();
        self.budget.settle(upper, spent);
        self.spent.fetch_add(u64::try_from(spent.0).unwrap_or(u64::MAX), Ordering::Relaxed);
        let record = CallRecord {
            key,
            model: answering(request, target).to_owned(),
            request: exchange.request,
            response: exchange.response,
            status: exchange.status,
            usage: Some(usage),
            cost: paid,
            reserved: upper,
            latency_ms: exchange.latency_ms,
            attempts: exchange.attempts,
            finish: exchange.outcome.as_ref().ok().map(|reply| reply.finish),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        let latency_ms = exchange.latency_ms;
        if let Err(error) = self.ledger.append(vec![Record::Call(self.privacy.call(record))]).await {
            self.stop.fail(error.to_string());
            return refused(CallErrorCode::Cancelled, error.to_string());
        }
        Made { key, outcome: exchange.outcome.map(Arc::new), usage, cost, paid: spent, latency_ms, note }
    }

    /// A score from a service or program. It is no call of the run: it costs nothing and can be made again.
    pub async fn scored(&self, scorer: &ReadyScorer, request: &Request) -> Score {
        let errand =
            Errand { who: &scorer.who, request, timeout: scorer.timeout, retries: SCORER_RETRIES, jitter_seed: 0 };
        let stopped = async {
            self.stop.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            exchange = self.providers.errand(errand, &*self.observer) => match exchange.outcome {
                Ok(reply) => scorer.scorer.read(&reply.text),
                Err(error) => Score::unscored(error.message),
            },
            () = stopped => Score::unscored("the run was stopped while this score was made"),
        }
    }

    /// The exchange without what must not be kept; its reply is read from what is left.
    fn redacted(&self, exchange: Exchange, request: &Request, target: &Target) -> Exchange {
        let response = self.privacy.body(exchange.response.clone());
        let outcome = match exchange.outcome {
            Ok(_) if response != exchange.response => parsed(request, target, &response),
            Ok(reply) => Ok(reply),
            Err(error) => Err(CallError { message: self.privacy.text(error.message), ..error }),
        };
        Exchange { request: self.privacy.body(exchange.request), response, outcome, ..exchange }
    }

    /// Makes the call. `None` when the run was stopped and the answer did not come within the grace: its reservation
    /// stays open, because it may have been paid.
    async fn exchange(&self, key: Key, request: &Request, target: &Target) -> Option<Exchange> {
        let out_of_time = async {
            match target.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let stopped = async {
            self.stop.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        let Target { timeout, retries, .. } = *target;
        let jitter_seed = seed_of(key);
        let exchange = async {
            match (request, &target.model) {
                (Request::Chat(request), Some(model)) => {
                    let call = Call { model: &model.id, request, timeout, retries, jitter_seed };
                    self.providers.call(call, &*self.observer).await
                }
                _ => {
                    let errand = Errand { who: &target.who, request, timeout, retries, jitter_seed };
                    self.providers.errand(errand, &*self.observer).await
                }
            }
        };
        tokio::select! {
            exchange = exchange => Some(exchange),
            () = out_of_time => Some(timed_out()),
            () = stopped => None,
        }
    }

    /// Reserves in memory, and durably by blocks.
    async fn reserve(&self, upper: Money) -> Result<(), String> {
        self.budget.reserve(upper).await.map_err(|refusal| match refusal {
            Refusal::Money => "the next call does not fit the run's budget. Raise `--budget-usd` and resume".to_owned(),
            Refusal::Calls => "the run has made as many calls as it may. Raise `--max-calls` and resume".to_owned(),
        })?;
        let upper = i64::try_from(upper.0).unwrap_or(i64::MAX);
        if upper == 0 || self.block_credit.fetch_sub(upper, Ordering::AcqRel) >= upper {
            return Ok(());
        }
        let block = upper.saturating_mul(i64::try_from(self.block_calls).unwrap_or(i64::MAX));
        let record = Record::Reserved { calls: self.block_calls, upper: Money(i128::from(block)) };
        if let Err(error) = self.ledger.append(vec![record]).await {
            self.stop.fail(error.to_string());
            return Err(error.to_string());
        }
        self.block_credit.fetch_add(block, Ordering::AcqRel);
        Ok(())
    }
}

/// What a call becomes when its cell's time is used up before the provider answers.
fn timed_out() -> Exchange {
    let message = "the cell's time was used up while this call was under way. Raise `run.cell_timeout`".to_owned();
    Exchange {
        request: Bytes::new(),
        response: Bytes::new(),
        status: None,
        attempts: 1,
        latency_ms: 0.0,
        is_replayed: false,
        outcome: Err(CallError { code: CallErrorCode::Timeout, message, status: None }),
    }
}

/// Who answered, as the ledger calls it.
fn answering<'a>(request: &Request, target: &'a Target) -> &'a str {
    match (request, &target.model) {
        (Request::Chat(_), Some(model)) => &model.id,
        (Request::Command(_), _) => "command",
        _ => "http",
    }
}

/// A paid call's answer, read again from its recorded bytes.
fn remembered(record: CallRecord, request: &Request, target: &Target) -> Made {
    let outcome = record.error.map_or_else(|| parsed(request, target, &record.response), Err);
    Made {
        key: record.key,
        outcome: outcome.map(Arc::new),
        usage: record.usage.unwrap_or_default(),
        cost: record.cost,
        paid: Money::ZERO,
        latency_ms: record.latency_ms,
        note: None,
    }
}

/// What an answer's bytes say.
fn parsed(request: &Request, target: &Target, response: &Bytes) -> Result<Reply, CallError> {
    match (request, &target.model) {
        (Request::Chat(_), Some(model)) => karat_providers::parse(model, response),
        (request, _) => karat_providers::answer(request, response).map_err(|message| CallError {
            code: CallErrorCode::Malformed,
            message,
            status: None,
        }),
    }
}

/// What a call can cost at the most: one token a byte of the request, and every token the reply may have.
fn upper_bound(request: &ChatRequest, price: &Pricing) -> Money {
    let bytes: usize = request.messages.iter().map(|message| message.content.len() + 64).sum();
    let output = request.parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let usage = Usage { input_tokens: bytes as u64 + 512, output_tokens: u64::from(output), ..Usage::default() };
    price.cost(&usage).unwrap_or_default()
}

/// The provider's usage, or an estimate of four bytes a token where it said nothing usable.
fn usage_of(outcome: &Result<Reply, CallError>, request: &Request) -> (Usage, Option<Note>) {
    let (Ok(reply), Request::Chat(request)) = (outcome, request) else { return (Usage::default(), None) };
    if let Some(usage) = reply.usage {
        return (usage, None);
    }
    let bytes: usize = request.messages.iter().map(|message| message.content.len()).sum();
    let usage = Usage {
        input_tokens: bytes.div_ceil(4) as u64,
        output_tokens: reply.text.len().div_ceil(4) as u64,
        ..Usage::default()
    };
    let text = "the provider reported no usable token counts; cost is estimated at four bytes a token".to_owned();
    (usage, Some(Note { kind: NoteKind::UsageEstimated, text, count: 1 }))
}

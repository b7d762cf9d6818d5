//! Calls: reserved, made, made durable, and only then answered (design law 5).
//!
//! 1. A call that an earlier part of the run has paid is answered from the ledger.
//! 2. Otherwise it waits for the budget, then for its model's limits and a slot (`max_concurrency` calls in flight).
//! 3. It is made, with retries. The slot is held until its record is on disk, so after a crash at most
//!    `max_concurrency` calls are unknown to the ledger.
//! 4. The answer is parsed from the recorded bytes, so a resumed run reads what the first one read.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{FutureExt, join_all};
use karat_providers::{Call, Errand, Exchange, Gate, Held, Providers, Wasted};
use karat_store::{Ledger, PaidCalls, Reservation};
use karat_types::{
    Answer, Ask, CallError, CallErrorCode, CallRecord, Facts, Key, Machine, ModelSpec, Money, Note, Observer, Record,
    Reply, Request, Score, Turn, Usage,
};
use tokio::time::Instant;

use crate::bounds::{breach, upper_bound, usage_of};
use crate::budget::{Budget, Refusal};
use crate::calllog::{CallLog, LoggedCall};
use crate::credit::Credit;
use crate::files::Library;
use crate::identity::{call_key, seed_of};
use crate::privacy::Privacy;
use crate::steps::{CompiledStep, Metered};
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
    /// The step, where its answers say what they cost.
    pub meter: Option<Arc<CompiledStep>>,
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
    /// What this run paid.
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
    gate: Gate,
    budget: Budget,
    paid: PaidCalls,
    stop: Stop,
    privacy: Privacy,
    call_log: Option<Arc<dyn CallLog>>,
    credit: Credit,
    made: AtomicU64,
    spent: AtomicU64,
    /// What the dearest answer of a service or program has cost so far: as much is reserved for the next.
    dearest: AtomicU64,
}

/// One answered call and what it came to.
struct Made {
    key: Key,
    outcome: Result<Arc<Reply>, CallError>,
    usage: Usage,
    cost: Option<Money>,
    paid: Money,
    latency_ms: f64,
    notes: Vec<Note>,
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
    pub call_log: Option<Arc<dyn CallLog>>,
    pub concurrency: usize,
}

impl Calls {
    pub fn new(init: CallsInit) -> Self {
        Self {
            providers: init.providers,
            ledger: init.ledger,
            observer: init.observer,
            library: init.library,
            gate: Gate::new(init.concurrency),
            budget: init.budget,
            paid: init.paid,
            stop: init.stop,
            privacy: init.privacy,
            call_log: init.call_log,
            credit: Credit::new(init.concurrency),
            made: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            dearest: AtomicU64::new(0),
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

    /// What the largest call that the budget refused can cost at the most.
    pub fn refused(&self) -> Money {
        self.budget.refused()
    }

    /// Gives back what is reserved on disk and not drawn: at an orderly end only calls are open that may have been paid.
    pub async fn release(&self) {
        let Reservation { calls, upper } = self.credit.drain();
        if calls > 0 || upper > Money::ZERO {
            let record = Record::Released { calls, upper };
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
        let made = match &asks[..] {
            [only] => vec![self.one(owner, only, target).await],
            several => join_all(several.iter().map(|ask| self.one(owner, ask, target))).await,
        };
        let mut slowest = 0.0_f64;
        let mut answers = Vec::with_capacity(made.len());
        for (ask, made) in asks.into_iter().zip(made) {
            if let Some(made) = &made {
                tally.usage += made.usage;
                tally.cost += made.cost.unwrap_or_default();
                tally.unpriced |= made.cost.is_none();
                tally.paid += made.paid;
                tally.notes.extend(made.notes.iter().cloned());
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
            (Request::Http(_) | Request::Command(_), _) => match &target.meter {
                Some(_) => Money(self.dearest.load(Ordering::Relaxed).into()),
                None => Money::ZERO,
            },
        };
        let key = call_key(owner, &ask.slot);
        match self.paid.get(key) {
            // A reply whose content was not kept cannot be used again.
            Ok(Some(record)) if self.privacy.keeps_content() => Some(remembered(record, &ask.request, target)),
            // Boxed: what a call needs is many times what those around it need, who are moved about.
            _ => Some(self.call(key, &ask.request, bound, target).boxed().await),
        }
    }

    async fn call(&self, key: Key, request: &Request, upper: Money, target: &Target) -> Made {
        let claim = Claim { calls: self, upper, is_open: AtomicBool::new(false), is_drawn: AtomicBool::new(false) };
        let (exchange, _slot) = match self.exchange(key, request, &claim, target).await {
            Ok(Some(held)) => held,
            Ok(None) => {
                claim.leave_open();
                let message = "the run was stopped while this call was under way";
                return refused(key, CallErrorCode::Cancelled, message.to_owned());
            }
            Err(refusal) => return refused(key, CallErrorCode::Budget, refusal),
        };
        if let Err(CallError { code: CallErrorCode::Cancelled, message, .. }) = &exchange.outcome {
            return refused(key, CallErrorCode::Cancelled, message.clone());
        }
        let exchange = self.redacted(exchange, request, target);
        if let Some(log) = &self.call_log {
            let call = LoggedCall::of(&exchange, request, &target.who, target.model.as_deref(), &self.privacy);
            call.iter().for_each(|call| log.call(call));
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        let (mut usage, mut notes) = usage_of(&exchange.outcome, request);
        usage += exchange.wasted.usage;
        let cost = cost_of(&exchange.outcome, &usage, target);
        // A replayed call has its price, and nobody pays it.
        let paid = if exchange.is_replayed { Some(Money::ZERO) } else { cost };
        let spent = paid.unwrap_or_default();
        if target.meter.is_some() {
            self.dearest.fetch_max(u64::try_from(spent.0).unwrap_or_default(), Ordering::Relaxed);
        }
        // What an answer that broke off has cost is unknown: all of its upper bound counts.
        let unknown = Money(upper.0.saturating_mul(exchange.wasted.broken_off.into()));
        let reserved = claim.settle(spent + unknown);
        self.spent.fetch_add(u64::try_from(spent.0).unwrap_or(u64::MAX), Ordering::Relaxed);
        notes.extend(target.model.as_ref().and_then(|model| breach(model, spent, upper, exchange.attempts)));
        let record = CallRecord {
            key,
            model: answering(request, target).to_owned(),
            request: exchange.request,
            response: exchange.response,
            status: exchange.status,
            usage: Some(usage),
            cost: paid,
            reserved,
            latency_ms: exchange.latency_ms,
            attempts: exchange.attempts,
            finish: exchange.outcome.as_ref().ok().map(|reply| reply.finish),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        let latency_ms = exchange.latency_ms;
        let mut records = vec![Record::Call(self.privacy.call(record))];
        if unknown > Money::ZERO {
            records.push(Record::Reserved { calls: 0, upper: unknown });
        }
        if let Err(error) = self.ledger.append(records).await {
            // Before the slot is given back: what is in flight now is all that can be lost.
            self.gate.shut();
            self.stop.fail(error.to_string());
            claim.leave_open();
            return refused(key, CallErrorCode::Cancelled, error.to_string());
        }
        claim.give_back();
        Made { key, outcome: exchange.outcome.map(Arc::new), usage, cost, paid: spent, latency_ms, notes }
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

    /// Makes the call. `None` when the run was stopped and the answer did not come within the grace.
    async fn exchange(
        &self,
        key: Key,
        request: &Request,
        claim: &Claim<'_>,
        target: &Target,
    ) -> Result<Option<Held<'_>>, String> {
        let out_of_time = async {
            match target.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let stopped = async {
            self.stop.wait().await;
            self.gate.shut();
            tokio::time::sleep(GRACE).await;
        };
        let Target { timeout, retries, .. } = *target;
        let jitter_seed = seed_of(key);
        let (providers, gate, observer) = (&self.providers, &self.gate, &*self.observer);
        // Pinned here: the futures that pass it on would each hold it as a whole.
        let reserved = pin!(claim.draw());
        let held = pin!(async {
            claim.reserve().await?;
            match (request, &target.model) {
                (Request::Chat(request), Some(model)) => {
                    let call = Call { model: &model.id, request, timeout, retries, jitter_seed };
                    providers.call_within(call, gate, reserved, observer).await
                }
                _ => {
                    let errand = Errand { who: &target.who, request, timeout, retries, jitter_seed };
                    Box::pin(providers.errand_within(errand, gate, reserved, observer)).await
                }
            }
        });
        tokio::select! {
            biased;
            held = held => held.map(Some),
            () = out_of_time => Ok(Some((timed_out(claim.is_drawn()), None))),
            () = stopped => Ok(None),
        }
    }

    async fn reserve(&self, upper: Money) -> Result<(), String> {
        self.budget.reserve(upper).await.map_err(|refusal| match refusal {
            Refusal::Money => "the next call does not fit the run's budget. Raise `--budget-usd` and resume".to_owned(),
            Refusal::Calls => "the run has made as many calls as it may. Raise `--max-calls` and resume".to_owned(),
        })
    }

    async fn draw(&self, upper: Money) -> Result<(), String> {
        let most = || self.budget.unsettled();
        // Boxed: few calls need a block.
        self.credit.draw(upper, most, async |block| self.reserve_block(block).boxed().await).await
    }

    async fn reserve_block(&self, Reservation { calls, upper }: Reservation) -> Result<(), String> {
        let appended = self.ledger.append(vec![Record::Reserved { calls, upper }]).await;
        appended.map(drop).map_err(|error| {
            self.stop.fail(error.to_string());
            error.to_string()
        })
    }
}

/// What is reserved for one call: in memory before it waits for anything else, and on disk before it is sent. Given back
/// when the call is not made after all.
struct Claim<'a> {
    calls: &'a Calls,
    upper: Money,
    is_open: AtomicBool,
    is_drawn: AtomicBool,
}

impl Claim<'_> {
    async fn reserve(&self) -> Result<(), String> {
        self.calls.reserve(self.upper).await?;
        self.is_open.store(true, Ordering::Release);
        Ok(())
    }

    async fn draw(&self) -> Result<(), String> {
        self.calls.draw(self.upper).await?;
        self.is_drawn.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether it is on disk, so that the call may have been sent.
    fn is_drawn(&self) -> bool {
        self.is_drawn.load(Ordering::Acquire)
    }

    /// Settles what was reserved in memory, and says how much that is on disk: nothing when time was up before the call
    /// could be made.
    fn settle(&self, spent: Money) -> Money {
        if self.is_open.swap(false, Ordering::AcqRel) {
            self.calls.budget.settle(self.upper, spent);
        }
        if self.is_drawn() { self.upper } else { Money::ZERO }
    }

    /// Gives back what is on disk of it: the call's record is there too, or it was not sent.
    fn give_back(&self) {
        if self.is_drawn.swap(false, Ordering::AcqRel) {
            self.calls.credit.give_back(self.upper);
        }
    }

    /// Leaves what is on disk of it open: it may have been paid.
    fn leave_open(&self) {
        if self.is_drawn.swap(false, Ordering::AcqRel) {
            self.is_open.store(false, Ordering::Release);
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.is_open.swap(false, Ordering::AcqRel) {
            self.calls.budget.withdraw(self.upper);
        }
        self.give_back();
    }
}

/// A call that was not made, or whose answer nobody may use.
fn refused(key: Key, code: CallErrorCode, message: String) -> Made {
    Made {
        key,
        outcome: Err(CallError { code, message, status: None }),
        usage: Usage::default(),
        cost: Some(Money::ZERO),
        paid: Money::ZERO,
        latency_ms: 0.0,
        notes: Vec::new(),
    }
}

/// What a call becomes when its cell's time is used up before the provider answers.
fn timed_out(is_sent: bool) -> Exchange {
    let message = "the cell's time was used up while this call was under way. Raise `run.cell_timeout`".to_owned();
    Exchange {
        request: Bytes::new(),
        response: Bytes::new(),
        status: None,
        attempts: 1,
        latency_ms: 0.0,
        ran: None,
        is_replayed: false,
        wasted: Wasted { broken_off: is_sent.into(), ..Wasted::default() },
        outcome: Err(CallError { code: CallErrorCode::Timeout, message, status: None }),
    }
}

/// What a call cost: by a model's price, or as the answer says it. `None` when nobody knows.
fn cost_of(outcome: &Result<Reply, CallError>, usage: &Usage, target: &Target) -> Option<Money> {
    match (&target.model, &target.meter, outcome) {
        (Some(model), _, _) => model.price.cost(usage),
        (None, Some(step), Ok(reply)) => step.cost_of(&reply.text),
        _ => Some(Money::ZERO),
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
        // An earlier part of this run paid it, and no cell of it has said so.
        paid: record.cost.unwrap_or_default(),
        latency_ms: record.latency_ms,
        notes: Vec::new(),
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

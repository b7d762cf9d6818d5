//! Calls: reserved, made, made durable, and only then answered (design law 5).
//!
//! 1. A call that an earlier part of the run has paid is answered from the ledger.
//! 2. Otherwise it waits for the budget, then for its model's limits and a slot (`max_concurrency` calls in flight).
//! 3. It is made, with retries. The slot is held until its record is on disk, so after a crash at most
//!    `max_concurrency` calls are unknown to the ledger.
//! 4. The answer is parsed from the recorded bytes, so a resumed run reads what the first one read.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{FutureExt, join_all};
use karat_providers::{Call, Errand, Exchange, Gate, Held, Providers};
use karat_store::{Ledger, Reservation};
use karat_types::{
    Answer, Answered, Ask, CallError, CallErrorCode, CallRecord, Facts, Key, Machine, ModelSpec, Money, Note, NoteKind,
    Observer, Pricing, Record, Reply, Request, Score, Turn, Usage,
};
use tokio::time::Instant;

use crate::bounds::{breach, impossible, uncosted, upper_bound, usage_of};
use crate::budget::Budget;
use crate::calllog::{CallLog, LoggedCall};
use crate::claim::{Charge, Claim, Funds};
use crate::credit::Credit;
use crate::fees::Fees;
use crate::files::Library;
use crate::identity::{call_key, seed_of};
use crate::paid::Paid;
use crate::privacy::Privacy;
use crate::steps::{CompiledStep, Metered};
use crate::stop::Stop;
use crate::systems::ReadyScorer;

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
        let answered = std::mem::take(&mut self.facts.answered);
        self.facts = Facts { answered, ..metered.facts.clone() };
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
    /// What earlier parts of the run have paid.
    pub paid: Paid,
    stop: Stop,
    privacy: Privacy,
    call_log: Option<Arc<dyn CallLog>>,
    credit: Credit,
    made: AtomicU64,
    requests: AtomicU64,
    spent: AtomicU64,
    fees: Fees,
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
    pub fees: Fees,
    pub paid: Paid,
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
            requests: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            fees: init.fees,
        }
    }

    /// Calls made, the requests that they took, and money spent, by this process.
    pub fn made(&self) -> (u64, u64, Money) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.made), count(&self.requests), Money(i128::from(count(&self.spent))))
    }

    /// Whether the budget refused a call.
    pub fn budget_stopped(&self) -> bool {
        self.budget.stopped()
    }

    /// By how much calls that cost more than was reserved for them have gone beyond the budget.
    pub fn overspent(&self) -> Money {
        self.budget.overspent()
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
                if let Some(answered) = answered(&made.outcome, target) {
                    answered.note(&mut tally.facts.answered);
                }
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
        if matches!((&ask.request, &target.model), (Request::File { .. }, _) | (Request::Chat(_), None)) {
            return None;
        }
        let key = call_key(owner, &ask.slot);
        match self.paid.calls.get(self.ledger.store(), key) {
            // A reply whose content was not kept cannot be used again.
            Ok(Some(record)) if self.privacy.keeps_content() => Some(remembered(record, &ask.request, target)),
            // Boxed: what a call needs is many times what those around it need, who are moved about.
            _ => Some(self.call(key, &ask.request, target).boxed().await),
        }
    }

    /// The body of a request whose length says what it can cost.
    fn body(&self, request: &Request, target: &Target) -> Option<Bytes> {
        match (request, &target.model) {
            (Request::Chat(request), Some(model)) if matches!(model.price, Pricing::Known(_)) => {
                self.providers.request_body(model, request)
            }
            _ => None,
        }
    }

    fn charge<'a>(&'a self, request: &Request, body: Option<&Bytes>, target: &'a Target) -> Charge<'a> {
        match (request, &target.model) {
            (Request::Chat(request), Some(model)) => {
                Charge::Bound(upper_bound(body.map_or(0, Bytes::len), request, &model.price))
            }
            (Request::Http(_) | Request::Command(_), _) if target.meter.is_some() => {
                Charge::Fee(&self.fees, &target.who)
            }
            _ => Charge::Bound(Money::ZERO),
        }
    }

    async fn call(&self, key: Key, request: &Request, target: &Target) -> Made {
        let body = self.body(request, target);
        let charge = self.charge(request, body.as_ref(), target);
        let Self { budget, credit, ledger, stop, .. } = self;
        let claim = Claim::new(Funds { budget, credit, ledger, stop }, charge, target.model.as_deref());
        let (exchange, _slot) = match self.exchange(key, (request, body.as_ref()), &claim, target).await {
            Ok(Some((
                Exchange { outcome: Err(CallError { code: code @ CallErrorCode::Cancelled, message, .. }), .. },
                _,
            ))) => (claim.cut_short(code, message), None),
            Ok(Some(held)) => held,
            Ok(None) => {
                claim.leave_open();
                let message = "the run was stopped while this call was under way";
                return refused(key, CallErrorCode::Cancelled, message.to_owned());
            }
            Err(refusal) => (claim.cut_short(CallErrorCode::Budget, refusal), None),
        };
        if let Err(CallError { code: code @ (CallErrorCode::Cancelled | CallErrorCode::Budget), message, .. }) =
            &exchange.outcome
            && exchange.attempts == 0
        {
            return refused(key, *code, message.clone());
        }
        let exchange = self.redacted(exchange, request, target);
        if let Some(log) = &self.call_log {
            let call = LoggedCall::of(&exchange, request, &target.who, target.model.as_deref(), &self.privacy);
            call.iter().for_each(|call| log.call(call));
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        // A replayed call sends none.
        let requests = if exchange.is_replayed { 0 } else { exchange.attempts };
        self.requests.fetch_add(u64::from(requests), Ordering::Relaxed);
        let bytes = body.map_or(exchange.request.len(), |body| body.len());
        let (mut usage, mut notes) = usage_of(&exchange.outcome, request, bytes);
        let is_estimated = notes.iter().any(|note| note.kind == NoteKind::UsageEstimated);
        usage += exchange.wasted.usage;
        let is_impossible = exchange.wasted.impossible > 0 || self.was_impossible(key);
        notes.extend(is_impossible.then(impossible));
        let cost = cost_of(&exchange.outcome, &usage, target);
        // A replayed call has its price, and nobody pays it.
        let billed = if exchange.is_replayed { Ok(Money::ZERO) } else { cost };
        let (cost, paid) = (cost.ok(), billed.ok());
        let spent = paid.unwrap_or_default();
        self.spent.fetch_add(u64::try_from(spent.0).unwrap_or(u64::MAX), Ordering::Relaxed);
        if target.meter.is_some() && exchange.outcome.is_ok() {
            self.fees.paid(&target.who, billed.unwrap_or_else(|least| least));
        }
        // What nobody knows of its cost counts against the budget like what was reserved.
        let unknown = match billed {
            Err(least) => claim.beyond(least),
            Ok(cost) if is_estimated && !exchange.is_replayed => claim.left(cost),
            Ok(_) => Money::ZERO,
        };
        let reserved = claim.settle(spent + unknown, exchange.wasted.unknown + u32::from(paid.is_none()));
        notes.extend(target.model.as_ref().and_then(|model| breach(model, spent, reserved, exchange.attempts)));
        notes.extend(target.meter.as_ref().and_then(|_| uncosted(cost)));
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
            impossible: is_impossible,
            finish: exchange.outcome.as_ref().ok().map(|reply| reply.finish),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        let latency_ms = exchange.latency_ms;
        let released = claim.surplus().map(|Reservation { calls, upper }| Record::Released { calls, upper });
        // Never settled: so it counts as spent, like what was reserved for the call before.
        let reserved = (unknown > Money::ZERO).then_some(Record::Reserved { calls: 0, upper: unknown });
        let records = [Record::Call(self.privacy.call(record))].into_iter().chain(released).chain(reserved).collect();
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

    /// Whether an earlier part of the run was stopped between attempts of this call, of which one told impossible numbers.
    fn was_impossible(&self, key: Key) -> bool {
        let cut_short = self.paid.calls.cut_short(self.ledger.store(), key);
        cut_short.is_ok_and(|record| record.is_some_and(|record| record.impossible))
    }

    /// A score from a service or program. It is no call of the run: it costs nothing and can be made again.
    pub async fn scored(&self, scorer: &ReadyScorer, request: &Request) -> Score {
        let ReadyScorer { who, timeout, retries, .. } = scorer;
        let errand = Errand { who, request, timeout: *timeout, retries: *retries, jitter_seed: 0 };
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
        (request, body): (&Request, Option<&Bytes>),
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
        let held = pin!(async {
            claim.reserve().await?;
            match (request, &target.model) {
                (Request::Chat(request), Some(model)) => {
                    let call = Call { model: &model.id, request, body, timeout, retries, jitter_seed };
                    providers.call_within(call, gate, claim, observer).await
                }
                _ => {
                    let errand = Errand { who: &target.who, request, timeout, retries, jitter_seed };
                    Box::pin(providers.errand_within(errand, gate, claim, observer)).await
                }
            }
        });
        tokio::select! {
            biased;
            held = held => held.map(Some),
            () = out_of_time => Ok(Some((claim.out_of_time(), None))),
            () = stopped => Ok(None),
        }
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

/// What a call cost: by a model's price, or as the answer says it; the least that it can have cost when nobody knows.
fn cost_of(outcome: &Result<Reply, CallError>, usage: &Usage, target: &Target) -> Result<Money, Money> {
    match (&target.model, &target.meter, outcome) {
        (Some(model), _, _) => model.price.cost(usage).ok_or(Money::ZERO),
        (None, Some(step), Ok(reply)) => step.cost_of(&reply.text),
        _ => Ok(Money::ZERO),
    }
}

/// The model that answered, where its provider says so.
fn answered(outcome: &Result<Arc<Reply>, CallError>, target: Option<&Target>) -> Option<Answered> {
    let reply = outcome.as_ref().ok()?;
    Answered::of(&target?.model.as_ref()?.model, reply.model.as_deref()?)
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
    let (_, mut notes) = usage_of(&outcome, request, record.request.len());
    let spent = record.cost.unwrap_or_default();
    notes.extend(record.impossible.then(impossible));
    notes.extend(target.model.as_ref().and_then(|model| breach(model, spent, record.reserved, record.attempts)));
    notes.extend(target.meter.as_ref().and_then(|_| uncosted(record.cost)));
    Made {
        key: record.key,
        outcome: outcome.map(Arc::new),
        usage: record.usage.unwrap_or_default(),
        cost: record.cost,
        // An earlier part of this run paid it, and no cell of it has said so.
        paid: spent,
        latency_ms: record.latency_ms,
        notes,
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

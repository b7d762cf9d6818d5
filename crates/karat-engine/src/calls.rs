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
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{FutureExt, join_all};
use karat_providers::{Call, Exchange, ExchangeWithSlot, ExternalCall, Gate, Providers, QueueEntry};
use karat_store::{Ledger, Reservation, WriteFailed, WriteGuard};
use karat_types::{
    Answer, Ask, CallError, CallErrorCode, CellError, Key, Machine, Money, Note, Observer, Pricing, Record, Reply,
    Request, ResponseFacts, Score, Turn, Usage,
};

use crate::bounds::upper_bound;
use crate::budget::Budget;
use crate::calllog::{CallLog, LoggedCall};
use crate::claim::{Charge, Claim, Funds};
use crate::credit::Credit;
use crate::fees::Fees;
use crate::files::Library;
use crate::identity::{call_key, seed_of};
use crate::paid::Paid;
use crate::privacy::Privacy;
use crate::settling::{Ended, Settled};
use crate::steps::Metered;
use crate::stop::Stop;
use crate::systems::ReadyScorer;
use crate::target::Target;

/// How long a stopped run waits for the answers to calls that are under way.
const GRACE: Duration = Duration::from_secs(20);

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
    pub facts: ResponseFacts,
}

impl Tally {
    /// Adds what a call came to, apart from how long it took: what was answered.
    fn add(&mut self, made: Settled, target: Option<&Target>) -> Result<Arc<Reply>, CallError> {
        self.usage += made.usage;
        self.cost += made.cost.unwrap_or_default();
        self.unpriced |= made.cost.is_none();
        self.paid += made.paid;
        self.notes.extend(made.notes);
        self.calls.push(made.key);
        if let Some(answered) = target.and_then(|target| target.answered(&made.outcome)) {
            answered.add_to(&mut self.facts.answered);
        }
        made.outcome
    }

    /// Adds what an answer says of itself.
    pub fn meter(&mut self, metered: &Metered) {
        self.usage += metered.usage;
        self.cost += metered.cost.unwrap_or_default();
        self.unpriced |= metered.cost.is_none();
        self.latency_ms = metered.latency_ms.unwrap_or(self.latency_ms);
        let answered = std::mem::take(&mut self.facts.answered);
        self.facts = ResponseFacts { answered, ..metered.facts.clone() };
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
    library: Arc<Library>,
    gate: Gate,
    budget: Budget,
    /// What earlier parts of the run have paid.
    pub paid: Paid,
    stop: Stop,
    privacy: Privacy,
    call_log: Option<Arc<dyn CallLog>>,
    credit: Arc<Credit>,
    made: AtomicU64,
    requests: AtomicU64,
    spent: AtomicU64,
    fees: Fees,
    /// Calls whose cost is unknown.
    unpriced: AtomicU64,
}

/// What [`Calls`] is made of.
pub(crate) struct CallsInit {
    pub providers: Arc<Providers>,
    pub ledger: Arc<Ledger>,
    pub observer: Arc<dyn Observer>,
    pub library: Arc<Library>,
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
            credit: Arc::new(Credit::new(init.concurrency)),
            made: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            fees: init.fees,
            unpriced: AtomicU64::new(0),
        }
    }

    /// Calls made, the requests that they took, and money spent, by this process.
    pub fn made(&self) -> (u64, u64, Money) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.made), count(&self.requests), Money(i128::from(count(&self.spent))))
    }

    /// The door to the line of who is called.
    pub fn door(&self, who: &str) -> QueueEntry {
        self.gate.queue_entry(who)
    }

    /// Whether the budget refused a call.
    pub fn budget_stopped(&self) -> bool {
        self.budget.stopped()
    }

    /// Calls of this process whose cost is unknown.
    pub fn unpriced(&self) -> u64 {
        self.unpriced.load(Ordering::Relaxed)
    }

    /// The reported cost that cannot be read and stopped the run, where one did.
    pub fn unreadable_cost(&self) -> Option<String> {
        self.budget.unkeepable().map(str::to_owned)
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

    /// Drives a machine to its end, and another of its kind where it failed on replies of an earlier part of the run that
    /// nobody could read: those are asked for again. `failure` is why an end is none. What both have paid is in the tally.
    pub async fn drive_anew<D>(
        &self,
        machine: impl Fn() -> Box<dyn Machine<Done = D>>,
        owner: Key,
        target: &Target,
        failure: impl Fn(&D) -> Option<&CellError>,
    ) -> (D, Tally) {
        let mut paid = Money::ZERO;
        loop {
            let mut tally = Tally::default();
            let done = self.drive(machine(), owner, Some(target), &mut tally).await;
            paid += tally.paid;
            if !failure(&done).is_some_and(|error| self.paid.give_up(&tally.calls, error)) {
                return (done, Tally { paid, ..tally });
            }
        }
    }

    async fn answer(&self, owner: Key, mut asks: Vec<Ask>, target: Option<&Target>, tally: &mut Tally) -> Vec<Answer> {
        let mut slowest = 0.0_f64;
        let mut told = |ask: Ask, made: Option<Settled>| match made {
            Some(made) => {
                slowest = slowest.max(made.latency_ms);
                Answer { slot: ask.slot, outcome: tally.add(made, target) }
            }
            None => self.library.answer(ask),
        };
        let answers = match asks.pop() {
            // Most ask for one thing at a time.
            Some(only) if asks.is_empty() => {
                let made = self.one(owner, &only, target).await;
                vec![told(only, made)]
            }
            last => {
                asks.extend(last);
                let made = join_all(asks.iter().map(|ask| self.one(owner, ask, target))).await;
                asks.into_iter().zip(made).map(|(ask, made)| told(ask, made)).collect()
            }
        };
        tally.latency_ms += slowest;
        answers
    }

    /// `None` for what needs no call.
    async fn one(&self, owner: Key, ask: &Ask, target: Option<&Target>) -> Option<Settled> {
        let target = target?;
        if matches!((&ask.request, &target.model), (Request::File { .. }, _) | (Request::Chat(_), None)) {
            return None;
        }
        let key = call_key(owner, &ask.slot);
        match self.paid.answer(self.ledger.store(), key) {
            // A reply whose content was not kept cannot be used again.
            Some(record) if self.privacy.keeps_content() => {
                Some(Settled::remembered(record, &ask.request, target, self.paid.is_untold(key)))
            }
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

    async fn call(&self, key: Key, request: &Request, target: &Target) -> Settled {
        if self.stop.is_set() {
            let message = "the run was stopped before this call";
            return Settled::refused(key, CallErrorCode::Cancelled, message.to_owned());
        }
        let body = self.body(request, target);
        let charge = self.charge(request, body.as_ref(), target);
        let Self { budget, credit, ledger, stop, .. } = self;
        let claim = Claim::new(Funds { budget, credit, ledger, stop }, charge, target.model.as_deref());
        let (exchange, slot) = match self.exchange(key, (request, body.as_ref()), &claim, target).await {
            Ok(Some((
                Exchange { outcome: Err(CallError { code: code @ CallErrorCode::Cancelled, message, .. }), .. },
                _,
            ))) => (claim.cut_short(code, message), None),
            Ok(Some(held)) => held,
            Ok(None) => {
                claim.leave_open();
                let message = "the run was stopped while this call was under way";
                return Settled::refused(key, CallErrorCode::Cancelled, message.to_owned());
            }
            Err(refusal) => (claim.cut_short(CallErrorCode::Budget, refusal), None),
        };
        if let Err(CallError { code: code @ (CallErrorCode::Cancelled | CallErrorCode::Budget), message, .. }) =
            &exchange.outcome
            && exchange.attempts == 0
        {
            return Settled::refused(key, *code, message.clone());
        }
        let exchange = self.redacted(exchange, request, target);
        if let Some(log) = &self.call_log {
            let call = LoggedCall::of(&exchange, request, &target.who, target.model.as_deref(), &self.privacy);
            call.iter().for_each(|call| log.call(call));
        }
        self.made.fetch_add(u64::from(exchange.attempts > 0), Ordering::Relaxed);
        // A replayed call sends none.
        let requests = if exchange.is_replayed { 0 } else { exchange.attempts };
        self.requests.fetch_add(u64::from(requests), Ordering::Relaxed);
        let bytes = body.map_or(exchange.request.len(), |body| body.len());
        let was_impossible = self.paid.was_impossible(self.ledger.store(), key);
        let ended = Ended { key, request, bytes, target, exchange, was_impossible };
        let (settled, record, owed) = ended.settle(&claim, &self.fees);
        self.spent.fetch_add(u64::try_from(settled.paid.0).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.unpriced.fetch_add(u64::from(settled.cost.is_none()), Ordering::Relaxed);
        let released = claim.surplus().map(|Reservation { calls, upper }| Record::Released { calls, upper });
        // Never released: so it counts as spent, like what was reserved for the call before.
        let owed = (owed > Money::ZERO).then_some(Record::Reserved { calls: 0, upper: owed });
        let records = [Record::Call(self.privacy.call(record))].into_iter().chain(released).chain(owed).collect();
        // Its record on disk, it no longer counts as open: so the next call needs no reservation of its own.
        let hold = WriteGuard::new((claim.drawn(), slot));
        if let Err(WriteFailed { error, guard }) = self.ledger.append_guarded(records, hold).await {
            // Before the slot is given back: what is in flight now is all that can be lost. Nothing is written any more, so
            // on disk the call stays open.
            self.gate.shut();
            drop(guard);
            self.stop.fail(error.to_string());
            return Settled::refused(key, CallErrorCode::Cancelled, error.to_string());
        }
        settled
    }

    /// A score from a service or program. It is no call of the run: it costs nothing and can be made again.
    pub async fn scored(&self, scorer: &ReadyScorer, request: &Request) -> Score {
        let ReadyScorer { who, timeout, retries, .. } = scorer;
        let call = ExternalCall { who, request, timeout: *timeout, retries: *retries, jitter_seed: 0 };
        let stopped = async {
            self.stop.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            exchange = self.providers.call_external(call, &*self.observer) => match exchange.outcome {
                Ok(reply) => scorer.scorer.read(&reply.text),
                Err(error) => Score::unscored(error.message),
            },
            () = stopped => Score::unscored("the run was stopped while this score was made"),
        }
    }

    /// The exchange without what must not be kept; its reply is read from what is left.
    fn redacted(&self, exchange: Exchange, request: &Request, target: &Target) -> Exchange {
        if !self.privacy.has_rules() {
            return exchange;
        }
        let response = self.privacy.body(exchange.response.clone());
        let outcome = match exchange.outcome {
            Ok(_) if response != exchange.response => target.read(request, &response),
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
    ) -> Result<Option<ExchangeWithSlot>, String> {
        let out_of_time = async {
            let Some(time) = &target.time else { return std::future::pending().await };
            // Asked after each move of the call itself, so nobody need be woken.
            time.run_out(std::future::poll_fn(|_| when(claim.is_sent()))).await;
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
                    let call = ExternalCall { who: &target.who, request, timeout, retries, jitter_seed };
                    Box::pin(providers.call_external_within(call, gate, claim, observer)).await
                }
            }
        });
        // Asked before the call takes a slot that others of its cell give back because the time is used up.
        let is_late = || target.time.as_ref().is_some_and(|time| time.is_over() && !claim.is_sent());
        tokio::select! {
            biased;
            () = std::future::poll_fn(|_| when(is_late())) => Ok(Some((claim.out_of_time(), None))),
            held = held => held.map(Some),
            () = out_of_time => Ok(Some((claim.out_of_time(), None))),
            () = stopped => Ok(None),
        }
    }
}

fn when(is_so: bool) -> Poll<()> {
    if is_so { Poll::Ready(()) } else { Poll::Pending }
}

//! Makes calls: reserved, made, made durable, and only then answered (invariant 5, a paid call is durable).
//!
//! 1. A call waits for the budget, then for its model's limits and a slot (`max_concurrency` running calls).
//! 2. It is made, with retries. The slot is held until the record is on disk, so after a crash at most
//!    `max_concurrency` calls are unknown to the ledger.
//! 3. The answer is parsed from the recorded bytes, so a resumed run reads what the first one read.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use futures::future::FutureExt;
use karat_providers::{Call, Exchange, ExchangeWithSlot, ExternalCall, Gate, Providers, QueueEntry};
use karat_store::{Ledger, Reservation, Store, StoreError, WriteFailed, WriteGuard};
use karat_types::{
    CallError, CallErrorCode, CallRecord, CellError, ChatRequest, Event, Key, MediaSource, ModelSpec, Moment, Money,
    Observer, Pricing, Record, Request, Score,
};

use crate::budget::call_price::CallPrice;
use crate::budget::claim::{Charge, Claim, Funds};
use crate::budget::limits::Budget;
use crate::budget::reservations::ReservationPool;
use crate::budget::service_costs::ServiceCosts;
use crate::call::batch::{CallBatcher, Uncollected};
use crate::call::log::{CallLog, LoggedCall};
use crate::call::paid::PaidReplies;
use crate::call::settlement::{EndedCall, SettledCall, with_unit_vectors};
use crate::control::halt::{HALTED, Halt};
use crate::control::refusals::Refusals;
use crate::control::stop::{GRACE, Stop};
use crate::control::target::{CallFate, Target};
use crate::plan::identity::seed_from_key;
use crate::plan::privacy::Privacy;
use crate::plan::ready::ReadyScorer;
use crate::rows::files::RecordedFiles;

/// Makes the calls of all cells of a run.
pub(crate) struct CallExecutor {
    pub(super) providers: Arc<Providers>,
    ledger: Arc<Ledger>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) recorded_files: Arc<RecordedFiles>,
    gate: Gate,
    budget: Budget,
    /// The replies that are paid.
    pub paid: PaidReplies,
    pub(super) stop: Stop,
    halt: Halt,
    pub(super) privacy: Privacy,
    /// The warnings about damage that were given.
    pub(super) warned: Mutex<BTreeSet<String>>,
    call_log: Option<Arc<dyn CallLog>>,
    /// The calls that go by a batch API, if the run uses it.
    pub batches: Option<CallBatcher>,
    pool: Arc<ReservationPool>,
    made: AtomicU64,
    requests: AtomicU64,
    spent: AtomicU64,
    service_costs: ServiceCosts,
    began_at: Moment,
    /// Calls whose cost is unknown.
    unpriced: AtomicU64,
    /// The recipients that refuse every call.
    pub refusals: Refusals,
}

/// The parts of a [`CallExecutor`].
pub(crate) struct CallExecutorInit {
    pub providers: Arc<Providers>,
    pub ledger: Arc<Ledger>,
    pub observer: Arc<dyn Observer>,
    pub recorded_files: Arc<RecordedFiles>,
    pub budget: Budget,
    pub service_costs: ServiceCosts,
    pub paid: PaidReplies,
    pub stop: Stop,
    /// Set once no call is made any more, because the run stopped early.
    pub halt: Halt,
    pub privacy: Privacy,
    pub call_log: Option<Arc<dyn CallLog>>,
    pub batches: Option<CallBatcher>,
    pub concurrency: usize,
    /// Cells of the plan.
    pub cells: u64,
    /// When this process began its part of the run.
    pub began_at: Moment,
}

/// Stores the vectors of a call before it is settled.
type KeepVectors<'a> = dyn Fn(&[Vec<f32>]) -> Result<(), StoreError> + Sync + 'a;

impl CallExecutor {
    pub fn new(init: CallExecutorInit) -> Self {
        // A cell seldom makes two calls at once, and a further block costs little.
        let at_once = init.concurrency.min(usize::try_from(init.cells).unwrap_or(usize::MAX)).max(1);
        let pool = Arc::new(ReservationPool::new(at_once));
        let has_budget = init.service_costs.has_budget;
        init.stop.end_waits_of(init.ledger.store().patience());
        if let Some(batches) = &init.batches {
            init.budget.hold(batches.reserved_amount());
            pool.take_over(batches.reserved_amount());
        }
        Self {
            providers: init.providers,
            ledger: init.ledger,
            observer: init.observer,
            recorded_files: init.recorded_files,
            gate: Gate::new(init.concurrency),
            budget: init.budget,
            paid: init.paid,
            stop: init.stop,
            halt: init.halt,
            privacy: init.privacy,
            call_log: init.call_log,
            batches: init.batches,
            began_at: init.began_at,
            pool,
            made: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            service_costs: init.service_costs,
            unpriced: AtomicU64::new(0),
            refusals: Refusals::new(has_budget),
            warned: Mutex::default(),
        }
    }

    /// Calls made, the requests that they took, and money spent, by this process.
    pub fn totals(&self) -> (u64, u64, Money) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.made), count(&self.requests), Money(i128::from(count(&self.spent))))
    }

    /// The queue entry for calls of a model.
    pub fn queue_entry(&self, who: &str) -> QueueEntry {
        self.gate.queue_entry(who)
    }

    /// Returns whether the budget refused a call.
    pub fn is_budget_stopped(&self) -> bool {
        self.budget.is_stopped()
    }

    /// Calls of this process whose cost is unknown.
    pub fn unpriced_calls(&self) -> u64 {
        self.unpriced.load(Ordering::Relaxed)
    }

    /// The reported cost that cannot be read and stopped the run, if there is one.
    pub fn unreadable_cost(&self) -> Option<String> {
        self.budget.broken_reason().map(str::to_owned)
    }

    /// The amount by which calls exceeded the budget, because they cost more than was reserved for them.
    pub fn overspend(&self) -> Money {
        self.budget.overspend()
    }

    /// The upper bound of the largest call that the budget refused.
    pub fn largest_refused(&self) -> Money {
        self.budget.largest_refused()
    }

    /// Releases the undrawn reservation on disk: at an orderly end, only calls that may have been billed stay open.
    pub async fn release_reservations(&self) {
        let Reservation { calls, upper } = self.pool.drain();
        if calls > 0 || upper > Money::ZERO {
            let record = Record::Released { calls, upper };
            if let Err(error) = self.ledger.append(vec![record]).await {
                self.stop.fail(&error);
            }
        }
    }

    /// The vectors of some texts, asked for in one call and kept. A text without a usable one has an empty vector.
    ///
    /// # Errors
    /// The call failed, or was not made.
    pub(super) async fn vectors_of(
        &self,
        (owner, key): (Key, Key),
        request: &Request,
        texts: &[Key],
        (target, keeps): (&Target, bool),
    ) -> Result<Vec<Vec<f32>>, CallError> {
        let keep = |vectors: &[Vec<f32>]| {
            let vectors = texts.iter().copied().zip(vectors.iter().cloned());
            let vectors: Vec<_> = vectors.filter(|(_, vector)| !vector.is_empty()).collect();
            if keeps { self.store().keep_vectors(&vectors) } else { Ok(()) }
        };
        let made = self.make_call((owner, key), request, target, &keep).boxed().await;
        made.outcome.map(|reply| reply.vectors.clone())
    }

    /// Stores the images and files of a request, where its text is stored too. Stored requests name them by digest.
    ///
    /// # Errors
    /// The store cannot be written, and the run stops: the call would be paid before what it was asked about is kept.
    pub(super) fn keep_media(&self, request: &Request) -> Result<(), CellError> {
        let Request::Chat(chat) = request else { return Ok(()) };
        if !self.privacy.keeps_requests() {
            return Ok(());
        }
        for media in chat.messages.iter().flat_map(|message| message.content.media()) {
            let MediaSource::Blob(blob) = &media.source else { continue };
            let media_type = media.media_type.as_deref().unwrap_or_default();
            let kept = self.store().keep_blob(&blob.digest, media_type, &blob.content, self.began_at);
            kept.map_err(|error| self.stop_for(error))?;
        }
        Ok(())
    }

    /// The store of the run.
    pub(super) fn store(&self) -> &Store {
        self.ledger.store()
    }

    /// Resolves once the run should stop.
    pub(super) async fn wait_for_stop(&self) {
        self.stop.wait().await;
    }

    /// Returns whether a stored call answers this request of a model.
    pub(super) fn is_request_of(&self, record: &CallRecord, request: &Request, target: &Target) -> bool {
        let (Request::Chat(chat), Some(model)) = (request, &target.model) else { return false };
        let stored = self.providers.stored_body(&model.id, chat);
        let body = stored.or_else(|| self.providers.request_body(model, chat));
        body.is_some_and(|body| self.privacy.is_stored_request(&record.request, body))
    }

    /// Stops the run because the store cannot be asked or written. Returns the error of what is left.
    pub fn stop_for(&self, error: StoreError) -> CellError {
        let left = CellError::new(CallErrorCode::Cancelled.as_str(), error.to_string());
        self.gate.shut();
        self.stop.fail(&error.into());
        left
    }

    /// The body of a request whose length bounds its cost.
    fn request_body(&self, request: &Request, target: &Target) -> Option<Bytes> {
        match (request, &target.model) {
            (Request::Chat(request), Some(model)) if matches!(model.price, Pricing::Known(_)) => {
                self.providers.request_body(model, request)
            }
            _ => None,
        }
    }

    /// The model and the request of a call that goes by a batch API.
    fn batch_request<'a>(&self, request: &'a Request, target: &'a Target) -> Option<(&'a ModelSpec, &'a ChatRequest)> {
        let (Request::Chat(request), Some(model)) = (request, target.model.as_deref()) else { return None };
        (!target.is_live && self.providers.has_batch_api(&model.id)).then_some((model, request))
    }

    fn charge<'a>(&'a self, price: CallPrice<'a>) -> Charge<'a> {
        match price.request {
            Request::Http(_) | Request::Command(_) if price.target.meter.is_some() => {
                Charge::Reported(&self.service_costs, &price.target.who)
            }
            _ => Charge::Bound(price.most()),
        }
    }

    pub(super) async fn make_call(
        &self,
        (owner, key): (Key, Key),
        request: &Request,
        target: &Target,
        keep_vectors: &KeepVectors<'_>,
    ) -> SettledCall {
        if self.stop.is_set() {
            let message = "the run was stopped before this call";
            return SettledCall::refusal(key, CallErrorCode::Cancelled, message.to_owned());
        }
        if self.halt.is_set() {
            return SettledCall::refusal(key, CallErrorCode::Cancelled, HALTED.to_owned());
        }
        let body = self.request_body(request, target);
        let price = CallPrice { target, request, bytes: body.as_ref().map_or(0, Bytes::len) };
        let Self { budget, pool, ledger, stop, refusals, .. } = self;
        let claim = Claim::new(Funds { budget, pool, ledger, stop, refusals }, self.charge(price), price);
        let batch = self.batches.as_ref().zip(self.batch_request(request, target));
        let made = match batch {
            Some((batcher, (model, request))) => {
                match batcher.exchange(key, (&self.providers, model, request), &claim).await {
                    Ok(made) => Ok(made.map(|made| (made, None))),
                    Err(Uncollected::Refused(refusal)) => Err(refusal),
                    Err(Uncollected::Unreadable(error)) => {
                        // Not an answer of the call: it is paid, and stays as it is.
                        self.stop.fail(&error.into());
                        Ok(None)
                    }
                }
            }
            None => self.exchange_within_limits(key, (request, body.as_ref()), &claim, target).await,
        };
        let (exchange, slot) = match made {
            Ok(Some((
                Exchange { outcome: Err(CallError { code: code @ CallErrorCode::Cancelled, message, .. }), .. },
                _,
            ))) => (claim.ended_exchange(code, message), None),
            Ok(Some(held)) => held,
            Ok(None) => {
                claim.leave_open();
                let message = "the run was stopped while this call was under way";
                return SettledCall::refusal(key, CallErrorCode::Cancelled, message.to_owned());
            }
            Err(refusal) => (claim.ended_exchange(CallErrorCode::Budget, refusal), None),
        };
        if let Err(CallError { code: code @ (CallErrorCode::Cancelled | CallErrorCode::Budget), message, .. }) =
            &exchange.outcome
            && exchange.attempts == 0
        {
            return SettledCall::refusal(key, *code, message.clone());
        }
        // The calls of a batch are all made before the first answer, so none of them speaks against the others.
        let fate = match batch {
            Some(_) => CallFate::Stands,
            None => self.refusals.note(target, owner, request, &exchange),
        };
        let exchange = match claim.last_error().filter(|_| fate == CallFate::Failed) {
            Some(error) => Exchange { outcome: Err(error), ..exchange },
            None => exchange,
        };
        let exchange = self.redact(exchange, request, target);
        let exchange = with_unit_vectors(exchange, request, target);
        if let Ok(reply) = exchange.outcome.as_ref()
            && !reply.vectors.is_empty()
            // Before the call's record: a vector is never paid for twice.
            && let Err(error) = keep_vectors(&reply.vectors)
        {
            return SettledCall::refusal(key, CallErrorCode::Cancelled, self.stop_for(error).message);
        }
        if let Some(log) = &self.call_log {
            let call = LoggedCall::of(&exchange, request, &target.who, target.model.as_deref(), &self.privacy);
            call.iter().for_each(|call| log.call(call));
        }
        self.made.fetch_add(u64::from(exchange.attempts > 0), Ordering::Relaxed);
        // A replayed call sends no request.
        let requests = if exchange.is_replayed { 0 } else { exchange.attempts };
        self.requests.fetch_add(u64::from(requests), Ordering::Relaxed);
        let bytes = body.map_or(exchange.request.len(), |body| body.len());
        let was_impossible =
            self.check_found(self.paid.was_impossible(self.store(), key)).is_ok_and(|it| it == Some(true));
        let ended = EndedCall { key, request, bytes, target, exchange, was_impossible };
        let (settled, record, owed) = ended.settle(&claim, &self.service_costs);
        self.observer.on_event(&Event::CallEnded(settled.summary(&record, target, requests)));
        self.spent.fetch_add(u64::try_from(settled.paid.0).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.unpriced.fetch_add(u64::from(settled.cost.is_none()), Ordering::Relaxed);
        let released = claim.take_surplus().map(|Reservation { calls, upper }| Record::Released { calls, upper });
        // Never released, so that it counts as spent like the reservation of the call.
        let owed = (owed > Money::ZERO).then_some(Record::Reserved { calls: 0, upper: owed });
        let records = [Record::Call(self.privacy.call(record))].into_iter().chain(released).chain(owed).collect();
        // Once the record is on disk the call is no longer open, so the next call needs no reservation of its own.
        let hold = WriteGuard::new((claim.take_reserved(), slot));
        if let Err(WriteFailed { error, guard }) = self.ledger.append_guarded(records, hold).await {
            // Shut before the slot is returned: only calls that run now can be lost. Nothing is written any more, so
            // the call stays open on disk.
            self.gate.shut();
            drop(guard);
            self.stop.fail(&error);
            return SettledCall::refusal(key, CallErrorCode::Cancelled, error.to_string());
        }
        if let Some((batcher, _)) = batch {
            batcher.settle(key);
        }
        if let Some(error) = self.ledger.out_of_room() {
            // Answers that are under way are kept; no other call is made.
            self.gate.shut();
            self.stop.fail(&error);
        }
        if fate.is_left()
            && let Err(error) = &settled.outcome
        {
            return SettledCall::refusal(key, CallErrorCode::Cancelled, error.message.clone());
        }
        settled
    }

    /// The score from a service or program. It is not a call of the run: it costs nothing and can be repeated.
    /// A service that refuses every one is not asked any more.
    ///
    /// # Errors
    /// The run stops before the score is made.
    pub async fn external_score(
        &self,
        scorer: &ReadyScorer,
        request: &Request,
        ordinal: u64,
    ) -> Result<Score, CellError> {
        let ReadyScorer { who, timeout, retries, .. } = scorer;
        let target = Target {
            who: who.clone(),
            model: None,
            meter: None,
            timeout: *timeout,
            retries: *retries,
            time: None,
            agent: None,
            is_live: true,
            is_demo: false,
        };
        if let Some(refusal) = self.refusals.refusal(&target) {
            return Ok(Score::unscored(refusal));
        }
        let call = ExternalCall { who, request, timeout: *timeout, retries: *retries, jitter_seed: 0 };
        let stopped = async {
            self.stop.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            exchange = self.providers.call_external(call, &*self.observer) => {
                let owner = Key::of("karat/scored-cell/1", &ordinal.to_le_bytes());
                self.refusals.note(&target, owner, request, &exchange);
                match exchange.outcome {
                    Ok(reply) => Ok(scorer.scorer.read(&reply.text)),
                    Err(error) if error.code.is_stop() => Err(error.into()),
                    Err(error) => Ok(Score::unscored(error.message)),
                }
            }
            () = stopped => {
                Err(CellError::new(CallErrorCode::Cancelled.as_str(), "the run was stopped while this score was made"))
            }
        }
    }

    /// Removes content that must not be kept from an exchange; the reply is read from the rest.
    fn redact(&self, exchange: Exchange, request: &Request, target: &Target) -> Exchange {
        if !self.privacy.has_rules() {
            return exchange;
        }
        let response = self.privacy.body(exchange.response.clone());
        let outcome = match exchange.outcome {
            Ok(_) if response != exchange.response => target.read_reply(request, &response),
            Ok(reply) => Ok(reply),
            Err(error) => Err(CallError { message: self.privacy.text(error.message), ..error }),
        };
        Exchange { request: self.privacy.body(exchange.request), response, outcome, ..exchange }
    }

    /// Makes the call. `None` if the run was stopped and the answer did not come within the grace period.
    async fn exchange_within_limits(
        &self,
        key: Key,
        (request, body): (&Request, Option<&Bytes>),
        claim: &Claim<'_>,
        target: &Target,
    ) -> Result<Option<ExchangeWithSlot>, String> {
        let out_of_time = async {
            let Some(time) = &target.time else { return std::future::pending().await };
            // Polled after each step of the call itself, so it needs no waker.
            time.expire(std::future::poll_fn(|_| ready_if(claim.is_sent()))).await;
        };
        let stopped = async {
            self.stop.wait().await;
            self.gate.shut();
            tokio::time::sleep(GRACE).await;
        };
        let Target { timeout, retries, .. } = *target;
        let jitter_seed = seed_from_key(key);
        let (providers, gate, observer) = (&self.providers, &self.gate, &*self.observer);
        // Pinned here: otherwise each future that passes it on would hold all of it.
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
        // Polled before the call takes a slot that other calls of its cell release because the time is used up.
        let is_late = || target.time.as_ref().is_some_and(|time| time.is_expired() && !claim.is_sent());
        // Polled likewise: a call that waits for a slot when the run stops early is not made.
        let is_halted = || self.halt.is_set() && !claim.is_sent();
        tokio::select! {
            biased;
            () = std::future::poll_fn(|_| ready_if(is_halted())) => {
                Ok(Some((claim.ended_exchange(CallErrorCode::Cancelled, HALTED.to_owned()), None)))
            }
            () = std::future::poll_fn(|_| ready_if(is_late())) => Ok(Some((claim.timed_out_exchange(), None))),
            held = held => held.map(Some),
            () = out_of_time => Ok(Some((claim.timed_out_exchange(), None))),
            () = stopped => Ok(None),
        }
    }
}

fn ready_if(is_so: bool) -> Poll<()> {
    if is_so { Poll::Ready(()) } else { Poll::Pending }
}

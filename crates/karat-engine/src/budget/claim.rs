//! The reservation of one call: in memory before the call waits for anything else, on disk before it is sent.
//!
//! Each attempt has a reservation of its own. A failed attempt that cost nothing (refused with a status, not connected)
//! returns its money before the wait for the next attempt. A billed attempt keeps its reservation on disk until the
//! call's record is there. An attempt of unknown cost keeps it for good, so that it counts as spent in this process and
//! in every later part of the run. Counted as calls, all of them stay open on disk until the record is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::FutureExt;
use karat_providers::{Exchange, FailedAttempt, FailedAttempts, Payer};
use karat_store::{Ledger, Reservation};
use karat_types::{CallError, CallErrorCode, Money, Record};

use crate::budget::call_price::{Bill, CallPrice, FailedCost};
use crate::budget::limits::{Budget, Refusal};
use crate::budget::reservations::ReservationPool;
use crate::budget::service_costs::{RequestTurn, ServiceCosts};
use crate::control::refusals::{FirstCall, Refusals, target_name};
use crate::control::stop::Stop;

/// The budgets that a call reserves from: in memory and on disk.
pub(crate) struct Funds<'a> {
    pub budget: &'a Budget,
    pub pool: &'a Arc<ReservationPool>,
    pub ledger: &'a Ledger,
    pub stop: &'a Stop,
    /// The recipients that are not called any more.
    pub refusals: &'a Refusals,
}

/// The upper bound of an attempt's cost, as far as it is known.
pub(crate) enum Charge<'a> {
    /// A bound that follows from the request.
    Bound(Money),
    /// The highest cost of an answer of the step so far; the call may have to wait for it.
    Reported(&'a ServiceCosts, &'a Arc<str>),
}

/// The reservation of one call. If it is dropped before the call was sent, the reservation is returned.
pub(crate) struct Claim<'a> {
    funds: Funds<'a>,
    charge: Charge<'a>,
    price: CallPrice<'a>,
    state: Mutex<ClaimState<'a>>,
}

#[derive(Default)]
struct ClaimState<'a> {
    /// Upper bound of the current attempt, or of the last one.
    upper: Money,
    /// The turn of the call among those of its step or model, while it runs.
    turn: (Option<RequestTurn>, Option<FirstCall<'a>>),
    /// True if an attempt is reserved in memory.
    is_open: bool,
    /// True if the reservation is on disk too, so that the attempt may have been sent.
    is_on_disk: bool,
    /// True while an attempt is running.
    is_sent: bool,
    /// Attempts that were paid for, including the current one.
    attempts: u32,
    /// The part of their reservations that earlier attempts keep.
    kept: Reservation,
    /// The money that attempts of unknown cost keep for good.
    unknown_cost: Money,
    /// The part of the budget that earlier attempts have spent.
    spent: Money,
    /// The account of all attempts before the current one.
    failed_attempts: FailedAttempts,
    /// The error of the latest of them.
    last_error: Option<CallError>,
    /// The request and answer of the latest of them, for a call that ends before another is made.
    last: LastAttempt,
    /// Those of them whose cost is unknown.
    unknown: u32,
}

/// The request and answer of an attempt. The answer is cut, since it is held while the call waits.
#[derive(Default, Clone)]
struct LastAttempt {
    request: Bytes,
    response: Bytes,
    status: Option<u16>,
    latency_ms: f64,
}

/// Bytes that are held of the answer of a failed attempt.
const HELD: usize = 64 << 10;

impl ClaimState<'_> {
    /// Adds the reservation of the current attempt if its cost is unknown; `unknown` is the number of such attempts so far.
    fn count_unknown_cost(&mut self, unknown: u32) {
        if unknown > std::mem::replace(&mut self.unknown, unknown) {
            self.unknown_cost += self.upper;
        }
    }
}

impl<'a> Claim<'a> {
    /// A claim that has reserved nothing yet.
    pub fn new(funds: Funds<'a>, charge: Charge<'a>, price: CallPrice<'a>) -> Self {
        Self { funds, charge, price, state: Mutex::default() }
    }

    /// Reserves the next attempt in memory. Waits while running calls may free money or reveal what a call costs.
    ///
    /// # Errors
    /// The budget or the maximum of calls is used up, or the recipient refuses every call.
    pub async fn reserve(&self) -> Result<(), String> {
        self.check_refusals()?;
        let (upper, turn) = match self.charge {
            Charge::Bound(upper) => {
                let first = if upper > Money::ZERO { self.funds.refusals.begin(self.price.target).await } else { None };
                (upper.max(self.funds.budget.dearest(self.recipient())), (None, first))
            }
            Charge::Reported(service_costs, step) => {
                let (cost, turn) = service_costs.expected_cost(step).await;
                (cost, (turn, None))
            }
        };
        // A call that waits for money does not stop the run for want of it once its recipient is not called any more.
        let is_needed = || self.check_refusals().is_ok();
        if let Err(refusal) = self.funds.budget.reserve(upper, is_needed).await {
            self.check_refusals()?;
            return Err(refusal_message(refusal));
        }
        let mut state = self.state();
        (state.upper, state.turn, state.is_open) = (upper, turn, true);
        Ok(())
    }

    fn recipient(&self) -> &str {
        target_name(self.price.target)
    }

    /// Ends the attempt that is under way, if there is one.
    fn end_attempt(&self, state: &mut ClaimState<'_>) {
        if std::mem::take(&mut state.is_sent) {
            self.funds.budget.end(self.recipient(), state.upper);
        }
    }

    /// Remembers an attempt that was billed more than its request allows. What services cost is known by their answers alone.
    fn note_excess(&self, state: &ClaimState<'_>, cost: Money) {
        if matches!(self.charge, Charge::Bound(_)) && cost > state.upper {
            self.funds.budget.note_dearest(self.recipient(), cost);
        }
    }

    fn check_refusals(&self) -> Result<(), String> {
        self.funds.refusals.refusal(self.price.target).map_or(Ok(()), Err)
    }

    /// The exchange of a call that ended between two attempts, or before the first: with what the last attempt sent and got,
    /// so that a trace shows why there was to be another.
    pub fn ended_exchange(&self, code: CallErrorCode, message: String) -> Exchange {
        let state = self.state();
        let LastAttempt { request, response, status, latency_ms } = state.last.clone();
        let (attempts, failed_attempts) = (state.attempts, state.failed_attempts.clone());
        let error = CallError { code, message, status: None };
        Exchange {
            request,
            response,
            status,
            latency_ms,
            attempts,
            failed_attempts,
            ..Exchange::without_attempt(error)
        }
    }

    /// The error of the latest attempt that failed and was to be followed by another.
    pub fn last_error(&self) -> Option<CallError> {
        self.state().last_error.clone()
    }

    /// True while an attempt is running.
    pub fn is_sent(&self) -> bool {
        self.state().is_sent
    }

    /// The exchange of a call whose cell has run out of time. A running attempt may still be billed.
    pub fn timed_out_exchange(&self) -> Exchange {
        let (is_sent, attempts, last_error) = {
            let state = self.state();
            (state.is_sent, state.attempts, state.last_error.clone())
        };
        let when = match attempts {
            _ if is_sent => "was under way",
            0 => "waited for its turn",
            _ => "waited for its next attempt",
        };
        let before = last_error.map_or_else(String::new, |error| format!(" ({})", error.message));
        let message = format!("the cell's time was used up while this call {when}{before}. Raise `run.cell_timeout`");
        let mut exchange = self.ended_exchange(CallErrorCode::CellTimeout, message);
        exchange.failed_attempts.unknown += u32::from(is_sent);
        exchange
    }

    /// Settles the whole call in memory: the bill of its last attempt, and those of the `failed` ones before. Attempts of
    /// unknown cost count at their upper bound and keep their reservation on disk. Returns the amount on disk, and the amount
    /// that counts beyond it and the bill.
    pub fn settle(&self, bill: Bill, failed: &FailedCost) -> (Money, Money) {
        let mut state = self.state();
        state.count_unknown_cost(failed.unknown + u32::from(bill.cost().is_none()));
        let spent = bill.cost().unwrap_or_default() + failed.known + state.unknown_cost - state.spent;
        let excess = match bill {
            Bill::Exact(_) => Money::ZERO,
            Bill::AtLeast(least) => (least - state.upper).max(Money::ZERO),
        };
        self.end_attempt(&mut state);
        if std::mem::take(&mut state.is_open) {
            self.note_excess(&state, spent + excess);
            self.funds.budget.settle(state.upper, spent + excess);
        }
        self.funds.pool.lose(state.unknown_cost);
        // The record of a call of unknown cost does not hold what its other attempts cost.
        let beside = if bill.cost().is_none() { failed.known } else { Money::ZERO };
        (if state.attempts > 0 { state.upper } else { Money::ZERO }, excess + beside)
    }

    /// Ends the run's reservations, because its budget can no longer be kept.
    pub fn give_up(&self, reason: String) {
        self.funds.budget.give_up(reason);
    }

    /// Lets the calls continue that waited to learn the cost of this one.
    pub fn end_turn(&self) {
        self.state().turn = (None, None);
    }

    /// Takes what is reserved on disk but can no longer be spent, now that this call is settled.
    pub fn take_surplus(&self) -> Option<Reservation> {
        self.funds.pool.take_surplus(self.funds.budget.unsettled_reservation())
    }

    /// Takes the call's share of the reservation on disk. Dropping it returns the share: do so once the call's record
    /// is on disk, or if it was not sent.
    pub fn take_reserved(&self) -> ReservedGuard {
        let mut state = self.state();
        let mut reserved = std::mem::take(&mut state.kept);
        if std::mem::take(&mut state.is_on_disk) {
            reserved = Reservation { calls: reserved.calls + 1, upper: reserved.upper + state.upper };
        }
        let upper = if reserved.calls > 0 { reserved.upper - state.unknown_cost } else { Money::ZERO };
        ReservedGuard { pool: Arc::clone(self.funds.pool), reserved: Reservation { upper, ..reserved } }
    }

    /// Keeps the reservation for a call that goes by a batch. Returns its amount.
    pub fn park(&self) -> Money {
        let mut state = self.state();
        self.end_attempt(&mut state);
        (state.is_open, state.is_on_disk, state.turn) = (false, false, (None, None));
        self.funds.budget.park();
        state.upper
    }

    /// Takes up the reservation of a call that a batch has answered.
    pub fn unpark(&self, upper: Money) {
        self.funds.budget.unpark();
        let mut state = self.state();
        (state.upper, state.attempts) = (upper, 1);
        (state.is_open, state.is_on_disk) = (true, true);
    }

    /// Leaves the reservation on disk open, because the call may have been billed.
    pub fn leave_open(&self) {
        let mut state = self.state();
        if std::mem::take(&mut state.is_on_disk) || state.kept.calls > 0 {
            (state.is_open, state.kept) = (false, Reservation::default());
        }
    }

    async fn reserve_block(&self, Reservation { calls, upper }: Reservation) -> Result<(), String> {
        let appended = self.funds.ledger.append(vec![Record::Reserved { calls, upper }]).await;
        appended.map(drop).map_err(|error| {
            self.funds.stop.fail(&error);
            error.to_string()
        })
    }

    fn state(&self) -> MutexGuard<'_, ClaimState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's share of the reservation on disk; returned on drop.
pub(crate) struct ReservedGuard {
    pool: Arc<ReservationPool>,
    reserved: Reservation,
}

impl Drop for ReservedGuard {
    fn drop(&mut self) {
        self.pool.give_back(self.reserved);
    }
}

impl Payer for Claim<'_> {
    type Refusal = String;

    async fn pay(&self) -> Result<(), String> {
        // Again: the call may have waited long for its slot.
        self.check_refusals()?;
        let upper = self.state().upper;
        let most = || self.funds.budget.unsettled_reservation();
        // Boxed: few calls need a block.
        let reserve = |block| self.reserve_block(block).boxed();
        self.funds.pool.draw(upper, most, reserve).await?;
        let mut state = self.state();
        state.is_on_disk = true;
        self.funds.budget.send(self.recipient(), upper).map_err(refusal_message)?;
        state.is_sent = true;
        state.attempts += 1;
        Ok(())
    }

    fn withdraw(&self) {
        let mut state = self.state();
        self.end_attempt(&mut state);
        state.turn = (None, None);
        state.attempts = state.attempts.saturating_sub(1);
        if std::mem::take(&mut state.is_open) {
            self.funds.budget.withdraw(state.upper);
        }
    }

    fn attempt_failed(&self, failed_attempts: &FailedAttempts, attempt: FailedAttempt<'_>) {
        let FailedAttempt { request, response, status, latency_ms, error } = attempt;
        if let Some(error) = error {
            self.funds.refusals.note_attempt(self.price.target, self.price.request, error);
        }
        let failed = self.price.failed_cost(failed_attempts);
        let mut state = self.state();
        state.count_unknown_cost(failed.unknown);
        let spent = failed.known + state.unknown_cost;
        let cost = spent - std::mem::replace(&mut state.spent, spent);
        self.end_attempt(&mut state);
        state.turn = (None, None);
        state.failed_attempts.clone_from(failed_attempts);
        state.last_error = error.cloned();
        let response = response.slice(..response.len().min(HELD));
        state.last = LastAttempt { request: request.clone(), response, status, latency_ms };
        if std::mem::take(&mut state.is_on_disk) {
            let (kept, freed) =
                if cost > Money::ZERO { (state.upper, Money::ZERO) } else { (Money::ZERO, state.upper) };
            state.kept.calls += 1;
            state.kept.upper += kept;
            self.funds.pool.give_back(Reservation { calls: 0, upper: freed });
        }
        if std::mem::take(&mut state.is_open) {
            self.note_excess(&state, cost);
            self.funds.budget.settle(state.upper, cost);
        }
    }

    async fn reserve_next(&self) -> Result<(), String> {
        self.reserve().await
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.state();
        self.end_attempt(&mut state);
        if std::mem::take(&mut state.is_open) {
            self.funds.budget.withdraw(state.upper);
        }
        drop(state);
        drop(self.take_reserved());
    }
}

fn refusal_message(refusal: Refusal) -> String {
    match refusal {
        Refusal::Money => "the next call does not fit the run's budget. Raise `--budget-usd` and resume".to_owned(),
        Refusal::Calls => "the run has made as many calls as it may. Raise `--max-calls` and resume".to_owned(),
        Refusal::Unneeded => "its recipient is not called any more".to_owned(),
        Refusal::UnreadableCost => "the run stopped: an answer reports a cost that cannot be read".to_owned(),
    }
}

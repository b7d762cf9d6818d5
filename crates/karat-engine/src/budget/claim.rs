//! The reservation of one call: in memory before the call waits for anything else, on disk before it is sent (BY-05).
//!
//! Each attempt has a reservation of its own. A failed attempt that cost nothing (refused with a status, not connected)
//! returns its money before the wait for the next attempt. A billed attempt keeps its reservation on disk until the
//! call's record is there. An attempt of unknown cost keeps it for good, so that it counts as spent in this process and
//! in every later part of the run. Counted as calls, all of them stay open on disk until the record is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::FutureExt;
use karat_providers::{Exchange, FailedAttempts, Payer};
use karat_store::{Ledger, Reservation};
use karat_types::{CallError, CallErrorCode, Money, Record};

use crate::budget::limits::{Budget, Refusal};
use crate::budget::reservations::ReservationPool;
use crate::budget::service_costs::{RequestTurn, ServiceCosts};
use crate::call::refusals::Refusals;
use crate::call::target::Target;
use crate::run::stop::Stop;

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

/// The bill of a call for all its attempts, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bill {
    Exact(Money),
    /// Estimated from the usage.
    Estimated(Money),
    /// Unknown, but at least this much.
    AtLeast(Money),
}

impl Bill {
    /// The billed cost; `None` when it is unknown.
    pub fn cost(self) -> Option<Money> {
        match self {
            Self::Exact(cost) | Self::Estimated(cost) => Some(cost),
            Self::AtLeast(_) => None,
        }
    }

    /// The lower bound of the bill.
    pub fn least(self) -> Money {
        let (Self::Exact(least) | Self::Estimated(least) | Self::AtLeast(least)) = self;
        least
    }
}

/// The reservation of one call. If it is dropped before the call was sent, the reservation is returned.
pub(crate) struct Claim<'a> {
    funds: Funds<'a>,
    charge: Charge<'a>,
    target: &'a Target,
    state: Mutex<ClaimState>,
}

#[derive(Default)]
struct ClaimState {
    /// Upper bound of the current attempt, or of the last one.
    upper: Money,
    /// The turn of the call among those of its step, while it runs.
    turn: Option<RequestTurn>,
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
}

impl ClaimState {
    /// Adds the reservation of the current attempt if its cost is unknown; `unknown` is the number of such attempts so far.
    fn count_unknown_cost(&mut self, unknown: u32) {
        if unknown > std::mem::replace(&mut self.failed_attempts.unknown, unknown) {
            self.unknown_cost += self.upper;
        }
    }
}

impl<'a> Claim<'a> {
    /// A claim that has reserved nothing yet.
    pub fn new(funds: Funds<'a>, charge: Charge<'a>, target: &'a Target) -> Self {
        Self { funds, charge, target, state: Mutex::default() }
    }

    /// Reserves the next attempt in memory. Waits while running calls may free money or reveal what a call costs.
    ///
    /// # Errors
    /// The budget or the maximum of calls is used up, or the recipient refuses every call.
    pub async fn reserve(&self) -> Result<(), String> {
        self.check_refusals()?;
        let (upper, turn) = match self.charge {
            Charge::Bound(upper) => (upper, None),
            Charge::Reported(service_costs, step) => service_costs.expected_cost(step).await,
        };
        self.funds.budget.reserve(upper).await.map_err(refusal_message)?;
        let mut state = self.state();
        (state.upper, state.turn, state.is_open) = (upper, turn, true);
        Ok(())
    }

    fn check_refusals(&self) -> Result<(), String> {
        self.funds.refusals.refusal(self.target).map_or(Ok(()), Err)
    }

    /// The exchange of a call that ended between two attempts, or before the first.
    pub fn ended_exchange(&self, code: CallErrorCode, message: String) -> Exchange {
        let ClaimState { attempts, failed_attempts, .. } = *self.state();
        let error = CallError { code, message, status: None };
        Exchange { attempts, failed_attempts, ..Exchange::without_attempt(error) }
    }

    /// True while an attempt is running.
    pub fn is_sent(&self) -> bool {
        self.state().is_sent
    }

    /// The exchange of a call whose cell has run out of time. A running attempt may still be billed.
    pub fn timed_out_exchange(&self) -> Exchange {
        let ClaimState { is_sent, attempts, .. } = *self.state();
        let when = match attempts {
            _ if is_sent => "was under way",
            0 => "waited for its turn",
            _ => "waited for its next attempt",
        };
        let message = format!("the cell's time was used up while this call {when}. Raise `run.cell_timeout`");
        let mut exchange = self.ended_exchange(CallErrorCode::CellTimeout, message);
        exchange.failed_attempts.unknown += u32::from(is_sent);
        exchange
    }

    /// Settles the bill of the whole call in memory. `unknown` earlier attempts count at their upper bound and keep
    /// their reservation on disk; a last attempt of unknown cost counts as reserved. Returns the amount on disk, and
    /// the amount owed beyond it and the bill.
    pub fn settle(&self, bill: Bill, unknown: u32) -> (Money, Money) {
        let mut state = self.state();
        state.count_unknown_cost(unknown + u32::from(bill.cost().is_none()));
        let spent = bill.cost().unwrap_or_default() + state.unknown_cost - state.spent;
        let owed = match bill {
            Bill::Exact(_) => Money::ZERO,
            Bill::Estimated(_) => state.upper - spent,
            Bill::AtLeast(least) => least - state.upper,
        };
        let owed = owed.max(Money::ZERO);
        if std::mem::take(&mut state.is_open) {
            self.funds.budget.settle(state.upper, spent + owed);
        }
        self.funds.pool.lose(state.unknown_cost);
        (if state.attempts > 0 { state.upper } else { Money::ZERO }, owed)
    }

    /// Ends the run's reservations, because its budget can no longer be kept.
    pub fn give_up(&self, reason: String) {
        self.funds.budget.give_up(reason);
    }

    /// Lets the calls continue that waited to learn the cost of this one.
    pub fn end_turn(&self) {
        self.state().turn = None;
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
        (state.is_open, state.is_on_disk, state.is_sent) = (false, false, false);
        self.funds.budget.park();
        state.upper
    }

    /// Takes up the reservation of a call that a batch has answered.
    pub fn unpark(&self, upper: Money) {
        self.funds.budget.unpark();
        let mut state = self.state();
        (state.upper, state.attempts) = (upper, 1);
        (state.is_open, state.is_on_disk, state.is_sent) = (true, true, true);
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

    fn state(&self) -> MutexGuard<'_, ClaimState> {
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
        (state.is_on_disk, state.is_sent) = (true, true);
        state.attempts += 1;
        Ok(())
    }

    fn withdraw(&self) {
        let mut state = self.state();
        (state.is_sent, state.turn) = (false, None);
        state.attempts = state.attempts.saturating_sub(1);
        if std::mem::take(&mut state.is_open) {
            self.funds.budget.withdraw(state.upper);
        }
    }

    fn attempt_failed(&self, failed_attempts: &FailedAttempts) {
        let billed =
            self.target.model.as_ref().and_then(|model| model.price.cost(&failed_attempts.usage)).unwrap_or_default();
        let mut state = self.state();
        state.count_unknown_cost(failed_attempts.unknown);
        let spent = billed + state.unknown_cost;
        let cost = spent - std::mem::replace(&mut state.spent, spent);
        (state.failed_attempts, state.is_sent, state.turn) = (*failed_attempts, false, None);
        if std::mem::take(&mut state.is_on_disk) {
            let (kept, freed) =
                if cost > Money::ZERO { (state.upper, Money::ZERO) } else { (Money::ZERO, state.upper) };
            state.kept.calls += 1;
            state.kept.upper += kept;
            self.funds.pool.give_back(Reservation { calls: 0, upper: freed });
        }
        if std::mem::take(&mut state.is_open) {
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
        Refusal::UnreadableCost => "the run stopped: an answer reports a cost that cannot be read".to_owned(),
    }
}

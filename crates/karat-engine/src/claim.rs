//! What is reserved for one call: in memory before it waits for anything else, and on disk before it is sent (BY-05).
//!
//! Each attempt has its own reservation. One that failed for nothing (refused with a status, nobody reached) gives its money
//! back before the wait for the next. One that was billed keeps its own on disk until the call's record is there, and one of
//! which nobody knows what it cost keeps it for good: that is how it counts as spent, in this process and in those that go on
//! with the run. As calls all of them stay open on disk until then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::FutureExt;
use karat_providers::{Exchange, FailedAttempts, Payer};
use karat_store::{Ledger, Reservation};
use karat_types::{CallError, CallErrorCode, ModelSpec, Money, Record};

use crate::budget::{Budget, Refusal};
use crate::credit::Credit;
use crate::fees::{Fees, Turn};
use crate::stop::Stop;

/// Where calls reserve: in memory, and on disk.
pub(crate) struct Funds<'a> {
    pub budget: &'a Budget,
    pub credit: &'a Arc<Credit>,
    pub ledger: &'a Ledger,
    pub stop: &'a Stop,
}

/// What an attempt can cost at the most, as far as anybody knows.
pub(crate) enum Charge<'a> {
    /// As much as its request says.
    Bound(Money),
    /// As much as the dearest answer of its step so far, which it may have to wait for.
    Fee(&'a Fees, &'a Arc<str>),
}

/// What a call was billed, all its attempts together, as far as anybody knows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bill {
    Exact(Money),
    /// By an estimate of what it used.
    Estimated(Money),
    /// Nobody knows, but that it is no less.
    AtLeast(Money),
}

impl Bill {
    /// `None` when nobody knows.
    pub fn cost(self) -> Option<Money> {
        match self {
            Self::Exact(cost) | Self::Estimated(cost) => Some(cost),
            Self::AtLeast(_) => None,
        }
    }

    /// What it is at the least.
    pub fn least(self) -> Money {
        let (Self::Exact(least) | Self::Estimated(least) | Self::AtLeast(least)) = self;
        least
    }
}

/// What is reserved for one call. Dropped before it was sent, it is given back.
pub(crate) struct Claim<'a> {
    funds: Funds<'a>,
    charge: Charge<'a>,
    /// Whose prices hold for what was billed.
    model: Option<&'a ModelSpec>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Upper bound of the present attempt, or of the last one.
    upper: Money,
    /// Held while nobody else may ask.
    turn: Option<Turn>,
    /// Whether an attempt is reserved in memory.
    is_open: bool,
    /// Whether that is on disk, too, so that it may have been sent.
    is_drawn: bool,
    /// Whether an attempt is under way.
    is_sent: bool,
    /// Attempts that were paid for, the present one included.
    attempts: u32,
    /// What earlier attempts keep of what they have drawn.
    kept: Reservation,
    /// What attempts of unknown cost keep for good.
    lost: Money,
    /// What of the budget earlier attempts have used up.
    spent: Money,
    /// What all attempts before the present one came to.
    wasted: FailedAttempts,
}

impl State {
    /// Counts what of so many attempts of unknown cost is new: at most the present one.
    fn lose(&mut self, unknown: u32) {
        if unknown > std::mem::replace(&mut self.wasted.unknown, unknown) {
            self.lost += self.upper;
        }
    }
}

impl<'a> Claim<'a> {
    /// Nothing reserved yet.
    pub fn new(funds: Funds<'a>, charge: Charge<'a>, model: Option<&'a ModelSpec>) -> Self {
        Self { funds, charge, model, state: Mutex::default() }
    }

    /// Reserves the next attempt in memory. Waits while calls in flight may free money, or say what one costs.
    ///
    /// # Errors
    /// The budget or the calls are used up.
    pub async fn reserve(&self) -> Result<(), String> {
        let (upper, turn) = match self.charge {
            Charge::Bound(upper) => (upper, None),
            Charge::Fee(fees, step) => fees.expected(step).await,
        };
        self.funds.budget.reserve(upper).await.map_err(told)?;
        let mut state = self.state();
        (state.upper, state.turn, state.is_open) = (upper, turn, true);
        Ok(())
    }

    /// What becomes of a call that ends for this reason between two attempts, or before the first.
    pub fn cut_short(&self, code: CallErrorCode, message: String) -> Exchange {
        let State { attempts, wasted, .. } = *self.state();
        let error = CallError { code, message, status: None };
        Exchange { attempts, failed_attempts: wasted, ..Exchange::without_attempt(error) }
    }

    /// Whether an attempt is under way.
    pub fn is_sent(&self) -> bool {
        self.state().is_sent
    }

    /// What becomes of a call when its cell's time is used up: an attempt that is under way may be paid.
    pub fn out_of_time(&self) -> Exchange {
        let State { is_sent, attempts, .. } = *self.state();
        let when = match attempts {
            _ if is_sent => "was under way",
            0 => "waited for its turn",
            _ => "waited for its next attempt",
        };
        let message = format!("the cell's time was used up while this call {when}. Raise `run.cell_timeout`");
        let mut exchange = self.cut_short(CallErrorCode::Timeout, message);
        exchange.failed_attempts.unknown += u32::from(is_sent);
        exchange
    }

    /// Settles in memory what the whole call was billed, `unknown` earlier attempts at their upper bound; they keep what is
    /// on disk of them, too. What nobody knows of the last one counts like what was reserved for it. Says how much that is
    /// on disk, and what counts beyond it and the bill.
    pub fn settle(&self, bill: Bill, unknown: u32) -> (Money, Money) {
        let mut state = self.state();
        state.lose(unknown + u32::from(bill.cost().is_none()));
        let spent = bill.cost().unwrap_or_default() + state.lost - state.spent;
        let owed = match bill {
            Bill::Exact(_) => Money::ZERO,
            Bill::Estimated(_) => state.upper - spent,
            Bill::AtLeast(least) => least - state.upper,
        };
        let owed = owed.max(Money::ZERO);
        if std::mem::take(&mut state.is_open) {
            self.funds.budget.settle(state.upper, spent + owed);
        }
        self.funds.credit.lose(state.lost);
        (if state.attempts > 0 { state.upper } else { Money::ZERO }, owed)
    }

    /// Ends the run's reservations, because its budget can no longer be kept.
    pub fn give_up(&self, reason: String) {
        self.funds.budget.give_up(reason);
    }

    /// Lets others ask who waited for what this one costs.
    pub fn end_turn(&self) {
        self.state().turn = None;
    }

    /// What of all that is reserved on disk can no longer be spent, now that this is settled.
    pub fn surplus(&self) -> Option<Reservation> {
        self.funds.credit.surplus(self.funds.budget.unsettled())
    }

    /// What is on disk of it. Let go once the call's record is there too, or when it was not sent, that is given back.
    pub fn drawn(&self) -> Drawn {
        let mut state = self.state();
        let mut drawn = std::mem::take(&mut state.kept);
        if std::mem::take(&mut state.is_drawn) {
            drawn = Reservation { calls: drawn.calls + 1, upper: drawn.upper + state.upper };
        }
        let upper = if drawn.calls > 0 { drawn.upper - state.lost } else { Money::ZERO };
        Drawn { credit: Arc::clone(self.funds.credit), drawn: Reservation { upper, ..drawn } }
    }

    /// Leaves what is on disk of it open: it may have been paid.
    pub fn leave_open(&self) {
        let mut state = self.state();
        if std::mem::take(&mut state.is_drawn) || state.kept.calls > 0 {
            (state.is_open, state.kept) = (false, Reservation::default());
        }
    }

    async fn reserve_block(&self, Reservation { calls, upper }: Reservation) -> Result<(), String> {
        let appended = self.funds.ledger.append(vec![Record::Reserved { calls, upper }]).await;
        appended.map(drop).map_err(|error| {
            self.funds.stop.fail(error.to_string());
            error.to_string()
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call has drawn of what is reserved on disk.
pub(crate) struct Drawn {
    credit: Arc<Credit>,
    drawn: Reservation,
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.credit.give_back(self.drawn);
    }
}

impl Payer for Claim<'_> {
    type Refusal = String;

    async fn pay(&self) -> Result<(), String> {
        let upper = self.state().upper;
        let most = || self.funds.budget.unsettled();
        // Boxed: few calls need a block.
        let reserve = |block| self.reserve_block(block).boxed();
        self.funds.credit.draw(upper, most, reserve).await?;
        let mut state = self.state();
        (state.is_drawn, state.is_sent) = (true, true);
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

    fn attempt_failed(&self, wasted: &FailedAttempts) {
        let billed = self.model.and_then(|model| model.price.cost(&wasted.usage)).unwrap_or_default();
        let mut state = self.state();
        state.lose(wasted.unknown);
        let spent = billed + state.lost;
        let cost = spent - std::mem::replace(&mut state.spent, spent);
        (state.wasted, state.is_sent, state.turn) = (*wasted, false, None);
        if std::mem::take(&mut state.is_drawn) {
            let (kept, freed) =
                if cost > Money::ZERO { (state.upper, Money::ZERO) } else { (Money::ZERO, state.upper) };
            state.kept.calls += 1;
            state.kept.upper += kept;
            self.funds.credit.give_back(Reservation { calls: 0, upper: freed });
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
        drop(self.drawn());
    }
}

fn told(refusal: Refusal) -> String {
    match refusal {
        Refusal::Money => "the next call does not fit the run's budget. Raise `--budget-usd` and resume".to_owned(),
        Refusal::Calls => "the run has made as many calls as it may. Raise `--max-calls` and resume".to_owned(),
        Refusal::UnreadableCost => "the run stopped: an answer reports a cost that cannot be read".to_owned(),
    }
}

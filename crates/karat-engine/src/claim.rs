//! What is reserved for one call: in memory before it waits for anything else, and on disk before it is sent (BY-05).
//!
//! Each attempt has its own reservation. One that failed for nothing (refused with a status, nobody reached) hands it on to
//! the next. One that was billed keeps its own until the call's record is on disk, and one of which nobody knows what it
//! cost keeps it for good: that is how it counts as spent, in this process and in those that go on with the run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::FutureExt;
use karat_providers::{Exchange, Payer, Wasted};
use karat_store::{Ledger, Reservation};
use karat_types::{CallError, CallErrorCode, ModelSpec, Money, Record};

use crate::budget::{Budget, Refusal};
use crate::credit::Credit;
use crate::stop::Stop;

/// Where calls reserve: in memory, and on disk.
pub(crate) struct Funds<'a> {
    pub budget: &'a Budget,
    pub credit: &'a Credit,
    pub ledger: &'a Ledger,
    pub stop: &'a Stop,
}

/// What is reserved for one call. Dropped before it was sent, it is given back.
pub(crate) struct Claim<'a> {
    funds: Funds<'a>,
    /// Upper bound of one attempt.
    upper: Money,
    /// Whose prices hold for what was billed.
    model: Option<&'a ModelSpec>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether an attempt is reserved in memory.
    is_open: bool,
    /// Whether that is on disk, too, so that it may have been sent.
    is_drawn: bool,
    /// Whether an attempt is under way.
    is_sent: bool,
    /// Attempts that were paid for, the present one included.
    attempts: u32,
    /// Earlier attempts that keep what they have drawn.
    kept: u32,
    /// What of the budget earlier attempts have used up.
    spent: Money,
    /// What all attempts before the present one came to.
    wasted: Wasted,
}

impl<'a> Claim<'a> {
    /// Nothing reserved yet, for a call each attempt of which costs at most `upper`.
    pub fn new(funds: Funds<'a>, upper: Money, model: Option<&'a ModelSpec>) -> Self {
        Self { funds, upper, model, state: Mutex::default() }
    }

    /// Reserves the first attempt in memory. Waits while calls in flight may free money.
    ///
    /// # Errors
    /// The budget or the calls are used up.
    pub async fn reserve(&self) -> Result<(), String> {
        self.funds.budget.reserve(self.upper).await.map_err(told)?;
        self.state().is_open = true;
        Ok(())
    }

    /// What becomes of a call that ends for this reason between two attempts, or before the first.
    pub fn cut_short(&self, code: CallErrorCode, message: String) -> Exchange {
        let State { attempts, wasted, .. } = *self.state();
        let error = CallError { code, message, status: None };
        Exchange { attempts, wasted, ..Exchange::unmade(error) }
    }

    /// What becomes of a call when its cell's time is used up: an attempt that is under way may be paid.
    pub fn out_of_time(&self) -> Exchange {
        let message = "the cell's time was used up while this call was under way. Raise `run.cell_timeout`".to_owned();
        let mut exchange = self.cut_short(CallErrorCode::Timeout, message);
        exchange.wasted.unknown += u32::from(self.state().is_sent);
        exchange
    }

    /// Settles in memory what the whole call has cost, `unknown` attempts at their upper bound; they keep what is on disk
    /// of them, too. Says how much was reserved on disk for one attempt.
    pub fn settle(&self, spent: Money, unknown: u32) -> Money {
        let mut state = self.state();
        let lost = self.times(unknown);
        if std::mem::take(&mut state.is_open) {
            self.funds.budget.settle(self.upper, spent + lost - state.spent);
        }
        self.funds.credit.lose(lost);
        state.wasted.unknown = unknown;
        if state.attempts > 0 { self.upper } else { Money::ZERO }
    }

    /// Gives back what is on disk of it: the call's record is there too, or it was not sent.
    pub fn give_back(&self) {
        let mut state = self.state();
        let drawn = std::mem::take(&mut state.kept) + u32::from(std::mem::take(&mut state.is_drawn));
        if drawn > 0 {
            let upper = self.times(drawn.saturating_sub(state.wasted.unknown));
            self.funds.credit.give_back(Reservation { calls: drawn.into(), upper });
        }
    }

    /// Leaves what is on disk of it open: it may have been paid.
    pub fn leave_open(&self) {
        let mut state = self.state();
        if std::mem::take(&mut state.is_drawn) || state.kept > 0 {
            (state.is_open, state.kept) = (false, 0);
        }
    }

    /// What so many attempts cost at the most.
    fn times(&self, attempts: u32) -> Money {
        Money(self.upper.0.saturating_mul(attempts.into()))
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

impl Payer for Claim<'_> {
    type Refusal = String;

    async fn pay(&self) -> Result<(), String> {
        if !self.state().is_drawn {
            let most = || self.funds.budget.unsettled();
            // Boxed: few calls need a block.
            let reserve = async |block| self.reserve_block(block).boxed().await;
            self.funds.credit.draw(self.upper, most, reserve).await?;
        }
        let mut state = self.state();
        (state.is_drawn, state.is_sent) = (true, true);
        state.attempts += 1;
        Ok(())
    }

    async fn pay_again(&self, wasted: &Wasted) -> Result<(), String> {
        let billed = self.model.and_then(|model| model.price.cost(&wasted.usage)).unwrap_or_default();
        let cost = {
            let mut state = self.state();
            let spent = billed + self.times(wasted.unknown);
            let cost = spent - state.spent;
            (state.spent, state.wasted, state.is_sent) = (spent, *wasted, false);
            if cost > Money::ZERO {
                state.kept += u32::from(std::mem::take(&mut state.is_drawn));
                state.is_open = false;
            }
            cost
        };
        self.funds.budget.renew(self.upper, cost).await.map_err(told)?;
        self.state().is_open = true;
        Ok(())
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if std::mem::take(&mut self.state().is_open) {
            self.funds.budget.withdraw(self.upper);
        }
        self.give_back();
    }
}

fn told(refusal: Refusal) -> String {
    match refusal {
        Refusal::Money => "the next call does not fit the run's budget. Raise `--budget-usd` and resume".to_owned(),
        Refusal::Calls => "the run has made as many calls as it may. Raise `--max-calls` and resume".to_owned(),
    }
}

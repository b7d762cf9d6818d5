//! The budget of a run (BY-05): money and calls are reserved at an upper bound before a call and settled on its usage.
//!
//! A call reserves here before it waits for its model's limits or for a slot, so that a call that waits for money holds
//! nothing that running calls need. A call that waits for its next attempt holds no money either. The durable part is
//! in [`crate::budget::reservations`].

use std::sync::{Mutex, OnceLock, PoisonError};

use karat_store::Reservation;
use karat_types::Money;
use tokio::sync::Notify;

/// The limits of a run and what has been spent of them.
pub(crate) struct Budget {
    limit: Option<Money>,
    max_calls: Option<u64>,
    /// The spending of earlier parts of the run, including calls that were cut off.
    earlier: Money,
    state: Mutex<BudgetState>,
    settled: Notify,
    /// The reason why the limit can no longer be kept, if it cannot.
    broken_reason: OnceLock<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct BudgetState {
    spent: Money,
    reserved: Money,
    calls: u64,
    in_flight: u64,
    stopped: Option<Refusal>,
    /// The largest call that did not fit.
    refused: Money,
}

/// The reason for refusing a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The amount does not fit the remaining money, and no running call could free any.
    Money,
    /// The maximum of calls is reached.
    Calls,
    /// An answer reports a cost that cannot be read, so the limit can no longer be kept.
    UnreadableCost,
}

impl Budget {
    /// A budget after the spending of earlier parts of the run.
    pub fn new(limit: Option<Money>, max_calls: Option<u64>, spent: Reservation) -> Self {
        let state = BudgetState { spent: spent.upper, calls: spent.calls, ..BudgetState::default() };
        let earlier = spent.upper;
        Self {
            limit,
            max_calls,
            earlier,
            state: Mutex::new(state),
            settled: Notify::new(),
            broken_reason: OnceLock::new(),
        }
    }

    /// Reserves a call of at most `upper`. Waits while running calls may still free money. Once one call is refused,
    /// all later ones are, even smaller ones: the run ends there.
    pub async fn reserve(&self, upper: Money) -> Result<(), Refusal> {
        loop {
            let settled = self.settled.notified();
            match self.try_reserve(upper) {
                Ok(()) => return Ok(()),
                Err(Some(refusal)) => return Err(refusal),
                Err(None) => settled.await,
            }
        }
    }

    /// `Err(None)`: the call does not fit now, but may after a settlement.
    fn try_reserve(&self, upper: Money) -> Result<(), Option<Refusal>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.max_calls.is_some_and(|max| state.calls >= max) {
            state.stopped = state.stopped.or(Some(Refusal::Calls));
        }
        if state.stopped.is_none() && self.limit.is_some_and(|limit| state.spent + state.reserved + upper > limit) {
            if state.in_flight > 0 {
                return Err(None);
            }
            state.stopped = Some(Refusal::Money);
        }
        if let Some(refusal) = state.stopped {
            state.refused = state.refused.max(upper);
            return Err(Some(refusal));
        }
        state.reserved += upper;
        state.calls += 1;
        state.in_flight += 1;
        Ok(())
    }

    /// Refuses every further reservation, because the limit can no longer be kept; the first reason is kept.
    pub fn give_up(&self, reason: String) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.stopped = state.stopped.or(Some(Refusal::UnreadableCost));
        }
        let _ = self.broken_reason.set(reason);
        self.settled.notify_waiters();
    }

    /// The reason why the limit can no longer be kept, if it cannot.
    pub fn broken_reason(&self) -> Option<&str> {
        self.broken_reason.get().map(String::as_str)
    }

    /// Settles a reservation at the actual cost of the attempt.
    pub fn settle(&self, upper: Money, cost: Money) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.reserved = state.reserved - upper;
            state.spent += cost;
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        self.settled.notify_waiters();
    }

    /// Reserves what calls in batches may still cost. Nothing waits for them to be settled.
    pub fn hold(&self, batched: Reservation) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.reserved += batched.upper;
        state.calls += batched.calls;
    }

    /// Keeps the reservation of a call that goes by a batch: nothing waits for it to be settled any more.
    pub fn park(&self) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        self.settled.notify_waiters();
    }

    /// Takes up a call whose reservation was kept for a batch.
    pub fn unpark(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).in_flight += 1;
    }

    /// Withdraws the reservation of a call that was not made.
    pub fn withdraw(&self, upper: Money) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.calls = state.calls.saturating_sub(1);
        }
        self.settle(upper, Money::ZERO);
    }

    /// The most that unsettled calls may still come to.
    pub fn unsettled_reservation(&self) -> Reservation {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = state.calls - state.in_flight;
        Reservation {
            calls: self.max_calls.map_or(u64::MAX, |max| max.saturating_sub(settled)),
            upper: self.limit.map_or(Money(i128::MAX), |limit| limit - state.spent),
        }
    }

    #[cfg(test)]
    fn committed_total(&self) -> Money {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spent + state.reserved
    }

    #[cfg(test)]
    fn in_flight(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).in_flight
    }

    /// The amount by which calls of this part exceeded the limit, because they cost more than was reserved for them.
    pub fn overspend(&self) -> Money {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.limit.map_or(Money::ZERO, |limit| (state.spent - limit.max(self.earlier)).max(Money::ZERO))
    }

    /// Returns whether a reservation was refused.
    pub fn is_stopped(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopped.is_some()
    }

    /// The upper bound of the largest refused call.
    pub fn largest_refused(&self) -> Money {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).refused
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// BY-05, invariant 9: with 256 calls at once, spent and reserved money together never exceed the budget, and a
        /// call is refused only when nothing is running.
        #[test]
        fn spending_stays_within_the_budget(
            limit in 0..20_000_i128,
            calls in prop::collection::vec((1..500_i128, 0..=100_i128), 1..600),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            let budget = Arc::new(Budget::new(Some(Money(limit)), None, Reservation::default()));
            let slots = Arc::new(tokio::sync::Semaphore::new(256));
            let (spent, made) = runtime.block_on(async {
                let tasks = calls.iter().enumerate().map(|(at, (upper, share))| {
                    let (budget, slots, upper, cost) = (budget.clone(), slots.clone(), Money(*upper), upper * share / 100);
                    tokio::spawn(async move {
                        let _slot = slots.acquire().await;
                        if budget.reserve(upper).await.is_err() {
                            assert_eq!(budget.in_flight(), 0);
                            return 0;
                        }
                        assert!(budget.committed_total().0 <= limit);
                        tokio::time::sleep(std::time::Duration::from_millis(at as u64 * 7 % 50)).await;
                        budget.settle(upper, Money(cost));
                        cost
                    })
                });
                let (mut spent, mut made) = (0, 0);
                for task in tasks.collect::<Vec<_>>() {
                    let cost = task.await.unwrap();
                    spent += cost;
                    made += usize::from(cost > 0);
                }
                (spent, made)
            });
            prop_assert!(spent <= limit && made <= calls.len());
            prop_assert_eq!(budget.committed_total(), Money(spent));
        }
    }

    /// BY-05: a reservation that does not fit waits for settlements and is refused only when nothing is running.
    #[tokio::test]
    async fn a_reservation_waits_for_settlements() {
        let budget = Arc::new(Budget::new(Some(Money(100)), None, Reservation::default()));
        budget.reserve(Money(60)).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(Money(60)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        budget.settle(Money(60), Money(30));
        assert_eq!(waiting.await.unwrap(), Ok(()));
        budget.settle(Money(60), Money(60));
        assert_eq!(budget.reserve(Money(60)).await, Err(Refusal::Money));
        assert!(budget.is_stopped());
    }

    /// FT-B2: once the limit cannot be kept every reservation is refused, including those that wait.
    #[tokio::test]
    async fn a_limit_that_cannot_be_kept_refuses_everything() {
        let budget = Arc::new(Budget::new(Some(Money(100)), None, Reservation::default()));
        budget.reserve(Money(60)).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(Money(60)).await }
        });
        tokio::task::yield_now().await;
        budget.give_up("first".to_owned());
        budget.give_up("second".to_owned());
        assert_eq!(waiting.await.unwrap(), Err(Refusal::UnreadableCost));
        assert_eq!(budget.reserve(Money(0)).await, Err(Refusal::UnreadableCost));
        assert!(budget.is_stopped() && budget.broken_reason() == Some("first"));
    }

    /// BY-05: reservations of calls that were cut off are not part of the overspend.
    #[tokio::test]
    async fn only_billed_cost_is_overspend() {
        let budget = Budget::new(Some(Money(100)), None, Reservation { calls: 2, upper: Money(130) });
        assert_eq!((budget.reserve(Money(1)).await, budget.overspend()), (Err(Refusal::Money), Money::ZERO));
        let budget = Budget::new(Some(Money(100)), None, Reservation { calls: 2, upper: Money(90) });
        budget.reserve(Money(10)).await.unwrap();
        budget.settle(Money(10), Money(25));
        assert_eq!(budget.overspend(), Money(15));
    }

    #[tokio::test]
    async fn calls_count_across_resumes() {
        let budget = Budget::new(None, Some(3), Reservation { calls: 2, upper: Money::ZERO });
        assert_eq!(budget.reserve(Money::ZERO).await, Ok(()));
        assert_eq!(budget.reserve(Money::ZERO).await, Err(Refusal::Calls));
    }
}

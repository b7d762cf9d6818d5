//! What a run may spend (BY-05): money and calls are reserved on an upper bound before a call and settled on usage.
//!
//! A call reserves here before it waits for its model's limits or for a slot, so who waits for money holds nothing that a
//! call under way needs. One that waits for its next attempt holds no money either. What is durable of it: [`crate::credit`].

use std::sync::{Mutex, OnceLock, PoisonError};

use karat_store::Reservation;
use karat_types::Money;
use tokio::sync::Notify;

/// The limits of a run and what is left of them.
pub(crate) struct Budget {
    limit: Option<Money>,
    max_calls: Option<u64>,
    /// What earlier parts of the run have spent, what was cut off of them included.
    earlier: Money,
    state: Mutex<State>,
    settled: Notify,
    /// Why the limit can no longer be kept, where it cannot.
    unkeepable: OnceLock<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    spent: Money,
    reserved: Money,
    calls: u64,
    in_flight: u64,
    stopped: Option<Refusal>,
    /// The largest call that did not fit.
    refused: Money,
}

/// Why a reservation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not fit the money that is left, and nothing is in flight that could free any.
    Money,
    /// The calls are used up.
    Calls,
    /// An answer reports a cost that nobody can read, so the limit can no longer be kept.
    UnreadableCost,
}

impl Budget {
    /// A budget with what earlier parts of the run have spent.
    pub fn new(limit: Option<Money>, max_calls: Option<u64>, spent: Reservation) -> Self {
        let state = State { spent: spent.upper, calls: spent.calls, ..State::default() };
        let earlier = spent.upper;
        Self {
            limit,
            max_calls,
            earlier,
            state: Mutex::new(state),
            settled: Notify::new(),
            unkeepable: OnceLock::new(),
        }
    }

    /// Reserves a call of at most `upper`. Waits while calls in flight may still free money. Once a call was refused all
    /// others are, whatever would fit: what a run makes ends there.
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

    /// `Err(None)` = does not fit now, but may after a settlement.
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
        let _ = self.unkeepable.set(reason);
        self.settled.notify_waiters();
    }

    /// Why the limit could no longer be kept, where it could not.
    pub fn unkeepable(&self) -> Option<&str> {
        self.unkeepable.get().map(String::as_str)
    }

    /// Settles a reservation on what the attempt really cost.
    pub fn settle(&self, upper: Money, cost: Money) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.reserved = state.reserved - upper;
            state.spent += cost;
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        self.settled.notify_waiters();
    }

    /// Takes a reservation back whose call was not made.
    pub fn withdraw(&self, upper: Money) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.calls = state.calls.saturating_sub(1);
        }
        self.settle(upper, Money::ZERO);
    }

    /// What calls that are not settled yet may come to at the most.
    pub fn unsettled(&self) -> Reservation {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = state.calls - state.in_flight;
        Reservation {
            calls: self.max_calls.map_or(u64::MAX, |max| max.saturating_sub(settled)),
            upper: self.limit.map_or(Money(i128::MAX), |limit| limit - state.spent),
        }
    }

    #[cfg(test)]
    fn committed(&self) -> Money {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spent + state.reserved
    }

    #[cfg(test)]
    fn in_flight(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).in_flight
    }

    /// By how much calls of this part have gone beyond the limit that cost more than was reserved for them.
    pub fn overspent(&self) -> Money {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.limit.map_or(Money::ZERO, |limit| (state.spent - limit.max(self.earlier)).max(Money::ZERO))
    }

    /// Whether a reservation was refused.
    pub fn stopped(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopped.is_some()
    }

    /// What the largest call that was refused can cost at the most.
    pub fn refused(&self) -> Money {
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

        /// BY-05, law 13: with 256 calls at once, what is spent and what is reserved never exceed the budget together, and
        /// it is given up only when nothing is in flight.
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
                        assert!(budget.committed().0 <= limit);
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
            prop_assert_eq!(budget.committed(), Money(spent));
        }
    }

    /// BY-05: a reservation that does not fit waits for settlements and is refused only with nothing in flight.
    #[tokio::test]
    async fn waits_for_settlements_before_it_refuses() {
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
        assert!(budget.stopped());
    }

    /// FT-B2: once the limit cannot be kept every reservation is refused, those that wait included.
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
        assert!(budget.stopped() && budget.unkeepable() == Some("first"));
    }

    /// BY-05: what counts for calls that were cut off was not billed by anybody.
    #[tokio::test]
    async fn only_what_was_billed_is_overspent() {
        let budget = Budget::new(Some(Money(100)), None, Reservation { calls: 2, upper: Money(130) });
        assert_eq!((budget.reserve(Money(1)).await, budget.overspent()), (Err(Refusal::Money), Money::ZERO));
        let budget = Budget::new(Some(Money(100)), None, Reservation { calls: 2, upper: Money(90) });
        budget.reserve(Money(10)).await.unwrap();
        budget.settle(Money(10), Money(25));
        assert_eq!(budget.overspent(), Money(15));
    }

    #[tokio::test]
    async fn calls_are_counted_over_resumes() {
        let budget = Budget::new(None, Some(3), Reservation { calls: 2, upper: Money::ZERO });
        assert_eq!(budget.reserve(Money::ZERO).await, Ok(()));
        assert_eq!(budget.reserve(Money::ZERO).await, Err(Refusal::Calls));
    }
}

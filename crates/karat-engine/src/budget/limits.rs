//! The budget of a run: money and calls are reserved at an upper bound before a call and settled on its usage.
//!
//! A call reserves here before it waits for its model's limits or for a slot, so that a call that waits for money holds
//! nothing that running calls need. A call that waits for its next attempt holds no money either. The durable part is
//! in [`crate::budget::reservations`].

use std::collections::BTreeMap;
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

#[derive(Debug, Clone, Default)]
struct BudgetState {
    spent: Money,
    reserved: Money,
    calls: u64,
    in_flight: u64,
    stopped: Option<Refusal>,
    /// The largest call that did not fit.
    refused: Money,
    recipients: BTreeMap<String, RecipientState>,
}

/// The calls of one model.
#[derive(Debug, Clone, Copy, Default)]
struct RecipientState {
    under_way: Reservation,
    /// The dearest call that cost more than was reserved for it; any other may do so too.
    dearest: Money,
}

impl BudgetState {
    fn dearest(&self, recipient: &str) -> Money {
        self.recipients.get(recipient).map(|state| state.dearest).unwrap_or_default()
    }

    /// The most that the calls under way will cost, as far as one can tell from those before them.
    fn under_way(&self) -> Money {
        let expected = self.recipients.values().map(|RecipientState { under_way, dearest }| {
            under_way.upper.max(Money(dearest.0.saturating_mul(under_way.calls.into())))
        });
        expected.fold(Money::ZERO, |sum, amount| sum + amount)
    }
}

/// The reason for refusing a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The amount does not fit the remaining money, and no running call could free any.
    Money,
    /// The maximum of calls is reached.
    Calls,
    /// The call is not made any more.
    Unneeded,
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
    /// all later ones are, even smaller ones: the run ends there. A call that is not needed any more is refused by itself.
    pub async fn reserve(&self, upper: Money, is_needed: impl Fn() -> bool) -> Result<(), Refusal> {
        loop {
            let settled = self.settled.notified();
            if !is_needed() {
                return Err(Refusal::Unneeded);
            }
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

    /// The dearest call of a recipient that cost more than was reserved for it: the least to reserve for others.
    pub fn dearest(&self, recipient: &str) -> Money {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dearest(recipient)
    }

    /// Notes that an attempt was billed more than was reserved for it.
    pub fn note_dearest(&self, recipient: &str, cost: Money) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.recipients.entry(recipient.to_owned()).or_default();
        known.dearest = known.dearest.max(cost);
    }

    /// Notes that a reserved call is sent, once it is sure that it still fits: answers may have cost more than was reserved for
    /// them.
    ///
    /// # Errors
    /// It does not fit any more.
    pub fn send(&self, recipient: &str, upper: Money) -> Result<(), Refusal> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let most = upper.max(state.dearest(recipient));
        if self.limit.is_some_and(|limit| state.spent + state.under_way() + most > limit) {
            state.refused = state.refused.max(most);
            return Err(*state.stopped.get_or_insert(Refusal::Money));
        }
        let known = state.recipients.entry(recipient.to_owned()).or_default();
        known.under_way = Reservation { calls: known.under_way.calls + 1, upper: known.under_way.upper + upper };
        Ok(())
    }

    /// Notes that a sent call is not under way any more.
    pub fn end(&self, recipient: &str, upper: Money) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = state.recipients.get_mut(recipient) {
            let Reservation { calls, upper: reserved } = known.under_way;
            known.under_way = Reservation { calls: calls.saturating_sub(1), upper: reserved - upper };
        }
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

        /// BY-05, invariant 5, a paid call is durable: with 256 calls at once, spent and reserved money together never exceed the budget, and a
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
                        if budget.reserve(upper, || true).await.is_err() {
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
        budget.reserve(Money(60), || true).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(Money(60), || true).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        budget.settle(Money(60), Money(30));
        assert_eq!(waiting.await.unwrap(), Ok(()));
        budget.settle(Money(60), Money(60));
        assert_eq!(budget.reserve(Money(60), || true).await, Err(Refusal::Money));
        assert!(budget.is_stopped());
    }

    /// FT-B2: once the limit cannot be kept every reservation is refused, including those that wait.
    #[tokio::test]
    async fn a_limit_that_cannot_be_kept_refuses_everything() {
        let budget = Arc::new(Budget::new(Some(Money(100)), None, Reservation::default()));
        budget.reserve(Money(60), || true).await.unwrap();
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.reserve(Money(60), || true).await }
        });
        tokio::task::yield_now().await;
        budget.give_up("first".to_owned());
        budget.give_up("second".to_owned());
        assert_eq!(waiting.await.unwrap(), Err(Refusal::UnreadableCost));
        assert_eq!(budget.reserve(Money(0), || true).await, Err(Refusal::UnreadableCost));
        assert!(budget.is_stopped() && budget.broken_reason() == Some("first"));
    }

    /// BY-05: reservations of calls that were cut off are not part of the overspend.
    #[tokio::test]
    async fn only_billed_cost_is_overspend() {
        let budget = Budget::new(Some(Money(100)), None, Reservation { calls: 2, upper: Money(130) });
        assert_eq!((budget.reserve(Money(1), || true).await, budget.overspend()), (Err(Refusal::Money), Money::ZERO));
        let budget = Budget::new(Some(Money(100)), None, Reservation { calls: 2, upper: Money(90) });
        budget.reserve(Money(10), || true).await.unwrap();
        budget.settle(Money(10), Money(25));
        assert_eq!(budget.overspend(), Money(15));
    }

    /// F29: a call that waits for its slot while an answer costs more than was reserved for it is not sent.
    #[tokio::test]
    async fn a_reserved_call_is_checked_before_it_is_sent() {
        let budget = Budget::new(Some(Money(100)), None, Reservation::default());
        budget.reserve(Money(10), || true).await.unwrap();
        budget.reserve(Money(10), || true).await.unwrap();
        assert_eq!((budget.send("m", Money(10)), budget.is_stopped()), (Ok(()), false));
        budget.end("m", Money(10));
        budget.settle(Money(10), Money(95));
        assert_eq!((budget.send("m", Money(10)), budget.is_stopped()), (Err(Refusal::Money), true));
        budget.withdraw(Money(10));
        assert_eq!((budget.committed_total(), budget.in_flight()), (Money(95), 0));
    }

    /// F29: once an answer costs more than was reserved for it, others of its model count as much; those of other models do not.
    #[tokio::test]
    async fn a_call_that_costs_more_makes_others_dearer() {
        let budget = Budget::new(Some(Money(100)), None, Reservation::default());
        for _ in 0..6 {
            budget.reserve(Money(5), || true).await.unwrap();
        }
        assert_eq!((0..3).map(|_| budget.send("m", Money(5))).collect::<Vec<_>>(), [Ok(()); 3]);
        budget.note_dearest("m", Money(30));
        budget.end("m", Money(5));
        budget.settle(Money(5), Money(30));
        // 30 are spent, and two calls of 30 are under way.
        assert_eq!((budget.dearest("m"), budget.dearest("other")), (Money(30), Money::ZERO));
        assert_eq!((budget.send("other", Money(5)), budget.send("m", Money(5))), (Ok(()), Err(Refusal::Money)));
        assert_eq!(budget.largest_refused(), Money(30));
    }

    #[tokio::test]
    async fn calls_count_across_resumes() {
        let budget = Budget::new(None, Some(3), Reservation { calls: 2, upper: Money::ZERO });
        assert_eq!(budget.reserve(Money::ZERO, || true).await, Ok(()));
        assert_eq!(budget.reserve(Money::ZERO, || true).await, Err(Refusal::Calls));
    }
}

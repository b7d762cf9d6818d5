//! The costs that services and programs report in their answers.
//!
//! Such a cost is known only afterwards. A request therefore reserves the highest cost of an answer of its step so
//! far, including earlier parts of the run. If a run has a budget, one request of a step runs at a time at first. Each
//! answer that costs no more than those before it allows one more, so the number doubles with each round of answers, and a
//! service whose cost is steady soon runs at full concurrency. An answer that costs more starts over: requests under way have
//! reserved too little, so there should be few of them while the cost rises.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use karat_types::Money;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest number of requests of a step that may run at once; more than any run has.
const WIDEST: usize = 1 << 16;

/// The reported costs of all steps of a run.
pub(crate) struct ServiceCosts {
    /// True if the run has a declared budget.
    pub has_budget: bool,
    /// The highest cost of a call in earlier parts of the run; 0 if none is known to cost anything.
    earlier: Money,
    steps: Mutex<BTreeMap<Arc<str>, Arc<ReportedCost>>>,
}

struct ReportedCost {
    /// Limits the requests that run at once.
    turns: Arc<Semaphore>,
    state: Mutex<ReportedCostState>,
}

struct ReportedCostState {
    /// 0 until an answer reports more.
    highest: Money,
    /// Requests that may run at once.
    window: usize,
    /// Turns that are given out or free; more than `window` until those of a wider window have ended.
    turns: usize,
}

/// The permission to send a request of a step; returned on drop.
pub(crate) struct RequestTurn {
    cost: Arc<ReportedCost>,
    permit: Option<OwnedSemaphorePermit>,
}

impl ServiceCosts {
    pub fn new(has_budget: bool, earlier: Option<Money>) -> Self {
        Self { has_budget, earlier: earlier.unwrap_or_default(), steps: Mutex::default() }
    }

    /// The amount to reserve for a request of a step, once it may be sent.
    pub async fn expected_cost(&self, step: &Arc<str>) -> (Money, Option<RequestTurn>) {
        let cost = self.step_cost(step);
        if !self.has_budget {
            return (cost.highest(), None);
        }
        // Never closed.
        let permit = cost.turns.clone().acquire_owned().await.ok();
        (cost.highest(), Some(RequestTurn { cost, permit }))
    }

    /// Records the reported cost of an answer.
    pub fn record_cost(&self, step: &Arc<str>, cost: Money) {
        self.step_cost(step).record(cost);
    }

    fn step_cost(&self, step: &Arc<str>) -> Arc<ReportedCost> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.entry(step.clone()).or_insert_with(|| Arc::new(ReportedCost::new(self.earlier))).clone()
    }
}

impl ReportedCost {
    fn new(highest: Money) -> Self {
        let state = Mutex::new(ReportedCostState { highest, window: 1, turns: 1 });
        Self { turns: Arc::new(Semaphore::new(1)), state }
    }

    fn highest(&self) -> Money {
        self.change(|state| state.highest)
    }

    fn record(&self, cost: Money) {
        self.change(|state| {
            if cost > state.highest {
                (state.highest, state.window) = (cost, 1);
                let surplus = state.turns - state.window;
                state.turns -= self.turns.forget_permits(surplus);
            } else if state.window < WIDEST {
                state.window += 1;
                if state.turns < state.window {
                    state.turns += 1;
                    self.turns.add_permits(1);
                }
            }
        });
    }

    fn change<T>(&self, work: impl FnOnce(&mut ReportedCostState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RequestTurn {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        self.cost.change(|state| {
            if state.turns > state.window {
                state.turns -= 1;
                permit.forget();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use futures::future::{FutureExt, join_all};
    use karat_store::Reservation;

    use super::*;
    use crate::budget::limits::Budget;

    /// BY-05: under a budget, no second request is sent before the first answer; then requests reserve the highest
    /// cost.
    #[tokio::test]
    async fn the_first_answer_sets_the_reservation() {
        let service_costs = ServiceCosts::new(true, None);
        let (query, other): (Arc<str>, Arc<str>) = ("query".into(), "other".into());
        let (cost, turn) = service_costs.expected_cost(&query).await;
        assert!(cost == Money::ZERO && turn.is_some());
        assert!(service_costs.expected_cost(&query).now_or_never().is_none(), "it waits");
        assert!(service_costs.expected_cost(&other).now_or_never().is_some(), "each step by itself");
        for cost in [7, 9, 8] {
            service_costs.record_cost(&query, Money(cost));
        }
        drop(turn);
        assert_eq!(service_costs.expected_cost(&query).await.0, Money(9));
        assert_eq!(ServiceCosts::new(true, Some(Money(5))).expected_cost(&query).await.0, Money(5));
        let without_budget = ServiceCosts::new(false, None);
        let (_one, two) = (without_budget.expected_cost(&query).await, without_budget.expected_cost(&query).await);
        assert!(two.0 == Money::ZERO && two.1.is_none());
    }

    /// Takes the turns that are free.
    fn take_turns(service_costs: &ServiceCosts, step: &Arc<str>) -> Vec<(Money, Option<RequestTurn>)> {
        std::iter::from_fn(|| service_costs.expected_cost(step).now_or_never()).collect()
    }

    /// B3: the number of requests doubles with each round of answers that cost no more than those before; a failed
    /// request allows no more; an answer that costs more leaves one at a time.
    #[tokio::test]
    async fn requests_double_until_an_answer_costs_more() {
        let (service_costs, query): (_, Arc<str>) = (ServiceCosts::new(true, None), "query".into());
        for expected in [1, 2, 4, 8] {
            let turns = take_turns(&service_costs, &query);
            assert_eq!(turns.len(), expected);
            turns.iter().for_each(|_| service_costs.record_cost(&query, Money::ZERO));
        }
        let mut turns = take_turns(&service_costs, &query);
        assert_eq!(turns.len(), 16);
        turns.pop();
        turns.extend(take_turns(&service_costs, &query));
        assert_eq!(turns.len(), 16, "one failed, and the next is sent");
        service_costs.record_cost(&query, Money(5));
        turns.truncate(1);
        assert!(take_turns(&service_costs, &query).is_empty(), "one is under way");
        drop(turns);
        let turns = take_turns(&service_costs, &query);
        assert!(matches!(turns[..], [(Money(5), Some(_))]));
        service_costs.record_cost(&query, Money(5));
        drop(turns);
        assert_eq!(take_turns(&service_costs, &query).len(), 2);
    }

    /// B3: whatever the number of requests at once, a service whose cost rises exceeds the budget by no more than the cost
    /// of its most expensive answer.
    #[tokio::test(start_paused = true)]
    async fn a_rising_cost_exceeds_the_budget_once() {
        const LIMIT: i128 = 100_000;
        let costs_of: [fn(i64) -> i64; 3] = [|n| 10 * n, |n| n * n, |n| 1 << n.min(40)];
        for cost_of in costs_of {
            let (service_costs, query): (_, Arc<str>) = (ServiceCosts::new(true, None), "query".into());
            let budget = Budget::new(Some(Money(LIMIT)), None, Reservation::default());
            let (answers, spent) = (AtomicI64::new(0), AtomicI64::new(0));
            join_all((0..500).map(async |_| {
                let (upper, turn) = service_costs.expected_cost(&query).await;
                if budget.reserve(upper, || true).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
                let cost = cost_of(answers.fetch_add(1, Ordering::Relaxed));
                spent.fetch_add(cost, Ordering::Relaxed);
                budget.settle(upper, Money(cost.into()));
                service_costs.record_cost(&query, Money(cost.into()));
                drop(turn);
            }))
            .await;
            let (spent, highest) = (spent.into_inner(), service_costs.step_cost(&query).highest());
            assert!(i128::from(spent) > LIMIT / 2, "{spent}");
            assert!(i128::from(spent) <= LIMIT + highest.0, "{spent}, the highest {highest:?}");
        }
    }

    /// BY-05: a service whose cost is steady soon runs at full concurrency.
    #[tokio::test(start_paused = true)]
    async fn a_steady_cost_opens_the_window() {
        let (service_costs, query): (_, Arc<str>) = (ServiceCosts::new(true, None), "query".into());
        let started = tokio::time::Instant::now();
        join_all((0..1_000).map(async |_| {
            let (_, turn) = service_costs.expected_cost(&query).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            service_costs.record_cost(&query, Money(7));
            drop(turn);
        }))
        .await;
        assert!(started.elapsed() <= Duration::from_millis(120), "{:?}", started.elapsed());
    }
}

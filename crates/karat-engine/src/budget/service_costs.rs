//! The costs that services and programs report in their answers (BY-05).
//!
//! Such a cost is known only afterwards. A request therefore reserves the cost of the dearest answer of its step so
//! far, including earlier parts of the run. If a run has a budget and no answer of a step has reported a cost above 0,
//! one request of the step runs at a time, plus one for each answer: a first answer that reports nothing, or 0, says
//! little about the next, and a free service soon runs at full concurrency.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use karat_types::Money;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The reported costs of all steps of a run.
pub(crate) struct ServiceCosts {
    /// True if the run has a declared budget.
    pub is_careful: bool,
    /// The dearest call of earlier parts of the run; 0 if none is known to cost anything.
    earlier: Money,
    steps: Mutex<BTreeMap<Arc<str>, StepFee>>,
}

#[derive(Clone)]
struct StepFee {
    /// 0 until an answer reports more.
    dearest: Money,
    /// Limits the requests until a cost is known; closed then, so that none waits any more.
    turns: Arc<Semaphore>,
}

/// The permission to send a request while its cost is unknown; returned on drop.
pub(crate) type FirstCallTurn = OwnedSemaphorePermit;

impl ServiceCosts {
    pub fn new(is_careful: bool, earlier: Option<Money>) -> Self {
        Self { is_careful, earlier: earlier.unwrap_or_default(), steps: Mutex::default() }
    }

    /// The amount to reserve for a request of a step, once it may be sent.
    pub async fn expected_cost(&self, step: &Arc<str>) -> (Money, Option<FirstCallTurn>) {
        let StepFee { dearest, turns } = self.step_fee(step);
        if dearest > Money::ZERO || !self.is_careful {
            return (dearest, None);
        }
        // Closed once a cost is known.
        let turn = turns.acquire_owned().await.ok();
        match self.step_fee(step).dearest {
            Money::ZERO => (Money::ZERO, turn),
            dearest => (dearest, None),
        }
    }

    /// Records the reported cost of an answer.
    pub fn record_cost(&self, step: &Arc<str>, cost: Money) {
        self.with(step, |fee| {
            fee.dearest = fee.dearest.max(cost);
            if fee.dearest > Money::ZERO { fee.turns.close() } else { fee.turns.add_permits(1) }
        });
    }

    fn step_fee(&self, step: &Arc<str>) -> StepFee {
        self.with(step, |fee| fee.clone())
    }

    fn with<T>(&self, step: &Arc<str>, work: impl FnOnce(&mut StepFee) -> T) -> T {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || StepFee { dearest: self.earlier, turns: Arc::new(Semaphore::new(1)) };
        work(steps.entry(step.clone()).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    use futures::future::FutureExt;

    use super::*;

    /// BY-05: under a budget, no second request is sent before the first answer; then requests reserve the dearest
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
        let careless = ServiceCosts::new(false, None);
        let (_one, two) = (careless.expected_cost(&query).await, careless.expected_cost(&query).await);
        assert!(two.0 == Money::ZERO && two.1.is_none());
    }

    /// BY-05: each answer that reports nothing, or 0, allows one more request at a time; a failed request allows no
    /// more. All other requests reserve the first reported cost, including those that wait.
    #[tokio::test]
    async fn answers_without_a_cost_add_one_request_each() {
        let (service_costs, query): (_, Arc<str>) = (ServiceCosts::new(true, None), "query".into());
        let mut under_way = Vec::new();
        for answers in 0..4 {
            while let Some((cost, turn)) = service_costs.expected_cost(&query).now_or_never() {
                assert!(cost == Money::ZERO && turn.is_some());
                under_way.push(turn);
            }
            assert_eq!(under_way.len(), answers + 1);
            // One request fails, and the next is sent.
            under_way.pop();
            assert!(service_costs.expected_cost(&query).now_or_never().is_some());
            service_costs.record_cost(&query, Money::ZERO);
        }
        under_way.extend([service_costs.expected_cost(&query).await.1, service_costs.expected_cost(&query).await.1]);
        let mut waiting = Box::pin(service_costs.expected_cost(&query));
        assert!(waiting.as_mut().now_or_never().is_none(), "it waits");
        service_costs.record_cost(&query, Money(5));
        assert!(waiting.now_or_never().is_some_and(|(cost, turn)| cost == Money(5) && turn.is_none()));
        service_costs.record_cost(&query, Money::ZERO);
        drop(under_way);
        assert!(
            service_costs
                .expected_cost(&query)
                .now_or_never()
                .is_some_and(|(cost, turn)| cost == Money(5) && turn.is_none())
        );
    }
}

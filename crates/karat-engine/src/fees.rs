//! What services and programs take for their answers, as the answers say (BY-05).
//!
//! It is known afterwards only. So as much is reserved for a request as the dearest answer of its step has cost, in earlier
//! parts of the run, too. Where a run has a budget and no answer of a step has said a cost above 0, one request of it is under
//! way and one more for each answer: a first answer that says nothing, or 0, does not speak for those that follow, and a service
//! that costs nothing is soon asked by as many as may.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use karat_types::Money;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The fees of all steps of a run.
pub(crate) struct Fees {
    /// Whether the user asked for a budget to be kept.
    pub is_careful: bool,
    /// The dearest call of the run's earlier parts; 0 where none is known to cost anything.
    earlier: Money,
    steps: Mutex<BTreeMap<Arc<str>, Fee>>,
}

#[derive(Clone)]
struct Fee {
    /// 0 while no answer has said more.
    dearest: Money,
    /// Whoever asks before that; closed then, so that nobody waits any more.
    turns: Arc<Semaphore>,
}

/// A turn to ask while nobody knows what that costs; given back when it is dropped.
pub(crate) type Turn = OwnedSemaphorePermit;

impl Fees {
    pub fn new(is_careful: bool, earlier: Option<Money>) -> Self {
        Self { is_careful, earlier: earlier.unwrap_or_default(), steps: Mutex::default() }
    }

    /// What to reserve for a request of a step, once its turn has come.
    pub async fn expected(&self, step: &Arc<str>) -> (Money, Option<Turn>) {
        let Fee { dearest, turns } = self.fee(step);
        if dearest > Money::ZERO || !self.is_careful {
            return (dearest, None);
        }
        // Closed once a cost is known.
        let turn = turns.acquire_owned().await.ok();
        match self.fee(step).dearest {
            Money::ZERO => (Money::ZERO, turn),
            dearest => (dearest, None),
        }
    }

    /// An answer of a step has cost so much, as far as it says.
    pub fn paid(&self, step: &Arc<str>, cost: Money) {
        self.with(step, |fee| {
            fee.dearest = fee.dearest.max(cost);
            if fee.dearest > Money::ZERO { fee.turns.close() } else { fee.turns.add_permits(1) }
        });
    }

    fn fee(&self, step: &Arc<str>) -> Fee {
        self.with(step, |fee| fee.clone())
    }

    fn with<T>(&self, step: &Arc<str>, work: impl FnOnce(&mut Fee) -> T) -> T {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Fee { dearest: self.earlier, turns: Arc::new(Semaphore::new(1)) };
        work(steps.entry(step.clone()).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    use futures::future::FutureExt;

    use super::*;

    /// BY-05: under a budget nobody asks before the first answer is there; then as much is reserved as the dearest cost.
    #[tokio::test]
    async fn the_first_answer_says_what_to_reserve() {
        let fees = Fees::new(true, None);
        let (query, other): (Arc<str>, Arc<str>) = ("query".into(), "other".into());
        let (cost, turn) = fees.expected(&query).await;
        assert!(cost == Money::ZERO && turn.is_some());
        assert!(fees.expected(&query).now_or_never().is_none(), "it waits");
        assert!(fees.expected(&other).now_or_never().is_some(), "each step by itself");
        for cost in [7, 9, 8] {
            fees.paid(&query, Money(cost));
        }
        drop(turn);
        assert_eq!(fees.expected(&query).await.0, Money(9));
        assert_eq!(Fees::new(true, Some(Money(5))).expected(&query).await.0, Money(5));
        let careless = Fees::new(false, None);
        let (_one, two) = (careless.expected(&query).await, careless.expected(&query).await);
        assert!(two.0 == Money::ZERO && two.1.is_none());
    }

    /// BY-05: answers that say nothing, or 0, open the gate by one each; a request that fails opens it no further. The first
    /// cost is what all others reserve, those that wait included.
    #[tokio::test]
    async fn answers_without_a_cost_open_the_gate_by_and_by() {
        let (fees, query): (_, Arc<str>) = (Fees::new(true, None), "query".into());
        let mut under_way = Vec::new();
        for answers in 0..4 {
            while let Some((cost, turn)) = fees.expected(&query).now_or_never() {
                assert!(cost == Money::ZERO && turn.is_some());
                under_way.push(turn);
            }
            assert_eq!(under_way.len(), answers + 1);
            // It fails, and the next one asks.
            under_way.pop();
            assert!(fees.expected(&query).now_or_never().is_some());
            fees.paid(&query, Money::ZERO);
        }
        under_way.extend([fees.expected(&query).await.1, fees.expected(&query).await.1]);
        let mut waiting = Box::pin(fees.expected(&query));
        assert!(waiting.as_mut().now_or_never().is_none(), "it waits");
        fees.paid(&query, Money(5));
        assert!(waiting.now_or_never().is_some_and(|(cost, turn)| cost == Money(5) && turn.is_none()));
        fees.paid(&query, Money::ZERO);
        drop(under_way);
        assert!(fees.expected(&query).now_or_never().is_some_and(|(cost, turn)| cost == Money(5) && turn.is_none()));
    }
}

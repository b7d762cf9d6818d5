//! What services and programs take for their answers, as the answers say (BY-05).
//!
//! It is known afterwards only. So as much is reserved for a request as the dearest answer of its step has cost, in earlier
//! parts of the run, too; and where a run has a budget, a step whose first answer is not there yet makes one request at a
//! time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use karat_types::Money;
use tokio::sync::OwnedMutexGuard;

/// The fees of all steps of a run.
pub(crate) struct Fees {
    /// Whether somebody asked for a budget to be kept.
    is_careful: bool,
    /// The dearest call of the run's earlier parts, where there are any.
    earlier: Option<Money>,
    steps: Mutex<BTreeMap<Arc<str>, Fee>>,
}

#[derive(Clone)]
struct Fee {
    dearest: Option<Money>,
    /// Whoever asks first.
    first: Arc<tokio::sync::Mutex<()>>,
}

/// The turn to ask first; all others wait until it is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl Fees {
    pub fn new(is_careful: bool, earlier: Option<Money>) -> Self {
        Self { is_careful, earlier, steps: Mutex::default() }
    }

    /// What to reserve for a request of a step, once its turn has come.
    pub async fn expected(&self, step: &Arc<str>) -> (Money, Option<Turn>) {
        let Fee { dearest, first } = self.fee(step);
        match dearest {
            Some(dearest) => (dearest, None),
            None if !self.is_careful => (Money::ZERO, None),
            None => {
                let turn = first.lock_owned().await;
                match self.fee(step).dearest {
                    Some(dearest) => (dearest, None),
                    None => (Money::ZERO, Some(turn)),
                }
            }
        }
    }

    /// An answer of a step has cost so much.
    pub fn paid(&self, step: &Arc<str>, cost: Money) {
        self.with(step, |fee| fee.dearest = fee.dearest.max(Some(cost)));
    }

    fn fee(&self, step: &Arc<str>) -> Fee {
        self.with(step, |fee| fee.clone())
    }

    fn with<T>(&self, step: &Arc<str>, work: impl FnOnce(&mut Fee) -> T) -> T {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Fee { dearest: self.earlier, first: Arc::default() };
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
}

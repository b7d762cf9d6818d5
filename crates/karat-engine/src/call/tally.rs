//! The account of a machine's calls: tokens, money, time and notes.

use std::sync::Arc;

use karat_types::{CallError, Facts, Key, Money, Note, Reply, Usage};

use crate::call::settlement::Settled;
use crate::call::target::Target;
use crate::steps::Metered;

/// What the calls of a machine came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub usage: Usage,
    /// Sum of known costs.
    pub cost: Money,
    /// Whether a call had no known price.
    pub unpriced: bool,
    /// What this run paid.
    pub paid: Money,
    pub latency_ms: f64,
    pub calls: Vec<Key>,
    pub notes: Vec<Note>,
    pub facts: Facts,
}

impl Tally {
    /// Adds what a call came to, apart from how long it took: what was answered.
    pub fn add(&mut self, made: Settled, target: Option<&Target>) -> Result<Arc<Reply>, CallError> {
        self.usage += made.usage;
        self.cost += made.cost.unwrap_or_default();
        self.unpriced |= made.cost.is_none();
        self.paid += made.paid;
        self.notes.extend(made.notes);
        self.calls.push(made.key);
        if let Some(answered) = target.and_then(|target| target.answered(&made.outcome)) {
            answered.note(&mut self.facts.answered);
        }
        made.outcome
    }

    /// Adds what an answer says of itself.
    pub fn meter(&mut self, metered: &Metered) {
        self.usage += metered.usage;
        self.cost += metered.cost.unwrap_or_default();
        self.unpriced |= metered.cost.is_none();
        self.latency_ms = metered.latency_ms.unwrap_or(self.latency_ms);
        let answered = std::mem::take(&mut self.facts.answered);
        self.facts = Facts { answered, ..metered.facts.clone() };
    }

    pub fn known_cost(&self) -> Option<Money> {
        (!self.unpriced).then_some(self.cost)
    }
}

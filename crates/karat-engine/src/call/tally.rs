//! The account of a machine's calls: tokens, money, time and notes.

use std::sync::Arc;

use karat_types::{CallError, Key, Money, Note, Reply, ResponseFacts, StepCost, Usage};

use crate::call::settlement::SettledCall;
use crate::control::target::Target;
use crate::steps::Metered;

/// The account of a machine's calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub usage: Usage,
    /// Sum of known costs.
    pub cost: Money,
    /// True if a call had no known price.
    pub unpriced: bool,
    /// The amount that this run paid.
    pub paid: Money,
    pub latency_ms: f64,
    pub calls: Vec<Key>,
    pub notes: Vec<Note>,
    pub facts: ResponseFacts,
}

impl Tally {
    /// Adds a call, except for its duration, and returns its answer.
    pub fn add(&mut self, made: SettledCall, target: Option<&Target>) -> Result<Arc<Reply>, CallError> {
        self.facts.untimed |= made.is_untimed;
        self.usage += made.usage;
        self.cost += made.cost.unwrap_or_default();
        self.unpriced |= made.cost.is_none();
        self.paid += made.paid;
        self.notes.extend(made.notes);
        self.calls.push(made.key);
        if let Some(answered) = target.and_then(|target| target.answering_model(&made.outcome)) {
            answered.add_to(&mut self.facts.answered);
        }
        made.outcome
    }

    /// Adds a call of the model that plays the user, and returns its answer. What it used is not part of the system's own.
    pub fn add_user(&mut self, made: SettledCall) -> Result<Arc<Reply>, CallError> {
        let user = self.facts.user.get_or_insert(StepCost { cost: Some(Money::ZERO), ..StepCost::default() });
        user.add(StepCost { usage: made.usage, cost: made.cost });
        self.paid += made.paid;
        self.notes.extend(made.notes);
        self.calls.push(made.key);
        made.outcome
    }

    /// Adds the figures that an answer reports about itself.
    pub fn add_metered(&mut self, metered: &Metered) {
        self.usage += metered.usage;
        self.cost += metered.cost.unwrap_or_default();
        self.unpriced |= metered.cost.is_none();
        self.latency_ms = metered.latency_ms.unwrap_or(self.latency_ms);
        let (answered, user, untimed) = (std::mem::take(&mut self.facts.answered), self.facts.user, self.facts.untimed);
        self.facts = ResponseFacts { answered, user, untimed, ..metered.facts.clone() };
    }

    pub fn known_cost(&self) -> Option<Money> {
        (!self.unpriced).then_some(self.cost)
    }
}

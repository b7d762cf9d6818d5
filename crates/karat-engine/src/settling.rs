//! What a call has used and cost once it has ended, and what is recorded of it (BY-05).

use std::sync::Arc;

use karat_providers::Exchange;
use karat_types::{CallError, CallErrorCode, CallRecord, Key, Money, Note, Reply, Request, Usage};

use crate::bounds::{Counted, breach, impossible, uncosted, usage_of};
use crate::claim::{Bill, Claim};
use crate::fees::Fees;
use crate::target::Target;

/// A call that has ended.
pub(crate) struct Ended<'a> {
    pub key: Key,
    pub request: &'a Request,
    /// Bytes of the body that was sent.
    pub bytes: usize,
    pub target: &'a Target,
    pub exchange: Exchange,
    /// Whether an attempt of it in an earlier part of the run told impossible numbers.
    pub was_impossible: bool,
}

/// A call that is settled, and what it came to.
pub(crate) struct Settled {
    pub key: Key,
    pub outcome: Result<Arc<Reply>, CallError>,
    pub usage: Usage,
    /// `None` when nobody knows.
    pub cost: Option<Money>,
    /// What this run paid of it.
    pub paid: Money,
    pub latency_ms: f64,
    pub notes: Vec<Note>,
}

impl Ended<'_> {
    /// Settles the call: beside what it came to its record, and what counts for it beyond its bill and what was reserved
    /// for it.
    pub fn settle(self, claim: &Claim<'_>, fees: &Fees) -> (Settled, CallRecord, Money) {
        let Self { key, request, bytes, target, exchange, was_impossible } = self;
        let (mut usage, counted) = usage_of(&exchange.outcome, request, bytes);
        usage += exchange.failed_attempts.usage;
        let (cost, unreadable_cost) = match target.cost_of(&exchange.outcome, &usage) {
            Ok(cost) => (Ok(cost), None),
            Err(unknown) => (Err(unknown.least), unknown.unreadable.filter(|_| !exchange.is_replayed)),
        };
        let bill = match cost {
            // A replayed call has its price, and nobody pays it.
            _ if exchange.is_replayed => Bill::Exact(Money::ZERO),
            Ok(cost) if counted == Counted::Estimated => Bill::Estimated(cost),
            Ok(cost) => Bill::Exact(cost),
            Err(least) => Bill::AtLeast(least),
        };
        if let Some(unreadable) = unreadable_cost.filter(|_| fees.is_careful) {
            claim.give_up(format!("{} reports as its cost {unreadable}", target.who));
        }
        let (reserved, owed) = claim.settle(bill, exchange.failed_attempts.unknown);
        // In this order: whoever waits for its turn finds what is settled, and what to reserve.
        if target.meter.is_some() && exchange.outcome.is_ok() {
            fees.paid(&target.who, bill.least());
        }
        claim.end_turn();
        let is_impossible = exchange.failed_attempts.impossible > 0 || was_impossible;
        let record = CallRecord {
            key,
            model: target.name(request).to_owned(),
            request: exchange.request,
            response: exchange.response,
            status: exchange.status,
            usage: Some(usage),
            cost: bill.cost(),
            // What nobody knows the cost of is the dearest of its step for the run's later parts, too.
            reserved: if bill.cost().is_some() { reserved } else { reserved + owed },
            latency_ms: exchange.latency_ms,
            attempts: exchange.attempts,
            impossible: is_impossible,
            finish: exchange.outcome.as_ref().ok().map(|reply| reply.finish),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        let settled = Settled {
            key,
            notes: notes(counted, &record, cost.ok(), target),
            outcome: exchange.outcome.map(Arc::new),
            usage,
            cost: cost.ok(),
            paid: bill.cost().unwrap_or_default(),
            latency_ms: record.latency_ms,
        };
        (settled, record, owed)
    }
}

impl Settled {
    /// A call that was not made, or whose answer nobody may use.
    pub fn refused(key: Key, code: CallErrorCode, message: String) -> Self {
        Self {
            key,
            outcome: Err(CallError { code, message, status: None }),
            usage: Usage::default(),
            cost: Some(Money::ZERO),
            paid: Money::ZERO,
            latency_ms: 0.0,
            notes: Vec::new(),
        }
    }

    /// A paid call's answer, read again from its recorded bytes. What it has cost is paid now where no row has told it.
    pub fn remembered(record: CallRecord, request: &Request, target: &Target, is_untold: bool) -> Self {
        let outcome = record.error.clone().map_or_else(|| target.read(request, &record.response), Err);
        let (_, counted) = usage_of(&outcome, request, record.request.len());
        let usage = record.usage.unwrap_or_default();
        // A replayed call has its price, though nobody paid it.
        let cost = target.cost_of(&outcome, &usage).ok();
        Self {
            key: record.key,
            notes: notes(counted, &record, cost, target),
            outcome: outcome.map(Arc::new),
            usage,
            cost,
            paid: record.cost.filter(|_| is_untold).unwrap_or_default(),
            latency_ms: record.latency_ms,
        }
    }
}

/// What is to be said of what a call used and cost.
fn notes(counted: Counted, record: &CallRecord, cost: Option<Money>, target: &Target) -> Vec<Note> {
    let spent = record.cost.unwrap_or_default();
    let breach = target.model.as_ref().and_then(|model| breach(model, spent, record.reserved, record.attempts));
    let uncosted = target.meter.as_ref().and_then(|_| uncosted(cost));
    [counted.note(), record.impossible.then(impossible), breach, uncosted].into_iter().flatten().collect()
}

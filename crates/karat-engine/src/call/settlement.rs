//! Settles a call once it has ended: its usage, its cost and its record.

use std::sync::Arc;

use karat_providers::{Exchange, FailedBill, unapplied_settings};
use karat_text::half_characters;
use karat_types::{
    CallError, CallErrorCode, CallRecord, CallSummary, CostSource, FinishReason, Key, Money, Note, NoteKind, Pricing,
    Reply, Request, Usage,
};

use crate::budget::call_price::{
    AttemptBill, Bill, CallPrice, FailedCost, breach_note, impossible_usage_note, unmetered_note,
};
use crate::budget::claim::Claim;
use crate::budget::service_costs::ServiceCosts;
use crate::control::target::Target;
use crate::steps::UnknownCost;

/// A call that has ended.
pub(crate) struct EndedCall<'a> {
    pub key: Key,
    pub request: &'a Request,
    /// Size of the sent body in bytes.
    pub bytes: usize,
    pub target: &'a Target,
    pub exchange: Exchange,
    /// True if an attempt in an earlier part of the run reported impossible counts.
    pub was_impossible: bool,
}

/// A settled call.
pub(crate) struct SettledCall {
    pub key: Key,
    pub outcome: Result<Arc<Reply>, CallError>,
    pub usage: Usage,
    /// The cost; `None` when it is unknown.
    pub cost: Option<Money>,
    /// The part that this run paid now.
    pub paid: Money,
    pub latency_ms: f64,
    /// True if a batch answered, so that nobody knows how long the call took.
    pub is_untimed: bool,
    pub notes: Vec<Note>,
}

impl EndedCall<'_> {
    /// Settles the call. Returns the settled call, its record, and the amount that counts beyond the bill and the
    /// reservation.
    pub fn settle(self, claim: &Claim<'_>, service_costs: &ServiceCosts) -> (SettledCall, CallRecord, Money) {
        let Self { key, request, bytes, target, exchange, was_impossible } = self;
        let price = CallPrice { target, request, bytes };
        let failed = price.failed_cost(&exchange.failed_attempts);
        let reply = price.reply(&exchange.outcome);
        let mut usage = reply.as_ref().map(|bill| bill.usage).unwrap_or_default();
        usage += failed.usage;
        let (cost, source) = cost_of(price, &exchange.outcome, reply.as_ref());
        let source = if target.is_simulated() { CostSource::Simulated } else { source };
        let unreadable_cost =
            cost.as_ref().err().and_then(|unknown| unknown.unreadable.clone()).filter(|_| !exchange.is_replayed);
        let cost = cost.map_err(|unknown| unknown.least);
        // A replayed call has a price, but is not billed, and neither is that of a demonstration.
        let (bill, billed) = match cost {
            _ if exchange.is_replayed || target.is_demo => (Bill::Exact(Money::ZERO), FailedCost::default()),
            Ok(cost) => (Bill::Exact(cost), failed),
            Err(least) => (Bill::AtLeast(least), failed),
        };
        if let Some(unreadable) = unreadable_cost.filter(|_| service_costs.has_budget) {
            claim.give_up(format!("{} reports as its cost {unreadable}", target.who));
        }
        let (reserved, owed) = claim.settle(bill, &billed);
        // In this order, so that a call that waits for its turn finds the recorded cost.
        if target.meter.is_some() && exchange.outcome.is_ok() {
            service_costs.record_cost(&target.who, bill.least());
        }
        claim.end_turn();
        let is_impossible = exchange.failed_attempts.impossible > 0 || was_impossible;
        let paid = bill.cost().map(|cost| cost + billed.known);
        let record = CallRecord {
            key,
            model: target.name(request).to_owned(),
            request: exchange.request,
            response: exchange.response,
            status: exchange.status,
            usage: Some(usage),
            cost: paid,
            cost_source: source,
            // For later parts of the run, a call of unknown cost is the dearest of its step.
            reserved: if paid.is_some() { reserved } else { reserved + owed },
            latency_ms: exchange.latency_ms,
            attempts: exchange.attempts,
            impossible: is_impossible,
            finish: exchange.outcome.as_ref().ok().map(|reply| reply.finish),
            error: exchange.outcome.as_ref().err().cloned(),
        };
        let cost = cost.ok().map(|cost| cost + failed.known);
        let settled = SettledCall {
            key,
            notes: notes(&exchange.outcome, reply.as_ref(), &record, cost, (target, request)),
            outcome: exchange.outcome.map(Arc::new),
            usage,
            cost,
            paid: paid.unwrap_or_default(),
            latency_ms: record.latency_ms,
            is_untimed: is_untimed(&record),
        };
        (settled, record, owed)
    }
}

/// The cost of the attempt that brought the answer, and who says so. The error holds what is known of an unknown cost.
fn cost_of(
    price: CallPrice<'_>,
    outcome: &Result<Reply, CallError>,
    reply: Option<&AttemptBill>,
) -> (Result<Money, UnknownCost>, CostSource) {
    let unknown = || (Err(UnknownCost::default()), CostSource::Unknown);
    match (&price.target.model, reply) {
        (Some(_), Some(bill)) => bill.cost.map_or_else(unknown, |cost| (Ok(cost), bill.source)),
        // It may have been billed, too.
        (Some(model), None) if model.price == Pricing::Unknown => unknown(),
        (Some(_), None) => (Ok(Money::ZERO), CostSource::Table),
        (None, _) => match price.metered_cost(outcome) {
            Ok((cost, source)) => (Ok(cost), source),
            Err(unknown) => (Err(unknown), CostSource::Unknown),
        },
    }
}

impl SettledCall {
    /// A call that was not made, or whose answer must not be used.
    pub fn refusal(key: Key, code: CallErrorCode, message: String) -> Self {
        Self {
            key,
            outcome: Err(CallError { code, message, status: None }),
            usage: Usage::default(),
            cost: Some(Money::ZERO),
            paid: Money::ZERO,
            latency_ms: 0.0,
            is_untimed: false,
            notes: Vec::new(),
        }
    }

    /// The call for counters: its recipient, its end, its time and its tokens.
    pub fn summary<'a>(&self, record: &'a CallRecord, target: &'a Target, requests: u32) -> CallSummary<'a> {
        let model = target.model.as_deref().map(|model| (model.provider.as_str(), model.id.as_str()));
        let (provider, model) = model.unwrap_or((record.model.as_str(), ""));
        CallSummary {
            provider,
            model,
            error: record.error.as_ref().map(|error| error.code),
            requests,
            latency_ms: (!self.is_untimed).then_some(self.latency_ms),
            usage: self.usage,
        }
    }

    /// A paid call, with its answer read again from the recorded bytes. Its cost counts as paid now if no row has
    /// reported it.
    pub fn from_ledger(record: CallRecord, request: &Request, target: &Target, is_untold: bool) -> Self {
        let outcome = record.error.clone().map_or_else(|| target.read_reply(request, &record.response), Err);
        let price = CallPrice { target, request, bytes: record.request.len() };
        let reply = price.reply(&outcome);
        // A replayed call has a price, though it was not billed. What was billed stands in the record: headers, and answers
        // to other attempts, are not kept.
        let billed = record.cost.filter(|cost| *cost > Money::ZERO);
        let cost = billed.or_else(|| cost_of(price, &outcome, reply.as_ref()).0.ok());
        let reply = reply.map(|bill| match record.cost_source {
            CostSource::Reported => {
                AttemptBill { source: CostSource::Reported, unpriced: None, unusable_cost: None, ..bill }
            }
            _ => bill,
        });
        Self {
            key: record.key,
            notes: notes(&outcome, reply.as_ref(), &record, cost, (target, request)),
            outcome: outcome.map(Arc::new),
            usage: record.usage.unwrap_or_default(),
            cost,
            paid: record.cost.filter(|_| is_untold).unwrap_or_default(),
            latency_ms: record.latency_ms,
            is_untimed: is_untimed(&record),
        }
    }
}

/// Returns whether a batch answered a call: an answer over HTTP takes some time, and only that of a batch is not measured.
fn is_untimed(record: &CallRecord) -> bool {
    record.status.is_some() && record.latency_ms == 0.0
}

/// An exchange about texts whose vectors have length 1 and stand in the reply alone: they are stored by themselves. A text
/// without a usable vector has an empty one. An answer with too few or too many vectors is an error, and was billed.
pub(super) fn with_unit_vectors(exchange: Exchange, request: &Request, target: &Target) -> Exchange {
    let Request::Chat(request) = request else { return exchange };
    if !request.wants_vectors() {
        return exchange;
    }
    let response = karat_providers::without_vectors(&exchange.response);
    let mut failed_attempts = exchange.failed_attempts;
    let outcome = exchange.outcome.and_then(|reply| {
        let (vectors, texts) = (reply.vectors.len(), request.messages.len());
        if vectors == texts {
            let vectors = reply.vectors.into_iter().map(|vector| unit_vector(vector).unwrap_or_default()).collect();
            return Ok(Reply { vectors, ..reply });
        }
        match reply.usage {
            Some(usage) if !usage.is_possible() => {
                (failed_attempts.impossible, failed_attempts.unknown) =
                    (failed_attempts.impossible + 1, failed_attempts.unknown + 1)
            }
            usage => {
                // Without counts, those of the texts hold.
                let usage = usage.filter(|usage| usage.total() > 0);
                failed_attempts.bills.push(FailedBill { usage, billing: reply.billing, words: Some(String::new()) });
            }
        }
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let (vector_s, text_s) = (plural(vectors), plural(texts));
        let message = format!("{}: the answer holds {vectors} vector{vector_s} for {texts} text{text_s}", target.who);
        Err(CallError { code: CallErrorCode::Malformed, message, status: None })
    });
    Exchange { response, outcome, failed_attempts, ..exchange }
}

/// The vector of length 1 with the same direction; `None` if it has none, or holds a number that is not finite.
fn unit_vector(vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    let is_usable = length.is_finite() && length > 0.0;
    is_usable.then(|| vector.into_iter().map(|number| (f64::from(number) / length) as f32).collect())
}

/// The notes about a call: its usage, its cost, and the end of its reply.
fn notes(
    outcome: &Result<Reply, CallError>,
    bill: Option<&AttemptBill>,
    record: &CallRecord,
    cost: Option<Money>,
    (target, request): (&Target, &Request),
) -> Vec<Note> {
    let spent = record.cost.unwrap_or_default();
    let is_breached = spent.0 > record.reserved.0.saturating_mul(record.attempts.max(1).into());
    let breach = target.model.as_ref().and_then(|model| breach_note(model, record.cost_source, is_breached));
    let uncosted = (target.meter.is_some() && cost.is_none()).then(unmetered_note);
    let unapplied = unapplied_note(record, target, request);
    let of_bill = target.model.iter().flat_map(|model| bill.into_iter().flat_map(|bill| bill.notes(model)));
    let of_reply = outcome.iter().flat_map(|reply| end_notes(reply, target));
    of_bill
        .chain(record.impossible.then(impossible_usage_note))
        .chain([breach, uncosted, unapplied].into_iter().flatten())
        .chain(of_reply)
        .collect()
}

/// The notes about a reply that ended in an unusual way, or was mended.
fn end_notes(reply: &Reply, target: &Target) -> impl Iterator<Item = Note> {
    let who = &target.who;
    let note = |kind, text| Note { kind, text, count: 1 };
    let unknown = reply.unknown_end.as_ref().map(|word| {
        let text = match word.as_str() {
            "" => format!("{who}: the provider did not say why a reply ended, so it may be incomplete"),
            word => format!("{who}: a reply ended with `{word}`, which Karat does not know: it may be incomplete"),
        };
        note(NoteKind::UnknownEnd, text)
    });
    let is_silent = target.model.is_some()
        && reply.is_empty()
        && !matches!(reply.finish, FinishReason::Refusal | FinishReason::MalformedCall);
    let empty =
        is_silent.then(|| note(NoteKind::NoContent, format!("{who}: no content: a reply has neither text nor calls")));
    let mended = reply.was_mended.then(|| note(NoteKind::Lenient, format!("{who}: {}", half_characters::NOTE)));
    [unknown, empty, mended].into_iter().flatten()
}

/// The note about settings that the recorded body does not hold.
fn unapplied_note(record: &CallRecord, target: &Target, request: &Request) -> Option<Note> {
    let (Request::Chat(request), Some(model)) = (request, &target.model) else { return None };
    if record.error.is_some() {
        return None;
    }
    let names = unapplied_settings(model, request, &record.request);
    let verb = if names.len() == 1 { "was" } else { "were" };
    let text = format!("{}: {} {verb} not applied", model.id, names.join(", "));
    (!names.is_empty()).then_some(Note { kind: NoteKind::NotApplied, text, count: 1 })
}

//! The upper bound of a call's cost, and its usage afterwards (BY-05).

use karat_types::{CallError, ChatRequest, ModelSpec, Money, Note, NoteKind, Reply, Request, Usage};

use crate::estimate::tokens::most_input_tokens;
use crate::steps::DEFAULT_MAX_TOKENS;

/// The largest possible usage of a call: one input token per byte of the body (images and files as estimated), and every
/// output token that the reply may have.
fn largest_usage(bytes: usize, request: &ChatRequest, model: Option<&ModelSpec>) -> Usage {
    let output = match request.wants_vectors() {
        true => 0,
        false => request.parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
    };
    let input = most_input_tokens(bytes, request, model);
    // A cache that is asked for may store all of it, which costs more than the input itself.
    let cache = request.parameters.extra.get("cache_control");
    let is_for_an_hour = cache.is_some_and(|cache| cache["ttl"] == "1h");
    Usage {
        input_tokens: input,
        cache_write_tokens: if cache.is_some() { input } else { 0 },
        cache_write_1h_tokens: if is_for_an_hour { input } else { 0 },
        output_tokens: u64::from(output),
        ..Usage::default()
    }
}

/// The largest possible cost of a call with a body of so many bytes.
pub(crate) fn upper_bound(bytes: usize, request: &ChatRequest, model: &ModelSpec) -> Money {
    model.price.cost(&largest_usage(bytes, request, Some(model))).unwrap_or_default()
}

/// The source of a call's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageSource {
    /// The provider's counts.
    Said,
    /// The upper bound: the provider reported counts that no call can have.
    Most,
    /// Four bytes per token: the provider reported no usable counts.
    Estimated,
}

impl UsageSource {
    /// The note that a report shows, if the counts are not the provider's.
    pub fn note(self) -> Option<Note> {
        match self {
            Self::Said => None,
            Self::Most => Some(impossible_usage_note()),
            Self::Estimated => {
                let text = "the provider reported no usable token counts; cost is estimated at four bytes a token";
                Some(Note { kind: NoteKind::UsageEstimated, text: text.to_owned(), count: 1 })
            }
        }
    }
}

/// The usage of a call whose body had so many bytes, and its source.
pub(crate) fn usage_of(outcome: &Result<Reply, CallError>, request: &Request, bytes: usize) -> (Usage, UsageSource) {
    let (Ok(reply), Request::Chat(request)) = (outcome, request) else { return (Usage::default(), UsageSource::Said) };
    match reply.usage {
        Some(usage) if !usage.is_possible() => (largest_usage(bytes, request, None), UsageSource::Most),
        // A count of 0 beside a reply with text is no count.
        Some(usage) if usage.total() > 0 || (reply.text.is_empty() && reply.vectors.is_empty()) => {
            (usage, UsageSource::Said)
        }
        _ => (estimate_usage(request, reply), UsageSource::Estimated),
    }
}

/// BY-05: the note for a provider that counts more tokens than any call can have, with or without a reply.
pub(crate) fn impossible_usage_note() -> Note {
    let text = format!(
        "the provider counted more than {} tokens for one call, which none can have; it counts as one token a byte of the \
         request and `max_tokens`",
        Usage::MAX_TOKENS
    );
    Note { kind: NoteKind::Breach, text, count: 1 }
}

/// BY-05: the note for an answer that should report its cost and does not. It counts as reserved, or as the known part
/// if that is more.
pub(crate) fn unmetered_note(cost: Option<Money>) -> Option<Note> {
    cost.is_none().then(|| {
        let text = "the answer does not say all of what it cost, or a price is missing; a budget counts it as the dearest \
                    answer of its step before it, or what of it is known if that is more";
        Note { kind: NoteKind::Unmetered, text: text.to_owned(), count: 1 }
    })
}

fn estimate_usage(request: &ChatRequest, reply: &Reply) -> Usage {
    let bytes: usize = request.messages.iter().flat_map(|message| message.content.texts()).map(str::len).sum();
    Usage {
        input_tokens: bytes.div_ceil(4) as u64,
        output_tokens: reply.text.len().div_ceil(4) as u64,
        ..Usage::default()
    }
}

/// BY-05: the note for a provider that counts more tokens than the request and `max_tokens` allow.
pub(crate) fn breach_note(model: &ModelSpec, spent: Money, upper: Money, attempts: u32) -> Option<Note> {
    (spent.0 > upper.0.saturating_mul(attempts.max(1).into())).then(|| {
        let text = format!("{} counted more tokens than one a byte of the request and `max_tokens`", model.id);
        Note { kind: NoteKind::Breach, text, count: 1 }
    })
}

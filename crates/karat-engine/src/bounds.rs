//! What a call can cost at the most, and what its usage was (BY-05).

use karat_types::{CallError, ChatRequest, ModelSpec, Money, Note, NoteKind, Pricing, Reply, Request, Usage};

use crate::steps::DEFAULT_MAX_TOKENS;

/// What a call can cost at the most: one token a byte of the body that is sent, and every token the reply may have.
pub(crate) fn upper_bound(bytes: usize, request: &ChatRequest, price: &Pricing) -> Money {
    let output = request.parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let usage = Usage { input_tokens: bytes as u64, output_tokens: u64::from(output), ..Usage::default() };
    price.cost(&usage).unwrap_or_default()
}

/// The provider's usage, or an estimate of four bytes a token where it said nothing usable.
pub(crate) fn usage_of(outcome: &Result<Reply, CallError>, request: &Request) -> (Usage, Vec<Note>) {
    let (Ok(reply), Request::Chat(request)) = (outcome, request) else { return (Usage::default(), Vec::new()) };
    // A provider that counts nothing beside words has counted nothing.
    if let Some(usage) = reply.usage.filter(|usage| usage.total() > 0 || reply.text.is_empty()) {
        return (usage, Vec::new());
    }
    let bytes: usize = request.messages.iter().map(|message| message.content.len()).sum();
    let usage = Usage {
        input_tokens: bytes.div_ceil(4) as u64,
        output_tokens: reply.text.len().div_ceil(4) as u64,
        ..Usage::default()
    };
    let text = "the provider reported no usable token counts; cost is estimated at four bytes a token".to_owned();
    (usage, vec![Note { kind: NoteKind::UsageEstimated, text, count: 1 }])
}

/// BY-05: a provider that counts more tokens than the request and `max_tokens` allow broke its word.
pub(crate) fn breach(model: &ModelSpec, spent: Money, upper: Money, attempts: u32) -> Option<Note> {
    (spent.0 > upper.0.saturating_mul(attempts.max(1).into())).then(|| {
        let text = format!("{} counted more tokens than one a byte of the request and `max_tokens`", model.id);
        Note { kind: NoteKind::Breach, text, count: 1 }
    })
}

//! What a call can cost at the most, and what its usage was (BY-05).

use karat_types::{CallError, ChatRequest, ModelSpec, Money, Note, NoteKind, Pricing, Reply, Request, Usage};

use crate::steps::DEFAULT_MAX_TOKENS;

/// The most that a call can use: one token a byte of the body that is sent, and every token the reply may have.
fn most(bytes: usize, request: &ChatRequest) -> Usage {
    let output = request.parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    Usage { input_tokens: bytes as u64, output_tokens: u64::from(output), ..Usage::default() }
}

/// What a call can cost at the most, with a body of so many bytes.
pub(crate) fn upper_bound(bytes: usize, request: &ChatRequest, price: &Pricing) -> Money {
    price.cost(&most(bytes, request)).unwrap_or_default()
}

/// What the usage of a call goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The provider's numbers.
    Said,
    /// The most that the call can use: the provider gave numbers that no call can have.
    Most,
    /// Four bytes a token: the provider said nothing usable.
    Estimated,
}

impl Counted {
    /// What is to be said of it.
    pub fn note(self) -> Option<Note> {
        match self {
            Self::Said => None,
            Self::Most => Some(impossible()),
            Self::Estimated => {
                let text = "the provider reported no usable token counts; cost is estimated at four bytes a token";
                Some(Note { kind: NoteKind::UsageEstimated, text: text.to_owned(), count: 1 })
            }
        }
    }
}

/// What counts as the usage of a call whose body had so many bytes, and what that goes by.
pub(crate) fn usage_of(outcome: &Result<Reply, CallError>, request: &Request, bytes: usize) -> (Usage, Counted) {
    let (Ok(reply), Request::Chat(request)) = (outcome, request) else { return (Usage::default(), Counted::Said) };
    match reply.usage {
        Some(usage) if !usage.is_possible() => (most(bytes, request), Counted::Most),
        // A provider that counts nothing beside words has counted nothing.
        Some(usage) if usage.total() > 0 || reply.text.is_empty() => (usage, Counted::Said),
        _ => (estimated(request, reply), Counted::Estimated),
    }
}

/// BY-05: a provider that counts more tokens than any call has broke its word, whether it gave a reply or not.
pub(crate) fn impossible() -> Note {
    let text = format!(
        "the provider counted more than {} tokens for one call, which none can have; it counts as one token a byte of the \
         request and `max_tokens`",
        Usage::MAX_TOKENS
    );
    Note { kind: NoteKind::Breach, text, count: 1 }
}

/// BY-05: an answer that shall say what it cost and does not is told; it counts with what was reserved for it, or what of it
/// is known if that is more.
pub(crate) fn uncosted(cost: Option<Money>) -> Option<Note> {
    cost.is_none().then(|| {
        let text = "the answer does not say all of what it cost, or a price is missing; a budget counts it as the dearest \
                    answer of its step before it, or what of it is known if that is more";
        Note { kind: NoteKind::Unmetered, text: text.to_owned(), count: 1 }
    })
}

fn estimated(request: &ChatRequest, reply: &Reply) -> Usage {
    let bytes: usize = request.messages.iter().map(|message| message.content.len()).sum();
    Usage {
        input_tokens: bytes.div_ceil(4) as u64,
        output_tokens: reply.text.len().div_ceil(4) as u64,
        ..Usage::default()
    }
}

/// BY-05: a provider that counts more tokens than the request and `max_tokens` allow broke its word.
pub(crate) fn breach(model: &ModelSpec, spent: Money, upper: Money, attempts: u32) -> Option<Note> {
    (spent.0 > upper.0.saturating_mul(attempts.max(1).into())).then(|| {
        let text = format!("{} counted more tokens than one a byte of the request and `max_tokens`", model.id);
        Note { kind: NoteKind::Breach, text, count: 1 }
    })
}

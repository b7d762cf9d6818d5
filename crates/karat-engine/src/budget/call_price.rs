//! The cost of a call: the most that it can cost beforehand, and its bill afterwards.
//!
//! The counts of the provider are believed. A count that it leaves out is the most that it can be; a call without any counts
//! is counted from its texts. A cost that it states itself wins over the price list.

use karat_providers::{FailedAttempts, FailedBill};
use karat_types::{
    Billing, CallError, ChatRequest, CostSource, ModelSpec, Money, Note, NoteKind, Pricing, Reply, Request,
    RequestTerms, Usage,
};

use crate::control::target::Target;
use crate::plan::tokens::{count_tokens, has_own_tokenizer, most_input_tokens, request_tokens};
use crate::steps::{DEFAULT_MAX_TOKENS, UnknownCost};

/// A call whose bill is computed.
#[derive(Clone, Copy)]
pub(crate) struct CallPrice<'a> {
    pub target: &'a Target,
    pub request: &'a Request,
    /// Size of the body in bytes.
    pub bytes: usize,
}

/// The source of a call's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageSource {
    /// The provider's counts.
    Said,
    /// The provider's counts, of which a part is missing: that part is the most that it can be.
    Completed,
    /// The upper bound: the provider reported counts that no call can have.
    Most,
    /// Counted from the texts: the provider reported no usable counts.
    Counted,
}

/// The bill of one attempt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttemptBill {
    pub usage: Usage,
    pub counted: UsageSource,
    /// The cost; `None` if it is unknown.
    pub cost: Option<Money>,
    pub source: CostSource,
    /// The reason why the cost of a priced model is unknown.
    pub unpriced: Option<String>,
    /// The stated cost, if it cannot be one.
    pub unusable_cost: Option<String>,
}

/// The bills of all attempts without a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FailedCost {
    /// The sum of the known ones.
    pub known: Money,
    /// Attempts whose cost is unknown.
    pub unknown: u32,
    pub usage: Usage,
}

/// The bill of a call's last attempt, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bill {
    Exact(Money),
    /// Unknown, but at least this much.
    AtLeast(Money),
}

impl Bill {
    /// The billed cost; `None` when it is unknown.
    pub fn cost(self) -> Option<Money> {
        match self {
            Self::Exact(cost) => Some(cost),
            Self::AtLeast(_) => None,
        }
    }

    /// The lower bound of the bill.
    pub fn least(self) -> Money {
        let (Self::Exact(least) | Self::AtLeast(least)) = self;
        least
    }
}

impl<'a> CallPrice<'a> {
    /// The most that an attempt can cost; nothing if the model has no price.
    pub fn most(self) -> Money {
        let (Request::Chat(request), Some(model)) = (self.request, self.target.model.as_deref()) else {
            return Money::ZERO;
        };
        let extra = &request.parameters.extra;
        let text = |name: &str| extra.get(name).and_then(serde_json::Value::as_str);
        let terms = RequestTerms {
            tier: text("service_tier").or(text("serviceTier")).or(text("speed")),
            // Anthropic stores what it is asked to store, others what they like.
            writes: model.provider != "anthropic" || extra.contains_key("cache_control"),
            audio: has_audio(request),
        };
        model.price.most(&largest_usage(self.bytes, request, Some(model)), &terms)
    }

    fn model(self) -> Option<&'a ModelSpec> {
        self.target.model.as_deref()
    }

    /// The bill of an attempt of which the provider said this. `text` holds the words of the reply.
    fn attempt(
        self,
        request: &ChatRequest,
        model: &ModelSpec,
        said: (Option<Usage>, &Billing),
        text: &str,
    ) -> AttemptBill {
        let billing = said.1;
        let (usage, counted) = self.usage(request, model, said, text);
        let table = model.bill(&usage, billing);
        let cost = billing.reported.or(table);
        let source = match (billing.reported, cost) {
            (Some(_), _) => CostSource::Reported,
            (None, None) => CostSource::Unknown,
            (None, Some(_)) if counted == UsageSource::Counted => CostSource::Counted,
            (None, Some(_)) => CostSource::Table,
        };
        let is_priced = matches!(model.price, Pricing::Known(_));
        let unpriced = (cost.is_none() && is_priced).then(|| unpriced_reason(model, &usage, billing));
        AttemptBill { usage, counted, cost, source, unpriced, unusable_cost: billing.unusable_cost.clone() }
    }

    fn usage(
        self,
        request: &ChatRequest,
        model: &ModelSpec,
        (usage, billing): (Option<Usage>, &Billing),
        text: &str,
    ) -> (Usage, UsageSource) {
        let counted_input = || request_tokens(request, model);
        let counted_output = || count_tokens(Some(model), text);
        let Some(usage) = usage else {
            let (input_tokens, output_tokens) = (counted_input(), counted_output());
            return (Usage { input_tokens, output_tokens, ..Usage::default() }, UsageSource::Counted);
        };
        let most = || largest_usage(self.bytes, request, None);
        if !usage.is_possible() {
            return (most(), UsageSource::Most);
        }
        let (mut usage, is_bound) = billing.complete(usage, &most());
        let mut source = if is_bound { UsageSource::Completed } else { UsageSource::Said };
        // A count of 0 beside a text is not a count.
        if usage.output_tokens == 0 && !text.is_empty() {
            (usage.output_tokens, source) = (counted_output(), UsageSource::Counted);
        }
        if usage.input_tokens == 0 && source == UsageSource::Counted {
            usage.input_tokens = counted_input();
        }
        (usage, source)
    }

    /// The bill of the attempt that brought the reply; `None` if no model was called, or it gave none.
    pub fn reply(self, outcome: &Result<Reply, CallError>) -> Option<AttemptBill> {
        let (Ok(reply), Request::Chat(request), Some(model)) = (outcome, self.request, self.model()) else {
            return None;
        };
        let mut text = reply.text.clone();
        for call in &reply.tool_calls {
            text.push_str(&call.name);
            text.push_str(&call.arguments_text());
        }
        let said = (reply.usage, &reply.billing);
        if reply.vectors.is_empty() || reply.usage.is_some_and(|usage| usage.total() > 0) {
            return Some(self.attempt(request, model, said, &text));
        }
        // Vectors have no tokens of their own.
        Some(self.attempt(request, model, (None, &reply.billing), ""))
    }

    /// The bills of the attempts without a reply.
    pub fn failed_cost(self, attempts: &FailedAttempts) -> FailedCost {
        let mut sum = FailedCost { unknown: attempts.unknown, ..FailedCost::default() };
        let (Request::Chat(request), Some(model)) = (self.request, self.model()) else { return sum };
        for FailedBill { usage, billing, words } in &attempts.bills {
            let bill = self.attempt(request, model, (*usage, billing), words.as_deref().unwrap_or_default());
            sum.usage += bill.usage;
            match bill.cost {
                Some(cost) => sum.known += cost,
                None => sum.unknown += 1,
            }
        }
        sum
    }

    /// The cost of a call by a service or program, as its answer reports it, and who says so. The error holds what is known
    /// of an unknown cost.
    pub fn metered_cost(self, outcome: &Result<Reply, CallError>) -> Result<(Money, CostSource), UnknownCost> {
        match (&self.target.meter, outcome) {
            (Some(step), Ok(reply)) => {
                let source = if step.states_cost() { CostSource::Reported } else { CostSource::Table };
                Ok((step.cost_of(&reply.text)?, source))
            }
            _ => Ok((Money::ZERO, CostSource::Table)),
        }
    }
}

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

fn has_audio(request: &ChatRequest) -> bool {
    let mut media = request.messages.iter().flat_map(|message| message.content.media());
    media.any(|media| media.media_type.as_deref().is_some_and(|kind| kind.starts_with("audio/")))
}

/// The reason why a call of a priced model has no price.
fn unpriced_reason(model: &ModelSpec, usage: &Usage, billing: &Billing) -> String {
    let id = &model.id;
    let tier = billing.tier.as_deref().unwrap_or_default();
    let in_tier = Billing { tier: billing.tier.clone(), ..Billing::default() };
    if billing.has_extras {
        return format!("{id} bills something beside tokens, such as searches");
    }
    if model.bill(&Usage::default(), &in_tier).is_none() {
        return format!("{id} has no price for the service tier `{tier}`: add it to `price.service`");
    }
    if model.bill(usage, &in_tier).is_some() {
        return format!("{id} has no price for tokens of audio: add `audio_input` to its rates");
    }
    let tokens = usage.input_tokens;
    format!("{id} has no price for a request of {tokens} tokens here: add `above` to the rates of its tier or batches")
}

impl UsageSource {
    /// The note that a report shows, if the counts are not the provider's.
    fn note(self, model: &ModelSpec) -> Option<Note> {
        let text = match self {
            Self::Said => return None,
            Self::Most => return Some(impossible_usage_note()),
            Self::Completed => {
                "the provider left out a count of tokens, which counts as the most that it can be".to_owned()
            }
            Self::Counted => {
                let how = if has_own_tokenizer(model) { "with the model's tokenizer" } else { "at four bytes a token" };
                format!("the provider counted no tokens of {}; they are counted from the texts {how}", model.id)
            }
        };
        Some(Note { kind: NoteKind::UsageEstimated, text, count: 1 })
    }
}

impl AttemptBill {
    /// The notes about the bill of a model's reply.
    pub fn notes(&self, model: &ModelSpec) -> impl Iterator<Item = Note> {
        let note = |kind, text| Note { kind, text, count: 1 };
        let reported = (self.source == CostSource::Reported)
            .then(|| note(NoteKind::CostReported, format!("the provider of {} stated the cost itself", model.id)));
        let unpriced = self.unpriced.as_ref().map(|reason| {
            note(
                NoteKind::CostUnknown,
                format!("the cost is unknown, and counts as what was reserved for it: {reason}"),
            )
        });
        let unusable = self.unusable_cost.as_ref().map(|stated| {
            let text = format!("the provider of {} stated the cost as {stated}, which cannot be one", model.id);
            note(NoteKind::CostUnknown, format!("{text}; the price list counts"))
        });
        // A stated cost needs no tokens.
        let counted = self.counted.note(model).filter(|_| self.source != CostSource::Reported);
        [counted, reported, unpriced, unusable].into_iter().flatten()
    }
}

/// the note for a provider that counts more tokens than any call can have, with or without a reply.
pub(crate) fn impossible_usage_note() -> Note {
    let text = format!(
        "the provider counted more than {} tokens for one call, which none can have; it counts as one token a byte of the \
         request and `max_tokens`",
        Usage::MAX_TOKENS
    );
    Note { kind: NoteKind::Breach, text, count: 1 }
}

/// the note for an answer that should report its cost and does not. It counts as reserved, or as the known part
/// if that is more.
pub(crate) fn unmetered_note() -> Note {
    let text = "the answer does not say all of what it cost, or a price is missing; a budget counts it as the dearest \
                answer of its step before it, or what of it is known if that is more";
    Note { kind: NoteKind::Unmetered, text: text.to_owned(), count: 1 }
}

/// the note for a provider that bills more than the request and `max_tokens` allow.
pub(crate) fn breach_note(model: &ModelSpec, source: CostSource, is_breached: bool) -> Option<Note> {
    is_breached.then(|| {
        let text = match source {
            CostSource::Reported => {
                format!("{} stated a higher cost than its price list allows for the request", model.id)
            }
            _ => format!("{} counted more tokens than one a byte of the request and `max_tokens`", model.id),
        };
        Note { kind: NoteKind::Breach, text, count: 1 }
    })
}

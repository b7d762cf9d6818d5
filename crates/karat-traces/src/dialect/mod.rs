//! The attribute names of each convention. Where a span follows several, Langfuse's win over OpenTelemetry's own, these over
//! OpenInference's, and these over those of Vercel's AI SDK.

mod gen_ai;
mod langfuse;
mod openinference;
mod vercel;

use serde_json::Value;

use crate::attributes::Attributes;
use crate::row::{Context, Usage};

/// The fields of a call, as far as a convention gives them.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// True if the span is one call of a model.
    pub is_call: bool,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub operation: Option<String>,
    /// The conversation before the reply.
    pub messages: Vec<Value>,
    /// An input that is not a conversation.
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub usage: Usage,
}

/// A span's attributes, and those of its events by name.
pub(crate) struct SpanFacts {
    pub attributes: Attributes,
    pub events: Vec<(String, Attributes)>,
}

/// Facts that belong to a trace, from any of its spans.
#[derive(Debug, Clone, Default)]
pub(crate) struct TraceFacts {
    pub conversation: Option<String>,
    pub user: Option<String>,
    pub tags: Vec<String>,
    pub more: Option<Value>,
    pub contexts: Vec<Context>,
}

/// The fields of a span, by the conventions that it follows.
pub(crate) fn fields(span: &SpanFacts) -> Fields {
    [gen_ai::fields(span), openinference::fields(&span.attributes), vercel::fields(&span.attributes)]
        .into_iter()
        .fold(langfuse::fields(&span.attributes), Fields::or)
}

/// Names of the input and output of a whole trace or of a step within, by convention.
const WHOLE: [(&str, &str); 5] = [
    ("langfuse.trace.input", "langfuse.trace.output"),
    ("langfuse.observation.input", "langfuse.observation.output"),
    ("input.value", "output.value"),
    ("traceloop.entity.input", "traceloop.entity.output"),
    ("gen_ai.task.input", "gen_ai.task.output"),
];

/// Input and output of a span, whether it is a call of a model or not.
pub(crate) fn whole(span: &SpanFacts) -> (Option<Value>, Option<Value>) {
    let (ask, answer): (Vec<&str>, Vec<&str>) = WHOLE.into_iter().unzip();
    let first = |names: Vec<&str>| names.into_iter().find_map(|name| span.attributes.structure(name));
    (first(ask), first(answer))
}

/// Adds what a span says of its trace. What an earlier span said is kept.
pub(crate) fn note_trace(facts: &mut TraceFacts, span: &SpanFacts) {
    let attributes = &span.attributes;
    let conversation = attributes.text(&["langfuse.session.id", "gen_ai.conversation.id", "session.id"]);
    facts.conversation = facts.conversation.take().or(conversation);
    facts.user = facts.user.take().or_else(|| attributes.text(&["langfuse.user.id", "user.id", "enduser.id"]));
    if facts.tags.is_empty() {
        let tags = ["langfuse.trace.tags", "tag.tags"].iter().find_map(|name| attributes.structure(name));
        let tags = tags.as_ref().and_then(Value::as_array).into_iter().flatten();
        facts.tags = tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
    }
    let more = ["langfuse.trace.metadata", "metadata"].iter().find_map(|name| attributes.structure(name));
    facts.more = facts.more.take().or(more);
    let contexts = None
        .or_else(|| langfuse::contexts(attributes))
        .or_else(|| gen_ai::contexts(attributes))
        .or_else(|| openinference::contexts(attributes));
    facts.contexts.extend(contexts.unwrap_or_default());
}

impl Fields {
    /// These fields, with those of another convention where they are absent.
    fn or(self, other: Self) -> Self {
        let has_input = !self.messages.is_empty() || self.input.is_some();
        let (messages, input) = if has_input { (self.messages, self.input) } else { (other.messages, other.input) };
        Self {
            is_call: self.is_call || other.is_call,
            model: self.model.or(other.model),
            provider: self.provider.or(other.provider),
            operation: self.operation.or(other.operation),
            messages,
            input,
            output: self.output.or(other.output),
            usage: Usage {
                input_tokens: self.usage.input_tokens.or(other.usage.input_tokens),
                output_tokens: self.usage.output_tokens.or(other.usage.output_tokens),
                cached_tokens: self.usage.cached_tokens.or(other.usage.cached_tokens),
                cost_usd: self.usage.cost_usd.or(other.usage.cost_usd),
            },
        }
    }
}

/// Documents of a list `[{id, content, score}]`, by any of their usual names.
fn documents(list: &Value) -> Option<Vec<Context>> {
    let documents: Vec<_> = list.as_array()?.iter().map(document).collect();
    (!documents.is_empty()).then_some(documents)
}

fn document(value: &Value) -> Context {
    if let Value::String(text) = value {
        return Context { content: Some(text.clone()), ..Context::default() };
    }
    let text = |names: &[&str]| names.iter().find_map(|name| value.get(name)).map(crate::messages::plain);
    Context {
        id: text(&["id"]),
        content: text(&["content", "text", "page_content", "pageContent"]),
        score: value["score"].as_f64(),
    }
}

//! OpenTelemetry's own conventions (`gen_ai.*`), from today's back to the events and numbered attributes of earlier ones.

use serde_json::{Map, Value};

use super::{Fields, SpanFacts, documents};
use crate::attributes::{Attributes, structure};
use crate::messages::{conversation, from_content, instructions, reply};
use crate::row::{Context, Usage};

/// Operations that are one call of a model and whose result is a text.
const CALLS: [&str; 3] = ["chat", "text_completion", "generate_content"];

/// The event that carries contents which a span does not.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

pub(super) fn fields(span: &SpanFacts) -> Fields {
    let attributes = &span.attributes;
    let operation = attributes.text(&["gen_ai.operation.name"]);
    // OpenLLMetry named the kind of the request before there was an operation.
    let earlier = attributes.text(&["llm.request.type"]);
    let is_call = operation.as_deref().is_some_and(|name| CALLS.contains(&name))
        || operation.is_none() && matches!(earlier.as_deref(), Some("chat" | "completion"));
    let details = span.events.iter().find(|(name, _)| name == DETAILS).map(|(_, attributes)| attributes);
    let structure = |name: &str| attributes.structure(name).or_else(|| details?.structure(name));

    let input = structure("gen_ai.input.messages");
    let mut messages = input.as_ref().and_then(conversation).unwrap_or_default();
    if let Some(system) = structure("gen_ai.system_instructions").as_ref().and_then(instructions)
        && !messages.is_empty()
    {
        messages.insert(0, system);
    }
    let output = structure("gen_ai.output.messages");
    let mut output = output.as_ref().and_then(conversation).as_deref().and_then(reply);
    if messages.is_empty() && output.is_none() {
        (messages, output) = of_events(&span.events);
    }
    if messages.is_empty() && output.is_none() {
        (messages, output) = of_positions(attributes);
    }
    let lone = |name: &str| attributes.structure(name);
    let input = messages.is_empty().then(|| lone("gen_ai.prompt")).flatten();
    Fields {
        is_call,
        model: attributes.text(&["gen_ai.response.model", "gen_ai.request.model"]),
        provider: attributes.text(&["gen_ai.provider.name", "gen_ai.system"]),
        operation: operation.filter(|_| is_call),
        messages: input.as_ref().and_then(conversation).unwrap_or(messages),
        input: input.filter(|input| conversation(input).is_none()),
        output: output.or_else(|| {
            let lone = lone("gen_ai.completion")?;
            conversation(&lone).as_deref().and_then(reply).or(Some(lone))
        }),
        usage: Usage {
            input_tokens: attributes.count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"]),
            output_tokens: attributes.count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"]),
            cached_tokens: attributes.count(&["gen_ai.usage.cache_read.input_tokens"]),
            cost_usd: None,
        },
    }
}

/// The documents of a retrieval.
pub(super) fn contexts(attributes: &Attributes) -> Option<Vec<Context>> {
    documents(&attributes.structure("gen_ai.retrieval.documents")?)
}

/// Events a message each, such as `gen_ai.user.message`, with the reply in `gen_ai.choice`.
fn of_events(events: &[(String, Attributes)]) -> (Vec<Value>, Option<Value>) {
    let mut messages = Vec::new();
    let mut replies = Vec::new();
    for (name, attributes) in events {
        if name == "gen_ai.choice" {
            let message = attributes.structure("message").or_else(|| body(attributes));
            replies.extend(message.as_ref().and_then(conversation).unwrap_or_default());
        } else if let Some(role) = name.strip_prefix("gen_ai.").and_then(|rest| rest.strip_suffix(".message")) {
            let mut message = body(attributes).unwrap_or(Value::Null);
            if let Some(message) = message.as_object_mut() {
                message.entry("role").or_insert_with(|| role.into());
            }
            messages.extend(conversation(&message).unwrap_or_default());
        } else if name == "gen_ai.content.prompt" {
            messages.extend(attributes.structure("gen_ai.prompt").as_ref().and_then(conversation).unwrap_or_default());
        } else if name == "gen_ai.content.completion" {
            replies
                .extend(attributes.structure("gen_ai.completion").as_ref().and_then(conversation).unwrap_or_default());
        }
    }
    (messages, reply(&replies))
}

/// The content and the calls of a message whose fields are the event's attributes.
fn body(attributes: &Attributes) -> Option<Value> {
    let fields = ["role", "content", "tool_calls", "tool_call_id"];
    let fields = fields.into_iter().filter_map(|name| Some((name.to_owned(), attributes.structure(name)?)));
    let fields: Map<_, _> = fields.collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// `gen_ai.prompt.0.content` and so on, as OpenLLMetry writes them.
fn of_positions(attributes: &Attributes) -> (Vec<Value>, Option<Value>) {
    let messages = |prefix: &str, role: &str| -> Vec<Value> {
        let positions = attributes.positions(prefix).into_iter();
        let messages = positions.filter_map(|message| {
            let calls = message.positions("tool_calls");
            let calls = calls.iter().filter_map(|call| {
                Some(crate::messages::tool_call(call.get("id"), call.get("name")?, call.get("arguments")))
            });
            let calls: Vec<_> = calls.collect();
            let content = message.get("content").and_then(structure);
            let role = message.text(&["role"]).unwrap_or_else(|| role.to_owned());
            (content.is_some() || !calls.is_empty()).then(|| from_content(&role, content, calls))
        });
        messages.collect()
    };
    (messages("gen_ai.prompt", "user"), reply(&messages("gen_ai.completion", "assistant")))
}

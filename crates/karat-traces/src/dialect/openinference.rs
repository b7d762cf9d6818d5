//! OpenInference (Arize Phoenix).

use serde_json::Value;

use super::Fields;
use crate::attributes::Attributes;
use crate::messages::{from_content, reply, tool_call};
use crate::row::{Context, Usage};

pub(super) fn fields(attributes: &Attributes) -> Fields {
    let is_call = attributes.text(&["openinference.span.kind"]).is_some_and(|kind| kind.eq_ignore_ascii_case("LLM"));
    if !is_call && !attributes.has_prefix("llm.") {
        return Fields::default();
    }
    let messages = messages(attributes, "llm.input_messages");
    let output = reply(&self::messages(attributes, "llm.output_messages"));
    let value = |name: &str| attributes.get(name).filter(|value| value.as_str() != Some("")).cloned();
    Fields {
        is_call,
        model: attributes.text(&["llm.model_name"]),
        provider: attributes.text(&["llm.provider", "llm.system"]),
        operation: None,
        input: messages.is_empty().then(|| value("input.value")).flatten(),
        messages,
        output: output.or_else(|| value("output.value")),
        usage: Usage {
            input_tokens: attributes.count(&["llm.token_count.prompt"]),
            output_tokens: attributes.count(&["llm.token_count.completion"]),
            cached_tokens: attributes.count(&["llm.token_count.prompt_details.cache_read"]),
            cost_usd: attributes.get("llm.cost.total").and_then(Value::as_f64),
        },
    }
}

/// The documents of a retriever.
pub(super) fn contexts(attributes: &Attributes) -> Option<Vec<Context>> {
    let documents = attributes.positions("retrieval.documents").into_iter();
    let documents = documents.map(|document| Context {
        id: document.text(&["document.id"]),
        content: document.text(&["document.content"]),
        score: document.get("document.score").and_then(Value::as_f64),
    });
    let documents: Vec<_> = documents.collect();
    (!documents.is_empty()).then_some(documents)
}

fn messages(attributes: &Attributes, prefix: &str) -> Vec<Value> {
    let messages = attributes.positions(prefix).into_iter().filter_map(|message| {
        let calls = message.positions("message.tool_calls");
        let calls = calls.iter().filter_map(|call| {
            let (id, arguments) = (call.get("tool_call.id"), call.get("tool_call.function.arguments"));
            Some(tool_call(id, call.get("tool_call.function.name")?, arguments))
        });
        let calls: Vec<_> = calls.collect();
        let parts = message.positions("message.contents");
        let parts: Vec<_> = parts.iter().filter_map(|part| part.text(&["message_content.text"])).collect();
        let content = message.text(&["message.content"]).or_else(|| (!parts.is_empty()).then(|| parts.join("\n")));
        let role = message.text(&["message.role"]).unwrap_or_else(|| "user".to_owned());
        (content.is_some() || !calls.is_empty()).then(|| from_content(&role, content.map(Value::String), calls))
    });
    messages.collect()
}

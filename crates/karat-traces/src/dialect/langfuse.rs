//! Langfuse's own attributes.

use serde_json::Value;

use super::{Fields, documents};
use crate::attributes::{Attributes, count};
use crate::messages::{conversation, reply};
use crate::row::{Context, Usage};

pub(super) fn fields(attributes: &Attributes) -> Fields {
    let is_call = attributes.text(&["langfuse.observation.type"]).as_deref() == Some("generation");
    if !is_call {
        return Fields::default();
    }
    let input = attributes.structure("langfuse.observation.input");
    let messages = input.as_ref().and_then(conversation);
    let output = attributes.structure("langfuse.observation.output");
    let text = output.as_ref().and_then(conversation).as_deref().and_then(reply);
    let details = |name: &str| attributes.structure(&format!("langfuse.observation.{name}_details"));
    let (usage, cost) = (details("usage"), details("cost"));
    let tokens = |names: &[&str]| names.iter().find_map(|name| count(usage.as_ref()?.get(name)?));
    Fields {
        is_call,
        model: attributes.text(&["langfuse.observation.model.name"]),
        provider: None,
        operation: None,
        input: messages.is_none().then_some(input).flatten(),
        messages: messages.unwrap_or_default(),
        output: text.or(output),
        usage: Usage {
            input_tokens: tokens(&["input", "prompt_tokens", "input_tokens"]),
            output_tokens: tokens(&["output", "completion_tokens", "output_tokens"]),
            cached_tokens: tokens(&["input_cached_tokens", "cache_read_input_tokens"]),
            cost_usd: cost.as_ref().and_then(|cost| cost.get("total")).and_then(Value::as_f64),
        },
    }
}

/// The documents of a retriever.
pub(super) fn contexts(attributes: &Attributes) -> Option<Vec<Context>> {
    let is_retriever = attributes.text(&["langfuse.observation.type"]).as_deref() == Some("retriever");
    let output = attributes.structure("langfuse.observation.output").filter(|_| is_retriever)?;
    documents(output.get("documents").unwrap_or(&output))
}

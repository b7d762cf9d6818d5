//! The AI SDK of Vercel. Its outer spans, such as `ai.generateText`, repeat what the calls within them say.

use serde_json::Value;

use super::Fields;
use crate::attributes::Attributes;
use crate::messages::{conversation, from_content, reply, tool_call};
use crate::row::Usage;

pub(super) fn fields(attributes: &Attributes) -> Fields {
    let operation = attributes.text(&["ai.operationId"]).unwrap_or_default();
    if !operation.ends_with(".doGenerate") && !operation.ends_with(".doStream") {
        return Fields::default();
    }
    let prompt = ["ai.prompt.messages", "ai.prompt"].iter().find_map(|name| attributes.structure(name));
    let messages = prompt.as_ref().and_then(conversation);
    let calls = attributes.structure("ai.response.toolCalls");
    let calls = calls.as_ref().and_then(Value::as_array).into_iter().flatten();
    let calls = calls.map(|call| {
        let arguments = call.get("input").or_else(|| call.get("args"));
        tool_call(call.get("toolCallId"), &call["toolName"], arguments)
    });
    let text = ["ai.response.text", "ai.response.object"].iter().find_map(|name| attributes.text(&[name]));
    let answer = from_content("assistant", text.map(Value::String), calls.collect());
    Fields {
        is_call: true,
        model: attributes.text(&["ai.response.model", "ai.model.id"]),
        provider: attributes.text(&["ai.model.provider"]),
        operation: None,
        input: messages.is_none().then_some(prompt).flatten(),
        messages: messages.unwrap_or_default(),
        output: reply(&[answer]),
        usage: Usage {
            input_tokens: attributes.count(&["ai.usage.inputTokens", "ai.usage.promptTokens"]),
            output_tokens: attributes.count(&["ai.usage.outputTokens", "ai.usage.completionTokens"]),
            cached_tokens: attributes.count(&["ai.usage.cachedInputTokens"]),
            cost_usd: None,
        },
    }
}

//! Calls of models, as criteria and runs describe them: model, settings, messages.

use serde_json::{Map, Value};

use super::{drop_entry, is_blank, list_at, text_at};
use crate::draft::Draft;

/// A model of the service by the name of its provider.
pub(super) fn model_id(name: &str) -> String {
    format!("openai:{name}")
}

/// Settings of a call; those that a suite does not have are dropped by name.
pub(super) fn parameters(settings: &Value, path: &str, samples: u64, draft: &mut Draft<'_>) -> Map<String, Value> {
    let mut parameters = Map::new();
    for (key, value) in settings.as_object().into_iter().flatten().filter(|(_, value)| !is_blank(value)) {
        let name = match key.as_str() {
            "temperature" | "top_p" | "seed" => key,
            // Three spellings of the API, for runs and for graders.
            "max_completion_tokens" | "max_completions_tokens" | "max_tokens" => "max_tokens",
            "reasoning_effort" => "effort",
            _ => {
                draft.report.drop(drop_entry(format!("{path}.{key}"), key, "a step has no such setting", samples));
                continue;
            }
        };
        parameters.insert(name.to_owned(), value.clone());
    }
    parameters
}

/// The messages of a criterion or prompt: role and text. `None` if a part is not text.
pub(super) fn messages(input: &Value, key: &str) -> Option<Vec<(String, String)>> {
    list_at(input, key)
        .iter()
        .map(|message| {
            let role = text_at(message, "role").unwrap_or("user");
            // Roles of a suite: the developer's messages are those of the system.
            let role = if role == "developer" { "system" } else { role };
            Some((role.to_owned(), message_text(message.get("content")?)?))
        })
        .collect()
}

/// The text of a message's content; `None` if a part is not text.
pub(super) fn message_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Option<Vec<String>> = parts.iter().map(message_text).collect();
            Some(texts?.join("\n"))
        }
        Value::Object(part) => part.get("text")?.as_str().map(str::to_owned),
        _ => None,
    }
}

//! Texts of messages.

use serde_json::{Map, Value, json};

/// Beginning of a text that stands for an attachment.
const ATTACHMENT: &str = "attachment://";

/// A copy of a value in which names of attachments are replaced by their content. Names without content stay.
pub(super) fn with_attachments(value: &Value, attachments: Option<&Map<String, Value>>) -> Value {
    let Some(attachments) = attachments.filter(|attachments| !attachments.is_empty()) else { return value.clone() };
    match value {
        Value::String(text) => {
            let content = text.strip_prefix(ATTACHMENT).and_then(|hash| attachments.get(hash));
            content.unwrap_or(value).clone()
        }
        Value::Array(list) => list.iter().map(|item| with_attachments(item, Some(attachments))).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, item)| (key.clone(), with_attachments(item, Some(attachments))));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// The content of a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub text: String,
    pub reasoning: Option<String>,
    /// True if there are parts that are neither text nor reasoning.
    pub has_media: bool,
}

/// Reads the content of a message: a text, or a list of parts. Texts are joined as Inspect joins them.
pub(super) fn read_content(content: &Value) -> Content {
    let parts = match content {
        Value::String(text) => return Content { text: text.clone(), ..Content::default() },
        Value::Array(parts) => parts.as_slice(),
        _ => &[],
    };
    let of = |kind: &str, key: &str| {
        let chosen = parts.iter().filter(|part| part.get("type").and_then(Value::as_str) == Some(kind));
        chosen.filter_map(|part| part.get(key)?.as_str()).collect::<Vec<_>>().join("\n")
    };
    let reasoning = of("reasoning", "reasoning");
    let is_read = |part: &Value| matches!(part.get("type").and_then(Value::as_str), Some("text" | "reasoning"));
    Content {
        text: of("text", "text"),
        reasoning: (!reasoning.is_empty()).then_some(reasoning),
        has_media: parts.iter().any(|part| !is_read(part)),
    }
}

/// The input of a sample: a text, or messages with `role` and `content`. The second value is true if parts that are no
/// text are left out.
pub(super) fn read_input(input: &Value) -> (Value, bool) {
    let Value::Array(messages) = input else { return (input.clone(), false) };
    let mut has_media = false;
    let messages = messages.iter().map(|message| {
        let content = read_content(message.get("content").unwrap_or(&Value::Null));
        has_media |= content.has_media;
        json!({"role": message.get("role").and_then(Value::as_str).unwrap_or("user"), "content": content.text})
    });
    (messages.collect(), has_media)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-07: parts of an output: texts are joined, reasoning stands apart, media are told.
    #[test]
    fn parts_become_text_and_reasoning() {
        let parts = json!([
            {"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}
        ]);
        let content = Content { text: "a\nb".into(), reasoning: Some("hm".into()), has_media: false };
        assert_eq!(read_content(&parts), content);
        assert!(read_content(&json!([{"type": "image", "image": "x"}])).has_media);
        assert_eq!(read_content(&Value::Null), Content::default());
    }

    /// IO-07: texts of the form `attachment://HASH` are replaced, at any depth.
    #[test]
    fn attachments_are_put_in_their_places() {
        let attachments = json!({"abc": "long text"});
        let value = json!([{"content": "attachment://abc"}, "attachment://none", "see attachment://abc", 1]);
        assert_eq!(
            with_attachments(&value, attachments.as_object()),
            json!([{"content": "long text"}, "attachment://none", "see attachment://abc", 1])
        );
    }
}

//! Messages of a row, in OpenAI's shape or as outputs hold them.

use karat_text::kind::kind;
use karat_types::{Content, Message, Part, Role, ToolCall};
use serde_json::{Map, Value};

use super::media::media_of;

/// Reads one message; `place` is its name in messages.
pub(super) fn read(value: &Value, place: &str, folder: &str) -> Result<Message, String> {
    let Value::Object(map) = value else { return Err(format!("`{place}` is {}, not a message", kind(value))) };
    let role = role(map, place)?;
    let content = match map.get("content") {
        None | Some(Value::Null) => Content::default(),
        Some(Value::String(text)) => Content::Text(text.clone()),
        Some(Value::Array(parts)) => parts
            .iter()
            .enumerate()
            .map(|(at, value)| part(value, &format!("{place}.content[{at}]"), folder))
            .collect::<Result<Vec<_>, String>>()?
            .into(),
        Some(other) => return Err(format!("`{place}.content` is {}; it is a text or a list of parts", kind(other))),
    };
    let mut message = Message::new(role, content);
    if role == Role::Assistant {
        message.tool_calls = calls(map, place)?;
    }
    if role == Role::Tool {
        let id = map.get("tool_call_id").and_then(Value::as_str);
        message.tool_call_id = Some(id.ok_or_else(|| format!("`{place}` has no `tool_call_id`"))?.to_owned());
        message.is_error = map.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    }
    Ok(message)
}

fn role(map: &Map<String, Value>, place: &str) -> Result<Role, String> {
    let known = "roles are system, user, assistant, tool";
    match map.get("role") {
        Some(Value::String(role)) => match role.as_str() {
            "system" | "developer" => Ok(Role::System),
            "user" => Ok(Role::User),
            "assistant" => Ok(Role::Assistant),
            "tool" => Ok(Role::Tool),
            other => Err(format!("`{place}.role` is `{}`; {known}", excerpt(other))),
        },
        None | Some(Value::Null) => Err(format!("`{place}.role` is missing; {known}")),
        Some(other) => Err(format!("`{place}.role` is {}; {known}", kind(other))),
    }
}

/// The beginning of a text of a row.
fn excerpt(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(40).collect()
}

fn calls(map: &Map<String, Value>, place: &str) -> Result<Vec<ToolCall>, String> {
    let calls = match map.get("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(format!("`{place}.tool_calls` is {}; it is a list", kind(other))),
    };
    let read = |(at, call): (usize, &Value)| {
        let called = call.get("function").unwrap_or(call);
        let Some(name) = called.get("name").and_then(Value::as_str) else {
            return Err(format!("`{place}.tool_calls[{at}]` has no name"));
        };
        let id = call.get("id").and_then(Value::as_str).map_or_else(|| format!("call-{at}"), str::to_owned);
        let raw = call.get("raw").and_then(Value::as_str);
        Ok(match (raw, called.get("arguments")) {
            (Some(raw), _) => ToolCall::from_text(id, name, raw),
            (None, Some(Value::String(text))) => ToolCall::from_text(id, name, text),
            (None, arguments) => ToolCall::from_value(id, name, arguments.cloned().unwrap_or_default()),
        })
    };
    calls.iter().enumerate().map(read).collect()
}

fn part(value: &Value, place: &str, folder: &str) -> Result<Part, String> {
    if let Value::String(text) = value {
        return Ok(Part::Text(text.clone()));
    }
    let text_at = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    if let Some(text) = text_at("/text") {
        return Ok(Part::Text(text.to_owned()));
    }
    let read = |source: &str| {
        let kind = text_at("/media");
        media_of(source, kind, folder).map_err(|problem| format!("`{place}`: {problem}"))
    };
    if let Some(source) = text_at("/image_url/url").or_else(|| text_at("/image_url")).or_else(|| text_at("/image")) {
        let mut media = read(source)?;
        media.detail = text_at("/image_url/detail").or_else(|| text_at("/detail")).map(str::to_owned);
        return Ok(Part::Image(media));
    }
    if let Some(source) = text_at("/file/file_data").or_else(|| text_at("/file")) {
        let mut media = read(source)?;
        media.name = text_at("/file/filename").map(str::to_owned).or(media.name);
        return Ok(Part::File(media));
    }
    Err(format!("`{place}` is not text, image or file"))
}

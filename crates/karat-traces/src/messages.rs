//! Conversations of every convention, in the form of OpenAI's messages.

use serde_json::{Map, Value, json};

use crate::attributes::structure;

/// Reads a list of messages, or a lone one, of any convention. `None` if the value is neither.
pub(crate) fn conversation(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => items.iter().map(message).collect(),
        // The body of a request, as wrappers of SDKs log it.
        Value::Object(body) => match body.get("messages").or_else(|| body.get("contents")) {
            Some(messages) => conversation(messages),
            None => Some(vec![message(value)?]),
        },
        _ => None,
    }
}

/// A message from a role and its content: a text, parts, or absent beside calls of tools.
pub(crate) fn from_content(role: &str, content: Option<Value>, calls: Vec<Value>) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), role_name(role).into());
    message.insert("content".to_owned(), content.unwrap_or(Value::Null));
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Value::Object(message)
}

/// A call of a tool as OpenAI writes it.
pub(crate) fn tool_call(id: Option<&Value>, name: &Value, arguments: Option<&Value>) -> Value {
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(value) if !value.is_null() => value.to_string(),
        _ => "{}".to_owned(),
    };
    let mut call = json!({ "type": "function", "function": { "name": name, "arguments": arguments } });
    if let (Some(id), Some(call)) = (id, call.as_object_mut()) {
        call.insert("id".to_owned(), id.clone());
    }
    call
}

/// The text of the last message of the user; the last message with a text if no user speaks. What a user left empty is an
/// empty text where nothing else is said.
pub(crate) fn last_input(messages: &[Value]) -> Option<String> {
    let of_user = |message: &&Value| message["role"] == "user";
    let last = messages.iter().rev().find(of_user).and_then(text);
    let is_empty = |message: &Value| message["role"] == "user" && message["content"] == "";
    last.or_else(|| messages.iter().rev().find_map(text)).or_else(|| messages.iter().any(is_empty).then(String::new))
}

/// The reply that messages of an assistant are: its text, or `{ text, tool_calls }`.
pub(crate) fn reply(messages: &[Value]) -> Option<Value> {
    let texts: Vec<_> = messages.iter().filter_map(text).collect();
    let calls: Vec<_> = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten().collect();
    let text = (!texts.is_empty()).then(|| texts.join("\n"));
    if calls.is_empty() {
        return text.map(Value::String);
    }
    let calls = calls.into_iter().map(|call| {
        let function = &call["function"];
        let raw = function["arguments"].as_str().unwrap_or_default();
        let read = serde_json::from_str::<Value>(raw).ok().filter(Value::is_object);
        let mut out = json!({ "id": call["id"], "name": function["name"], "arguments": read });
        if let (None, Some(out)) = (read, out.as_object_mut()) {
            out.insert("raw".to_owned(), raw.into());
        }
        out
    });
    let calls: Vec<_> = calls.collect();
    Some(json!({ "text": text, "tool_calls": calls }))
}

/// The text of a message: itself, or that of its parts.
fn text(message: &Value) -> Option<String> {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// One message of any convention.
fn message(value: &Value) -> Option<Value> {
    if let Value::String(text) = value {
        return Some(from_content("user", Some(text.clone().into()), Vec::new()));
    }
    let role = value["role"].as_str().unwrap_or("assistant");
    match (value.get("parts"), value.get("content")) {
        (Some(Value::Array(parts)), _) => Some(from_parts(role, parts)),
        (_, content) => {
            let calls = value["tool_calls"].as_array().cloned().unwrap_or_default();
            let content = content.cloned().filter(|content| !content.is_null());
            if content.is_none() && calls.is_empty() {
                return None;
            }
            // Anthropic's blocks are parts by another name.
            if let Some(Value::Array(parts)) = &content
                && parts.iter().any(|part| matches!(part["type"].as_str(), Some("tool_use" | "tool_result")))
            {
                return Some(from_parts(role, parts));
            }
            let mut out = from_content(role, content, calls);
            if let (Some(id), Some(out)) = (value.get("tool_call_id"), out.as_object_mut()) {
                out.insert("tool_call_id".to_owned(), id.clone());
            }
            Some(out)
        }
    }
}

/// A message of parts: texts, calls of tools, and their results.
fn from_parts(role: &str, parts: &[Value]) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut result = None;
    for part in parts {
        match part["type"].as_str() {
            Some("tool_call") => calls.push(tool_call(part.get("id"), &part["name"], part.get("arguments"))),
            Some("tool_use") => calls.push(tool_call(part.get("id"), &part["name"], part.get("input"))),
            Some("tool_call_response" | "tool_result") => {
                let content = ["response", "result", "content"].iter().find_map(|name| part.get(name));
                let id = part.get("id").or_else(|| part.get("tool_use_id"));
                result = Some((id.cloned(), content.map(plain).unwrap_or_default()));
            }
            Some("reasoning" | "thinking") => {}
            _ => {
                let text = ["content", "text"].iter().find_map(|name| part[name].as_str());
                texts.extend(text.map(str::to_owned));
            }
        }
    }
    if let Some((id, content)) = result {
        let mut out = from_content("tool", Some(content.into()), Vec::new());
        if let (Some(id), Some(out)) = (id, out.as_object_mut()) {
            out.insert("tool_call_id".to_owned(), id);
        }
        return out;
    }
    let text = (!texts.is_empty()).then(|| texts.join("\n").into());
    from_content(role, text, calls)
}

/// A value as a text.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The message of `gen_ai.system_instructions`: parts without a role.
pub(crate) fn instructions(value: &Value) -> Option<Value> {
    let message = match structure(value)? {
        Value::Array(parts) => from_parts("system", &parts),
        other => from_content("system", Some(other), Vec::new()),
    };
    (!message["content"].is_null()).then_some(message)
}

/// The role in OpenAI's words.
fn role_name(role: &str) -> &str {
    match role {
        "model" | "ai" => "assistant",
        "human" => "user",
        "function" => "tool",
        role => role,
    }
}

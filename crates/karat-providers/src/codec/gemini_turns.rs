//! Turns and tools of a request in Gemini's API.

use karat_types::{ChatRequest, Content, Media, Message, Part, Role, ToolChoice};
use serde_json::{Error, Map, Value, json};

use crate::codec::calls::{called_name, is_known_id, raw_of};
use crate::codec::media::{Base64, MediaForm, blob, media_type};

/// The name of the protocol in raw turns.
pub(crate) const PROTOCOL: &str = "gemini";

/// The contents of a request. Results of tools that follow each other stand in one turn.
///
/// # Errors
/// An image or file is an address, which this API does not fetch.
pub(crate) fn contents(request: &ChatRequest, media: MediaForm) -> Result<Value, Error> {
    let mut turns: Vec<Value> = Vec::new();
    let mut follows_result = false;
    for message in request.messages.iter().filter(|message| message.role != Role::System) {
        let is_result = message.role == Role::Tool;
        match raw_of(message, PROTOCOL) {
            Some(raw) => turns.push(serde_json::from_str(raw.get())?),
            None => {
                let parts = match message.role {
                    Role::Tool => vec![result(&request.messages, message)],
                    _ => parts(message, media)?,
                };
                match turns.last_mut().and_then(|turn| turn["parts"].as_array_mut()) {
                    Some(last) if follows_result && is_result => last.extend(parts),
                    _ => {
                        let role = if message.role == Role::Assistant { "model" } else { "user" };
                        turns.push(json!({ "role": role, "parts": parts }));
                    }
                }
            }
        }
        follows_result = is_result;
    }
    Ok(Value::Array(turns))
}

/// The parts of a turn of the user or model.
fn parts(message: &Message, form: MediaForm) -> Result<Vec<Value>, Error> {
    let mut parts: Vec<Value> = match &message.content {
        Content::Text(text) if text.is_empty() && !message.tool_calls.is_empty() => Vec::new(),
        Content::Text(text) => vec![json!({ "text": text })],
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Ok(json!({ "text": text })),
                Part::Image(media) | Part::File(media) => inline_data(media, form),
            })
            .collect::<Result<_, Error>>()?,
    };
    for call in &message.tool_calls {
        let mut body = Map::new();
        if is_known_id(&call.id) {
            body.insert("id".to_owned(), call.id.as_str().into());
        }
        body.insert("name".to_owned(), call.name.as_str().into());
        let arguments = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
        body.insert("args".to_owned(), arguments);
        parts.push(json!({ "functionCall": body }));
    }
    Ok(parts)
}

fn inline_data(media: &Media, form: MediaForm) -> Result<Value, Error> {
    let data = serde_json::to_value(Base64 { blob: blob(media)?, form })?;
    Ok(json!({ "inlineData": { "mimeType": media_type(media), "data": data } }))
}

/// The result of a tool. The API names the tool and needs an object.
fn result(messages: &[Message], answer: &Message) -> Value {
    let mut body = Map::new();
    if let Some(id) = answer.tool_call_id.as_deref().filter(|id| is_known_id(id)) {
        body.insert("id".to_owned(), id.into());
    }
    body.insert("name".to_owned(), called_name(messages, answer).unwrap_or_default().into());
    let kind = if answer.is_error { "error" } else { "result" };
    body.insert("response".to_owned(), json!({ kind: answer.text() }));
    json!({ "functionResponse": body })
}

/// Adds the tools of a request and the choice among them.
pub(crate) fn add_tools(body: &mut Map<String, Value>, request: &ChatRequest) {
    if !request.tools.is_empty() {
        let declare = |tool: &karat_types::ToolDefinition| {
            let mut function = json!({ "name": tool.name });
            if let Some(about) = &tool.about {
                function["description"] = about.as_str().into();
            }
            function["parametersJsonSchema"] = (*tool.input).clone();
            function
        };
        let declared: Vec<Value> = request.tools.iter().map(declare).collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": declared }]));
    }
    let config = match &request.tool_choice {
        None => return,
        Some(ToolChoice::Auto) => json!({ "mode": "AUTO" }),
        Some(ToolChoice::None) => json!({ "mode": "NONE" }),
        Some(ToolChoice::Any) => json!({ "mode": "ANY" }),
        Some(ToolChoice::Tool(name)) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    body.insert("toolConfig".to_owned(), json!({ "functionCallingConfig": config }));
}

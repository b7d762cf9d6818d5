//! Turns and tools of a request in chat completions.

use std::borrow::Cow;

use karat_types::{ChatRequest, Content, Message, Part, Role, ToolCall, ToolChoice, ToolDefinition};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::codec::calls::raw_of;
use crate::codec::media::{Address, MediaForm};

/// The name of the protocol in raw turns.
pub(crate) const PROTOCOL: &str = "chat";

/// The points in which servers of this protocol differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// Name of the sampling seed.
    pub seed: &'static str,
    /// The word for "at least one tool".
    pub any_tool: &'static str,
    /// True if ids of calls must have nine letters and digits.
    pub short_ids: bool,
}

impl Dialect {
    /// The id of a call as the server takes it.
    fn id<'a>(self, id: &'a str) -> Cow<'a, str> {
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if fits || !self.short_ids { Cow::Borrowed(id) } else { Cow::Owned(short_id(id)) }
    }
}

/// Nine letters and digits, the same ones for the same id.
fn short_id(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let hash = blake3::hash(id.as_bytes());
    hash.as_bytes().iter().take(9).map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()])).collect()
}

/// The turns of a request.
pub(crate) struct Turns<'a> {
    pub messages: &'a [Message],
    pub dialect: Dialect,
    pub media: MediaForm,
}

impl Serialize for Turns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { dialect, media, .. } = *self;
        serializer.collect_seq(self.messages.iter().map(|message| Turn { message, dialect, media }))
    }
}

struct Turn<'a> {
    message: &'a Message,
    dialect: Dialect,
    media: MediaForm,
}

impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { message, dialect, media } = self;
        if let Some(raw) = raw_of(message, PROTOCOL) {
            return raw.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &message.role)?;
        match &message.content {
            Content::Text(text) if text.is_empty() && !message.tool_calls.is_empty() => {
                map.serialize_entry("content", &None::<&str>)?;
            }
            Content::Text(text) => map.serialize_entry("content", text)?,
            Content::Parts(parts) => map.serialize_entry("content", &Parts { parts, media: *media })?,
        }
        if !message.tool_calls.is_empty() {
            let calls: Vec<Value> = message.tool_calls.iter().map(|call| call_json(call, *dialect)).collect();
            map.serialize_entry("tool_calls", &calls)?;
        }
        if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id) {
            map.serialize_entry("tool_call_id", &dialect.id(id))?;
        }
        map.end()
    }
}

fn call_json(call: &ToolCall, dialect: Dialect) -> Value {
    json!({
        "id": dialect.id(&call.id),
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments_text() },
    })
}

struct Parts<'a> {
    parts: &'a [Part],
    media: MediaForm,
}

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum PartBody<'a> {
            Text { text: &'a str },
            ImageUrl { image_url: ImageBody<'a> },
            File { file: FileBody<'a> },
        }
        #[derive(Serialize)]
        struct ImageBody<'a> {
            url: Address<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            detail: Option<&'a str>,
        }
        #[derive(Serialize)]
        struct FileBody<'a> {
            filename: &'a str,
            file_data: Address<'a>,
        }
        let mut list = serializer.serialize_seq(Some(self.parts.len()))?;
        for part in self.parts {
            let form = self.media;
            list.serialize_element(&match part {
                Part::Text(text) => PartBody::Text { text },
                Part::Image(media) => PartBody::ImageUrl {
                    image_url: ImageBody { url: Address { media, form }, detail: media.detail.as_deref() },
                },
                Part::File(media) => PartBody::File {
                    file: FileBody {
                        filename: media.name.as_deref().unwrap_or("file"),
                        file_data: Address { media, form },
                    },
                },
            })?;
        }
        list.end()
    }
}

/// Writes the tools of a request and the choice among them.
pub(crate) fn write_tools<M: SerializeMap>(
    map: &mut M,
    request: &ChatRequest,
    dialect: Dialect,
) -> Result<(), M::Error> {
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool_json).collect();
        map.serialize_entry("tools", &tools)?;
    }
    match &request.tool_choice {
        None => Ok(()),
        Some(ToolChoice::Auto) => map.serialize_entry("tool_choice", "auto"),
        Some(ToolChoice::None) => map.serialize_entry("tool_choice", "none"),
        Some(ToolChoice::Any) => map.serialize_entry("tool_choice", dialect.any_tool),
        Some(ToolChoice::Tool(name)) => {
            map.serialize_entry("tool_choice", &json!({ "type": "function", "function": { "name": name } }))
        }
    }
}

fn tool_json(tool: &ToolDefinition) -> Value {
    let mut function = json!({ "name": tool.name });
    if let Some(about) = &tool.about {
        function["description"] = about.as_str().into();
    }
    function["parameters"] = (*tool.input).clone();
    json!({ "type": "function", "function": function })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-11: Mistral's ids have nine letters and digits; one that has them already stays.
    #[test]
    fn short_ids_have_nine_letters_and_digits() {
        let mistral = Dialect { seed: "random_seed", any_tool: "any", short_ids: true };
        assert_eq!(mistral.id("abcDEF123"), "abcDEF123");
        for id in ["call_1", "", "karat-0", "abcDEF12_"] {
            let short = mistral.id(id);
            assert!(short.len() == 9 && short.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{short}");
            assert_eq!(short, mistral.id(id));
        }
        assert_ne!(mistral.id("call_1"), mistral.id("call_2"));
    }
}

//! Turns of a conversation: texts, images, files, calls of tools and their results.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{FilePath, json};

/// The role of the speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The asker.
    User,
    /// The model, in an earlier turn.
    Assistant,
    /// The result of a tool that the model called.
    Tool,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The role of the speaker.
    pub role: Role,
    /// The words, images and files.
    pub content: Content,
    /// The calls of an assistant's turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's turn answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// True if a tool's turn is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// An assistant's turn as its provider wrote it. The codec of the same protocol sends it instead of the other fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_turn: Option<RawTurn>,
}

impl Message {
    /// A turn of these words or parts.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        let content = content.into();
        Self { role, content, tool_calls: Vec::new(), tool_call_id: None, is_error: false, raw_turn: None }
    }

    /// The result of a call.
    pub fn tool_result(call: impl Into<String>, result: impl Into<Content>) -> Self {
        Self { tool_call_id: Some(call.into()), ..Self::new(Role::Tool, result) }
    }

    /// Its words; those of several parts stand on lines of their own.
    pub fn text(&self) -> Cow<'_, str> {
        self.content.text()
    }
}

/// The content of a turn: a lone text, which is stored as a string, or parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Words only.
    Text(String),
    /// Words, images and files in this order.
    Parts(Vec<Part>),
}

impl Content {
    /// Its words; those of several parts stand on lines of their own.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(_) => Cow::Owned(self.texts().collect::<Vec<_>>().join("\n")),
        }
    }

    /// The texts in it.
    pub fn texts(&self) -> impl Iterator<Item = &str> + Clone {
        let (lone, parts) = match self {
            Self::Text(text) => (Some(text.as_str()), None),
            Self::Parts(parts) => (None, Some(parts.iter().filter_map(Part::as_text))),
        };
        lone.into_iter().chain(parts.into_iter().flatten())
    }

    /// The images and files in it.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        let parts = match self {
            Self::Text(_) => [].as_slice(),
            Self::Parts(parts) => parts,
        };
        parts.iter().filter_map(Part::as_media)
    }

    /// Its parts; a lone text is none.
    pub fn into_parts(self) -> Vec<Part> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::Parts(parts) => parts,
        }
    }

    /// Returns true if it has neither words nor parts.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<Part>> for Content {
    fn from(parts: Vec<Part>) -> Self {
        Self::Parts(parts)
    }
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text(String),
    /// An image.
    Image(Media),
    /// A document, such as a PDF.
    File(Media),
}

impl Part {
    /// The words, if it is words.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) | Self::File(_) => None,
        }
    }

    /// The image or file, if it is one.
    pub fn as_media(&self) -> Option<&Media> {
        match self {
            Self::Text(_) => None,
            Self::Image(media) | Self::File(media) => Some(media),
        }
    }
}

/// An image or a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// The source of its bytes.
    pub source: MediaSource,
    /// Its media type, such as `image/png`; `None` until its bytes are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The detail in which a provider looks at an image: `low`, `high`, `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The name of a file, as the provider is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Media {
    /// The number of its bytes; 0 if they are elsewhere.
    pub fn size(&self) -> usize {
        if let MediaSource::Blob(blob) = &self.source { blob.content.len() } else { 0 }
    }
}

/// The source of an image or a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// A file that the engine reads before it sends the request; machines do no I/O.
    Path(FilePath),
    /// Bytes in memory.
    Blob(Blob),
    /// An address that the provider fetches.
    Url(String),
}

/// Bytes, stored as their digest and size: `{"$blob": "blake3:…", "bytes": 4096}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blob {
    /// `blake3:` and the hash in hexadecimal digits.
    #[serde(rename = "$blob")]
    pub digest: Arc<str>,
    /// Their number.
    #[serde(rename = "bytes")]
    pub size: u64,
    /// The bytes; empty in a blob that was read from JSON.
    #[serde(skip)]
    pub content: Bytes,
}

impl Blob {
    /// A blob of these bytes.
    pub fn new(content: Bytes) -> Self {
        let digest = format!("blake3:{}", blake3::hash(&content).to_hex()).into();
        Self { digest, size: content.len() as u64, content }
    }
}

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Its id, unique in its conversation.
    pub id: String,
    /// The tool that is called, as the model wrote it.
    pub name: String,
    /// The arguments, an object; null where `raw` holds what is none.
    pub arguments: Value,
    /// The arguments as the model wrote them, where they are not JSON objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

impl ToolCall {
    /// A call with arguments as JSON text. An empty text is an empty object.
    pub fn from_text(id: impl Into<String>, name: impl Into<String>, arguments: &str) -> Self {
        let parsed = match arguments.trim() {
            "" => Some(Map::new()),
            text => match json::parse(text) {
                Ok(Value::Object(object)) => Some(object),
                _ => None,
            },
        };
        let (arguments, raw) = match parsed {
            Some(object) => (Value::Object(object), None),
            None => (Value::Null, Some(arguments.to_owned())),
        };
        Self { id: id.into(), name: name.into(), arguments, raw }
    }

    /// A call with arguments as JSON. Null is an empty object.
    pub fn from_value(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        let (arguments, raw) = match arguments {
            Value::Null => (Value::Object(Map::new()), None),
            Value::Object(_) => (arguments, None),
            other => (Value::Null, Some(other.to_string())),
        };
        Self { id: id.into(), name: name.into(), arguments, raw }
    }

    /// Its arguments as JSON text, as the model wrote them where they are no object.
    pub fn arguments_text(&self) -> Cow<'_, str> {
        match &self.raw {
            Some(raw) => Cow::Borrowed(raw),
            None => Cow::Owned(self.arguments.to_string()),
        }
    }
}

/// An assistant's turn as its provider wrote it: with signatures and reasoning that must come back unchanged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTurn {
    /// The protocol that it was written in: `chat`, `responses`, `anthropic`, `gemini`. Other protocols ignore it.
    pub protocol: Arc<str>,
    /// The message in chat completions, the items of Responses, the content blocks of Anthropic, the content of Gemini.
    pub json: Arc<RawValue>,
}

impl PartialEq for RawTurn {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol && self.json.get() == other.json.get()
    }
}

impl Eq for RawTurn {}

impl Hash for RawTurn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.protocol.hash(state);
        self.json.get().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// TG-01, TG-04: a lone text is stored as it always was, and bytes are stored as their digest.
    #[test]
    fn a_lone_text_is_stored_as_before() {
        let lone = Message::new(Role::User, "hi");
        assert_eq!(serde_json::to_string(&lone).unwrap(), r#"{"role":"user","content":"hi"}"#);
        let blob = Blob::new(Bytes::from_static(b"abc"));
        let media = Media {
            source: MediaSource::Blob(blob),
            media_type: Some("image/png".to_owned()),
            detail: None,
            name: None,
        };
        let parts = Message::new(Role::User, vec![Part::Text("a".to_owned()), Part::Image(media)]);
        let stored = serde_json::to_value(&parts).unwrap();
        let digest = format!("blake3:{}", blake3::hash(b"abc").to_hex());
        assert_eq!(stored["content"][1]["image"]["source"]["blob"], json!({"$blob": digest, "bytes": 3}));
        assert_eq!(parts.text(), "a");
        let again: Message = serde_json::from_value(stored).unwrap();
        assert_eq!(again.content.media().count(), 1);
    }

    /// TG-12: arguments are an object, or null beside the text as it came.
    #[test]
    fn arguments_are_an_object_or_raw() {
        let call = |text| ToolCall::from_text("c", "t", text);
        assert_eq!((call("").arguments, call("").raw), (json!({}), None));
        assert_eq!(call(r#"{"id":"A1"}"#).arguments, json!({"id": "A1"}));
        for text in ["[1]", "{\"a\"", "7"] {
            assert_eq!((call(text).arguments, call(text).raw.as_deref()), (Value::Null, Some(text)));
            assert_eq!(call(text).arguments_text(), text);
        }
        assert_eq!(ToolCall::from_value("c", "t", Value::Null).arguments, json!({}));
        assert_eq!(ToolCall::from_value("c", "t", json!([1])).raw.as_deref(), Some("[1]"));
    }

    /// TG-11: a raw turn keeps the order of keys and the numbers as written.
    #[test]
    fn a_raw_turn_stays_as_written() {
        let raw = RawValue::from_string(r#"{"b":1.0,"a":[1e2]}"#.to_owned()).unwrap();
        let turn = RawTurn { protocol: "chat".into(), json: raw.into() };
        let message = Message { raw_turn: Some(turn), ..Message::new(Role::Assistant, "") };
        let text = serde_json::to_string(&message).unwrap();
        assert!(text.contains(r#"{"b":1.0,"a":[1e2]}"#), "{text}");
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}

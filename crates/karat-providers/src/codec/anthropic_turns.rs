//! Turns and tools of a request in Anthropic's Messages API.

use karat_types::{ChatRequest, Content, Media, MediaSource, Message, Part, Role, ToolChoice};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::codec::calls::raw_of;
use crate::codec::media::{Base64, MediaForm, blob, media_type};

/// The name of the protocol in raw turns.
pub(crate) const PROTOCOL: &str = "anthropic";

/// The messages without the system messages. Results of tools stand in one user turn with the words that follow them.
pub(crate) struct Conversation<'a> {
    pub messages: &'a [Message],
    pub media: MediaForm,
}

impl Serialize for Conversation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let media = self.media;
        let mut list = serializer.serialize_seq(None)?;
        let spoken: Vec<&Message> = self.messages.iter().filter(|message| message.role != Role::System).collect();
        let mut rest = spoken.as_slice();
        while let Some((first, after)) = rest.split_first() {
            let more = match first.role {
                Role::Tool => {
                    let results = after.iter().take_while(|message| message.role == Role::Tool).count();
                    results + usize::from(after.get(results).is_some_and(|message| message.role == Role::User))
                }
                _ => 0,
            };
            let (turn, next) = rest.split_at(1 + more);
            list.serialize_element(&Turn { messages: turn, media })?;
            rest = next;
        }
        list.end()
    }
}

/// One turn: a message, or results of tools with the words that follow them.
struct Turn<'a> {
    messages: &'a [&'a Message],
    media: MediaForm,
}

impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        let is_assistant = self.messages.iter().any(|message| message.role == Role::Assistant);
        map.serialize_entry("role", if is_assistant { "assistant" } else { "user" })?;
        match self.messages {
            [message] if raw_of(message, PROTOCOL).is_some() => {
                map.serialize_entry("content", &raw_of(message, PROTOCOL))?;
            }
            [Message { content: Content::Text(text), tool_calls, role: Role::User | Role::Assistant, .. }]
                if tool_calls.is_empty() =>
            {
                map.serialize_entry("content", text)?;
            }
            _ => map.serialize_entry("content", &Blocks { messages: self.messages, media: self.media })?,
        }
        map.end()
    }
}

struct Blocks<'a> {
    messages: &'a [&'a Message],
    media: MediaForm,
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for message in self.messages {
            if message.role == Role::Tool {
                list.serialize_element(&ToolResult { message, media: self.media })?;
                continue;
            }
            write_content(&mut list, &message.content, self.media)?;
            for call in &message.tool_calls {
                let input = if call.arguments.is_object() { call.arguments.clone() } else { Value::Object(Map::new()) };
                let block = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input });
                list.serialize_element(&block)?;
            }
        }
        list.end()
    }
}

struct ToolResult<'a> {
    message: &'a Message,
    media: MediaForm,
}

impl Serialize for ToolResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "tool_result")?;
        map.serialize_entry("tool_use_id", self.message.tool_call_id.as_deref().unwrap_or_default())?;
        match &self.message.content {
            Content::Text(text) => map.serialize_entry("content", text)?,
            content @ Content::Parts(_) => {
                map.serialize_entry("content", &ContentBlocks { content, media: self.media })?;
            }
        }
        if self.message.is_error {
            map.serialize_entry("is_error", &true)?;
        }
        map.end()
    }
}

struct ContentBlocks<'a> {
    content: &'a Content,
    media: MediaForm,
}

impl Serialize for ContentBlocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        write_content(&mut list, self.content, self.media)?;
        list.end()
    }
}

/// Writes blocks of words, images and files. The API refuses empty words.
fn write_content<L: SerializeSeq>(list: &mut L, content: &Content, form: MediaForm) -> Result<(), L::Error> {
    let text = |list: &mut L, text: &str| match text.is_empty() {
        true => Ok(()),
        false => list.serialize_element(&TextBlock { kind: "text", text }),
    };
    match content {
        Content::Text(words) => text(list, words),
        Content::Parts(parts) => parts.iter().try_for_each(|part| match part {
            Part::Text(words) => text(list, words),
            Part::Image(media) => list.serialize_element(&MediaBlock { kind: "image", media, form }),
            Part::File(media) => list.serialize_element(&MediaBlock { kind: "document", media, form }),
        }),
    }
}

#[derive(Serialize)]
struct TextBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

struct MediaBlock<'a> {
    kind: &'static str,
    media: &'a Media,
    form: MediaForm,
}

impl Serialize for MediaBlock<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Source<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            media_type: &'a str,
            data: Base64<'a>,
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind)?;
        match &self.media.source {
            MediaSource::Url(url) => map.serialize_entry("source", &json!({ "type": "url", "url": url }))?,
            _ => {
                let data = Base64 { blob: blob(self.media)?, form: self.form };
                map.serialize_entry("source", &Source { kind: "base64", media_type: media_type(self.media), data })?;
            }
        }
        if let Some(name) = self.media.name.as_deref().filter(|_| self.kind == "document") {
            map.serialize_entry("title", name)?;
        }
        map.end()
    }
}

/// Writes the tools of a request and the choice among them.
pub(crate) fn write_tools<M: SerializeMap>(map: &mut M, request: &ChatRequest) -> Result<(), M::Error> {
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                let mut body = json!({ "name": tool.name });
                if let Some(about) = &tool.about {
                    body["description"] = about.as_str().into();
                }
                body["input_schema"] = (*tool.input).clone();
                body
            })
            .collect();
        map.serialize_entry("tools", &tools)?;
    }
    let choice = match &request.tool_choice {
        None => return Ok(()),
        Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::None) => json!({ "type": "none" }),
        Some(ToolChoice::Any) => json!({ "type": "any" }),
        Some(ToolChoice::Tool(name)) => json!({ "type": "tool", "name": name }),
    };
    map.serialize_entry("tool_choice", &choice)
}

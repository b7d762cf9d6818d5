//! Items and tools of a request in the Responses API: a turn is one item, or one for its words and one for each call.

use karat_types::{ChatRequest, Content, Message, Part, Role, ToolChoice, ToolDefinition};
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::codec::calls::raw_of;
use crate::codec::media::{Address, MediaForm};

/// The name of the protocol in raw turns.
pub(crate) const PROTOCOL: &str = "responses";

/// The turns of a request without its system messages.
pub(crate) struct Items<'a> {
    pub messages: &'a [Message],
    pub media: MediaForm,
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for message in self.messages.iter().filter(|message| message.role != Role::System) {
            if let Some(raw) = raw_of(message, PROTOCOL) {
                let items: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(S::Error::custom)?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                continue;
            }
            if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id) {
                let output = message.content.texts().collect::<Vec<_>>().join("\n");
                list.serialize_element(&json!({ "type": "function_call_output", "call_id": id, "output": output }))?;
                continue;
            }
            let is_silent = matches!(&message.content, Content::Text(text) if text.is_empty());
            if !is_silent || message.tool_calls.is_empty() {
                list.serialize_element(&MessageItem { message, media: self.media })?;
            }
            for call in &message.tool_calls {
                list.serialize_element(&json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments_text(),
                }))?;
            }
        }
        list.end()
    }
}

struct MessageItem<'a> {
    message: &'a Message,
    media: MediaForm,
}

impl Serialize for MessageItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_reply = self.message.role == Role::Assistant;
        let text = |text| if is_reply { PartBody::OutputText { text } } else { PartBody::InputText { text } };
        let form = self.media;
        let parts: Vec<PartBody<'_>> = match &self.message.content {
            Content::Text(words) => vec![text(words)],
            Content::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Text(words) => text(words),
                    Part::Image(media) => {
                        PartBody::InputImage { image_url: Address { media, form }, detail: media.detail.as_deref() }
                    }
                    Part::File(media) => PartBody::InputFile {
                        filename: media.name.as_deref().unwrap_or("file"),
                        file_data: Address { media, form },
                    },
                })
                .collect(),
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("role", &self.message.role)?;
        map.serialize_entry("content", &parts)?;
        map.end()
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PartBody<'a> {
    InputText {
        text: &'a str,
    },
    OutputText {
        text: &'a str,
    },
    InputImage {
        image_url: Address<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    InputFile {
        filename: &'a str,
        file_data: Address<'a>,
    },
}

/// Writes the tools of a request and the choice among them.
pub(crate) fn write_tools<M: SerializeMap>(map: &mut M, request: &ChatRequest) -> Result<(), M::Error> {
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool_json).collect();
        map.serialize_entry("tools", &tools)?;
    }
    match &request.tool_choice {
        None => Ok(()),
        Some(ToolChoice::Auto) => map.serialize_entry("tool_choice", "auto"),
        Some(ToolChoice::None) => map.serialize_entry("tool_choice", "none"),
        Some(ToolChoice::Any) => map.serialize_entry("tool_choice", "required"),
        Some(ToolChoice::Tool(name)) => {
            map.serialize_entry("tool_choice", &json!({ "type": "function", "name": name }))
        }
    }
}

fn tool_json(tool: &ToolDefinition) -> Value {
    let mut json = json!({ "type": "function", "name": tool.name });
    if let Some(about) = &tool.about {
        json["description"] = about.as_str().into();
    }
    json["parameters"] = (*tool.input).clone();
    json["strict"] = false.into();
    json
}

//! Anthropic's Messages API.

use karat_types::{ChatRequest, FinishReason, JsonMode, ModelSpec, Reply, ReplyFormat, Role, ToolCall};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::answer::billing::{Bill, UsageWords};
use crate::answer::json::{UnreadableReply, parse_json, raw_member};
use crate::codec::anthropic_turns::{Conversation, PROTOCOL, write_tools};
use crate::codec::calls::{call_id, raw_turn};
use crate::codec::finish::{embedded_error, end_reply};
use crate::codec::media::MediaForm;
use crate::codec::protocol::{Codec, json_headers, write_body};

/// The Messages API.
pub(crate) struct Anthropic;

const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const KEY: HeaderName = HeaderName::from_static("x-api-key");
const PATH: &str = "/v1/messages";

/// Token limit of a reply if neither the request nor the registry sets one; the API requires one.
const MAX_TOKENS: u32 = 4096;

impl Codec for Anthropic {
    fn url(&self, base: &Url, _: &str) -> Url {
        let mut url = base.clone();
        let root = base.path().trim_end_matches('/');
        let root = root.strip_suffix("/messages").unwrap_or(root);
        url.set_path(&format!("{}{PATH}", root.strip_suffix("/v1").unwrap_or(root)));
        url
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut headers = json_headers(KEY, key)?;
        headers.insert(VERSION, HeaderValue::from_static("2023-06-01"));
        Ok(headers)
    }

    fn write(
        &self,
        model: &ModelSpec,
        _: &str,
        request: &ChatRequest,
        media: MediaForm,
    ) -> serde_json::Result<Vec<u8>> {
        write_body(&MessagesRequest { model, request, media }, request, media)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        let answer: MessagesResponse<'_> = parse_json(body)?;
        if let Some(error) = answer.error {
            return Err(embedded_error(&error));
        }
        let blocks = answer.content.ok_or_else(|| UnreadableReply::lacks("content", body))?;
        let is_plain = blocks.iter().all(|block| block.kind == "text");
        let mut text = String::new();
        let mut tool_calls = Vec::new();
        for block in blocks {
            if block.kind == "tool_use" {
                let id = call_id(block.id, body, tool_calls.len());
                tool_calls.push(ToolCall::from_value(id, block.name.unwrap_or_default(), block.input));
            } else if let Some(words) = block.text {
                text.push_str(&words);
            }
        }
        let raw_turn = if is_plain { None } else { raw_member(body, "content").map(|json| raw_turn(PROTOCOL, json)) };
        let (usage, billing) = UsageWords::Anthropic.read(answer.usage, None);
        let reply = Reply::new(text, FinishReason::Other);
        let reply = Reply { usage, billing, model: answer.model, tool_calls, raw_turn, ..reply };
        end_reply(reply, answer.stop_reason.as_deref())
    }

    fn bill(&self, body: &[u8]) -> Bill {
        UsageWords::Anthropic.read_body(body)
    }
}

struct MessagesRequest<'a> {
    model: &'a ModelSpec,
    request: &'a ChatRequest,
    media: MediaForm,
}

impl Serialize for MessagesRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let settings = &self.request.parameters;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model.model)?;
        map.serialize_entry("max_tokens", &settings.max_tokens.or(self.model.max_output).unwrap_or(MAX_TOKENS))?;
        let system = system(self.model, self.request);
        if !system.is_empty() {
            map.serialize_entry("system", &system)?;
        }
        map.serialize_entry("messages", &Conversation { messages: &self.request.messages, media: self.media })?;
        if let Some(temperature) = settings.temperature {
            map.serialize_entry("temperature", &temperature)?;
        }
        if let Some(top_p) = settings.top_p {
            map.serialize_entry("top_p", &top_p)?;
        }
        if !settings.stop.is_empty() {
            map.serialize_entry("stop_sequences", &settings.stop)?;
        }
        write_tools(&mut map, self.request)?;
        if let Some(config) = output_config(self.model, self.request) {
            map.serialize_entry("output_config", &config)?;
        }
        for (name, value) in &settings.extra {
            if !is_reserved(name, self.request) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// Returns whether settings cannot replace a field: the request itself, streaming, which this codec does not read, tools where
/// the request has its own, and `effort`, which stands elsewhere.
fn is_reserved(name: &str, request: &ChatRequest) -> bool {
    match name {
        "model" | "messages" | "system" | "stream" | "effort" => true,
        "tools" => !request.tools.is_empty(),
        "tool_choice" => request.tool_choice.is_some(),
        _ => false,
    }
}

/// The schema of the reply and the effort, unless the settings have their own `output_config`.
fn output_config(model: &ModelSpec, request: &ChatRequest) -> Option<Value> {
    let extra = &request.parameters.extra;
    let mut config = Map::new();
    if let Some(schema) = enforced_schema(model, request) {
        config.insert("format".to_owned(), json!({ "type": "json_schema", "schema": schema }));
    }
    config.extend(extra.get("effort").map(|effort| ("effort".to_owned(), effort.clone())));
    (!config.is_empty() && !extra.contains_key("output_config")).then_some(Value::Object(config))
}

/// The schema that the API itself enforces: for models whose entry says that they have such a mode.
fn enforced_schema<'a>(model: &ModelSpec, request: &'a ChatRequest) -> Option<&'a Value> {
    let ReplyFormat::Schema { schema, .. } = &request.format else { return None };
    let is_replaced = request.parameters.extra.contains_key("output_config");
    (model.json_mode == JsonMode::Schema && !is_replaced).then_some(schema)
}

/// The system messages and, if JSON is wanted and the API does not enforce it, the words that ask for it.
fn system(model: &ModelSpec, request: &ChatRequest) -> String {
    let mut parts: Vec<&str> = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System)
        .flat_map(|message| message.content.texts())
        .collect();
    let words = match &request.format {
        _ if enforced_schema(model, request).is_some() => String::new(),
        ReplyFormat::Text | ReplyFormat::Vectors { .. } => String::new(),
        ReplyFormat::Json => "Reply with one JSON object and nothing else.".to_owned(),
        ReplyFormat::Schema { schema, .. } => {
            format!("Reply with one JSON value and nothing else. It must satisfy this JSON Schema:\n{schema}")
        }
    };
    if !words.is_empty() {
        parts.push(&words);
    }
    parts.join("\n\n")
}

#[derive(Deserialize)]
struct MessagesResponse<'a> {
    #[serde(default)]
    content: Option<Vec<Block>>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

/// A content block. Blocks without text (thinking) are not part of the reply.
#[derive(Deserialize)]
struct Block {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    /// The call of a `tool_use` block.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_built_below_any_root() {
        for base in ["https://h", "https://h/", "https://h/v1", "https://h/v1/", "https://h/v1/messages"] {
            assert_eq!(Anthropic.url(&Url::parse(base).unwrap(), "m").as_str(), "https://h/v1/messages", "{base}");
        }
    }

    #[test]
    fn thinking_is_no_part_of_the_reply() {
        let body = r#"{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"max_tokens","model":"c"}"#;
        let reply = Anthropic.parse(body.as_bytes()).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("ab", FinishReason::Length));
        let refused = br#"{"content":[{"type":"text","text":"a"}],"stop_reason":"refusal"}"#;
        assert_eq!(Anthropic.parse(refused).unwrap().finish, FinishReason::Refusal);
        assert!(Anthropic.parse(b"{\"type\":\"error\"}").is_err());
    }

    /// TG-11, TG-12: a call is part of the reply, and the turn stays as it was written, signatures included.
    #[test]
    fn a_call_is_part_of_the_reply() {
        let blocks = r#"[{"type":"thinking","thinking":"hm","signature":"Sg=="},{"type":"tool_use","id":"t1","name":"get","input":{"id":"A1"}}]"#;
        let body = format!(r#"{{"content":{blocks},"stop_reason":"tool_use"}}"#);
        let reply = Anthropic.parse(body.as_bytes()).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("", FinishReason::ToolCalls));
        assert_eq!(reply.tool_calls, [ToolCall::from_value("t1", "get", json!({"id": "A1"}))]);
        assert_eq!(reply.raw_turn.unwrap().json.get(), blocks);
        let malformed = br#"{"content":[],"stop_reason":"malformed_tool_use"}"#;
        assert_eq!(Anthropic.parse(malformed).unwrap().finish, FinishReason::MalformedCall);
        let plain = br#"{"content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#;
        assert_eq!(Anthropic.parse(plain).unwrap().raw_turn, None);
    }

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let body = r#"{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":3}}"#;
        let usage = Anthropic.parse(body.as_bytes()).unwrap().usage.unwrap();
        assert_eq!((usage.input_tokens, usage.cached_input_tokens, usage.output_tokens), (125, 100, 3));
        let without = r#"{"content":[],"usage":{"input_tokens":5,"output_tokens":3,"cache_read_input_tokens":null}}"#;
        assert_eq!(Anthropic.parse(without.as_bytes()).unwrap().usage.unwrap().input_tokens, 5);
        let wrong = r#"{"content":[],"usage":{"input_tokens":"5","output_tokens":3}}"#;
        assert!(Anthropic.parse(wrong.as_bytes()).unwrap().billing.lacks_input);
    }
}

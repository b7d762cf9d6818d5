//! Anthropic's Messages API.

use karat_types::{ChatRequest, FinishReason, Message, ModelSpec, Reply, ReplyFormat, Role, Usage};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::codec::protocol::{Codec, UnreadableReply, json_headers, parse_json, write_body};
use crate::codec::usage::{Count, named_counts, raw_member, usage};

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

    fn body(&self, model: &ModelSpec, _: &str, request: &ChatRequest) -> serde_json::Result<Vec<u8>> {
        write_body(&MessagesRequest { model, request }, request)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        let answer: MessagesResponse<'_> = parse_json(body)?;
        let blocks =
            answer.content.ok_or_else(|| UnreadableReply::invalid_body("answered with a message without content"))?;
        let finish = match answer.stop_reason {
            Some(Stop::EndTurn | Stop::Sequence) => FinishReason::Stop,
            Some(Stop::MaxTokens | Stop::ContextWindow) => FinishReason::Length,
            Some(Stop::Refusal) => FinishReason::Refusal,
            Some(Stop::Other) | None => FinishReason::Other,
        };
        let called = blocks.iter().filter(|block| block.kind == "tool_use");
        let tools: Vec<String> = called.map(|block| block.name.clone().unwrap_or_default()).collect();
        let text: String = blocks.into_iter().filter_map(|block| block.text).collect();
        if text.is_empty() && !tools.is_empty() {
            return Err(UnreadableReply::tool_call(&tools));
        }
        Ok(Reply { text, finish, usage: answer.usage.and_then(read_usage), model: answer.model })
    }

    fn usage(&self, body: &[u8]) -> Option<Usage> {
        raw_member(body, "usage").and_then(read_usage)
    }
}

struct MessagesRequest<'a> {
    model: &'a ModelSpec,
    request: &'a ChatRequest,
}

impl Serialize for MessagesRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let settings = &self.request.parameters;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model.model)?;
        map.serialize_entry("max_tokens", &settings.max_tokens.or(self.model.max_output).unwrap_or(MAX_TOKENS))?;
        let system = system(self.request);
        if !system.is_empty() {
            map.serialize_entry("system", &system)?;
        }
        map.serialize_entry("messages", &Conversation(&self.request.messages))?;
        if let Some(temperature) = settings.temperature {
            map.serialize_entry("temperature", &temperature)?;
        }
        if let Some(top_p) = settings.top_p {
            map.serialize_entry("top_p", &top_p)?;
        }
        if !settings.stop.is_empty() {
            map.serialize_entry("stop_sequences", &settings.stop)?;
        }
        for (name, value) in &settings.extra {
            match name.as_str() {
                reserved if RESERVED.contains(&reserved) => {}
                "effort" if settings.extra.contains_key("output_config") => {}
                "effort" => map.serialize_entry("output_config", &json!({ "effort": value }))?,
                name => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// Fields that settings cannot replace: the request itself, and streaming, which this codec does not read.
const RESERVED: [&str; 4] = ["model", "messages", "system", "stream"];

/// The system messages and, if JSON is wanted, the words that ask for it: the API has no JSON mode.
fn system(request: &ChatRequest) -> String {
    let mut parts: Vec<&str> = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System)
        .map(|message| message.content.as_str())
        .collect();
    let words = match &request.format {
        ReplyFormat::Text => String::new(),
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

/// The messages without the system messages.
struct Conversation<'a>(&'a [Message]);

impl Serialize for Conversation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for message in self.0.iter().filter(|message| message.role != Role::System) {
            list.serialize_element(message)?;
        }
        list.end()
    }
}

#[derive(Deserialize)]
struct MessagesResponse<'a> {
    #[serde(default)]
    content: Option<Vec<Block>>,
    #[serde(default)]
    stop_reason: Option<Stop>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default)]
    model: Option<String>,
}

/// A content block. Blocks without text (thinking, tools) are not part of the reply.
#[derive(Deserialize)]
struct Block {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    /// The tool of a `tool_use` block.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Stop {
    EndTurn,
    #[serde(rename = "stop_sequence")]
    Sequence,
    MaxTokens,
    #[serde(rename = "model_context_window_exceeded")]
    ContextWindow,
    Refusal,
    #[serde(other)]
    Other,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessagesUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

/// Here `input_tokens` excludes what the cache served or stored; elsewhere in Karat it is the whole request.
fn read_usage(raw: &RawValue) -> Option<Usage> {
    let fields: MessagesUsage = named_counts(raw)?;
    let cached = fields.cache_read_input_tokens.or_zero();
    let input = fields.input_tokens + cached + fields.cache_creation_input_tokens.or_zero();
    usage(input, cached, fields.output_tokens, Count::default())
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
        let tool = br#"{"content":[{"type":"tool_use","id":"1","name":"get","input":{}}],"stop_reason":"tool_use"}"#;
        assert!(Anthropic.parse(tool).unwrap_err().what.contains("a call of the tool \"get\""));
    }

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let body = r#"{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":3}}"#;
        let usage = Anthropic.parse(body.as_bytes()).unwrap().usage.unwrap();
        assert_eq!((usage.input_tokens, usage.cached_input_tokens, usage.output_tokens), (125, 100, 3));
        let without = r#"{"content":[],"usage":{"input_tokens":5,"output_tokens":3,"cache_read_input_tokens":null}}"#;
        assert_eq!(Anthropic.parse(without.as_bytes()).unwrap().usage.unwrap().input_tokens, 5);
        let wrong = r#"{"content":[],"usage":{"input_tokens":"5","output_tokens":3}}"#;
        assert_eq!(Anthropic.parse(wrong.as_bytes()).unwrap().usage, None);
    }
}

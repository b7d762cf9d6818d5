//! OpenAI's Responses API. Nothing is stored at the provider: each request holds the whole conversation, and reasoning
//! comes back encrypted.

use karat_types::{ChatRequest, FinishReason, JsonMode, ModelSpec, Reply, ReplyFormat, Role, ToolCall};
use reqwest::Url;
use reqwest::header::{HeaderMap, InvalidHeaderValue};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::answer::billing::{Bill, UsageWords};
use crate::answer::json::{UnreadableReply, parse_json, raw_member};
use crate::codec::calls::{call_id, raw_turn};
use crate::codec::finish::{embedded_error, end_reply};
use crate::codec::media::MediaForm;
use crate::codec::openai::response_items::{Items, PROTOCOL, write_tools};
use crate::codec::openai::{OFFICIAL, entry, is_strict};
use crate::codec::protocol::{Codec, bearer_headers, call_of_text, url_below, write_body};

/// The Responses API.
pub(crate) struct Responses;

const PATH: &str = "/responses";

/// The part of a reply that carries reasoning from turn to turn where nothing is stored.
const REASONING: [&str; 1] = ["reasoning.encrypted_content"];

impl Codec for Responses {
    fn url(&self, base: &Url, _: &str) -> Url {
        url_below(base, PATH)
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        bearer_headers(key)
    }

    fn write(
        &self,
        model: &ModelSpec,
        host: &str,
        request: &ChatRequest,
        media: MediaForm,
    ) -> serde_json::Result<Vec<u8>> {
        let reasons = host == OFFICIAL && model.is_openai_reasoning();
        write_body(&ResponseRequest { model, request, media, reasons }, request, media)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        parse_json::<ResponseBody<'_>>(body)?.reply(body)
    }

    fn bill(&self, body: &[u8]) -> Bill {
        UsageWords::Responses.read_body(body)
    }
}

struct ResponseRequest<'a> {
    model: &'a ModelSpec,
    request: &'a ChatRequest,
    media: MediaForm,
    reasons: bool,
}

impl Serialize for ResponseRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { model, request, media, reasons } = *self;
        let settings = &request.parameters;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &model.model)?;
        let instructions = system(request);
        if !instructions.is_empty() {
            map.serialize_entry("instructions", &instructions)?;
        }
        map.serialize_entry("input", &Items { messages: &request.messages, media })?;
        if !reasons {
            entry(&mut map, "temperature", &settings.temperature)?;
            entry(&mut map, "top_p", &settings.top_p)?;
        }
        entry(&mut map, "max_output_tokens", &settings.max_tokens)?;
        if !settings.extra.contains_key("text") {
            entry(&mut map, "text", &text_format(model.json_mode, &request.format))?;
        }
        write_tools(&mut map, request)?;
        if !settings.extra.contains_key("store") {
            map.serialize_entry("store", &false)?;
        }
        if !settings.extra.contains_key("include") {
            map.serialize_entry("include", &REASONING)?;
        }
        entry(&mut map, "reasoning", &reasoning(&settings.extra))?;
        for (name, value) in &settings.extra {
            if !is_reserved(name, request) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// Returns whether settings cannot replace a field: the request itself, streaming, which this codec does not read, tools where
/// the request has its own, and what stands in `reasoning`.
fn is_reserved(name: &str, request: &ChatRequest) -> bool {
    match name {
        "model" | "input" | "instructions" | "stream" | "effort" | "reasoning" => true,
        "tools" => !request.tools.is_empty(),
        "tool_choice" => request.tool_choice.is_some(),
        _ => false,
    }
}

/// The settings of reasoning: the suite's own `reasoning`, with `effort` in it.
fn reasoning(extra: &Map<String, Value>) -> Option<Value> {
    let mut reasoning = extra.get("reasoning").and_then(Value::as_object).cloned().unwrap_or_default();
    reasoning.extend(extra.get("effort").map(|effort| ("effort".to_owned(), effort.clone())));
    (!reasoning.is_empty()).then_some(Value::Object(reasoning))
}

/// The system messages.
fn system(request: &ChatRequest) -> String {
    let messages = request.messages.iter().filter(|message| message.role == Role::System);
    messages.flat_map(|message| message.content.texts()).collect::<Vec<_>>().join("\n\n")
}

/// The strongest output format the model supports for the wanted reply; `None` if the prompt alone must ask for it.
fn text_format(mode: JsonMode, wanted: &ReplyFormat) -> Option<Value> {
    let format = match (wanted, mode) {
        (ReplyFormat::Text | ReplyFormat::Vectors { .. }, _) | (_, JsonMode::None) => return None,
        // The protocol can only enforce objects.
        (ReplyFormat::Schema { schema, .. }, _) if schema["type"] != "object" => return None,
        (ReplyFormat::Schema { name, schema }, JsonMode::Schema) => {
            json!({ "type": "json_schema", "name": name, "schema": schema, "strict": is_strict(schema) })
        }
        _ => json!({ "type": "json_object" }),
    };
    Some(json!({ "format": format }))
}

#[derive(Deserialize)]
struct ResponseBody<'a> {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    incomplete_details: Option<IncompleteDetails>,
    #[serde(default)]
    output: Option<Vec<Item>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    service_tier: Option<&'a RawValue>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: Option<String>,
}

/// A part of the output: a message, a call, or reasoning.
#[derive(Deserialize)]
struct Item {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    content: Option<Vec<Part>>,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    /// JSON as text.
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

impl ResponseBody<'_> {
    fn reply(self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        if let Some(error) = self.error.filter(|error| !error.is_null()) {
            return Err(embedded_error(&error));
        }
        let reason = self.incomplete_details.and_then(|details| details.reason);
        let word = match self.status.as_deref() {
            Some("incomplete") => reason.or(self.status),
            _ => self.status,
        };
        // A response that failed may have no output at all.
        let items = match (self.output, word.as_deref()) {
            (Some(items), _) => items,
            (None, Some("failed")) => Vec::new(),
            (None, _) => return Err(UnreadableReply::lacks("output", body)),
        };
        let is_plain = items.iter().all(|item| item.kind == "message");
        let (mut text, mut refusal, mut tool_calls) = (String::new(), String::new(), Vec::new());
        for item in items {
            if item.kind == "function_call" {
                let id = call_id(item.call_id, body, tool_calls.len());
                let name = item.name.unwrap_or_default();
                tool_calls.push(match item.arguments {
                    Value::String(written) => call_of_text(id, name, &written),
                    arguments => ToolCall::from_value(id, name, arguments),
                });
            } else if item.kind == "message" {
                for part in item.content.into_iter().flatten() {
                    text.push_str(part.text.as_deref().unwrap_or_default());
                    refusal.push_str(part.refusal.as_deref().unwrap_or_default());
                }
            }
        }
        let word = if refusal.is_empty() { word } else { Some("refusal".to_owned()) };
        let text = if text.is_empty() { refusal } else { text };
        let raw_turn = if is_plain { None } else { raw_member(body, "output").map(|json| raw_turn(PROTOCOL, json)) };
        let (usage, billing) = UsageWords::Responses.read(self.usage, self.service_tier);
        let reply = Reply::new(text, FinishReason::Other);
        end_reply(Reply { usage, billing, model: self.model, tool_calls, raw_turn, ..reply }, word.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::{Content, Media, MediaSource, Message, Parameters, Part, ToolChoice, ToolDefinition};

    use super::*;

    fn model() -> ModelSpec {
        serde_json::from_value(
            json!({"id": "m", "provider": "openai-responses", "model": "gpt-5-mini", "json_mode": "schema"}),
        )
        .unwrap()
    }

    fn body(request: &ChatRequest) -> Value {
        serde_json::from_slice(&Responses.body(&model(), "gateway.example.com", request).unwrap()).unwrap()
    }

    #[test]
    fn addresses_are_built_below_any_root() {
        for base in ["https://h/v1", "https://h/v1/", "https://h/v1/responses"] {
            assert_eq!(Responses.url(&Url::parse(base).unwrap(), "m").as_str(), "https://h/v1/responses", "{base}");
        }
    }

    /// TG-03: nothing is stored at the provider; system, images, files, bound, schema and effort stand where the API has them.
    #[test]
    fn a_request_stands_in_the_words_of_the_api() {
        let image = Media {
            source: MediaSource::Url("https://h/a.png".to_owned()),
            media_type: None,
            detail: Some("low".to_owned()),
            name: None,
        };
        let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        let parameters = Parameters {
            temperature: Some(0.0),
            max_tokens: Some(9),
            seed: Some(1),
            extra: serde_json::from_value(json!({"effort": "low"})).unwrap(),
            ..Parameters::default()
        };
        let request = ChatRequest {
            messages: vec![
                Message::new(Role::System, "Be brief."),
                Message::new(Role::User, Content::Parts(vec![Part::Text("What?".to_owned()), Part::Image(image)])),
                Message::new(Role::Assistant, "A cat."),
                Message::new(Role::User, "Sure?"),
            ],
            parameters,
            format: ReplyFormat::Schema { name: "answer".into(), schema: Arc::new(schema.clone()) },
            ..ChatRequest::default()
        };
        let wanted = json!({
            "model": "gpt-5-mini",
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [
                    {"type": "input_text", "text": "What?"},
                    {"type": "input_image", "image_url": "https://h/a.png", "detail": "low"}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "A cat."}]},
                {"role": "user", "content": [{"type": "input_text", "text": "Sure?"}]}],
            "temperature": 0.0,
            "max_output_tokens": 9,
            "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": true}},
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "low"},
        });
        assert_eq!(body(&request), wanted);
    }

    /// TG-11: tools, the choice among them, calls and their results; the model's turn goes back as it came.
    #[test]
    fn calls_and_their_results_are_items() {
        let tool = ToolDefinition {
            name: "get".to_owned(),
            about: Some("Gets it.".to_owned()),
            input: Arc::new(json!({"type": "object"})),
        };
        let output = r#"[{"type":"reasoning","id":"r","encrypted_content":"Sg=="},{"type":"function_call","id":"f","call_id":"c1","name":"get","arguments":"{\"id\":\"A1\"}"}]"#;
        let reply = Responses.parse(format!(r#"{{"status":"completed","output":{output}}}"#).as_bytes()).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("", FinishReason::ToolCalls));
        assert_eq!(reply.tool_calls, [ToolCall::from_value("c1", "get", json!({"id": "A1"}))]);
        let turn = Message {
            tool_calls: reply.tool_calls.clone(),
            raw_turn: reply.raw_turn,
            ..Message::new(Role::Assistant, "")
        };
        let plain = Message { raw_turn: None, ..turn.clone() };
        let ask = |turn: Message| {
            body(&ChatRequest {
                messages: vec![Message::new(Role::User, "hi"), turn, Message::tool_result("c1", "shipped")],
                tools: vec![tool.clone()],
                tool_choice: Some(ToolChoice::Tool("get".to_owned())),
                ..ChatRequest::default()
            })
        };
        let sent = ask(turn);
        let items: Value = serde_json::from_str(output).unwrap();
        assert_eq!((&sent["input"][1], &sent["input"][2]), (&items[0], &items[1]));
        assert_eq!(sent["input"][3], json!({"type": "function_call_output", "call_id": "c1", "output": "shipped"}));
        assert_eq!(
            sent["tools"],
            json!([{"type": "function", "name": "get", "description": "Gets it.", "parameters": {"type": "object"}, "strict": false}])
        );
        assert_eq!(sent["tool_choice"], json!({"type": "function", "name": "get"}));
        let call = json!({"type": "function_call", "call_id": "c1", "name": "get", "arguments": "{\"id\":\"A1\"}"});
        assert_eq!(ask(plain)["input"][1], call);
    }

    /// TG-03, TG-80: every form of reply is read, and so is its usage.
    #[test]
    fn every_form_of_reply_is_read() {
        let read = |body: Value| Responses.parse(body.to_string().as_bytes());
        let message = |part: Value| json!([{"type": "reasoning"}, {"type": "message", "content": [part]}]);
        let said = |status: &str, details: Value, part: Value| {
            let reply =
                read(json!({"status": status, "incomplete_details": details, "output": message(part)})).unwrap();
            (reply.text, reply.finish)
        };
        let text = json!({"type": "output_text", "text": "hi"});
        assert_eq!(said("completed", Value::Null, text.clone()), ("hi".to_owned(), FinishReason::Stop));
        let cut = json!({"reason": "max_output_tokens"});
        assert_eq!(said("incomplete", cut, text.clone()), ("hi".to_owned(), FinishReason::Length));
        let filtered = json!({"reason": "content_filter"});
        assert_eq!(said("incomplete", filtered, text), ("hi".to_owned(), FinishReason::Refusal));
        let refusal = json!({"type": "refusal", "refusal": "No."});
        assert_eq!(said("completed", Value::Null, refusal), ("No.".to_owned(), FinishReason::Refusal));
        let cut = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []});
        assert_eq!(read(cut).unwrap().finish, FinishReason::Length, "reasoning used all tokens");
        assert!(read(json!({"status": "completed", "output": []})).unwrap().is_empty());
        let failed = json!({"status": "failed", "error": {"code": "server_error", "message": "Oh."}, "output": []});
        assert!(read(failed).unwrap_err().what.contains("Oh."));
        assert!(read(json!({"status": "failed", "error": null, "output": []})).is_err());
        assert!(read(json!({"choices": []})).unwrap_err().what.contains("has no `output`; it begins"));
        let usage = json!({"input_tokens": 50, "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 5},
            "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}});
        let usage = Responses.bill(json!({"output": [], "usage": usage}).to_string().as_bytes()).0.unwrap();
        assert_eq!((usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens), (50, 20, 5));
        assert_eq!((usage.output_tokens, usage.reasoning_tokens), (9, 4));
    }
}

//! OpenAI's chat completions, which most other providers and every local server speak, too.
//!
//! `chat_turns` writes turns and tools of requests; `embeddings` is the protocol for vectors of texts; `responses` is OpenAI's
//! newer protocol, with its items in `response_items`.

pub(crate) mod chat_turns;
pub(crate) mod embeddings;
pub(crate) mod response_items;
pub(crate) mod responses;

use std::fmt;

use bytes::Bytes;
use karat_types::{ChatRequest, FinishReason, JsonMode, ModelSpec, RawTurn, Reply, ReplyFormat, ToolCall, Usage};
use reqwest::Url;
use reqwest::header::{HeaderMap, InvalidHeaderValue};
use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::billing::{Bill, UsageWords};
use crate::answer::json::{UnreadableReply, parse_json};
use crate::codec::calls::{call_id, raw_turn};
use crate::codec::finish::{embedded_error, end_reply};
use crate::codec::media::MediaForm;
use crate::codec::openai::chat_turns::{Dialect, PROTOCOL, Turns, write_tools};
use crate::codec::protocol::{Codec, answer_of, bearer_headers, call_of_text, url_below, write_body};

/// OpenAI's own dialect.
pub(crate) static OPENAI: OpenAi = OpenAi(Dialect { seed: "seed", any_tool: "required", short_ids: false });
/// Mistral's dialect: other words for the seed and for "any tool", and short ids.
pub(crate) static MISTRAL: OpenAi = OpenAi(Dialect { seed: "random_seed", any_tool: "any", short_ids: true });

/// The chat completions protocol.
pub(crate) struct OpenAi(Dialect);

const PATH: &str = "/chat/completions";
/// The only server that rejects `max_tokens` and any temperature for reasoning models.
pub(crate) const OFFICIAL: &str = "api.openai.com";

impl Codec for OpenAi {
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
        write_body(&CompletionRequest { model, request, dialect: self.0, media, reasons }, request, media)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        parse_json::<Completion<'_>>(body)?.reply(body)
    }

    fn bill(&self, body: &[u8]) -> Bill {
        UsageWords::Chat.read_body(body)
    }
}

struct CompletionRequest<'a> {
    model: &'a ModelSpec,
    request: &'a ChatRequest,
    dialect: Dialect,
    media: MediaForm,
    reasons: bool,
}

impl Serialize for CompletionRequest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let settings = &self.request.parameters;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &self.model.model)?;
        let Self { request, dialect, media, .. } = *self;
        map.serialize_entry("messages", &Turns { messages: &request.messages, dialect, media })?;
        if !self.reasons {
            entry(&mut map, "temperature", &settings.temperature)?;
            entry(&mut map, "top_p", &settings.top_p)?;
        }
        entry(&mut map, if self.reasons { "max_completion_tokens" } else { "max_tokens" }, &settings.max_tokens)?;
        entry(&mut map, dialect.seed, &settings.seed)?;
        if !settings.stop.is_empty() {
            map.serialize_entry("stop", &settings.stop)?;
        }
        if !settings.extra.contains_key("response_format") {
            entry(&mut map, "response_format", &response_format(self.model.json_mode, &self.request.format))?;
        }
        write_tools(&mut map, request, dialect)?;
        for (name, value) in &settings.extra {
            if !is_reserved(name, request) {
                map.serialize_entry(if name == "effort" { "reasoning_effort" } else { name }, value)?;
            }
        }
        map.end()
    }
}

/// Returns whether settings cannot replace a field: the request itself, streaming, which this codec does not read, and tools
/// where the request has its own.
fn is_reserved(name: &str, request: &ChatRequest) -> bool {
    match name {
        "model" | "messages" | "stream" => true,
        "tools" => !request.tools.is_empty(),
        "tool_choice" => request.tool_choice.is_some(),
        _ => false,
    }
}

fn entry<M: SerializeMap, T: Serialize>(map: &mut M, name: &str, value: &Option<T>) -> Result<(), M::Error> {
    value.as_ref().map_or(Ok(()), |value| map.serialize_entry(name, value))
}

/// The strongest output format the model supports for the wanted reply; `None` if the prompt alone must ask for it.
fn response_format(mode: JsonMode, wanted: &ReplyFormat) -> Option<Value> {
    match (wanted, mode) {
        (ReplyFormat::Text | ReplyFormat::Vectors { .. }, _) | (_, JsonMode::None) => None,
        // The protocol can only enforce objects.
        (ReplyFormat::Schema { schema, .. }, _) if schema["type"] != "object" => None,
        (ReplyFormat::Schema { name, schema }, JsonMode::Schema) => Some(json!({
            "type": "json_schema",
            "json_schema": { "name": name, "strict": is_strict(schema), "schema": schema },
        })),
        _ => Some(json!({ "type": "json_object" })),
    }
}

/// Returns whether strict mode accepts a schema: every object closed, all its properties required.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let is_closed = map.get("properties").and_then(Value::as_object).is_none_or(|properties| {
                let required = map.get("required").and_then(Value::as_array);
                map.get("additionalProperties") == Some(&Value::Bool(false))
                    && required.is_some_and(|names| properties.keys().all(|key| names.iter().any(|name| name == key)))
            });
            is_closed && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(default)]
    choices: Vec<Choice>,
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
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: MessageContent,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallBody>>,
}

/// A call of a tool: of a function, or of a custom tool.
#[derive(Deserialize)]
struct CallBody {
    #[serde(default)]
    id: Option<String>,
    #[serde(default, alias = "custom")]
    function: Option<CalledFunction>,
}

#[derive(Deserialize, Default)]
struct CalledFunction {
    #[serde(default)]
    name: Option<String>,
    /// JSON as text; some local servers send the object itself.
    #[serde(default, alias = "input")]
    arguments: Value,
}

impl CallBody {
    fn read(self, body: &[u8], at: usize) -> ToolCall {
        let CalledFunction { name, arguments } = self.function.unwrap_or_default();
        let (id, name) = (call_id(self.id, body, at), name.unwrap_or_default());
        match arguments {
            Value::String(text) => call_of_text(id, name, &text),
            arguments => ToolCall::from_value(id, name, arguments),
        }
    }
}

/// The message of the choice that is the answer, as it was written.
fn raw_message(body: &[u8]) -> Option<RawTurn> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        choices: Vec<RawChoice<'a>>,
    }
    #[derive(Deserialize)]
    struct RawChoice<'a> {
        #[serde(default)]
        index: Option<u64>,
        #[serde(borrow)]
        message: &'a RawValue,
    }
    let body: Body<'_> = parse_json(body).ok()?;
    Some(raw_turn(PROTOCOL, answer_of(body.choices, |choice| choice.index)?.message))
}

impl Completion<'_> {
    fn reply(self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        if let Some(error) = self.error {
            return Err(embedded_error(&error));
        }
        let choice =
            answer_of(self.choices, |choice| choice.index).ok_or_else(|| UnreadableReply::lacks("choices", body))?;
        if let Some(error) = choice.error {
            return Err(embedded_error(&error));
        }
        let message = choice.message.ok_or_else(|| UnreadableReply::lacks("choices[0].message", body))?;
        let written = message.tool_calls.unwrap_or_default();
        let has_ids = written.iter().all(|call| call.id.as_ref().is_some_and(|id| !id.is_empty()));
        let calls = written.into_iter().enumerate().map(|(at, call)| call.read(body, at));
        let tool_calls: Vec<ToolCall> = calls.collect();
        // Without ids the raw turn would not fit the answers to its calls.
        let raw_turn = if tool_calls.is_empty() || !has_ids { None } else { raw_message(body) };
        let refusal = message.refusal.filter(|words| !words.is_empty());
        let word = if refusal.is_some() { Some("refusal") } else { choice.finish_reason.as_deref() };
        // A reasoning model that runs out of tokens and a content filter both omit the content.
        let text = message.content.0.filter(|text| !text.is_empty()).or(refusal).unwrap_or_default();
        let (usage, billing) = UsageWords::Chat.read(self.usage, self.service_tier);
        let reply = Reply::new(text, FinishReason::Other);
        end_reply(Reply { usage, billing, model: self.model, tool_calls, raw_turn, ..reply }, word)
    }
}

/// The content of a message: a text, or a list of parts whose texts are joined.
#[derive(Default)]
struct MessageContent(Option<String>);

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = MessageContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<MessageContent, E> {
        Ok(MessageContent(Some(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<MessageContent, E> {
        Ok(MessageContent(Some(text)))
    }

    fn visit_unit<E>(self) -> Result<MessageContent, E> {
        Ok(MessageContent(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<MessageContent, A::Error> {
        #[derive(Deserialize)]
        struct Part {
            #[serde(default)]
            text: Option<String>,
        }
        let mut all = String::new();
        while let Some(part) = parts.next_element::<Part>()? {
            all.push_str(part.text.as_deref().unwrap_or_default());
        }
        Ok(MessageContent(Some(all)))
    }
}

/// A response body in this protocol, for models without a server.
pub(crate) fn completion(
    model: &ModelSpec,
    text: &str,
    calls: &[(String, &str, String)],
    finish: FinishReason,
    usage: Usage,
) -> serde_json::Result<Bytes> {
    #[derive(Serialize)]
    struct CompletionBody<'a> {
        object: &'static str,
        model: &'a str,
        choices: [ChoiceBody<'a>; 1],
        usage: UsageBody,
    }
    #[derive(Serialize)]
    struct ChoiceBody<'a> {
        index: u32,
        message: MessageBody<'a>,
        finish_reason: &'static str,
    }
    #[derive(Serialize)]
    struct MessageBody<'a> {
        role: &'static str,
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallBody<'a>>,
    }
    #[derive(Serialize)]
    struct CallBody<'a> {
        id: &'a str,
        r#type: &'static str,
        function: FunctionBody<'a>,
    }
    #[derive(Serialize)]
    struct FunctionBody<'a> {
        name: &'a str,
        arguments: &'a str,
    }
    #[derive(Serialize)]
    struct UsageBody {
        prompt_tokens: u64,
        completion_tokens: u64,
        total_tokens: u64,
    }
    let tool_calls: Vec<_> = (calls.iter())
        .map(|(id, name, arguments)| CallBody { id, r#type: "function", function: FunctionBody { name, arguments } })
        .collect();
    let finish_reason = match finish {
        FinishReason::Length => "length",
        _ if tool_calls.is_empty() => "stop",
        _ => "tool_calls",
    };
    // Beside calls, a provider sends null in place of an empty text.
    let content = Some(text).filter(|text| !text.is_empty() || tool_calls.is_empty());
    let message = MessageBody { role: "assistant", content, tool_calls };
    let body = CompletionBody {
        object: "chat.completion",
        model: &model.model,
        choices: [ChoiceBody { index: 0, message, finish_reason }],
        usage: UsageBody {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.total(),
        },
    };
    serde_json::to_vec(&body).map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use karat_types::Parameters;

    use super::*;

    #[test]
    fn addresses_are_built_below_any_root() {
        for (base, url) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("http://localhost:1234/v1/", "http://localhost:1234/v1/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            ("https://h/openai?api-version=1", "https://h/openai/chat/completions?api-version=1"),
        ] {
            assert_eq!(OPENAI.url(&Url::parse(base).unwrap(), "m").as_str(), url);
        }
    }

    #[test]
    fn reasoning_models_are_known_by_name() {
        for name in ["gpt-5", "gpt-5-mini", "o1", "o3-mini", "openai/o4-mini"] {
            assert!(ModelSpec::new(name, "openai").is_openai_reasoning(), "{name}");
        }
        for name in ["gpt-4o", "gpt-5-chat-latest", "omni-moderation", "gpt-4.1"] {
            assert!(!ModelSpec::new(name, "openai").is_openai_reasoning(), "{name}");
        }
    }

    #[test]
    fn reasoning_models_are_asked_in_their_own_words_where_openai_serves_them() {
        let model = serde_json::from_value(json!({"id": "m", "provider": "openai", "model": "gpt-5"})).unwrap();
        let parameters = Parameters { temperature: Some(0.0), max_tokens: Some(9), ..Parameters::default() };
        let request = ChatRequest { parameters, ..ChatRequest::default() };
        let body = |host| serde_json::from_slice::<Value>(&OPENAI.body(&model, host, &request).unwrap()).unwrap();
        assert_eq!(body(OFFICIAL), json!({"model": "gpt-5", "messages": [], "max_completion_tokens": 9}));
        let elsewhere = json!({"model": "gpt-5", "messages": [], "temperature": 0.0, "max_tokens": 9});
        assert_eq!(body("gateway.example.com"), elsewhere);
    }

    #[test]
    fn strict_needs_closed_objects_all_the_way_down() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&closed));
        let open = json!({"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": false});
        assert!(!is_strict(&open));
        let nested =
            json!({"type": "object", "properties": {"a": open}, "required": ["a"], "additionalProperties": false});
        assert!(!is_strict(&nested));
    }

    /// F28: of several choices the one of index 0 is the answer, also where another stands before it.
    #[test]
    fn the_choice_of_index_0_is_the_answer() {
        let text = |choices: &str| OPENAI.parse(format!(r#"{{"choices":[{choices}]}}"#).as_bytes()).unwrap().text;
        let choice =
            |index: &str, text: &str| format!(r#"{{{index}"message":{{"content":"{text}"}},"finish_reason":"stop"}}"#);
        let (one, zero, none) = (choice("\"index\":1,", "b"), choice("\"index\":0,", "a"), choice("", "c"));
        assert_eq!(text(&format!("{one},{zero}")), "a");
        assert_eq!(text(&format!("{zero},{one}")), "a");
        assert_eq!(text(&format!("{none},{one}")), "c");
        assert_eq!(text(&one), "b");
        let call = r#"{"index":0,"message":{"tool_calls":[{"id":"c1","function":{"name":"get","arguments":"{}"}}]}}"#;
        let reply = OPENAI.parse(format!(r#"{{"choices":[{one},{call}]}}"#).as_bytes()).unwrap();
        assert!(reply.raw_turn.unwrap().json.get().contains("c1"));
    }

    #[test]
    fn every_form_of_message_is_read() {
        let text = |message: &str, finish: &str| {
            let body = format!(r#"{{"choices":[{{"message":{message},"finish_reason":{finish}}}]}}"#);
            OPENAI.parse(body.as_bytes()).map(|reply| (reply.text, reply.finish))
        };
        let ok = |text: &str, finish| Ok((text.to_owned(), finish));
        assert_eq!(text(r#"{"content":"hi"}"#, r#""stop""#), ok("hi", FinishReason::Stop));
        assert_eq!(
            text(r#"{"content":[{"type":"text","text":"h"},{"text":"i"}]}"#, "null"),
            ok("hi", FinishReason::Other)
        );
        assert_eq!(text(r#"{"content":null}"#, r#""length""#), ok("", FinishReason::Length));
        assert_eq!(text(r#"{"content":null,"refusal":"No."}"#, r#""stop""#), ok("No.", FinishReason::Refusal));
        assert_eq!(text(r#"{"content":"a","refusal":"No."}"#, r#""stop""#), ok("a", FinishReason::Refusal));
        assert_eq!(text(r#"{"content":"a"}"#, r#""content_filter""#), ok("a", FinishReason::Refusal));
        assert_eq!(text("{}", r#""content_filter""#), ok("", FinishReason::Refusal));
        assert_eq!(text(r#"{"content":"a"}"#, r#""tool_calls""#), ok("a", FinishReason::Other));
        assert_eq!(text(r#"{"content":null,"tool_calls":[]}"#, r#""tool_calls""#), ok("", FinishReason::Stop));
        assert_eq!(text(r#"{"content":null}"#, r#""stop""#), ok("", FinishReason::Stop));
        assert_eq!(text(r#"{"content":"a","tool_calls":[{}]}"#, "null"), ok("a", FinishReason::ToolCalls));
        assert!(text("null", r#""stop""#).is_err());
        assert!(text(r#"{"content":5}"#, r#""stop""#).is_err());
    }

    /// TG-12: a call is part of the reply, with or without words, and whatever the provider calls its end.
    #[test]
    fn a_call_is_part_of_the_reply() {
        let parse = |message: &str, finish: &str| {
            let body = format!(r#"{{"choices":[{{"message":{message},"finish_reason":{finish}}}]}}"#);
            OPENAI.parse(body.as_bytes()).unwrap()
        };
        let called = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":"{\"id\":\"A1\"}"}}]}"#;
        for finish in [r#""tool_calls""#, r#""stop""#, "null"] {
            let reply = parse(called, finish);
            assert_eq!((reply.text.as_str(), reply.finish), ("", FinishReason::ToolCalls), "{finish}");
            assert_eq!(reply.tool_calls, [ToolCall::from_value("c1", "get", json!({"id": "A1"}))]);
            assert_eq!(reply.raw_turn.unwrap().json.get(), called);
        }
        assert_eq!(parse(called, r#""length""#).finish, FinishReason::Length);
        let call = |function: &str| {
            let message = format!(r#"{{"tool_calls":[{{"id":"c1","function":{function}}}]}}"#);
            parse(&message, r#""tool_calls""#).tool_calls.remove(0)
        };
        assert_eq!(call(r#"{"name":"get","arguments":""}"#).arguments, json!({}));
        assert_eq!(call(r#"{"name":"get","arguments":{"a":1}}"#).arguments, json!({"a": 1}));
        assert_eq!(call(r#"{"name":"get","arguments":"{\"a"}"#).raw.as_deref(), Some("{\"a"));
        let custom = r#"{"content":"","tool_calls":[{"type":"custom","custom":{"name":"run","input":"ls"}},{}]}"#;
        let reply = parse(custom, r#""tool_calls""#);
        assert_eq!((reply.tool_calls.len(), reply.tool_calls[0].raw.as_deref()), (2, Some("ls")));
        assert_ne!(reply.tool_calls[0].id, reply.tool_calls[1].id);
        assert_eq!(reply.raw_turn, None);
    }
}

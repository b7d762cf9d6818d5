//! Google's Gemini API: `generateContent`.

use karat_types::{ChatRequest, FinishReason, JsonMode, ModelSpec, RawTurn, Reply, ReplyFormat, Role, ToolCall};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, InvalidHeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::answer::billing::{Bill, UsageWords};
use crate::answer::json::{UnreadableReply, parse_json};
use crate::codec::calls::{call_id, raw_turn};
use crate::codec::finish::{BLOCKED, embedded_error, end_reply};
use crate::codec::gemini_turns::{PROTOCOL, add_tools, contents};
use crate::codec::media::MediaForm;
use crate::codec::protocol::{Codec, answer_of, json_headers, write_body};

/// The `generateContent` protocol.
pub(crate) struct Gemini;

const KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

impl Codec for Gemini {
    fn url(&self, base: &Url, model: &str) -> Url {
        let mut url = base.clone();
        let root = base.path().trim_end_matches('/').to_owned();
        let root = if root.is_empty() { "/v1beta".to_owned() } else { root };
        let model = model.strip_prefix("models/").unwrap_or(model);
        url.set_path(&format!("{root}/models/{model}:generateContent"));
        url
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        json_headers(KEY, key)
    }

    fn write(
        &self,
        model: &ModelSpec,
        _: &str,
        request: &ChatRequest,
        media: MediaForm,
    ) -> serde_json::Result<Vec<u8>> {
        let mut body = Map::new();
        let system = request.messages.iter().filter(|message| message.role == Role::System);
        let instructions: Vec<&str> = system.flat_map(|message| message.content.texts()).collect();
        if !instructions.is_empty() {
            let text = instructions.join("\n\n");
            body.insert("systemInstruction".to_owned(), json!({ "parts": [{ "text": text }] }));
        }
        body.insert("contents".to_owned(), contents(request, media)?);
        let generation = generation(model, request);
        if !generation.is_empty() {
            body.insert("generationConfig".to_owned(), Value::Object(generation));
        }
        let extra = request.parameters.extra.iter().filter(|(name, _)| is_top_level(name));
        body.extend(extra.map(|(name, value)| (name.clone(), value.clone())));
        add_tools(&mut body, request);
        write_body(&body, request, media)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        let answer: GenerateResponse<'_> = parse_json(body)?;
        if let Some(error) = answer.error {
            return Err(embedded_error(&error));
        }
        let (usage, billing) = UsageWords::Gemini.read(answer.usage, None);
        let reply = Reply { usage, billing, model: answer.model, ..Reply::new("", FinishReason::Other) };
        let blocked = answer.feedback.is_some_and(|feedback| feedback.block_reason.is_some());
        let candidates = answer.candidates.unwrap_or_default();
        let Some(candidate) = answer_of(candidates, |candidate| candidate.index) else {
            return match blocked {
                true => end_reply(reply, Some(BLOCKED)),
                false => Err(UnreadableReply::lacks("candidates", body)),
            };
        };
        let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
        let is_plain = parts.iter().all(Part::is_plain);
        let mut text = String::new();
        let mut tool_calls = Vec::new();
        for part in parts {
            if let Some(FunctionCall { id, name, args }) = part.function_call {
                tool_calls.push(ToolCall::from_value(call_id(id, body, tool_calls.len()), name, args));
            } else if let Some(words) = part.text.filter(|_| !part.thought) {
                text.push_str(&words);
            }
        }
        let raw_turn = if is_plain { None } else { raw_content(body) };
        end_reply(Reply { text, tool_calls, raw_turn, ..reply }, candidate.finish_reason.as_deref())
    }

    fn bill(&self, body: &[u8]) -> Bill {
        UsageWords::Gemini.read_body(body)
    }
}

/// The content of the candidate that is the answer, as it was written.
fn raw_content(body: &[u8]) -> Option<RawTurn> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        candidates: Vec<RawCandidate<'a>>,
    }
    #[derive(Deserialize)]
    struct RawCandidate<'a> {
        #[serde(default)]
        index: Option<u64>,
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let body: Body<'_> = parse_json(body).ok()?;
    Some(raw_turn(PROTOCOL, answer_of(body.candidates, |candidate| candidate.index)?.content))
}

/// Settings that stand beside the contents instead of within `generationConfig`.
fn is_top_level(name: &str) -> bool {
    matches!(name, "safetySettings" | "tools" | "toolConfig" | "cachedContent" | "labels")
}

fn generation(model: &ModelSpec, request: &ChatRequest) -> Map<String, Value> {
    let settings = &request.parameters;
    let mut config = Map::new();
    let mut put = |name: &str, value: Option<Value>| config.extend(value.map(|value| (name.to_owned(), value)));
    put("temperature", settings.temperature.map(Value::from));
    put("topP", settings.top_p.map(Value::from));
    put("maxOutputTokens", settings.max_tokens.or(model.max_output).map(Value::from));
    put("seed", settings.seed.map(Value::from));
    put("stopSequences", (!settings.stop.is_empty()).then(|| json!(settings.stop)));
    let wants_json = request.format != ReplyFormat::Text && model.json_mode != JsonMode::None;
    put("responseMimeType", wants_json.then(|| "application/json".into()));
    if let (ReplyFormat::Schema { schema, .. }, JsonMode::Schema) = (&request.format, model.json_mode) {
        put("responseJsonSchema", Some((**schema).clone()));
    }
    if !settings.extra.contains_key("thinkingConfig") {
        put("thinkingConfig", settings.extra.get("effort").map(|effort| json!({ "thinkingLevel": effort })));
    }
    let is_own = |name: &str| !is_top_level(name) && !matches!(name, "contents" | "effort");
    for (name, value) in settings.extra.iter().filter(|(name, _)| is_own(name)) {
        put(name, Some(value.clone()));
    }
    config
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GenerateResponse<'a> {
    #[serde(default)]
    candidates: Option<Vec<Candidate>>,
    #[serde(default, rename = "promptFeedback")]
    feedback: Option<Feedback>,
    #[serde(default, borrow, rename = "usageMetadata")]
    usage: Option<&'a RawValue>,
    #[serde(default, rename = "modelVersion")]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Option<Vec<Part>>,
}

/// A part of the reply. Thoughts and calls of tools are not part of its text.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    #[serde(default, rename = "functionCall")]
    function_call: Option<FunctionCall>,
    #[serde(default, rename = "thoughtSignature")]
    signature: Option<IgnoredAny>,
}

impl Part {
    /// Returns true if it is nothing but words of the reply.
    fn is_plain(&self) -> bool {
        !self.thought && self.function_call.is_none() && self.signature.is_none()
    }
}

#[derive(Deserialize)]
struct FunctionCall {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Value,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::{Message, Parameters};

    use super::*;

    fn model() -> ModelSpec {
        serde_json::from_value(json!({
            "id": "g", "provider": "gemini", "model": "gemini-2.5-flash", "json_mode": "schema", "max_output": 512
        }))
        .unwrap()
    }

    #[test]
    fn addresses_are_built_below_any_root() {
        let url = |base: &str| Gemini.url(&Url::parse(base).unwrap(), "gemini-2.5-flash").to_string();
        let expected = "https://h/v1beta/models/gemini-2.5-flash:generateContent";
        for base in ["https://h", "https://h/", "https://h/v1beta", "https://h/v1beta/"] {
            assert_eq!(url(base), expected, "{base}");
        }
    }

    #[test]
    fn a_request_has_instructions_turns_and_a_form() {
        let message = |role, text: &str| Message::new(role, text);
        let request = ChatRequest {
            messages: vec![
                message(Role::System, "be brief"),
                message(Role::User, "a"),
                message(Role::Assistant, "b"),
                message(Role::User, "c"),
            ],
            parameters: Parameters { temperature: Some(0.0), stop: vec!["END".to_owned()], ..Parameters::default() },
            format: ReplyFormat::Schema { name: "r".to_owned(), schema: Arc::new(json!({"type": "object"})) },
            ..ChatRequest::default()
        };
        let body: Value = serde_json::from_slice(&Gemini.body(&model(), "", &request).unwrap()).unwrap();
        let part = |text: &str| json!([{"text": text}]);
        assert_eq!(
            body,
            json!({
                "systemInstruction": {"parts": part("be brief")},
                "contents": [
                    {"role": "user", "parts": part("a")},
                    {"role": "model", "parts": part("b")},
                    {"role": "user", "parts": part("c")},
                ],
                "generationConfig": {
                    "temperature": 0.0, "maxOutputTokens": 512, "stopSequences": ["END"],
                    "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
                },
            })
        );
    }

    /// TG-11, TG-12: a call is part of the reply, and the turn stays as it was written, signatures included.
    #[test]
    fn a_call_is_part_of_the_reply() {
        let content = r#"{"role":"model","parts":[{"functionCall":{"name":"get","args":{"id":"A1"}},"thoughtSignature":"Sg=="}]}"#;
        let body = format!(r#"{{"candidates":[{{"content":{content},"finishReason":"STOP"}}]}}"#);
        let reply = Gemini.parse(body.as_bytes()).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("", FinishReason::ToolCalls));
        assert_eq!((reply.tool_calls[0].name.as_str(), &reply.tool_calls[0].arguments), ("get", &json!({"id": "A1"})));
        assert_eq!(reply.raw_turn.unwrap().json.get(), content);
        let malformed = br#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
        assert_eq!(Gemini.parse(malformed).unwrap().finish, FinishReason::MalformedCall);
    }

    #[test]
    fn a_reply_has_text_an_end_and_tokens() {
        let body = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"4"},{"text":"2"}],"role":"model"},"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,"thoughtsTokenCount":5,"totalTokenCount":17},"modelVersion":"gemini-2.5-flash"}"#;
        let reply = Gemini.parse(body.as_bytes()).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("42", FinishReason::Length));
        let usage = reply.usage.unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.reasoning_tokens), (10, 7, 5));
        let safety = br#"{"candidates":[{"content":{"parts":[{"text":"4"}]},"finishReason":"SAFETY"}]}"#;
        assert_eq!(Gemini.parse(safety).unwrap().finish, FinishReason::Refusal);
        let blocked = br#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
        assert_eq!(Gemini.parse(blocked).unwrap().finish, FinishReason::Refusal);
        for body in ["{}", "[1]", "<html>", r#"{"error":{"code":400,"message":"bad"}}"#] {
            assert!(Gemini.parse(body.as_bytes()).is_err(), "{body}");
        }
    }
}

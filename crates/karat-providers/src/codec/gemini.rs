//! Google's Gemini API: `generateContent`.

use karat_types::{ChatRequest, FinishReason, JsonMode, Message, ModelSpec, Reply, ReplyFormat, Role, Usage};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, InvalidHeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::codec::protocol::{Codec, UnreadableReply, json_headers, parse_json, write_body};
use crate::codec::usage::{Count, named_counts, raw_member, usage};

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

    fn body(&self, model: &ModelSpec, _: &str, request: &ChatRequest) -> serde_json::Result<Vec<u8>> {
        let mut body = Map::new();
        let instructions: Vec<&str> = of_role(request, |role| role == Role::System).map(content).collect();
        if !instructions.is_empty() {
            let text = instructions.join("\n\n");
            body.insert("systemInstruction".to_owned(), json!({ "parts": [{ "text": text }] }));
        }
        let turns = of_role(request, |role| role != Role::System).map(|message| {
            let role = if message.role == Role::Assistant { "model" } else { "user" };
            json!({ "role": role, "parts": [{ "text": message.content }] })
        });
        body.insert("contents".to_owned(), turns.collect());
        let generation = generation(model, request);
        if !generation.is_empty() {
            body.insert("generationConfig".to_owned(), Value::Object(generation));
        }
        let extra = request.parameters.extra.iter().filter(|(name, _)| is_top_level(name));
        body.extend(extra.map(|(name, value)| (name.clone(), value.clone())));
        write_body(&body, request)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        let answer: GenerateResponse<'_> = parse_json(body)?;
        let usage = answer.usage.and_then(read_usage);
        let blocked = answer.feedback.is_some_and(|feedback| feedback.block_reason.is_some());
        let Some(candidate) = answer.candidates.into_iter().flatten().next() else {
            return match blocked {
                true => Ok(Reply { text: String::new(), finish: FinishReason::Refusal, usage, model: answer.model }),
                false => Err(UnreadableReply::invalid_body("answered without a candidate")),
            };
        };
        let parts = candidate.content.and_then(|content| content.parts).unwrap_or_default();
        let tools: Vec<String> =
            parts.iter().filter_map(|part| Some(part.function_call.as_ref()?.name.clone())).collect();
        let text: String = parts.into_iter().filter(|part| !part.thought).filter_map(|part| part.text).collect();
        if text.is_empty() && !tools.is_empty() {
            return Err(UnreadableReply::tool_call(&tools));
        }
        let finish = match candidate.finish_reason.as_deref() {
            Some("STOP") => FinishReason::Stop,
            Some("MAX_TOKENS") => FinishReason::Length,
            Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => FinishReason::Refusal,
            _ => FinishReason::Other,
        };
        Ok(Reply { text, finish, usage, model: answer.model })
    }

    fn usage(&self, body: &[u8]) -> Option<Usage> {
        raw_member(body, "usageMetadata").and_then(read_usage)
    }
}

fn of_role(request: &ChatRequest, wanted: impl Fn(Role) -> bool) -> impl Iterator<Item = &Message> {
    request.messages.iter().filter(move |message| wanted(message.role))
}

fn content(message: &Message) -> &str {
    &message.content
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
    for (name, value) in settings.extra.iter().filter(|(name, _)| !is_top_level(name) && *name != "contents") {
        match name.as_str() {
            "effort" => put("thinkingConfig", Some(json!({ "thinkingLevel": value }))),
            name => put(name, Some(value.clone())),
        }
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
    content: Option<Content>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Option<Vec<Part>>,
}

/// A part of the reply. Thoughts and tool calls are not part of its text.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    #[serde(default, rename = "functionCall")]
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GenerateUsage {
    prompt_token_count: Count,
    cached_content_token_count: Count,
    candidates_token_count: Count,
    thoughts_token_count: Count,
}

/// Here thinking tokens are counted beside those of the reply; elsewhere in Karat they are part of them.
fn read_usage(raw: &RawValue) -> Option<Usage> {
    let fields: GenerateUsage = named_counts(raw)?;
    let thoughts = fields.thoughts_token_count.or_zero();
    let output = fields.candidates_token_count.or_zero() + thoughts;
    usage(fields.prompt_token_count, fields.cached_content_token_count, output, thoughts)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::Parameters;

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
        let message = |role, text: &str| Message { role, content: text.to_owned() };
        let request = ChatRequest {
            messages: vec![
                message(Role::System, "be brief"),
                message(Role::User, "a"),
                message(Role::Assistant, "b"),
                message(Role::User, "c"),
            ],
            parameters: Parameters { temperature: Some(0.0), stop: vec!["END".to_owned()], ..Parameters::default() },
            format: ReplyFormat::Schema { name: "r".to_owned(), schema: Arc::new(json!({"type": "object"})) },
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
        let tool = br#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"get","args":{}}}]}}]}"#;
        assert!(Gemini.parse(tool).unwrap_err().what.contains("a call of the tool \"get\""));
        for body in ["{}", "[1]", "<html>", r#"{"error":{"code":400,"message":"bad"}}"#] {
            assert!(Gemini.parse(body.as_bytes()).is_err(), "{body}");
        }
    }
}

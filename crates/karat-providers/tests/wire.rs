//! Requests as the server receives them.

use std::sync::Arc;

use karat_types::{ChatRequest, Parameters, ReplyFormat, Role};
use serde_json::{Value, json};
use testkit::{Behaviour, ReceivedRequest};

use crate::bench::{Bench, request, without_port};

fn full_request(format: ReplyFormat) -> ChatRequest {
    let mut extra = serde_json::Map::new();
    extra.insert("reasoning_effort".to_owned(), json!("low"));
    extra.insert("stream".to_owned(), json!(true));
    let parameters = Parameters {
        temperature: Some(0.0),
        max_tokens: Some(500),
        top_p: Some(0.9),
        seed: Some(7),
        stop: vec!["END".to_owned()],
        extra,
    };
    let messages = [
        (Role::System, "You grade answers."),
        (Role::System, "Be strict."),
        (Role::User, "Grade \"this\".\nNow."),
        (Role::Assistant, "{"),
        (Role::User, "That is not JSON."),
    ];
    ChatRequest { parameters, format, ..request(&messages) }
}

fn schema() -> ReplyFormat {
    let schema = json!({
        "type": "object",
        "properties": { "score": { "type": "integer", "minimum": 1, "maximum": 10 } },
        "required": ["score"],
        "additionalProperties": false,
    });
    ReplyFormat::Schema { name: "verdict".to_owned(), schema: Arc::new(schema) }
}

fn shown(received: &ReceivedRequest) -> String {
    let headers: Vec<String> = received
        .headers
        .iter()
        .filter(|(name, _)| name != "content-length")
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    format!("POST {}\n{}\n\n{:#}", received.path, headers.join("\n"), received.json())
}

async fn sent(provider: &str, entry: Value, request: ChatRequest) -> ReceivedRequest {
    let mut bench = Bench::new(provider, Behaviour::ok("x"));
    let mut spec = serde_json::to_value(&bench.spec).unwrap();
    spec.as_object_mut().unwrap().extend(entry.as_object().cloned().unwrap());
    bench.spec = serde_json::from_value(spec).unwrap();
    bench.send(&request).await.outcome.unwrap();
    bench.server.received_requests().remove(0)
}

#[tokio::test]
async fn openai_requests() {
    let received = sent("openai", json!({ "json_mode": "schema" }), full_request(schema())).await;
    without_port(|| insta::assert_snapshot!(shown(&received)));
}

#[tokio::test]
async fn anthropic_requests() {
    let received = sent("anthropic", json!({}), full_request(schema())).await;
    without_port(|| insta::assert_snapshot!(shown(&received)));
}

#[tokio::test]
async fn plain_requests_hold_nothing_that_was_not_asked_for() {
    let plain = || request(&[(Role::User, "Hi")]);
    let openai = sent("openai", json!({}), plain()).await.json();
    assert_eq!(openai, json!({ "model": "mock-model", "messages": [{ "role": "user", "content": "Hi" }] }));
    let anthropic = sent("anthropic", json!({ "max_output": 900 }), plain()).await.json();
    let messages = json!([{ "role": "user", "content": "Hi" }]);
    assert_eq!(anthropic, json!({ "model": "mock-model", "max_tokens": 900, "messages": messages }));
}

#[tokio::test]
async fn the_form_of_a_reply_is_asked_for_as_far_as_the_model_goes() {
    let form = async |mode: &str, format: ReplyFormat| {
        let entry = json!({ "json_mode": mode });
        let ask = ChatRequest { format, ..request(&[(Role::User, "Hi")]) };
        sent("openai", entry, ask).await.json()["response_format"]["type"].clone()
    };
    assert_eq!(form("none", schema()).await, json!(null));
    assert_eq!(form("object", schema()).await, json!("json_object"));
    assert_eq!(form("schema", schema()).await, json!("json_schema"));
    assert_eq!(form("schema", ReplyFormat::Json).await, json!("json_object"));
    assert_eq!(form("schema", ReplyFormat::Text).await, json!(null));
    let list = ReplyFormat::Schema { name: "list".to_owned(), schema: Arc::new(json!({ "type": "array" })) };
    assert_eq!(form("schema", list).await, json!(null));
}

#[tokio::test]
async fn every_compatible_provider_speaks_the_same() {
    for provider in ["openrouter", "groq", "mistral", "deepseek", "together"] {
        let mut ask = request(&[(Role::User, "Hi")]);
        ask.parameters.seed = Some(1);
        let received = sent(provider, json!({}), ask).await;
        assert_eq!(received.path, "/v1/chat/completions", "{provider}");
        let seed = if provider == "mistral" { "random_seed" } else { "seed" };
        assert_eq!(received.json()[seed], 1, "{provider}");
    }
}

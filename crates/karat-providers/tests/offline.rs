//! Models without a server take the same path as those with one.

use std::sync::Arc;
use std::time::Duration;

use karat_providers::{Call, Exchange, Providers, parse};
use karat_types::{CallErrorCode, ChatRequest, ModelSpec, ReplyFormat, Role, SilentObserver};
use serde_json::{Value, json};

use crate::bench::{entry, request, settings};

async fn ask(spec: &ModelSpec, request: &ChatRequest) -> Exchange {
    let providers = Providers::connect(std::slice::from_ref(spec), settings()).unwrap();
    let call = Call { model: "mock", request, body: None, timeout: Duration::from_secs(1), retries: 3, jitter_seed: 1 };
    providers.call(call, &SilentObserver).await
}

#[tokio::test]
async fn a_scripted_reply_is_captured_and_parsed_like_any_other() {
    let with = json!({ "reply": "{{ user | upper }} {{ vars.tail }}", "vars": { "tail": "é" } });
    let spec = entry(json!({ "provider": "scripted", "with": with }));
    let ask_for = request(&[(Role::System, "Shout."), (Role::User, "hello")]);
    let exchange = ask(&spec, &ask_for).await;
    let reply = exchange.outcome.clone().unwrap();
    assert_eq!(reply.text, "HELLO é");
    assert!(reply.usage.unwrap().input_tokens >= 2);
    let body: Value = serde_json::from_slice(&exchange.response).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "HELLO é");
    assert_eq!(parse(&spec, &exchange.response).unwrap(), reply);
    let sent: Value = serde_json::from_slice(&exchange.request).unwrap();
    assert_eq!(sent["messages"][1]["content"], "hello");
    assert_eq!(ask(&spec, &ask_for).await.response, exchange.response, "equal requests get equal bytes");
    assert_eq!((exchange.status, exchange.attempts), (None, 1));
}

#[tokio::test]
async fn a_script_that_fails_is_not_tried_again() {
    let spec = entry(json!({ "provider": "scripted", "with": { "reply": "\n{{ nothing }}" } }));
    let exchange = ask(&spec, &request(&[])).await;
    let error = exchange.outcome.unwrap_err();
    assert_eq!((error.code, exchange.attempts), (CallErrorCode::Process, 1));
    insta::assert_snapshot!(error.message);
}

#[tokio::test]
async fn a_written_reply_is_found_by_what_the_request_holds() {
    let rows = json!([{ "match": "rye", "reply": { "score": 2 } }, { "match": "oats", "reply": "no" }]);
    let spec = entry(json!({ "provider": "scripted", "with": { "replies": rows } }));
    let about = async |text: &str| ask(&spec, &request(&[(Role::User, text)])).await.outcome;
    assert_eq!(about("oats and rye").await.unwrap().text, r#"{"score":2}"#);
    insta::assert_snapshot!(about("wheat").await.unwrap_err().message);
}

#[tokio::test]
async fn the_stub_gives_a_valid_reply() {
    let spec = entry(json!({ "provider": "stub" }));
    let schema =
        json!({ "type": "object", "properties": { "score": { "type": "integer", "minimum": 1, "maximum": 10 } } });
    let format = ReplyFormat::Schema { name: "verdict".to_owned(), schema: Arc::new(schema) };
    let graded = ask(&spec, &ChatRequest { format, ..request(&[(Role::User, "Grade.")]) }).await;
    assert_eq!(graded.outcome.unwrap().text, r#"{"score":5}"#);
    assert_eq!(ask(&spec, &request(&[])).await.outcome.unwrap().text, "This is a stub's reply.");
}

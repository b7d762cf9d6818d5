//! Settings that a model refuses.

use std::time::Duration;

use karat_providers::{Call, unapplied_settings};
use karat_types::{ChatRequest, Parameters, Role, SilentObserver};
use serde_json::{Value, json};
use testkit::{Behaviour, ReceivedRequest, Script};

use crate::bench::{Bench, request};

/// A refusal in OpenAI's form.
fn refusal(param: &str, code: &str, message: &str) -> Behaviour {
    Behaviour::raw(400, json!({"error": {"message": message, "param": param, "code": code}}).to_string())
}

/// A reasoning model: no `max_tokens`, no temperature.
fn reasoning(received: &ReceivedRequest) -> Behaviour {
    let body = received.json();
    if body.get("max_tokens").is_some() {
        let words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return refusal("max_tokens", "unsupported_parameter", words);
    }
    match body.get("temperature") {
        Some(_) => refusal("temperature", "unsupported_value", "Unsupported value: 'temperature' does not support 0."),
        None => Behaviour::ok("42"),
    }
}

fn asked(parameters: Value) -> ChatRequest {
    let parameters: Parameters = serde_json::from_value(parameters).unwrap();
    ChatRequest { parameters, ..request(&[(Role::User, "What is 6 × 7?")]) }
}

/// TG-51: a refused setting is renamed or left out and the request sent again at once; later calls know it. 20 calls one by one
/// are 21 requests and no error.
#[tokio::test]
async fn refused_settings_are_learned() {
    for (parameters, refused) in [(json!({"max_tokens": 9}), 1), (json!({"max_tokens": 9, "temperature": 0.0}), 2)] {
        let bench = Bench::new("openai", Script::by(reasoning));
        let providers = bench.providers();
        let ask = asked(parameters);
        for at in 0..20 {
            let call = Call {
                model: "mock",
                request: &ask,
                body: None,
                timeout: Duration::from_secs(20),
                retries: 0,
                jitter_seed: 1,
            };
            let exchange = providers.call(call, &SilentObserver).await;
            assert_eq!(exchange.outcome.unwrap().text, "42");
            assert_eq!(exchange.attempts, if at == 0 { 1 + refused } else { 1 });
            let sent: Value = serde_json::from_slice(&exchange.request).unwrap();
            assert_eq!((&sent["max_completion_tokens"], sent.get("temperature")), (&json!(9), None), "as it was sent");
            assert_eq!(exchange.failed_attempts.unknown, 0, "a refusal costs nothing");
        }
        assert_eq!(bench.server.requests(), 20 + refused as usize);
    }
}

/// TG-51: calls that run at once learn for themselves, and none fails.
#[tokio::test]
async fn refusals_are_learned_by_many_calls_at_once() {
    let bench = Bench::new("openai", Script::by(reasoning));
    let providers = bench.providers();
    let ask = asked(json!({"max_tokens": 9, "temperature": 0.5}));
    let calls = (0..8).map(|seed| {
        let call = Call {
            model: "mock",
            request: &ask,
            body: None,
            timeout: Duration::from_secs(20),
            retries: 0,
            jitter_seed: seed,
        };
        providers.call(call, &SilentObserver)
    });
    let ends = futures::future::join_all(calls).await;
    assert!(ends.iter().all(|exchange| exchange.outcome.is_ok()));
    assert!((8 + 2..=8 * 3).contains(&bench.server.requests()));
}

/// TG-51: what is wrong with a value or with the request stays an error, after one request.
#[tokio::test]
async fn other_refusals_stay_errors() {
    for answer in [
        refusal("temperature", "decimal_above_max_value", "Invalid 'temperature': decimal above maximum value."),
        refusal("messages", "unsupported_value", "Invalid value"),
        refusal("max_completion_tokens", "unsupported_parameter", "'max_completion_tokens' is not supported"),
        Behaviour::status(400, "This model does not support images"),
    ] {
        let bench = Bench::new("openai", answer.clone());
        let exchange = bench.send(&asked(json!({"temperature": 3.0}))).await;
        assert_eq!((exchange.outcome.unwrap_err().status, bench.server.requests()), (Some(400), 1), "{answer:?}");
    }
}

/// TG-51: a server that refuses whatever is sent is not asked forever.
#[tokio::test]
async fn endless_refusals_end() {
    let script = Script::by(|received| match received.json().get("max_tokens") {
        Some(_) => refusal("max_tokens", "unsupported_parameter", "Use 'max_completion_tokens' instead."),
        None => refusal("max_completion_tokens", "unsupported_parameter", "Use 'max_tokens' instead."),
    });
    let bench = Bench::new("openai", script);
    let exchange = bench.send(&asked(json!({"max_tokens": 9}))).await;
    assert_eq!(exchange.outcome.unwrap_err().status, Some(400));
    assert!(bench.server.requests() <= 10, "{}", bench.server.requests());
}

/// TG-51: effort has the name of each protocol, and what a protocol lacks is named.
#[tokio::test]
async fn effort_is_sent_by_every_protocol() {
    let sent = async |provider: &str, parameters: Value| {
        let answer = match provider {
            "gemini" => Behaviour::raw(
                200,
                json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]}).to_string(),
            ),
            _ => Behaviour::ok("x"),
        };
        let bench = Bench::new(provider, answer);
        let ask = asked(parameters);
        let exchange = bench.send(&ask).await;
        exchange.outcome.unwrap();
        (bench.server.received_requests().remove(0).json(), unapplied_settings(&bench.spec, &ask, &exchange.request))
    };
    let wanted = json!({"effort": "low", "seed": 1});
    let (body, missing) = sent("openai", wanted.clone()).await;
    assert_eq!((&body["reasoning_effort"], body.get("effort"), missing.len()), (&json!("low"), None, 0));
    let (body, missing) = sent("anthropic", wanted.clone()).await;
    assert_eq!((&body["output_config"], missing), (&json!({"effort": "low"}), vec!["seed"]));
    let (body, missing) = sent("gemini", wanted).await;
    assert_eq!(body["generationConfig"]["thinkingConfig"], json!({"thinkingLevel": "low"}));
    assert!(missing.is_empty());
    let (body, _) = sent("openai", json!({"effort": "low", "reasoning_effort": "high"})).await;
    assert_eq!(body["reasoning_effort"], "high", "the protocol's own name wins");
}

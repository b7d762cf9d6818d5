//! Invariant 2, capture before parsing: stored bytes are those that were sent and received, without secrets.

use karat_providers::{Call, Providers};
use karat_types::{Role, SilentObserver};
use testkit::{Behaviour, Script};

use crate::bench::{Bench, KEY, entry, request};

/// Everything of an exchange that can be stored or shown.
fn everything(exchange: &karat_providers::Exchange) -> String {
    format!("{exchange:?} {}", String::from_utf8_lossy(&exchange.response))
}

/// Invariant 2, capture before parsing: a key that the server echoes is removed from body, reply and message.
#[tokio::test]
async fn an_echoed_key_is_removed() {
    for protocol in ["openai", "anthropic"] {
        let bench = Bench::new(protocol, Behaviour::EchoKey);
        let exchange = bench.ask().await;
        let sent = bench.server.received_requests();
        assert!(sent[0].headers.iter().any(|(_, value)| value.contains(KEY)), "the key was sent");
        assert!(!everything(&exchange).contains(KEY), "{protocol}");
        assert!(exchange.outcome.unwrap().text.contains("[secret removed]"));
    }
}

#[tokio::test]
async fn an_echoed_key_is_removed_in_any_escape() {
    let escaped: String = KEY.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let slashed = KEY.replace('/', "\\/");
    for spelling in [escaped, slashed] {
        let body = format!(r#"{{"choices":[{{"message":{{"content":"key {spelling}."}},"finish_reason":"stop"}}]}}"#);
        let exchange = Bench::new("openai", Behaviour::raw(200, body)).ask().await;
        assert_eq!(exchange.outcome.unwrap().text, "key [secret removed].");
    }
}

#[tokio::test]
async fn an_error_that_quotes_the_key_is_cleaned() {
    for answer in [
        Behaviour::status(401, &format!("Incorrect API key provided: {KEY}")),
        Behaviour::redirect(&format!("https://example.com/?key={KEY}")),
        Behaviour::raw(200, format!("your key {KEY} is bad")),
    ] {
        let exchange = Bench::new("openai", answer).ask().await;
        let error = exchange.outcome.clone().unwrap_err();
        assert!(!everything(&exchange).contains(KEY), "{error}");
        assert!(error.message.contains("[secret removed]"), "{error}");
    }
}

/// FT-A1: a request whose body holds a known key is not sent, whichever form the key has there.
#[tokio::test]
async fn a_key_within_a_prompt_is_never_sent() {
    let digits: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    for spelling in [KEY, &digits] {
        let bench = Bench::new("openai", Behaviour::ok("fine"));
        let exchange = bench.send(&request(&[(Role::User, &format!("Is {spelling} a key?"))])).await;
        assert_eq!(bench.server.requests(), 0);
        assert!(String::from_utf8_lossy(&exchange.request).contains("Is [secret removed] a key?"));
        let error = exchange.outcome.unwrap_err();
        assert!(error.message.contains("not sent") && !error.message.contains(spelling), "{error}");
    }
}

#[tokio::test]
async fn a_secret_header_is_sent_and_never_kept() {
    let mut bench =
        Bench::new("openai", Script::by(|received| Behaviour::ok(format!("{:?}", received.header("x-team")))));
    let headers = serde_json::json!({ "X-Team": "Token ${TEAM_TOKEN}", "X-Plain": "plain words" });
    bench.spec.with = serde_json::Map::from_iter([("headers".to_owned(), headers)]);
    bench.settings.secret = std::sync::Arc::new(|name| match name {
        "TEAM_TOKEN" => Some("team-secret-77".to_owned()),
        "MOCK_KEY" => Some(KEY.to_owned()),
        _ => None,
    });
    let exchange = bench.ask().await;
    let received = &bench.server.received_requests()[0];
    assert_eq!(received.header("x-team"), Some("Token team-secret-77"));
    assert_eq!(received.header("x-plain"), Some("plain words"));
    assert!(!everything(&exchange).contains("team-secret-77"));
}

/// Invariant 2, capture before parsing: raw bytes, captured before parsing; the parser reads the captured bytes.
#[tokio::test]
async fn stored_bytes_are_those_sent_and_received() {
    let odd = "{ \"choices\" :\n [{\"message\":{\"content\":\"h\\u00e4\"}}], \"x\": 1.50 }";
    for protocol in ["openai", "anthropic"] {
        let bench = Bench::new(protocol, Behaviour::raw(200, odd));
        let exchange = bench.ask().await;
        assert_eq!(exchange.request, bench.server.bodies()[0]);
        assert_eq!(exchange.response, odd.as_bytes());
        let replayed = karat_providers::parse(&bench.spec, &exchange.response);
        assert_eq!(replayed.is_ok(), exchange.outcome.is_ok());
        assert_eq!(replayed.ok(), exchange.outcome.ok());
    }
}

#[tokio::test]
async fn bytes_before_a_cut_are_kept() {
    let bench = Bench::new("openai", Behaviour::Cut("a text that is cut in the middle".to_owned()));
    let exchange = bench.ask().await;
    assert!(exchange.outcome.is_err());
    assert!(exchange.response.starts_with(b"{\"id\":\"chatcmpl-"), "{:?}", exchange.response);
}

/// Invariant 2, capture before parsing: an offline model beside a real one stores no secret either.
#[tokio::test]
async fn an_offline_model_keeps_no_key() {
    let bench = Bench::new("openai", Behaviour::ok("x"));
    let echo = entry(serde_json::json!({ "id": "echo", "provider": "scripted", "with": { "reply": "{{ user }}" } }));
    let providers = Providers::connect(&[bench.spec.clone(), echo], bench.settings.clone()).unwrap();
    let ask = request(&[(Role::User, &format!("Is {KEY} a key?"))]);
    let call = Call { model: "echo", request: &ask, body: None, timeout: bench.timeout, retries: 0, jitter_seed: 1 };
    let exchange = providers.call(call, &SilentObserver).await;
    assert!(!everything(&exchange).contains(KEY));
    assert!(!String::from_utf8_lossy(&exchange.request).contains(KEY));
    assert_eq!(exchange.outcome.unwrap().text, "Is [secret removed] a key?");
}

#[test]
fn nothing_that_can_be_printed_holds_the_key() {
    let bench = Bench::new("openai", Behaviour::ok("x"));
    let printed = format!("{:?} {:?} {:?}", bench.providers(), bench.settings, SilentObserver);
    assert!(!printed.contains(KEY));
}

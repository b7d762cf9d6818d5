//! Requests of steps to services, as the service receives them.

use std::time::Duration;

use karat_providers::{Exchange, ExternalCall, ExternalTexts, Providers, Settings};
use karat_types::{CallErrorCode, EnvTemplate, EnvTemplatePart, HttpRequest, Request, SilentObserver};
use serde_json::Value;
use testkit::{Behaviour, FakeProvider};

/// Calls this address once; `SERVICE` in its text is filled from the environment.
async fn ask(address: &str, service: &str) -> Exchange {
    let service = service.to_owned();
    let settings = Settings::new(move |name| (name == "SERVICE").then(|| service.clone()));
    let variable = || EnvTemplatePart::Variable { name: "SERVICE".to_owned(), default: None };
    let parts = address.split("SERVICE").map(|text| vec![EnvTemplatePart::Text(text.to_owned())]);
    let url = EnvTemplate(
        parts
            .reduce(|mut all, next| {
                all.push(variable());
                all.extend(next);
                all
            })
            .unwrap(),
    );
    let outside =
        ExternalTexts { http: true, texts: vec![("step query".to_owned(), url.clone())], ..ExternalTexts::default() };
    let request = Request::Http(HttpRequest { method: "GET".to_owned(), url, headers: Vec::new(), body: Value::Null });
    let timeout = Duration::from_secs(20);
    let call = ExternalCall { who: "step query", request: &request, timeout, retries: 0, jitter_seed: 1 };
    Providers::connect_all(&[], &outside, settings).unwrap().call_external(call, &SilentObserver).await
}

/// Headers of every request, unless a step sets others.
#[tokio::test]
async fn requests_say_who_asks_and_whom() {
    let server = FakeProvider::start(Behaviour::raw(200, "fine")).unwrap();
    let exchange = ask(&format!("{}/answers?q=1", server.url()), "").await;
    assert_eq!(exchange.outcome.unwrap().text, "fine");
    let received = &server.received_requests()[0];
    assert_eq!(received.path, "/answers?q=1");
    assert_eq!(received.header("user-agent"), Some(concat!("karat/", env!("CARGO_PKG_VERSION"))));
    assert_eq!((received.header("accept"), received.header("accept-encoding")), (Some("*/*"), Some("identity")));
    assert_eq!(received.header("host"), Some(format!("127.0.0.1:{}", server.port()).as_str()));
}

/// Invariant 2, capture before parsing: a name or password that the environment puts into an address is refused before anything is sent, and shown
/// nowhere.
#[tokio::test]
async fn a_password_in_an_address_is_refused_and_not_shown() {
    let server = FakeProvider::start(Behaviour::raw(200, "fine")).unwrap();
    let host = format!("127.0.0.1:{}", server.port());
    for (address, service) in [
        ("SERVICE/answers", format!("http://somebody:hunter2-secret@{host}")),
        ("SERVICE/answers", format!("http://hunter2-secret@{host}")),
        ("http://SERVICE/answers", format!(":hunter2-secret@{host}")),
    ] {
        let exchange = ask(address, &service).await;
        let shown = format!("{exchange:?} {}", String::from_utf8_lossy(&exchange.request));
        let error = exchange.outcome.expect_err(service.as_str());
        assert_eq!(error.code, CallErrorCode::Unsupported, "{error}");
        assert!(error.message.starts_with("step query: its address holds a user name"), "{error}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(server.requests(), 0);
}

//! The unknown part of a call's cost: an attempt whose connection failed was not sent and costs nothing; every later
//! failure without an answer may have been billed.

use std::time::Duration;

use karat_providers::FailedAttempts;
use karat_types::CallErrorCode;
use testkit::{Behaviour, FakeProvider};

use crate::bench::Bench;
use crate::proxies::at;

/// Asks once, and asserts that the connection failed and nothing can have been billed. Returns the message.
async fn asserts_unbilled(what: &str, bench: Bench) -> String {
    let exchange = bench.ask().await;
    assert_eq!(exchange.failed_attempts, FailedAttempts::default(), "{what}");
    let error = exchange.outcome.unwrap_err();
    assert_eq!(error.code, CallErrorCode::Connect, "{what}: {error}");
    error.message
}

/// Asks once, and asserts that one attempt of unknown cost counts.
async fn asserts_maybe_billed(what: &str, bench: Bench, code: CallErrorCode) {
    let exchange = bench.ask().await;
    assert_eq!(exchange.failed_attempts, FailedAttempts { unknown: 1, ..FailedAttempts::default() }, "{what}");
    assert_eq!(exchange.outcome.unwrap_err().code, code, "{what}");
}

/// BY-05: connection refused, or a host that does not exist.
#[tokio::test]
async fn a_refused_connection_was_not_billed() {
    asserts_unbilled("refused", at("http://127.0.0.1:1/v1", &[])).await;
    asserts_unbilled("refused, TLS", at("https://127.0.0.1:1/v1", &[])).await;
    asserts_unbilled("no such host", at("http://models.invalid/v1", &[])).await;
}

/// BY-05: the server does not speak TLS.
#[tokio::test]
async fn a_failed_tls_handshake_was_not_billed() {
    let bench = at("https://127.0.0.1:PORT/v1", &[]);
    let message = asserts_unbilled("TLS", bench).await;
    assert!(message.contains("the server does not speak https"), "{message}");
}

/// BY-05: the proxy is down, or refuses the tunnel.
#[tokio::test]
async fn a_failed_proxy_was_not_billed() {
    for (scheme, variable) in [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY")] {
        let down = (variable, "http://127.0.0.1:1".to_owned());
        asserts_unbilled("proxy down", at(&format!("{scheme}://models.invalid/v1"), &[down])).await;
    }
    for status in [403, 407, 502] {
        let proxy = FakeProvider::start(Behaviour::status(status, "no")).unwrap();
        asserts_unbilled("no tunnel", at("https://models.invalid/v1", &[("HTTPS_PROXY", proxy.url())])).await;
    }
}

/// BY-05, invariant 10, errors say what to do: a connection that hangs in its TLS handshake or in the proxy's tunnel was not billed, and the proxy
/// is named.
#[tokio::test]
async fn a_connection_that_hangs_was_not_billed() {
    // It accepts connections and sends nothing.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    let proxy = ("HTTPS_PROXY", format!("http://me:hunter2@{silent}"));
    let through = format!(
        "cannot be reached through the proxy http://{silent} (no connection within 300ms); check HTTPS_PROXY, "
    );
    for (mut bench, said) in [
        (at(&format!("https://{silent}/v1"), &[]), "cannot be reached (no connection within 300ms); check `base_url`"),
        (at("https://models.invalid/v1", &[proxy]), &through),
    ] {
        bench.settings.connect_timeout = Duration::from_millis(300);
        let message = asserts_unbilled("hangs", bench).await;
        assert!(message.contains(said) && !message.contains("hunter2"), "{message}");
    }
}

/// BY-05: everything after the request was sent may have been billed: a cut before or within the answer, an answer that is too
/// late, and a proxy that has the request.
#[tokio::test]
async fn a_request_that_was_sent_may_have_been_billed() {
    use CallErrorCode::{Cut, Timeout};
    asserts_maybe_billed("cut before the answer", Bench::new("openai", Behaviour::Drop), Cut).await;
    let half = Behaviour::Cut("a long enough text".to_owned());
    asserts_maybe_billed("cut within the answer", Bench::new("openai", half), Cut).await;
    asserts_maybe_billed("late", Bench::new("openai", Behaviour::Hang).timeout(300), Timeout).await;
    let proxy = FakeProvider::start(Behaviour::Hang).unwrap();
    let bench = at("http://models.invalid/v1", &[("HTTP_PROXY", proxy.url())]).timeout(300);
    asserts_maybe_billed("late, through a proxy", bench, Timeout).await;
    assert_eq!(proxy.requests(), 1);
}

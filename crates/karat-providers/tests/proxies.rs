//! Proxies from the standard environment variables.

use karat_providers::{Providers, Settings};
use karat_types::CallErrorCode;
use testkit::{Behaviour, FakeProvider};

use crate::bench::{Bench, KEY};

/// A model at this address, with these variables beside its key.
pub fn at(address: &str, variables: &[(&'static str, String)]) -> Bench {
    let mut bench = Bench::new("openai", Behaviour::ok("here"));
    bench.spec.base_url = Some(address.replace("PORT", &bench.server.port().to_string()));
    let mut variables = variables.to_vec();
    variables.push(("MOCK_KEY", KEY.to_owned()));
    let secret = Settings::new(move |name| variables.iter().find(|(it, _)| *it == name).map(|(_, it)| it.clone()));
    bench.settings.secret = secret.secret;
    bench
}

/// A request to an `http://` address passes through `HTTP_PROXY`, in either spelling.
#[tokio::test]
async fn plain_addresses_go_through_their_proxy() {
    for name in ["HTTP_PROXY", "http_proxy"] {
        let proxy = FakeProvider::start(Behaviour::ok("through")).unwrap();
        let exchange = at("http://models.invalid:81/v1", &[(name, proxy.url())]).ask().await;
        assert_eq!(exchange.outcome.unwrap().text, "through", "{name}");
        assert_eq!(proxy.received_requests()[0].header("host"), Some("models.invalid:81"));
    }
    let proxy = FakeProvider::start(Behaviour::ok("through")).unwrap();
    let exchange = at("http://127.0.0.1:PORT/v1", &[("HTTPS_PROXY", proxy.url())]).ask().await;
    assert_eq!((exchange.outcome.unwrap().text.as_str(), proxy.requests()), ("here", 0));
}

/// No proxy applies to this machine, or to a host in `NO_PROXY`.
#[tokio::test]
async fn hosts_without_a_proxy_are_asked_themselves() {
    let proxy = FakeProvider::start(Behaviour::ok("through")).unwrap();
    let variables = [("HTTP_PROXY", proxy.url()), ("NO_PROXY", "models.invalid,10.0.0.0/8".to_owned())];
    for address in ["http://localhost:PORT/v1", "http://127.0.0.1:PORT/v1"] {
        let exchange = at(address, &variables).ask().await;
        assert_eq!(exchange.outcome.unwrap().text, "here", "{address}");
    }
    for address in ["http://models.invalid/v1", "http://eu.models.invalid/v1"] {
        let error = at(address, &variables).ask().await.outcome.unwrap_err();
        assert_eq!(error.code, CallErrorCode::Connect, "{address}");
    }
    for address in ["http://localhost.:PORT/v1", "http://models.localhost.:PORT/v1"] {
        // Not every machine resolves these names to itself.
        let text = at(address, &variables).ask().await.outcome.map_or_else(|error| error.message, |reply| reply.text);
        assert_ne!(text, "through", "{address}");
    }
    assert_eq!(proxy.requests(), 0);
    assert_eq!(at("http://others.invalid/v1", &variables).ask().await.outcome.unwrap().text, "through");
}

/// Invariant 10, errors say what to do: errors of a proxy name it, without its password.
#[tokio::test]
async fn errors_name_the_proxy() {
    let asking = FakeProvider::start(Behaviour::raw(407, r#"{"error":"who?"}"#)).unwrap();
    let asking = format!("127.0.0.1:{}", asking.port());
    for (scheme, name) in [("http", "HTTP_PROXY"), ("https", "https_proxy")] {
        for (proxy, code) in [("127.0.0.1:1", CallErrorCode::Connect), (&asking, CallErrorCode::BadRequest)] {
            let bench = at(&format!("{scheme}://models.invalid/v1"), &[(name, format!("http://me:hunter2@{proxy}"))]);
            let error = bench.ask().await.outcome.unwrap_err();
            assert!(error.code == code || scheme == "https", "{error:?}");
            assert!(error.message.contains(&format!("the proxy http://{proxy} ")), "{error:?}");
            assert!(error.message.contains(&format!("; check {name}, ")), "{error:?}");
            assert!(!error.message.contains("hunter2") && !error.message.contains("base_url"), "{error:?}");
        }
    }
    let refused = at("http://127.0.0.1:1/v1", &[("HTTP_PROXY", format!("http://{asking}"))]).ask().await;
    assert!(refused.outcome.unwrap_err().message.contains("check `base_url`"));
}

/// Invariant 2, capture before parsing: an unusable proxy is an error before anything is sent, with its variable and without its value.
#[tokio::test]
async fn an_unusable_proxy_is_an_error() {
    for (name, value) in [("HTTP_PROXY", "socks5://me:hunter2@proxy"), ("https_proxy", "http://me:hunter2@")] {
        let bench = at("http://127.0.0.1:PORT/v1", &[(name, value.to_owned())]);
        let models = std::slice::from_ref(&bench.spec);
        let errors = Providers::connect(models, bench.settings.clone()).map(drop).expect_err("it was taken");
        let said = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.starts_with(&format!("requests cannot be sent: {name} ")), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

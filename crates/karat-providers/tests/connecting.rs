//! Problems that are found before any call.

use std::collections::BTreeMap;

use karat_providers::{Call, ProviderError, Providers, Settings};
use karat_types::{ModelSpec, Role, SilentObserver};
use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider};

use crate::bench::{entry, request};

fn environment(pairs: &[(&str, &str)]) -> Settings {
    let pairs: BTreeMap<String, String> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Settings::new(move |name| pairs.get(name).cloned())
}

fn model(id: &str, json: Value) -> ModelSpec {
    let mut spec = entry(json);
    spec.id = id.to_owned();
    spec.api_key_env = spec.api_key_env.filter(|variable| variable != "MOCK_KEY");
    spec
}

fn errors(models: &[ModelSpec], settings: Settings) -> Vec<ProviderError> {
    Providers::connect(models, settings).map(drop).expect_err("nothing was found")
}

/// Invariant 10, errors say what to do: all problems are reported at once, each with its place and its remedy.
#[test]
fn all_problems_are_found_at_once() {
    let models = [
        model("gpt-5", json!({})),
        model("claude", json!({ "provider": "anthropic" })),
        model("llama", json!({ "provider": "groq", "api_key_env": "MY_GROQ" })),
        model("odd", json!({ "provider": "opnai" })),
        model("gateway", json!({ "base_url": "https://${GATEWAY}/v1" })),
        model("ftp", json!({ "base_url": "ftp://host/v1" })),
        model("user", json!({ "base_url": "https://me:pw@host/v1" })),
        model("no-script", json!({ "provider": "scripted" })),
        model("bad-script", json!({ "provider": "scripted", "with": { "reply": "{% if %}" } })),
        model("bad-option", json!({ "provider": "scripted", "with": { "replay": "x" } })),
        model("stubborn", json!({ "provider": "stub", "with": { "score": 1 } })),
        model("broken-key", json!({ "api_key_env": "BROKEN" })),
        model("twice", json!({ "provider": "stub" })),
        model("twice", json!({ "provider": "stub", "model": "other" })),
    ];
    let found = errors(&models, environment(&[("OPENAI_API_KEY", "  "), ("BROKEN", "sk-a\nb")]));
    let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn an_environment_with_keys_connects_every_provider() {
    let names = ["OPENAI", "ANTHROPIC", "OPENROUTER", "GROQ", "MISTRAL", "DEEPSEEK", "TOGETHER"];
    let models: Vec<ModelSpec> =
        names.iter().map(|name| model(name, json!({ "provider": name.to_lowercase() }))).collect();
    let variables: Vec<String> = names.iter().map(|name| format!("{name}_API_KEY")).collect();
    assert_eq!(errors(&models, environment(&[])).len(), names.len());
    let pairs: Vec<(&str, &str)> = variables.iter().map(|name| (name.as_str(), "sk-x")).collect();
    assert!(Providers::connect(&models, environment(&pairs)).is_ok());
    let catalog: Vec<&str> = karat_providers::catalog().into_iter().map(|(name, _)| name).collect();
    assert!(models.iter().all(|model| catalog.contains(&model.provider.as_str())));
    assert!(catalog.contains(&"scripted") && catalog.contains(&"stub"));
}

/// TG-50: the new providers have their own address and key; servers on this machine need none.
#[test]
fn every_provider_has_its_address() {
    let hosts = karat_providers::http_providers();
    for (name, base_url, keys) in [
        ("fireworks", Some("https://api.fireworks.ai/inference/v1"), &["FIREWORKS_API_KEY"][..]),
        ("xai", Some("https://api.x.ai/v1"), &["XAI_API_KEY"]),
        ("ollama", Some("http://localhost:11434/v1"), &[]),
        ("vllm", Some("http://localhost:8000/v1"), &[]),
        ("openai-compatible", None, &[]),
    ] {
        let host = hosts.iter().find(|host| host.name == name).unwrap();
        assert_eq!((host.base_url, host.key_variables), (base_url, keys));
    }
    let keyless = [model("a", json!({ "provider": "ollama" })), model("b", json!({ "provider": "vllm" }))];
    assert!(Providers::connect(&keyless, environment(&[])).is_ok());
    let found = errors(&[model("c", json!({ "provider": "openai-compatible" }))], environment(&[]));
    assert!(found[0].to_string().contains("write `base_url` into the model's entry"), "{}", found[0]);
}

async fn header(provider: &FakeProvider, spec: ModelSpec, settings: Settings) -> Option<String> {
    let providers = Providers::connect(std::slice::from_ref(&spec), settings).unwrap();
    let ask = request(&[(Role::User, "Hi")]);
    let timeout = std::time::Duration::from_secs(20);
    let call = Call { model: &spec.id, request: &ask, body: None, timeout, retries: 0, jitter_seed: 1 };
    providers.call(call, &SilentObserver).await.outcome.unwrap();
    provider.received_requests().last().unwrap().header("authorization").map(str::to_owned)
}

/// A server on this machine needs no key, and never gets a real one by accident.
#[tokio::test]
async fn the_standard_key_does_not_go_to_a_local_server() {
    let server = FakeProvider::start(Behaviour::ok("x")).unwrap();
    let keys = || environment(&[("OPENAI_API_KEY", "sk-real-key"), ("LOCAL_KEY", "sk-local-key")]);
    let local = json!({ "base_url": server.base_url() });
    assert_eq!(header(&server, model("a", local.clone()), keys()).await, None);
    assert_eq!(header(&server, model("a", local), environment(&[])).await, None);
    let named = json!({ "base_url": server.base_url(), "api_key_env": "LOCAL_KEY" });
    assert_eq!(header(&server, model("a", named), keys()).await.as_deref(), Some("Bearer sk-local-key"));
    let unset = json!({ "base_url": server.base_url(), "api_key_env": "UNSET" });
    assert_eq!(header(&server, model("a", unset), keys()).await, None);
}

#[tokio::test]
async fn the_environment_can_name_the_api_root() {
    let server = FakeProvider::start(Behaviour::ok("x")).unwrap();
    let base_url = server.base_url();
    let keys = environment(&[("OPENAI_API_KEY", "sk-real-key"), ("OPENAI_BASE_URL", &base_url)]);
    assert_eq!(header(&server, model("a", json!({})), keys).await.as_deref(), Some("Bearer sk-real-key"));
    let port = server.port().to_string();
    let spec = json!({ "base_url": "http://127.0.0.1:${PORT}/v1", "model": "${NAME:-fallback}" });
    header(&server, model("a", spec), environment(&[("PORT", &port)])).await;
    assert_eq!(server.received_requests()[1].json()["model"], "fallback");
}

/// Proxies come from the settings only, and never apply to this machine.
#[tokio::test]
async fn a_proxy_does_not_see_local_calls() {
    let server = FakeProvider::start(Behaviour::ok("x")).unwrap();
    let proxied = environment(&[("HTTP_PROXY", "http://127.0.0.1:1"), ("HTTPS_PROXY", "http://127.0.0.1:1")]);
    assert_eq!(header(&server, model("a", json!({ "base_url": server.base_url() })), proxied).await, None);
}

/// Invariant 8, memory is bounded: the engine spawns calls, so their futures must be `Send`; and a thousand are in flight at once, so rarely
/// needed parts (a program, a recording) must not make all of them large.
#[test]
fn calls_can_be_spawned_and_are_small() {
    fn spawns<T: Send>(future: T) {
        assert!(size_of_val(&future) <= 5 << 10, "the future of a call takes {} bytes", size_of_val(&future));
    }
    let providers = Providers::connect(&[], environment(&[])).unwrap();
    let ask = request(&[]);
    let timeout = std::time::Duration::from_secs(1);
    spawns(
        providers
            .call(Call { model: "m", request: &ask, body: None, timeout, retries: 0, jitter_seed: 1 }, &SilentObserver),
    );
}

#[tokio::test]
async fn a_model_that_no_call_was_planned_of_is_not_asked() {
    let providers = Providers::connect(&[], environment(&[])).unwrap();
    let ask = request(&[]);
    let timeout = std::time::Duration::from_secs(1);
    let call = Call { model: "ghost", request: &ask, body: None, timeout, retries: 0, jitter_seed: 1 };
    let exchange = providers.call(call, &SilentObserver).await;
    assert_eq!(exchange.attempts, 0);
    assert!(exchange.outcome.unwrap_err().message.contains("is not connected"));
}

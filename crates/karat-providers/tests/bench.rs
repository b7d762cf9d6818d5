//! Shared by the tests: a fake server, a model that points at it, and a call.

use std::sync::Mutex;
use std::time::Duration;

use karat_providers::{Backoff, Call, Exchange, Providers, Settings};
use karat_types::{CallError, ChatRequest, Event, Message, ModelSpec, Observer, Role, SilentObserver};
use serde_json::{Value, json};
use testkit::{FakeProvider, Script};

/// The key that every model of the tests sends.
pub const KEY: &str = "sk-planted/secret+0123456789";

/// A registry entry.
pub fn entry(json: Value) -> ModelSpec {
    let mut entry = json!({ "id": "mock", "provider": "openai", "model": "mock-model", "api_key_env": "MOCK_KEY" });
    entry.as_object_mut().unwrap().extend(json.as_object().cloned().unwrap());
    serde_json::from_value(entry).unwrap()
}

/// Settings whose environment holds the key, and whose waits are short.
pub fn settings() -> Settings {
    let backoff =
        Backoff { first: Duration::from_millis(1), most: Duration::from_millis(5), total: Duration::from_secs(5) };
    Settings { backoff, ..Settings::new(|name| (name == "MOCK_KEY").then(|| format!("{KEY}\n"))) }
}

/// A request with these messages.
pub fn request(messages: &[(Role, &str)]) -> ChatRequest {
    let messages = messages.iter().map(|(role, content)| Message::new(*role, *content)).collect();
    ChatRequest { messages, ..ChatRequest::default() }
}

/// A server, a model of one protocol that points at it, and the settings of its calls.
pub struct Bench {
    pub server: FakeProvider,
    pub spec: ModelSpec,
    pub settings: Settings,
    pub timeout: Duration,
    pub retries: u32,
}

impl Bench {
    pub fn new(provider: &str, script: impl Into<Script>) -> Self {
        let server = FakeProvider::start(script).unwrap();
        let base_url = if provider == "anthropic" { server.url() } else { server.base_url() };
        let spec = entry(json!({ "provider": provider, "base_url": base_url }));
        Self { server, spec, settings: settings(), timeout: Duration::from_secs(20), retries: 0 }
    }

    pub fn retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    pub fn timeout(self, milliseconds: u64) -> Self {
        Self { timeout: Duration::from_millis(milliseconds), ..self }
    }

    pub fn max_response(self, max_response: usize) -> Self {
        Self { settings: Settings { max_response, ..self.settings }, ..self }
    }

    pub fn providers(&self) -> Providers {
        Providers::connect(std::slice::from_ref(&self.spec), self.settings.clone()).unwrap()
    }

    pub async fn ask(&self) -> Exchange {
        self.send(&request(&[(Role::User, "What is 6 × 7?")])).await
    }

    pub async fn send(&self, request: &ChatRequest) -> Exchange {
        self.observed(request, &SilentObserver).await
    }

    pub async fn observed(&self, request: &ChatRequest, observer: &dyn Observer) -> Exchange {
        let call =
            Call { model: "mock", request, body: None, timeout: self.timeout, retries: self.retries, jitter_seed: 1 };
        self.providers().call(call, observer).await
    }
}

/// Records the waits between attempts.
#[derive(Default)]
pub struct Waits(Mutex<Vec<(u32, u64, CallError)>>);

impl Waits {
    /// Attempt, delay in milliseconds, and error.
    pub fn seen(&self) -> Vec<(u32, u64, CallError)> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Waits {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Retrying { attempt, delay_ms, error, .. } = event {
            self.0.lock().unwrap().push((*attempt, *delay_ms, (*error).clone()));
        }
    }
}

/// Runs `body` with snapshots that do not depend on the port.
pub fn without_port(body: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT");
    settings.add_filter(r"\(os error \d+\)", "(os error N)");
    settings.bind(body);
}

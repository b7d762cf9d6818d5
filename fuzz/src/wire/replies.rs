//! Replies of providers, services and programs, and the lines of recordings.

use std::sync::LazyLock;

use bytes::Bytes;
use karat_providers::{http_providers, parse, parse_external_reply, text_or_hex};
use karat_types::{CommandRequest, ModelSpec, Protocol, Reply, Request};
use serde_json::Value;

/// Every provider, then offline ones.
static MODELS: LazyLock<Vec<ModelSpec>> = LazyLock::new(|| {
    let http = http_providers().into_iter().map(|provider| provider.name);
    http.chain(["command", "stub"]).map(|provider| ModelSpec::new("m", provider)).collect()
});

static EXTERNAL: LazyLock<Vec<Request>> = LazyLock::new(|| {
    let request = |protocol| CommandRequest {
        run: vec!["p".to_owned()],
        input: Value::Null,
        env: Vec::new(),
        protocol,
        folder: String::new(),
    };
    [Protocol::Once, Protocol::Jsonl].map(|protocol| Request::Command(request(protocol))).into()
});

/// The first byte chooses the provider; the rest is the body of an answer.
pub fn run(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    let model = &MODELS[usize::from(*choice) % MODELS.len()];
    let body = Bytes::copy_from_slice(body);
    let reply = parse(model, &body);
    assert_eq!(reply, parse(model, &body), "stored bytes give the same reply as live ones");
    if let Ok(reply) = &reply {
        check_reply(reply);
    }
    for request in EXTERNAL.iter() {
        let reply = parse_external_reply(request, &body);
        assert_eq!(reply, parse_external_reply(request, &body));
    }
    let (text, hex) = text_or_hex(&body);
    assert!(text.is_empty() || hex.is_empty(), "a body is recorded in one form");
    assert_eq!(text.len() + hex.len() / 2, body.len(), "recordings hold whole bodies");
}

fn check_reply(reply: &Reply) {
    let written = serde_json::to_string(reply).unwrap_or_else(|error| panic!("{error}"));
    let read: Reply = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(&read, reply, "a reply survives being written");
    if let Some(usage) = &reply.usage {
        let _ = usage.total();
    }
}

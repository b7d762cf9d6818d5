//! Requests with parts, histories and tools as servers receive them.

use std::sync::Arc;

use bytes::Bytes;
use karat_types::{
    Blob, ChatRequest, Media, MediaSource, Message, Part, RawTurn, Role, ToolCall, ToolChoice, ToolDefinition,
};
use serde_json::{Value, json};
use testkit::Behaviour;

use crate::bench::Bench;

fn media(bytes: &'static [u8], media_type: &str) -> Media {
    let source = MediaSource::Blob(Blob::new(Bytes::from_static(bytes)));
    Media { source, media_type: Some(media_type.to_owned()), detail: None, name: None }
}

fn history() -> Vec<Message> {
    let image = Part::Image(Media { detail: Some("low".to_owned()), ..media(b"\x89PNG", "image/png") });
    let file = Part::File(Media { name: Some("bill.pdf".to_owned()), ..media(b"%PDF", "application/pdf") });
    let words = Part::Text("Which order?".to_owned());
    let calls = [json!({"id": "A1"}), json!({"id": "A2"})];
    let calls = calls.into_iter().enumerate().map(|(at, input)| ToolCall::from_value(format!("c{at}"), "get", input));
    vec![
        Message::new(Role::System, "Be brief."),
        Message::new(Role::User, vec![words, image, file]),
        Message { tool_calls: calls.collect(), ..Message::new(Role::Assistant, "") },
        Message::tool_result("c0", "Monday"),
        Message { is_error: true, ..Message::tool_result("c1", "no such order") },
        Message::new(Role::User, "And {{ this }}?"),
    ]
}

fn tools() -> Vec<ToolDefinition> {
    let input = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let about = Some("Looks an order up.".to_owned());
    vec![ToolDefinition { name: "get".to_owned(), about, input: Arc::new(input) }]
}

async fn sent(provider: &str, request: &ChatRequest) -> (Value, Value) {
    let bench = Bench::new(provider, Behaviour::ok("x"));
    let exchange = bench.send(request).await;
    (bench.server.received_requests().remove(0).json(), serde_json::from_slice(&exchange.request).unwrap())
}

/// TG-03, TG-11: golden bodies of text, image, file, history and tools in each protocol.
#[tokio::test]
async fn conversations_in_each_protocol() {
    let request = ChatRequest {
        messages: history(),
        tools: tools(),
        tool_choice: Some(ToolChoice::Any),
        ..ChatRequest::default()
    };
    for provider in ["openai", "mistral", "anthropic", "gemini"] {
        let (body, _) = sent(provider, &request).await;
        insta::assert_snapshot!(provider, format!("{body:#}"));
    }
}

/// TG-03, TG-11: words for the choice of tools and for the effort.
#[tokio::test]
async fn choices_and_efforts_in_each_protocol() {
    let mut shown = String::new();
    for choice in [ToolChoice::Auto, ToolChoice::None, ToolChoice::Tool("get".to_owned())] {
        let messages = vec![Message::new(Role::User, "Hi")];
        let mut request =
            ChatRequest { messages, tools: tools(), tool_choice: Some(choice.clone()), ..ChatRequest::default() };
        request.parameters.extra.insert("effort".to_owned(), json!("low"));
        for provider in ["openai", "anthropic", "gemini"] {
            let (mut body, _) = sent(provider, &request).await;
            body.as_object_mut()
                .unwrap()
                .retain(|key, _| !["messages", "contents", "tools", "model"].contains(&key.as_str()));
            shown.push_str(&format!("{choice:?} {provider} {body}\n"));
        }
    }
    insta::assert_snapshot!(shown);
}

/// TG-04: a stored body holds digests in the place of bytes, and is otherwise the body that was sent.
#[tokio::test]
async fn stored_bodies_hold_digests() {
    let request = ChatRequest { messages: history(), ..ChatRequest::default() };
    for provider in ["openai", "anthropic", "gemini"] {
        let (sent, stored) = sent(provider, &request).await;
        assert_ne!(sent, stored);
        let text = stored.to_string();
        for bytes in [b"\x89PNG".as_slice(), b"%PDF"] {
            let digest = format!("{{\"$blob\":\"blake3:{}\",\"bytes\":4}}", blake3::hash(bytes).to_hex());
            assert!(text.contains(&digest), "{provider}: {text}");
        }
        assert!(!text.contains("base64,") && !text.contains("iVBORw"), "{provider}: {text}");
    }
}

/// TG-11: a turn goes back as it came by the same protocol; another protocol writes it in its own words.
#[tokio::test]
async fn a_raw_turn_goes_back_as_it_came() {
    for (provider, protocol, raw, at) in [
        (
            "openai",
            "chat",
            json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": []}),
            "/messages/1",
        ),
        (
            "anthropic",
            "anthropic",
            json!([{"type": "thinking", "thinking": "hm", "signature": "Sg=="}]),
            "/messages/1/content",
        ),
        (
            "gemini",
            "gemini",
            json!({"role": "model", "parts": [{"text": "a", "thoughtSignature": "Sg=="}]}),
            "/contents/1",
        ),
    ] {
        let json = serde_json::value::to_raw_value(&raw).unwrap();
        let turn = |protocol: &str| RawTurn { protocol: protocol.into(), json: json.clone().into() };
        let body = async |protocol: &str| {
            let answer = Message { raw_turn: Some(turn(protocol)), ..Message::new(Role::Assistant, "a") };
            let messages = vec![Message::new(Role::User, "Hi"), answer, Message::new(Role::User, "And?")];
            sent(provider, &ChatRequest { messages, ..ChatRequest::default() }).await.0
        };
        assert_eq!(body(protocol).await.pointer(at), Some(&raw), "{provider}");
        assert_ne!(body("other").await.pointer(at), Some(&raw), "{provider}");
    }
}

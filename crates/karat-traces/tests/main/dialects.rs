//! A fixture a convention.

use karat_traces::otlp::TraceRequest;
use karat_traces::{Encoding, Row, SpanRows, rows_of_request};
use serde_json::json;

fn read(name: &str) -> SpanRows {
    let path = format!("{}/../../fixtures/otel/{name}", env!("CARGO_MANIFEST_DIR"));
    let encoding = if name.ends_with(".pb") { Encoding::Protobuf } else { Encoding::Json };
    rows_of_request(TraceRequest::read(&std::fs::read(path).unwrap(), encoding).unwrap())
}

fn only(rows: SpanRows) -> Row {
    assert_eq!((rows.rows.len(), rows.rejected.len()), (1, 0), "{rows:?}");
    rows.rows.into_iter().next().unwrap().1
}

/// SV-21: spans of today's conventions become rows with their input, reply, usage and time; a failed call keeps its error
/// instead of a reply; documents of the trace's retrieval are the row's.
#[test]
fn spans_of_opentelemetry_become_rows() {
    let read = read("gen_ai.json");
    assert_eq!((read.rejected.len(), read.others), (0, 2));
    let services: Vec<_> = read.rows.iter().map(|(service, _)| service.as_deref()).collect();
    assert_eq!(services, [Some("faq-bot"); 3]);
    let row = &read.rows[0].1;
    assert_eq!(row.id, "5b8efff798038103d269b633813f0001/eee19b7ec3c10004");
    assert_eq!(row.time, "2025-11-24T16:00:00.050Z");
    assert_eq!(row.input, json!("What is the refund window?"));
    assert_eq!(row.output, json!("30 days from delivery."));
    assert_eq!(row.messages.len(), 2);
    assert_eq!(row.messages[0], json!({ "role": "system", "content": "You answer from the FAQ." }));
    assert_eq!(row.metadata.model.as_deref(), Some("gpt-5-mini-2026-01-01"));
    assert_eq!(row.metadata.provider.as_deref(), Some("openai"));
    assert_eq!(row.metadata.conversation.as_deref(), Some("conv-1"));
    assert_eq!((row.usage.input_tokens, row.usage.output_tokens), (Some(48), Some(7)));
    assert_eq!(row.latency_ms, Some(850.0));
    assert_eq!(row.contexts[0].id.as_deref(), Some("faq-3"));
    assert_eq!(row.contexts[0].score, Some(0.91));
    let failed = &read.rows[2].1;
    assert_eq!(failed.metadata.error.as_deref(), Some("429"));
    assert!(failed.output.is_null());
}

/// SV-21: protobuf and JSON of the same spans are the same rows.
#[test]
fn both_encodings_give_the_same_rows() {
    let (json, protobuf) = (read("gen_ai.json"), read("gen_ai.pb"));
    assert_eq!(json.rows, protobuf.rows);
    assert_eq!(json.rows.len(), 3);
}

/// SV-21: contents in events, today's and earlier ones; calls of tools as a reply; a call without contents is rejected with
/// the advice that helps; embeddings are not rows.
#[test]
fn contents_are_found_in_events() {
    let read = read("gen_ai-events.json");
    assert_eq!(read.rows.len(), 2);
    let call =
        json!({ "text": null, "tool_calls": [{ "id": "c1", "name": "get_order", "arguments": { "id": "A1" } }] });
    assert_eq!(read.rows[0].1.output, call);
    let row = &read.rows[1].1;
    assert_eq!((&row.input, &row.output), (&json!("Hello?"), &json!("Hello!")));
    assert_eq!(row.messages[0]["role"], "system");
    assert_eq!(row.usage.input_tokens, Some(11));
    assert_eq!(read.rejected.len(), 1);
    assert_eq!(read.rejected[0].reason, "no message content: turn content capture on in the SDK");
    assert_eq!(read.others, 1);
}

/// SV-21: OpenInference's numbered messages, documents and facts of the trace.
#[test]
fn spans_of_openinference_become_rows() {
    let row = only(read("openinference.json"));
    assert_eq!((&row.input, &row.output), (&json!("Who wrote Faust?"), &json!("Goethe")));
    assert_eq!(row.messages.len(), 2);
    assert_eq!(row.contexts[0].content.as_deref(), Some("Goethe wrote Faust."));
    assert_eq!(row.metadata.conversation.as_deref(), Some("s-9"));
    assert_eq!(row.metadata.tags, ["prod", "de"]);
    assert_eq!(row.metadata.more, Some(json!({ "topic": "books" })));
    assert_eq!(row.usage.output_tokens, Some(2));
}

/// SV-21: Langfuse's generations, with their usage and cost.
#[test]
fn generations_of_langfuse_become_rows() {
    let row = only(read("langfuse.json"));
    assert_eq!((&row.input, &row.output), (&json!("Hi?"), &json!("Hello!")));
    assert_eq!(row.metadata.model.as_deref(), Some("gpt-5-mini"));
    assert_eq!(row.metadata.user.as_deref(), Some("u1"));
    assert_eq!(row.metadata.conversation.as_deref(), Some("lf-1"));
    assert_eq!((row.usage.input_tokens, row.usage.cost_usd), (Some(5), Some(1e-5)));
}

/// SV-21: numbered attributes of OpenLLMetry, which names no operation.
#[test]
fn spans_of_openllmetry_become_rows() {
    let read = read("openllmetry.json");
    assert_eq!(read.rows.len(), 2);
    let row = &read.rows[0].1;
    assert_eq!((&row.input, &row.output), (&json!("2+2?"), &json!("4")));
    assert_eq!(row.usage.input_tokens, Some(9));
    assert_eq!(read.rows[1].1.output["tool_calls"][0]["arguments"], json!({ "id": "A1" }));
}

/// SV-21: of the AI SDK's nested spans only the call itself is a row.
#[test]
fn a_call_of_the_ai_sdk_is_one_row() {
    let row = only(read("vercel.json"));
    assert_eq!((&row.input, &row.output), (&json!("Hi"), &json!("Hello")));
    assert_eq!(row.metadata.model.as_deref(), Some("gpt-5-mini-2026-01-01"));
    assert_eq!(row.usage.output_tokens, Some(2));
}

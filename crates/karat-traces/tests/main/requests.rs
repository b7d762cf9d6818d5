//! Requests that are broken, in part or as a whole.

use karat_traces::otlp::TraceRequest;
use karat_traces::{Encoding, Limits, holds_more_values, rows_of_request};
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value, json};

fn request(change: impl FnOnce(&mut Value)) -> Value {
    let mut span = json!({
        "traceId": "5b8efff798038103d269b633813f0001",
        "spanId": "eee19b7ec3c10004",
        "startTimeUnixNano": "1764000000050000000",
        "endTimeUnixNano": 1764000000900000000_u64,
        "unknownField": [1, { "a": null }],
        "attributes": [
            { "key": "gen_ai.operation.name", "value": { "stringValue": "chat" } },
            { "key": "gen_ai.prompt", "value": { "stringValue": "hi" } },
            { "key": "gen_ai.completion", "value": { "stringValue": "hello" } },
        ],
    });
    change(&mut span);
    json!({ "resourceSpans": [{ "resource": null, "scopeSpans": [{ "spans": [span] }] }] })
}

fn rejected(change: impl FnOnce(&mut Value)) -> String {
    let read = TraceRequest::read(request(change).to_string().as_bytes(), Encoding::Json).unwrap();
    let rows = rows_of_request(read);
    assert!(rows.rows.is_empty(), "{rows:?}");
    rows.rejected[0].reason.to_owned()
}

fn accepted(change: impl FnOnce(&mut Value)) -> karat_traces::Row {
    let read = TraceRequest::read(request(change).to_string().as_bytes(), Encoding::Json).unwrap();
    let rows = rows_of_request(read);
    assert_eq!(rows.rejected, []);
    rows.rows.into_iter().next().unwrap().1
}

/// SV-21: unknown fields, nulls, and integers as texts or numbers are read; ids may be base64.
#[test]
fn json_is_read_as_senders_write_it() {
    let row = accepted(|_| ());
    assert_eq!((row.input, row.output, row.latency_ms), (json!("hi"), json!("hello"), Some(850.0)));
    let base64 = accepted(|span| span["traceId"] = "W47/95gDgQPSabYzgT8AAQ==".into());
    assert_eq!(base64.trace_id, "5b8efff798038103d269b633813f0001");
    assert_eq!(accepted(|span| span["endTimeUnixNano"] = json!(1)).latency_ms, None);
}

/// SV-21: a bad id or time rejects its span, not the request.
#[test]
fn a_broken_span_is_rejected_with_its_reason() {
    assert_eq!(rejected(|span| span["traceId"] = "zz".into()), "the trace id is not 32 hexadecimal digits");
    assert_eq!(rejected(|span| span["traceId"] = "0".repeat(32).into()), "the trace id is not 32 hexadecimal digits");
    assert_eq!(rejected(|span| span["spanId"] = Value::Null), "the span id is not 16 hexadecimal digits");
    let time = "the start time is absent or outside of the years 1971 to 9999";
    assert_eq!(rejected(|span| span["startTimeUnixNano"] = json!(0)), time);
    assert_eq!(rejected(|span| span["startTimeUnixNano"] = json!(u64::MAX.to_string() + "0")), time);
}

/// F101: the advice on content capture is given where no content is there; an empty message is one.
#[test]
fn what_a_span_lacks_is_named() {
    let without = |at: usize| move |span: &mut Value| drop(span["attributes"].as_array_mut().unwrap().remove(at));
    assert_eq!(rejected(without(1)), "no input: an output is there, but no message that it answers");
    assert_eq!(rejected(without(2)), "no output: a message is there, but neither a reply nor an error");
    let empty = r#"[{"role":"user","parts":[{"type":"text","content":""}]}]"#;
    let row = accepted(|span| {
        span["attributes"][1] = json!({ "key": "gen_ai.input.messages", "value": { "stringValue": empty } });
    });
    assert_eq!((row.input, row.output), (json!(""), json!("hello")));
}

/// SV-21: bytes that are no request are an error that says which encoding was expected.
#[test]
fn a_request_that_cannot_be_read_says_so() {
    let error = TraceRequest::read(b"{", Encoding::Json).unwrap_err().to_string();
    assert!(error.starts_with("the request is not OTLP JSON: "), "{error}");
    let error = TraceRequest::read(b"{", Encoding::Protobuf).unwrap_err().to_string();
    assert!(error.starts_with("the request is not OTLP protobuf: "), "{error}");
}

proptest! {
    /// SV-21: whatever bytes arrive, reading ends with rows or an error.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            if let Ok(request) = TraceRequest::read(&bytes, encoding) {
                rows_of_request(request);
            }
        }
    }

    /// SV-21: values of any shape in the attributes that are read.
    #[test]
    fn values_of_any_shape_are_read_or_rejected(text in r#"[\[\{"a-z:,0-9\}\]]{0,40}"#, name in 0_usize..6) {
        let names = ["gen_ai.prompt", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt.0.content",
            "llm.input_messages.0.message.role", "langfuse.observation.input"];
        let request = request(|span| {
            let attributes = span["attributes"].as_array_mut().unwrap();
            attributes.push(json!({ "key": names[name], "value": { "stringValue": text } }));
        });
        let read = TraceRequest::read(request.to_string().as_bytes(), Encoding::Json).unwrap();
        let rows = rows_of_request(read);
        prop_assert_eq!(rows.rows.len() + rows.rejected.len(), 1);
    }
}

/// X8: a request of very many spans or values is refused before it is in memory, in both encodings and wherever they are;
/// texts count as one value, whatever they hold.
#[test]
fn requests_are_measured_before_they_are_read() {
    let limits = Limits { spans: 100, values: 1_000 };
    let read = |bytes: &[u8], encoding| TraceRequest::read_within(bytes, encoding, limits);
    let json = |spans: String| format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{spans}]}}]}}]}}");
    let spans = |n: usize| json(vec!["{}"; n].join(","));
    let attributes = |n: usize| json(format!("{{\"attributes\":[{}]}}", vec!["{}"; n].join(",")));
    let scopes = format!("{{\"resourceSpans\":[{}]}}", vec!["{\"scopeSpans\":[{\"spans\":[{},{}]}]}"; 51].join(","));
    for (text, wanted) in [(spans(101), "100 spans"), (scopes, "100 spans"), (attributes(1_001), "1000 values")] {
        let error = read(text.as_bytes(), Encoding::Json).unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains(wanted), "{error}");
        let message = TraceRequest::read(text.as_bytes(), Encoding::Json).unwrap().encode_to_vec();
        let error = read(&message, Encoding::Protobuf).unwrap_err();
        assert!(error.is_too_large() && error.to_string().contains(wanted), "{error}");
    }
    for text in [spans(100), attributes(400)] {
        let request = read(text.as_bytes(), Encoding::Json).unwrap();
        assert_eq!(read(&request.encode_to_vec(), Encoding::Protobuf).unwrap(), request);
    }
    let nested = (0..30).fold(String::from("{}"), |inner, _| {
        format!("{{\"arrayValue\":{{\"values\":[{inner}{}]}}}}", ",{}".repeat(40))
    });
    let deep = json(format!("{{\"attributes\":[{{\"key\":\"a\",\"value\":{nested}}}]}}"));
    assert!(read(deep.as_bytes(), Encoding::Json).unwrap_err().is_too_large());
    let message = TraceRequest::read(deep.as_bytes(), Encoding::Json).unwrap().encode_to_vec();
    assert!(read(&message, Encoding::Protobuf).unwrap_err().is_too_large());
    assert!(!holds_more_values(format!("[\"{}\"]", ",\\\"[{".repeat(999)).as_bytes(), 10));
    assert!(!read(b"{", Encoding::Json).unwrap_err().is_too_large());
    assert!(!read(&[7; 9], Encoding::Protobuf).unwrap_err().is_too_large());
}

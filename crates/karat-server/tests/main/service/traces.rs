//! Traces that applications send.

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use karat_app::Role;
use karat_server::Purpose;
use karat_traces::otlp::{RpcStatus, TraceRequest, TraceResponse};
use prost::Message;
use serde_json::json;
use tower::ServiceExt;

use crate::pages::{all, named, open, text, texts};
use crate::place::Place;

const JSON: &str = "Content-Type: application/json";
const LINES: &str = "Content-Type: application/x-ndjson";

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/otel/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn stored(place: &Place, dataset: &str) -> Vec<serde_json::Value> {
    let folder = place.folder.path().join("traces").join(dataset);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let text: String = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Sends bytes, and returns status, kind and bytes of the answer.
fn send_bytes(place: &Place, headers: &[(&str, &str)], body: Vec<u8>) -> (StatusCode, String, Vec<u8>) {
    let mut request = Request::post("/v1/traces").header("Host", "localhost").header("Content-Length", body.len());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body)).unwrap();
    place.runtime.block_on(async {
        let response = place.router().oneshot(request).await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        (response.status(), kind, to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec())
    })
}

/// SV-21: spans in both encodings, also compressed, become the same rows of the service's dataset; sent again they replace
/// themselves.
#[test]
fn spans_in_both_encodings_become_rows() {
    let place = Place::serve();
    let answer = place.send("POST", "/v1/traces", &[JSON], &String::from_utf8(fixture("gen_ai.json")).unwrap());
    assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "{}"));
    let rows = stored(&place, "faq-bot");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["output"], "30 days from delivery.");

    let (status, kind, bytes) = send_bytes(
        &place,
        &[("Content-Type", "application/x-protobuf"), ("X-Karat-Dataset", "copy"), ("Content-Encoding", "gzip")],
        gzip(&fixture("gen_ai.pb")),
    );
    assert_eq!((status, kind.as_str()), (StatusCode::OK, "application/x-protobuf"));
    assert_eq!(TraceResponse::decode(bytes.as_slice()).unwrap(), TraceResponse::default());
    assert_eq!(stored(&place, "copy"), rows);

    place.send("POST", "/v1/traces", &[JSON], &String::from_utf8(fixture("gen_ai.json")).unwrap());
    let datasets = place.get("/traces").json();
    assert_eq!(datasets["items"][1]["name"], "faq-bot");
    assert_eq!(datasets["items"][1]["rows"], 3);
}

/// SV-21: what cannot be a row is counted with its reason; a request that cannot be read is an error of the protocol.
#[test]
fn rejected_spans_are_counted_and_errors_are_those_of_the_protocol() {
    let place = Place::serve();
    let answer = place.send("POST", "/v1/traces", &[JSON], &String::from_utf8(fixture("gen_ai-events.json")).unwrap());
    let partial = &answer.json()["partialSuccess"];
    assert_eq!(partial["rejectedSpans"], 1);
    assert_eq!(partial["errorMessage"], "no message content: turn content capture on in the SDK");

    let broken = place.send("POST", "/v1/traces", &[JSON], "{");
    assert_eq!((broken.status, broken.json()["code"].clone()), (StatusCode::BAD_REQUEST, json!(3)));
    let (status, kind, bytes) = send_bytes(&place, &[("Content-Type", "application/x-protobuf")], vec![7]);
    assert_eq!((status, kind.as_str()), (StatusCode::BAD_REQUEST, "application/x-protobuf"));
    assert!(RpcStatus::decode(bytes.as_slice()).unwrap().message.contains("not OTLP protobuf"));

    let named = place.send("POST", "/v1/traces", &[JSON, "X-Karat-Dataset: ../x"], "{}");
    assert_eq!(named.status, StatusCode::BAD_REQUEST);
    let form = place.send("POST", "/v1/traces", &["Content-Type: text/plain"], "{}");
    assert_eq!(form.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// SV-21: lines are rows; one that is none is rejected by its number, and so is one from the future.
#[test]
fn lines_are_rows_and_broken_ones_are_rejected_by_number() {
    let place = Place::serve();
    let lines = "{\"input\":\"q\",\"output\":\"a\"}\n\n{\"input\":\"q\"}\n{\"input\":\"q\",\"output\":\"a\",\"time\":\"2026-07-01T00:00:00Z\"}\n";
    let answer = place.send("POST", "/traces?dataset=faq", &[LINES], lines);
    assert_eq!(answer.status, StatusCode::OK);
    let added = answer.json();
    assert_eq!((&added["accepted"], &added["duplicates"], &added["sampled_out"]), (&json!(1), &json!(0), &json!(0)));
    assert_eq!(added["rejected"][0]["line"], 3);
    assert_eq!(
        added["rejected"][1],
        json!({ "line": 4, "reason": "the call begins in the future: check the clock of the sender" })
    );
    assert_eq!(stored(&place, "faq").len(), 1);
    let again = place.send("POST", "/traces?dataset=faq", &[LINES], "{\"input\":\"q\",\"output\":\"a\"}");
    assert_eq!(again.json()["duplicates"], 1);
    assert_eq!(place.send("POST", "/traces", &[LINES], "{}").status, StatusCode::BAD_REQUEST);
    assert_eq!(place.send("POST", "/traces?dataset=.x", &[LINES], "{}").status, StatusCode::BAD_REQUEST);
}

/// SV-20, SV-22: the rules of a suite below the root hold before the disk: what it redacts is not there, and a share keeps
/// its traces. Without a rule, keys are still not kept.
#[test]
fn the_rules_of_a_suite_hold_before_the_disk() {
    let place = Place::serve();
    let suite = "name: s\nprivacy: { redact: [email] }\ntraces: { faq: { sample: 50% }, secret: {} }\n";
    place.write("one/karat.yaml", suite);
    place.write("two/karat.yaml", "name: t\nprivacy: { sensitive: true }\ntraces: { secret: {} }\n");
    let lines: String = (0..100)
        .map(|n| format!("{{\"input\":\"ann@example.com asks {n}\",\"output\":\"sk-abcdefghijklmnopqrstuvwx\"}}\n"))
        .collect();
    let added = place.send("POST", "/traces?dataset=faq", &[LINES], &lines).json();
    let kept = added["accepted"].as_u64().unwrap();
    assert_eq!(kept + added["sampled_out"].as_u64().unwrap(), 100);
    assert!((25..75).contains(&kept), "{kept}");
    let rows = stored(&place, "faq");
    assert!(rows.iter().all(|row| row["p"] == 0.5 && row["input"].as_str().unwrap().starts_with("[email] asks")));

    place.send("POST", "/traces?dataset=secret", &[LINES], &lines);
    let row = &stored(&place, "secret")[0];
    assert!(row["input"]["hash"].as_str().unwrap().starts_with("blake3:"), "{row}");
    place.send("POST", "/traces?dataset=other", &[LINES], &lines);
    let row = &stored(&place, "other")[0];
    assert_eq!(row["output"], "[api_key]");
    assert!(row["input"].as_str().unwrap().contains("ann@example.com"));
}

/// SV-08, SV-21: the token of an application sends traces and does nothing else; a server that only shows runs takes none.
#[test]
fn a_token_of_an_application_sends_traces_only() {
    let place = Place::serve();
    let token = place.app.service().create_token("app", Role::Ingest, None).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.text);
    let line = "{\"input\":\"q\",\"output\":\"a\"}";
    assert_eq!(place.send("POST", "/traces?dataset=faq", &[LINES, &bearer], line).status, StatusCode::OK);
    assert_eq!(place.send("POST", "/traces?dataset=faq", &[LINES], line).status, StatusCode::UNAUTHORIZED);
    assert_eq!(place.send("GET", "/traces", &[&bearer], "").status, StatusCode::FORBIDDEN);
    let reader = place.app.service().create_token("reader", Role::Run, None).unwrap();
    let bearer = format!("Authorization: Bearer {}", reader.text);
    assert_eq!(place.send("POST", "/traces?dataset=faq", &[LINES, &bearer], line).status, StatusCode::FORBIDDEN);
    let view = Place::new(Purpose::View { style: false });
    assert_eq!(view.send("POST", "/traces?dataset=faq", &[LINES], line).status, StatusCode::FORBIDDEN);
}

/// SV-05, SV-21: a body may have 20 MiB, also after decompression, and other requests no more than before.
#[test]
fn the_limit_holds_after_decompression() {
    let place = Place::serve();
    let text = " ".repeat(21 << 20).into_bytes();
    let headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    assert_eq!(send_bytes(&place, &headers, gzip(&text)).0, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(send_bytes(&place, &headers[..1], text.clone()).0, StatusCode::PAYLOAD_TOO_LARGE);
    let large = format!("{{\"resourceSpans\":[]{}}}", " ".repeat(2 << 20)).into_bytes();
    assert_eq!(send_bytes(&place, &headers[..1], large).0, StatusCode::OK);
    let other = place.send("POST", "/eval/run", &[JSON], &" ".repeat(2 << 20));
    assert_eq!(other.status, StatusCode::PAYLOAD_TOO_LARGE);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// F73: a browser gets a page of the datasets instead of JSON; from it a reader comes to the calls of a day, newest first,
/// and to one trace with its messages and replies. What is not there says so.
#[test]
fn traces_are_read_on_pages() {
    let place = Place::serve();
    let line = |trace: char, span: char, minute: u8, input: &str| {
        let (trace, span) = (trace.to_string().repeat(32), span.to_string().repeat(16));
        let time = format!("2026-01-05T10:{minute:02}:00Z");
        json!({ "trace_id": trace, "span_id": span, "time": time, "input": input, "output": format!("<b>{input}!</b>"),
            "metadata": { "model": "m1", "service": "shop" }, "contexts": [{ "id": "doc", "content": "Thirty days." }] })
    };
    let lines = [line('a', '1', 1, "first"), line('a', '2', 2, "second"), line('b', '1', 3, "third")];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let added = place.send("POST", "/traces?dataset=faq", &[LINES], &lines).json();
    assert_eq!((&added["accepted"], &added["rejected"]), (&json!(3), &json!([])));

    let moved = place.page("/traces");
    assert_eq!((moved.status, moved.header("location")), (StatusCode::SEE_OTHER, "/service/traces"));
    assert_eq!(place.get("/traces").json()["items"][0]["rows"], 3);
    let datasets = open(&place, "/service/traces");
    assert_eq!(all(&datasets, "[data-testid=traces-row] a[href='/service/traces/faq']").len(), 1);

    let day = open(&place, "/service/traces/faq");
    let rows = texts(&day, "trace-row");
    assert_eq!(rows.len(), 3);
    assert!(rows[0].contains("third") && rows[2].contains("first") && rows[0].contains("m1"), "{rows:?}");
    let words = open(&place, "/service/traces/faq?q=SECOND");
    assert_eq!(named(&words, "trace-row").len(), 1);
    for (path, reason) in
        [("?q=nothing", "No call of 2026-01-05 has this text"), ("?day=2026-01-06", "No call of 2026-01-06")]
    {
        let page = open(&place, &format!("/service/traces/faq{path}"));
        assert!(texts(&page, "empty-state")[0].contains(reason), "{path}");
    }

    let link = all(&words, "[data-testid=trace-row] th a")[0].attr("href").unwrap().to_owned();
    let trace = open(&place, &link);
    let steps = texts(&trace, "trace-step");
    assert_eq!(steps.len(), 2);
    assert!(
        steps[0].contains("first") && steps[0].contains("<b>first!</b>") && steps[0].contains("Thirty days."),
        "{steps:?}"
    );
    assert!(text(all(&trace, ".facts-list")[0]).contains("shop"));
    assert_eq!(all(&trace, "b").len(), 0);
    for path in [
        "/service/traces/none",
        "/service/traces/..%2Fx",
        "/service/traces/faq/trace?id=cccc",
        "/service/traces/faq/trace",
    ] {
        assert_eq!(place.page(path).status, StatusCode::NOT_FOUND, "{path}");
    }
}

/// X8: a request of more spans or values than are read at once is refused with what to do, before it takes memory, in both
/// encodings; the server answers meanwhile.
#[test]
fn requests_that_are_small_only_in_bytes_are_refused() {
    let place = Place::serve();
    let spans = |n: usize| {
        format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}]}}", vec!["{}"; n].join(",")).into_bytes()
    };
    let small = TraceRequest::read(&spans(10_001), karat_traces::Encoding::Json).unwrap().encode_to_vec();
    for (kind, body) in [
        ("application/json", gzip(&spans(10_001))),
        ("application/json", gzip(&spans(4_000_000))),
        ("application/x-protobuf", gzip(&small)),
    ] {
        let (status, _, answer) = send_bytes(&place, &[("Content-Type", kind), ("Content-Encoding", "gzip")], body);
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("in several requests"), "{answer}");
    }
    let (status, ..) = send_bytes(&place, &[("Content-Type", "application/json")], spans(10_000));
    assert_eq!(status, StatusCode::OK);
}

/// X9: of many lines that are not rows the first are listed and all are counted; more rows or values than are read at once are
/// refused.
#[test]
fn rejected_lines_are_listed_up_to_a_number() {
    let place = Place::serve();
    let lines = format!("{}{{\"input\":\"q\",\"output\":\"a\"}}\n", "1\n".repeat(1_000_000));
    let answer = place.send("POST", "/traces?dataset=faq", &[LINES], &lines);
    let added = answer.json();
    assert_eq!((&added["accepted"], &added["rejected_lines"]), (&json!(1), &json!(1_000_000)));
    assert_eq!(added["rejected"].as_array().unwrap().len(), 20);
    assert!(answer.text.len() < 10_000);
    let values = format!("{{\"input\":[0{}],\"output\":1}}", ",0".repeat(3_000_000));
    let rows = "{\"input\":1,\"output\":1}\n".repeat(50_001);
    for body in [values, rows] {
        let refused = place.send("POST", "/traces?dataset=faq", &[LINES], &body);
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(refused.text.contains("in several requests"), "{}", refused.text);
    }
}

/// X10: rows of more days than one request may have are refused by what the sender can do, and not told to try again.
#[test]
fn rows_of_very_many_days_are_refused() {
    let place = Place::serve();
    let line = |n: u32| {
        let day = format!("{}-{:02}-{:02}", 2000 + n / 336, n / 28 % 12 + 1, n % 28 + 1);
        format!("{{\"input\":1,\"output\":1,\"time\":\"{day}T00:00:00Z\"}}\n")
    };
    let many: String = (0..1_500).map(line).collect();
    let refused = place.send("POST", "/traces?dataset=faq", &[LINES], &many);
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(refused.text.contains("1500 days") && refused.text.contains("by time"), "{}", refused.text);
    let some: String = (0..60).map(line).collect();
    assert_eq!(place.send("POST", "/traces?dataset=faq", &[LINES], &some).json()["accepted"], 60);
}

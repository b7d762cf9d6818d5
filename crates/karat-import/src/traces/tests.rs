//! Files of traces.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::TraceRows;
use crate::ImportKind;
use crate::recorded::testing::{Imported, fixture, import_file, import_files};

const CALLS: ImportKind = ImportKind::Traces(TraceRows::Calls);
const TRACES: ImportKind = ImportKind::Traces(TraceRows::Traces);

fn outputs(imported: &Imported) -> Vec<Value> {
    imported.rows("data/outputs/recorded.jsonl")
}

/// IO-10: JSON, protobuf, a request a line and gzip give the same rows: content, contexts, tokens, errors.
#[test]
fn all_encodings_give_the_same_rows() {
    let json = import_file(CALLS, &fixture("otel/gen_ai-traces.json"));
    let protobuf = import_file(CALLS, &fixture("otel/gen_ai-traces.pb"));
    let rows = json.rows("data/samples.jsonl");
    assert_eq!(rows, protobuf.rows("data/samples.jsonl"));
    assert_eq!(outputs(&json), outputs(&protobuf));
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["id"].as_str().unwrap().len(), 49);
    assert!(rows[0]["contexts"].is_array() && rows[0]["messages"].is_array(), "{}", rows[0]);
    let failed: Vec<Value> = outputs(&json).into_iter().filter(|row| row.get("error").is_some()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!((&failed[0]["error"], &failed[0]["output"]), (&json!("429"), &Value::Null));
    let text = std::fs::read_to_string(fixture("otel/gen_ai-traces.json")).unwrap();
    let line: Value = serde_json::from_str(&text).unwrap();
    let lines = format!("{line}\n{line}\n");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(lines.as_bytes()).unwrap();
    let packed = import_files(CALLS, &[("t.jsonl.gz", &gzip.finish().unwrap())], "t.jsonl.gz").unwrap();
    assert_eq!(packed.rows("data/samples.jsonl"), rows);
}

/// IO-10: the conventions of OpenInference and Langfuse; facts of the trace are those of its other spans.
#[test]
fn conventions_are_read() {
    let phoenix = import_file(CALLS, &fixture("otel/openinference-traces.json"));
    let rows = phoenix.rows("data/samples.jsonl");
    assert_eq!(rows.len(), 1);
    assert!(rows[0]["contexts"][0]["content"].is_string() && rows[0]["conversation"].is_string(), "{}", rows[0]);
    let langfuse = import_file(CALLS, &fixture("otel/langfuse-otel-traces.json"));
    let rows = langfuse.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["input"], &outputs(&langfuse)[0]["output"]), (&json!("Hi?"), &json!("Hello!")));
    assert_eq!(outputs(&langfuse)[0]["cost_usd"], json!(1e-5));
    let suite = langfuse.suite();
    assert_eq!((&suite["dataset"]["date"], &suite["dataset"]["cluster"]), (&json!("time"), &json!("trace_id")));
}

/// IO-10: a row a trace has the input and output of its root, and the tokens of all its calls.
#[test]
fn traces_are_rows_of_their_roots() {
    let traces = import_file(TRACES, &fixture("otel/openinference-traces.json"));
    let rows = traces.rows("data/samples.jsonl");
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(fixture("otel/openinference-traces.json")).unwrap()).unwrap();
    let spans = document.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap();
    let root = spans.iter().find(|span| span.get("parentSpanId").is_none()).unwrap();
    let value = |name: &str| {
        let attributes = root["attributes"].as_array().unwrap();
        attributes.iter().find(|it| it["key"] == name).unwrap()["value"]["stringValue"].clone()
    };
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["span_id"], root["spanId"]);
    assert_eq!((&rows[0]["input"], &outputs(&traces)[0]["output"]), (&value("input.value"), &value("output.value")));
    assert!(outputs(&traces)[0]["input_tokens"].as_u64().unwrap() > 0);
}

fn langfuse_export() -> Value {
    json!([{
        "id": "t1", "timestamp": "2026-11-01T10:00:00.000Z", "input": "Whole?", "output": "All.", "sessionId": "s1",
        "tags": ["live"], "metadata": {"plan": "pro"},
        "observations": [
            {"id": "o0", "type": "RETRIEVER", "output": [{"id": "d1", "content": "Doc", "score": 0.5}]},
            {"id": "o1", "type": "GENERATION", "model": "gpt-5-mini", "startTime": "2026-11-01T10:00:01.000Z",
             "endTime": "2026-11-01T10:00:01.250Z", "input": [{"role": "user", "content": "Hi?"}],
             "output": {"role": "assistant", "content": "Hello!"}, "usageDetails": {"input": 5, "output": 2}},
            {"id": "o2", "type": "GENERATION", "startTime": "2026-11-01T10:00:02.000Z", "input": "x", "level": "ERROR",
             "statusMessage": "timeout"},
            {"id": "o3", "type": "GENERATION", "startTime": "2026-11-01T10:00:03.000Z", "output": "y"},
        ],
        "scores": [
            {"name": "tone", "value": 0.5, "comment": "curt", "observationId": "o1"},
            {"name": "solved", "value": 1},
            {"name": "mood", "value": "glad", "dataType": "CATEGORICAL"},
            {"name": "tone", "value": 0.9, "observationId": "o1"},
        ],
    }])
}

/// IO-10: Langfuse's own export, with its scores; what cannot be a row is named.
#[test]
fn langfuse_exports_are_read() {
    let bytes = langfuse_export().to_string();
    let calls = import_files(CALLS, &[("export.json", bytes.as_bytes())], "export.json").unwrap();
    let (rows, outputs) = (calls.rows("data/samples.jsonl"), outputs(&calls));
    assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ["t1/o1", "t1/o2"]);
    assert_eq!((&rows[0]["input"], &rows[0]["contexts"][0]["content"]), (&json!("Hi?"), &json!("Doc")));
    assert_eq!((&outputs[0]["output"], &outputs[0]["latency_ms"]), (&json!("Hello!"), &json!(250.0)));
    assert_eq!((&outputs[0]["scores"]["tone"], &outputs[0]["reasons"]["tone"]), (&json!(0.5), &json!("curt")));
    // A score of the whole trace belongs to its last answer.
    assert_eq!((&outputs[1]["error"], &outputs[0]["scores"]["solved"]), (&json!("timeout"), &json!(1)));
    let lost = ["score mood", "score tone"].map(|score| (score, "export.json", 1));
    assert_eq!(calls.dropped(), [("span", "span t1/o3", 1), lost[0], lost[1]]);
    let whole = import_files(TRACES, &[("export.json", bytes.as_bytes())], "export.json").unwrap();
    assert_eq!(whole.rows("data/samples.jsonl")[0]["input"], "Whole?");
    assert_eq!(self::outputs(&whole)[0]["output"], "All.");
}

/// IO-10: a bad id rejects its span alone; nothing left, no JSON, another document: refused with place and hint.
#[test]
fn bad_files_are_refused() {
    let good = std::fs::read_to_string(fixture("otel/gen_ai-traces.json")).unwrap();
    let mut document: Value = serde_json::from_str(&good).unwrap();
    let spans = document.pointer_mut("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array_mut().unwrap();
    let call = spans.iter_mut().find(|span| span["name"] == "chat gpt-5-mini").unwrap();
    call["traceId"] = json!("xyz");
    let bytes = document.to_string();
    let one_less = import_files(CALLS, &[("t.json", bytes.as_bytes())], "t.json").unwrap();
    assert_eq!(one_less.rows("data/samples.jsonl").len(), 2);
    assert!(one_less.report.dropped[0].why.contains("32 hexadecimal digits"));
    for (text, told) in [
        ("{\"resourceSpans\": []}", "holds no call of a model"),
        ("{\"resourceSpans\": [}", "t.json:1: is not valid JSON"),
        ("{\"a\": 1}", "has a; expected `resourceSpans`"),
        ("\n\n{\"observations\": []}\n[3]", "expected an object"),
        ("", "is empty"),
        ("hello", "is neither JSON nor OTLP protobuf"),
    ] {
        let error = import_files(CALLS, &[("t.json", text.as_bytes())], "t.json").err().unwrap().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

/// F89: a download of Langfuse wraps the trace; a trace that is not a row is named, and the others stay.
#[test]
fn downloads_of_langfuse_are_read() {
    let generation = json!({"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-01-01T00:00:00.000Z",
        "input": "[{\"role\": \"user\", \"content\": \"Hi\"}]", "output": "Hello", "usage": {"input": 3, "output": 1}});
    let trace = |id: &str| json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "input": "Hi", "output": "Hello"});
    let score = json!([{"name": "tone", "value": 0.5, "observationId": "o1"}]);
    let empty = json!({"id": "t3", "timestamp": "2026-01-01T00:00:00.000Z", "observations": []});
    for (text, rows, dropped) in [
        (json!({"trace": trace("t1"), "observations": [generation], "scores": score}).to_string(), 1, 0),
        (json!({"data": [trace("t1"), trace("t2")], "meta": {"page": 1}}).to_string(), 2, 0),
        (json!([trace("t1"), empty]).to_string(), 1, 1),
        (json!([generation]).to_string(), 1, 0),
        (
            json!([{"trace": {"id": "t4", "timestamp": "2026-01-01T00:00:00.000Z"}, "observations": [
            {"id": "o2", "type": "GENERATION", "startTime": "2026-01-01T00:00:00.000Z", "input": "x"}]}, trace("t1")])
            .to_string(),
            1,
            1,
        ),
    ] {
        let imported = import_files(CALLS, &[("t.json", text.as_bytes())], "t.json")
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(imported.rows("data/samples.jsonl").len(), rows, "{text}");
        assert_eq!(imported.dropped().len(), dropped, "{text}: {:?}", imported.dropped());
        assert_eq!(imported.rows("data/samples.jsonl")[0]["input"], "Hi", "{text}");
    }
}

/// F89: events of evaluations beside the spans are scores of their rows; other logs and metrics are noted.
#[test]
fn evaluations_are_scores_of_their_spans() {
    let text = std::fs::read_to_string(fixture("otel/gen_ai-traces.json")).unwrap();
    let spans: Value = serde_json::from_str(&text).unwrap();
    let rows = import_file(CALLS, &fixture("otel/gen_ai-traces.json")).rows("data/samples.jsonl");
    let record = |name: &str, value: Value, label: &str, span: &Value| {
        let attribute = |key: &str, value: Value| json!({"key": format!("gen_ai.evaluation.{key}"), "value": value});
        json!({"eventName": "gen_ai.evaluation.result", "traceId": rows[0]["trace_id"], "spanId": span, "attributes": [
            attribute("name", json!({"stringValue": name})), attribute("score.value", value),
            attribute("score.label", json!({"stringValue": label})),
            attribute("explanation", json!({"stringValue": "as it said"}))
        ]})
    };
    let (first, number) = (&rows[0]["span_id"], |value: f64| json!({"doubleValue": value}));
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        record("hit", number(0.5), "pass", first),
        record("polite", json!({}), "fail", first),
        record("tone", json!({}), "unscored", first),
        record("kind", json!({}), "warm", first),
        record("hit", number(1.0), "", &json!("ffffffffffffffff")),
        {"body": {"stringValue": "another"}}
    ]}]}]});
    let metrics = json!({"resourceMetrics": []});
    let lines = format!("{logs}\n{spans}\n{metrics}\n");
    let imported = import_files(CALLS, &[("t.jsonl", lines.as_bytes())], "t.jsonl").unwrap();
    assert_eq!(imported.rows("data/samples.jsonl"), rows);
    let scores = &outputs(&imported)[0]["scores"];
    assert_eq!(scores, &json!({"hit": 0.5, "polite": false, "tone": null}));
    assert_eq!(outputs(&imported)[0]["reasons"]["hit"], "as it said");
    let lost: Vec<&str> = imported.dropped().into_iter().map(|(construct, ..)| construct).collect();
    assert_eq!(lost, ["evaluation kind", "evaluation hit"]);
    let notes = imported.notes().join("; ");
    assert!(notes.contains("1 records of logs") && notes.contains("1 requests of metrics"), "{notes}");
}

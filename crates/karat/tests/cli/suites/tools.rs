//! Prompts with histories and tools: what is sent, and calls as outputs.

use serde_json::json;
use testkit::{Behaviour, FakeProvider};

use crate::place::{Place, questions, suite};

/// A reply that calls a tool.
fn call() -> Behaviour {
    let body = json!({
        "choices": [{ "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "get_order", "arguments": "{\"id\":\"A1\"}" } }
        ] } }],
        "usage": { "prompt_tokens": 50, "completion_tokens": 9 },
    });
    Behaviour::raw(200, body.to_string())
}

const TOOLS: &str = "tools: { get_order: { about: Looks an order up., input: { type: object, properties: { id: { type: string } } } } }\nvariants:";

/// TG-12: a call is an output: one request a row, no error, and reports and scorers read it.
#[test]
fn a_call_is_an_output() {
    let provider = FakeProvider::start(call()).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    let suite = suite(&provider.base_url())
        .replace("variants:", TOOLS)
        .replace("question }}\" }", "question }}\", tools: [get_order], tool_choice: auto }")
        .replace("{ metric: contains }", "{ metric: json_field, output: \"$.tool_calls[0].arguments.id\", value: A1 }");
    place.write("karat.yaml", &suite);
    place.fine(&["run", "-q", "--run-id", "a", "--format", "json,csv"]);
    assert_eq!(provider.requests(), 3);
    let sent = provider.received_requests()[0].json();
    assert_eq!(sent["tools"][0]["function"]["name"], "get_order");
    assert_eq!(sent["tool_choice"], "auto");
    let report = place.report("a");
    assert_eq!(report["totals"]["errors"], json!(0));
    assert_eq!(report["metrics"]["hit"]["value"], json!(1.0));
    assert_eq!(
        report["cells"][0]["output"],
        json!({
            "text": "",
            "tool_calls": [{ "id": "c1", "name": "get_order", "arguments": { "id": "A1" } }],
            "stop_reason": "call",
        })
    );
    assert!(place.text(".karat/runs/a/cells.csv").contains("get_order"));
}

/// TG-12: a call that was not asked for leaves the output a text and is noted; it costs one request.
#[test]
fn an_unasked_call_is_noted() {
    let provider = FakeProvider::start(call()).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(1));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.fine(&["run", "-q", "--run-id", "a"]);
    assert_eq!(provider.requests(), 1);
    let report = place.report("a");
    assert_eq!(report["totals"]["errors"], json!(0));
    assert!(report.to_string().contains("calls tools that it was not offered"), "{report}");
    assert!(report["cost"]["actual_cost_usd"].as_f64().is_some_and(|usd| usd > 0.0), "it is billed");
}

/// TG-01: a history of the row is sent as it stands between written turns; braces in it are not rendered.
#[test]
fn histories_are_sent_as_they_stand() {
    let provider = FakeProvider::start(Behaviour::ok("fine")).unwrap();
    let place = Place::new();
    let turns = json!([
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": "{{ x }}" },
        { "role": "user", "content": "and?" },
    ]);
    place
        .write("data.jsonl", &format!("{}\n", json!({ "id": "a", "question": "q", "target": "fine", "turns": turns })));
    let suite =
        suite(&provider.base_url()).replace("text: \"{{ sample.question }}\"", "messages: \"{{ sample.turns }}\"");
    place.write("karat.yaml", &suite);
    place.fine(&["run", "-q", "--run-id", "a"]);
    assert_eq!(provider.received_requests()[0].json()["messages"], turns);
}

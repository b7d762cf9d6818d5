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
    place.succeed(&["run", "-q", "--run-id", "a", "--format", "json,csv"]);
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

/// F20: a call in place of a text is an error of its cell, and it costs one request.
#[test]
fn a_call_in_place_of_a_text_is_an_error() {
    let provider = FakeProvider::start(call()).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(1));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let result = place.karat(&["run", "-q", "--run-id", "a"]);
    assert_eq!((result.code, provider.requests()), (1, 1), "{}", result.stderr);
    let report = place.report("a").to_string();
    assert!(report.contains("called the tool `get_order` instead of giving a text"), "{report}");
}

/// TG-12: a call that was not asked for leaves the output a text and is noted; it costs one request.
#[test]
fn an_unasked_call_is_noted() {
    let body = json!({
        "choices": [{ "finish_reason": "tool_calls", "message": { "role": "assistant", "content": "Paris", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "get_order", "arguments": "{}" } }
        ] } }],
        "usage": { "prompt_tokens": 50, "completion_tokens": 9 },
    });
    let provider = FakeProvider::start(Behaviour::raw(200, body.to_string())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(1));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "-q", "--run-id", "a"]);
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
    place.succeed(&["run", "-q", "--run-id", "a"]);
    assert_eq!(provider.received_requests()[0].json()["messages"], turns);
}

/// The beginning of a PNG image of this width.
fn png(width: u8) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend([0, 0, 0, width, 0, 0, 0, 100, 8, 6, 0, 0, 0]);
    bytes
}

/// TG-02, TG-04, TG-05: an image is known by its bytes: moved images cost no call, a changed one costs one. Captured bodies hold
/// its digest, and what was sent its base64.
#[test]
fn images_are_known_by_their_bytes() {
    let provider = FakeProvider::start(Behaviour::ok("fine")).unwrap();
    let place = Place::new();
    let rows = |folder: &str| {
        let row = |at: u8| json!({ "id": format!("q{at}"), "question": "What is it?", "target": "fine", "photo": format!("{folder}/{at}.png") });
        (0..2).map(|at| format!("{}\n", row(at))).collect::<String>()
    };
    let put = |folder: &str, at: u8, width: u8| {
        let path = place.path().join("data").join(folder);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(format!("{at}.png")), png(width)).unwrap();
    };
    (0..2).for_each(|at| put("img", at, at + 1));
    place.write("data/rows.jsonl", &rows("img"));
    let content = "messages: [ { role: user, content: [ { text: \"{{ input }}\" }, { image: \"{{ sample.photo }}\", detail: low } ] } ]";
    let suite = suite(&provider.base_url())
        .replace("source: data.jsonl", "source: data/rows.jsonl")
        .replace("text: \"{{ sample.question }}\"", content);
    place.write("karat.yaml", &suite);
    let plan = place.succeed(&["plan"]).all();
    assert!(plan.contains("mock: an image is estimated at 16000 tokens"), "TG-05: {plan}");
    place.succeed(&["run", "-q", "--run-id", "a"]);
    assert_eq!(provider.requests(), 2);
    let sent = provider.received_requests()[0].json();
    let url = sent["messages"][0]["content"][1]["image_url"]["url"].as_str().unwrap_or_default();
    assert!(url.starts_with("data:image/png;base64,iVBORw0KGgo"), "{sent}");
    let trace = place.succeed(&["trace", "a", "0"]).stdout;
    assert!(trace.contains("blake3:") && !trace.contains("iVBORw0KGgo"), "{trace}");

    (0..2).for_each(|at| put("pics", at, at + 1));
    place.write("data/rows.jsonl", &rows("pics"));
    let fresh = || {
        let plan: serde_json::Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
        plan["cells"]["fresh"].clone()
    };
    assert_eq!(fresh(), 0, "a plan knows moved images");
    place.succeed(&["run", "-q", "--run-id", "b"]);
    assert_eq!(provider.requests(), 2, "moved images cost no call");
    put("pics", 1, 77);
    assert_eq!(fresh(), 1, "a plan knows a changed image");
    place.succeed(&["run", "-q", "--run-id", "c"]);
    assert_eq!(provider.requests(), 3, "a changed image costs one call");
    std::fs::remove_file(place.path().join("data/pics/1.png")).unwrap();
    let result = place.karat(&["validate"]);
    assert!(
        result.code != 0 && result.all().contains("row `q1`: no file `pics/1.png` (looked in data/)"),
        "{}",
        result.all()
    );
}

/// TG-80: tokens that a provider's cache stored or served are priced on their own, and are part of the input.
#[test]
fn cached_prompts_are_priced_by_their_parts() {
    let body = json!({
        "content": [{ "type": "text", "text": "fine" }],
        "stop_reason": "end_turn",
        "usage": { "input_tokens": 100, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 200, "output_tokens": 10 },
    });
    let provider = FakeProvider::start(Behaviour::raw(200, body.to_string())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(1));
    let suite = suite(&provider.url())
        .replace("provider: openai", "provider: anthropic, parameters: { cache_control: { type: ephemeral } }")
        .replace("input: 1.0, output: 2.0", "input: 3, output: 15");
    place.write("karat.yaml", &suite);
    place.succeed(&["run", "-q", "--run-id", "a"]);
    assert_eq!(provider.received_requests()[0].json()["cache_control"], json!({ "type": "ephemeral" }));
    let report = place.report("a");
    assert_eq!(report["cost"]["actual_cost_usd"], json!(0.0015));
    assert_eq!(report["cells"][0]["usage"]["input_tokens"], json!(1300));
}

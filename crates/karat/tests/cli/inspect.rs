//! Looking at stored runs.

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// CL-04: raw prompts and responses of each cell; `show` as table, TSV and JSON.
#[test]
fn cells_and_traces_can_be_seen() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.fine(&["run", "--run-id", "a"]);
    let lines: Value = serde_json::from_str(&place.fine(&["show", "a", "--format", "json"]).stdout).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), 3);
    assert_eq!(lines[1]["sample"], "q1");
    assert_eq!(place.fine(&["show", "--format", "tsv"]).stdout.lines().count(), 4);
    let trace = place.fine(&["trace", "a", "q1/mock/direct"]).stdout;
    assert!(trace.contains("Question 1: [[answer 1]]") && trace.contains("answer 1"), "{trace}");
    let traced: Value = serde_json::from_str(&place.fine(&["trace", "latest", "1", "--json"]).stdout).unwrap();
    let sent =
        provider.bodies().iter().any(|body| traced["calls"][0]["request"].as_str().unwrap().as_bytes() == &body[..]);
    assert!(sent, "the trace holds the bytes that were sent");
    assert!(place.fine(&["ls"]).stdout.contains('a'));
    assert_eq!(place.karat(&["trace", "a", "nope"]).code, 1);
    assert_eq!(place.fine(&["trace", "q1/mock/direct"]).stdout, trace, "the latest run is meant without one");
    assert_eq!(place.karat(&["show", "nope"]).code, 1);
}

/// CL-03: the registry has at least eight models of three providers, with prices or `unknown`.
#[test]
fn the_registry_is_listed() {
    let place = Place::new();
    let models: Value = serde_json::from_str(&place.fine(&["models", "--json"]).stdout).unwrap();
    let models = models.as_array().unwrap();
    let providers: std::collections::BTreeSet<&str> =
        models.iter().filter_map(|model| model["provider"].as_str()).collect();
    assert!(models.len() >= 8 && providers.len() >= 3, "{} models, {providers:?}", models.len());
    assert!(place.fine(&["models"]).stdout.contains("gpt-5"));
}

/// The published schemas are JSON, and the suite's names the language's keys.
#[test]
fn schemas_are_printed() {
    let place = Place::new();
    let schema: Value = serde_json::from_str(&place.fine(&["schema", "suite"]).stdout).unwrap();
    assert!(schema["properties"]["variants"].is_object());
    let schema: Value = serde_json::from_str(&place.fine(&["schema", "report"]).stdout).unwrap();
    assert!(schema["properties"]["leaderboards"].is_object());
}

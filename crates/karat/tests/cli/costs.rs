//! What a run says that it has cost: each call once, over all its parts.

use serde_json::{Value, json};
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::budgets::place;
use crate::place::Place;

/// Two variants of two steps, the first of which they share.
fn sharing(script: impl Into<Script>, requires: &str) -> (FakeProvider, Place) {
    let (provider, place) = place(script, 1, "{ max_concurrency: 4, retries: 0 }");
    let text = std::fs::read_to_string(place.path().join("karat.yaml")).unwrap();
    let (before, after) = (text.split("variants:").next().unwrap(), text.split("scorers:").nth(1).unwrap());
    let variant = |id: &str| {
        let first = r#"{ id: first, prompt: { text: "{{ sample.question }}" } }"#;
        let second = format!(r#"{{ id: second, prompt: {{ text: "{id} {{{{ output }}}}" }}{requires} }}"#);
        format!("  {id}: [ {first}, {second} ]")
    };
    let variants = [variant("a"), variant("b")].join("\n");
    place.write("karat.yaml", &format!("{before}variants:\n{variants}\nscorers:{after}"));
    (provider, place)
}

fn usd(cost: &Value) -> f64 {
    cost["actual_cost_usd"].as_f64().unwrap()
}

/// BY-04, CL-22: what a shared step has cost is told by the run, even where it was stopped between that step and the cells.
#[test]
fn a_saved_step_keeps_its_cost() {
    let (provider, place) = sharing(Script::echo(Echo::default()), "");
    let said = place.karat(&["run", "--run-id", "r", "--max-calls", "1"]);
    assert_eq!((said.code, provider.requests()), (5, 1), "{}", said.all());
    place.fine(&["resume", "r", "--max-calls", "3"]);
    place.fine(&["run", "--run-id", "whole", "--no-cache"]);
    let [resumed, whole] = ["r", "whole"].map(|run| usd(&place.report(run)["cost"]));
    assert!(provider.requests() == 6 && whole > 0.0 && (resumed - whole).abs() < 1e-12, "{resumed} of {whole}");
}

/// CL-22: a shared step that fails for money is paid once, although it fails for all who wait for it.
#[test]
fn a_shared_failure_is_paid_once() {
    let reply = r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50}}"#;
    let (provider, place) = sharing(Behaviour::raw(200, reply), "");
    let said = place.karat(&["run", "--run-id", "r"]);
    let report = place.report("r");
    assert_eq!(report["totals"]["errors"], 2, "{}", said.all());
    let billed = provider.requests() as f64 * 200e-6;
    assert!((usd(&report["cost"]) - billed).abs() < 1e-12, "{} of {billed}", report["cost"]);
}

/// CL-22: a cell that is left out after its first step was paid counts with that.
#[test]
fn what_is_left_out_may_have_cost() {
    let script = Script::by(|_| Behaviour::ok("word ".repeat(400)));
    let (provider, place) = sharing(script, ", requires: { fits: true }");
    let text = std::fs::read_to_string(place.path().join("karat.yaml"))
        .unwrap()
        .replace("max_output: 100,", "max_output: 100, context_window: 300,");
    place.write("karat.yaml", &text);
    let said = place.karat(&["run", "--run-id", "r"]);
    let report = place.report("r");
    assert_eq!((&report["totals"]["skipped"], provider.requests()), (&json!(2), 1), "{}", said.all());
    assert!(usd(&report["cost"]) > 0.0, "{}", report["cost"]);
}

//! Baselines of a service of one's own.

use serde_json::{Value, json};
use testkit::{FakeProvider, Script};

use super::{own_answer, own_queries, run_own};
use crate::place::Place;

fn service() -> FakeProvider {
    FakeProvider::start(Script::always(own_answer("It was $1.2 billion."))).unwrap()
}

/// RG-11: the shipped baseline is one of other queries, in whatever layout it is given.
#[test]
fn a_copy_of_the_shipped_baseline_is_not_compared_with() {
    let shipped = std::fs::read(format!("{}/../../presets/rag/baseline.json", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let shipped: Value = serde_json::from_slice(&shipped).unwrap();
    let mut reversed = json!({});
    shipped.as_object().unwrap().iter().rev().for_each(|(key, value)| reversed[key] = value.clone());
    let (place, service) = (Place::new(), service());
    own_queries(&place);
    place.write("copy.json", &serde_json::to_string_pretty(&reversed).unwrap());
    let result = run_own(&place, &service, &["--baseline", "copy.json", "--run-id", "r", "-q"]);
    assert!(result.stdout.contains("copy.json is of the preset's own data"), "{}", result.all());
    assert_eq!(place.report("r")["analyses"]["kpis"], json!([]));
}

/// RG-11: a baseline of one's own that has none of the samples decides nothing.
#[test]
fn a_baseline_of_other_samples_decides_nothing() {
    let (place, service) = (Place::new(), service());
    own_queries(&place);
    run_own(&place, &service, &["--run-id", "before", "-q"]);
    place.succeed(&["baseline", "pin", "before", "-o", "pinned.json"]);
    place.write(
        "own.jsonl",
        &json!({"query_id": "c", "question": "Margin?", "gold": {"expected_value": 5}}).to_string(),
    );
    run_own(&place, &service, &["--baseline", "pinned.json", "--run-id", "r", "-q"]);
    let report = place.report("r");
    let gates = report["gates"].as_array().unwrap().iter();
    let latency = gates.filter(|gate| gate["metric"] == "Latency_p95_ms").collect::<Vec<_>>();
    assert_eq!(latency[0]["verdict"], "undecided", "{latency:?}");
    assert!(latency[0]["reason"].as_str().unwrap().contains("no sample with a score"), "{latency:?}");
}

//! A suite that shares nothing with claims, through the same engine, ledger and reports.

use crate::place::Place;

/// Two recorded variants, two deterministic metrics, no model, no line of Rust of its own.
#[test]
fn recorded_outputs_are_scored() {
    let place = Place::new();
    place.succeed(&["run", "faq", "--run-id", "f"]);
    let report = place.report("f");
    assert_eq!(report["totals"]["cells"], 24);
    assert_eq!(report["totals"]["judgments"], 0);
    let score = |variant: &str| {
        let cells = report["cells"].as_array().unwrap().iter().filter(|cell| cell["variant"] == variant);
        cells.map(|cell| cell["scores"]["exact"]["value"].as_f64().unwrap()).sum::<f64>()
    };
    assert_eq!((score("may"), score("june")), (5.0, 8.0));
}

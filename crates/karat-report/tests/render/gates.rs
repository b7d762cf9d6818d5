use karat_analysis::gate::decide;
use karat_analysis::testing::Sketch;
use karat_analysis::{Pinned, References};
use karat_report::{json, markdown, page, terminal};
use karat_types::{Gate, GateBasis, GateRules, Threshold};
use serde_json::Value;

use crate::{Example, junit};

/// The example with three gates: a minimum, itself as baseline, and a missing baseline.
fn gated() -> Example {
    let mut example = Example::new();
    let at = |value: f64| Some(Threshold { value, percent: false });
    let on = |id: &str, change: fn(&mut Gate)| {
        let mut gate = Gate { id: id.to_owned(), ..Gate::for_metric("quality.accuracy") };
        change(&mut gate);
        gate
    };
    let gates = vec![
        Gate { min: at(6.0), ..on("accurate", |_| {}) },
        Gate { max_drop: at(0.5), ..on("no worse", |_| {}) },
        Gate { max: at(8.0), ..on("too good <b>|</b>", |gate| gate.review = true) },
        Gate {
            max_drop: at(0.5),
            ..on("like yesterday", |gate| gate.against = Some(karat_types::GateReference::Previous))
        },
    ];
    let rules = GateRules { gates, ..GateRules::default() };
    let baseline = Some(Pinned::of(&example.run.header, &example.findings));
    let references = References { baseline, ..References::default() };
    example.context.verdicts = decide(&example.findings, &example.run, &rules, &references).unwrap();
    example
}

/// BY-02, CL-24: the report starts with the verdict, then lists the checks that did not pass and why.
#[test]
fn verdicts_lead_the_report() {
    let example = gated();
    let text = markdown::render(example.report()).unwrap();
    let section = text.split("## Gates").nth(1).unwrap().split("\n## ").next().unwrap();
    insta::assert_snapshot!("the_gates_of_the_example", section);
    let verdict = text.lines().find(|line| line.contains("**Verdict:** ")).unwrap();
    assert!(verdict.contains("**Verdict:** **fail**: ") && verdict.contains("`quality.accuracy ≥ 6 ("), "{verdict}");
    let order = ["**Verdict:**", "## Recommendations", "## Gates", "## Summary table", "## Inputs and outputs"];
    let places: Vec<usize> = order.iter().map(|part| text.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    let shown = terminal::render(example.report());
    assert!(shown.lines().count() <= terminal::LINES, "{shown}");
    assert!(shown.lines().nth(1).unwrap().starts_with("verdict fail"), "{shown}");
    assert_eq!(shown.matches("verdict fail").count(), 1, "{shown}");
    insta::assert_snapshot!("gates_for_a_terminal", terminal::gates("run-1", &example.context.verdicts, &[]));
    let page = page::file(example.report()).unwrap();
    assert!(page.contains("too good") && !page.contains("<b>|"), "{page}");
}

/// JUnit has a test suite for gates; JSON has every field of the contract.
#[test]
fn verdicts_for_machines() {
    let example = gated();
    let xml = junit(example.report());
    let (_, gates) = xml.split_once("<testsuite name=\"claims.gates\"").unwrap();
    assert!(gates.contains("<failure") && gates.contains("<skipped") && gates.contains("review: "), "{gates}");
    let document: Value = serde_json::from_str(&json::gates("run-1", &example.context.verdicts, &[]).unwrap()).unwrap();
    assert_eq!(document["verdict"], "fail");
    for gate in document["gates"].as_array().unwrap() {
        for field in ["id", "metric", "system", "verdict", "observed", "threshold", "interval", "n", "reason"] {
            assert!(gate.get(field).is_some(), "{field} of {gate}");
        }
    }
}

/// F62: a system that failed a gate is in the terminal's table, however many systems are better; metrics are left out before
/// systems.
#[test]
fn systems_that_failed_are_shown() {
    let mut sketch = Sketch::new(15, 1, 3).fill(9.0);
    for sample in 0..3 {
        sketch = sketch.value(sample, 14, 1.0).value(sample, 7, 5.0);
    }
    let mut example = Example::of(sketch.run());
    let systems: Vec<String> = example.findings.systems.iter().map(|it| it.id.clone()).collect();
    let metric = example.findings.plan.metrics[0].name.clone();
    let gate = Gate {
        id: "good".to_owned(),
        min: Some(Threshold { value: 4.0, percent: false }),
        decide: GateBasis::Point,
        per: "system".to_owned(),
        ..Gate::for_metric(&metric)
    };
    let rules = GateRules { gates: vec![gate], ..GateRules::default() };
    example.context.verdicts = decide(&example.findings, &example.run, &rules, &References::default()).unwrap();
    let text = terminal::render(example.report());
    let rows: Vec<&String> = systems.iter().filter(|id| text.contains(&format!("\n {id} "))).collect();
    assert!(text.contains("3 more systems") && rows.contains(&&systems[14]), "{rows:?}\n{text}");
    assert!(text.lines().count() <= terminal::LINES, "{text}");
}

//! Runs that stop once their gates are decided, from the command line.

use std::time::Duration;

use serde_json::Value;
use testkit::{Behaviour, FakeProvider, Script};

use crate::place::Place;

const CONCURRENCY: usize = 8;

/// A model that is right in nine of ten questions, after some milliseconds.
fn provider() -> FakeProvider {
    let script = Script::by(|received| {
        let draw = received.body.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        let reply = Behaviour::ok(if draw / 7 % 10 < 9 { "yes" } else { "no" });
        Behaviour::Slow(Duration::from_millis(5 + draw / 11 % 20), Box::new(reply))
    });
    FakeProvider::start(script).unwrap()
}

fn place(base_url: &str, gate: &str, run: &str) -> Place {
    let place = Place::new();
    let rows = (0..200).map(|at| format!("{{\"id\":\"q{at}\",\"question\":\"Question {at}?\",\"target\":\"yes\"}}\n"));
    place.write("data.jsonl", &rows.collect::<String>());
    place.write(
        "karat.yaml",
        &format!(
            r#"name: early
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{base_url}", api_key_env: MOCK_KEY, price: {{ input: 1.0, output: 2.0 }} }} ]
variants: {{ direct: [ {{ prompt: {{ text: "{{{{ sample.question }}}}" }} }} ] }}
scorers: {{ hit: {{ metric: contains }} }}
gates: [ {gate} ]
run: {{ max_concurrency: {CONCURRENCY}, budget_usd: 1000, {run} }}
"#
        ),
    );
    place
}

/// SL-07: `kill -9` at several points, then resume: the same verdict and report as without a kill, no answered call is
/// made again, and at most the window is paid beyond the prefix for each process.
#[test]
fn a_killed_run_stops_at_the_same_unit() {
    let provider = provider();
    let place = place(&provider.base_url(), "{ metric: hit, min: 0.7 }", "stop_early: true");
    let mut kills = 0;
    for round in 0..8_u64 {
        let arguments = ["run", "--run-id", "killed", "--resume", "-q"];
        let mut child = place.command(&arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
        let seen = provider.requests();
        for _ in 0..10_000 {
            if provider.requests() > seen + (round as usize % 3) || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(round * 7 % 19));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let result = place.succeed(&["run", "--run-id", "killed", "--resume"]);
    let whole = self::place(&provider.base_url(), "{ metric: hit, min: 0.7 }", "stop_early: true");
    let before = provider.requests();
    whole.succeed(&["run", "--run-id", "whole"]);
    assert_eq!(place.canonical("killed"), whole.canonical("whole"));
    let stop = place.report("killed")["stop_early"].clone();
    let after = stop["stopped_after"].as_u64().unwrap() as usize;
    assert!(kills > 0 && after < 150, "{kills} kills, {stop}\n{}", result.all());
    assert!(before <= after + CONCURRENCY * (kills + 1), "{before} requests, {after} units, {kills} kills");
}

/// SL-04, SL-05, SL-09: a gate that fails stops its run with exit code 2; the terminal, Markdown and the page say after how
/// many samples, and what was spared.
#[test]
fn a_failed_gate_ends_its_run_with_exit_code_2() {
    let provider = provider();
    let place = place(&provider.base_url(), "{ id: good, metric: hit, min: 0.99 }", "stop_early: { min: 40 }");
    let result = place.karat(&["run", "--run-id", "a"]);
    assert_eq!(result.code, 2, "{}", result.all());
    let report = place.report("a");
    let stop = &report["stop_early"];
    let after = stop["stopped_after"].as_u64().unwrap();
    let sentence = format!("stopped after {after} of 200 samples: 1 of 1 gate decided (≤ 5 % error); ");
    assert!(result.stdout.contains(&sentence) || result.stderr.contains(&sentence), "{}", result.all());
    for form in ["md", "html"] {
        let text = place.karat(&["report", "a", "--format", form, "-o", "-"]).stdout;
        assert!(text.contains(&format!("topped after {after} of 200 samples: 1 of 1 gate decided")), "{form}: {text}");
    }
    let canonical: Value =
        serde_json::from_str(&place.karat(&["report", "a", "--canonical", "--format", "json", "-o", "-"]).stdout)
            .unwrap();
    let shown = serde_json::json!({ "stop_early": canonical["stop_early"], "gates": canonical["gates"], "warnings": canonical["warnings"] });
    insta::assert_snapshot!("stopped", serde_json::to_string_pretty(&shown).unwrap());
    assert_eq!(stop["calls_not_made"].as_u64().unwrap() + stop["calls_made"].as_u64().unwrap(), 200);
    // SL-08: without the flag a stopped run stays as it is, and the exit code is that of its gates.
    let left = place.karat(&["resume", "a"]);
    assert_eq!(left.code, 2, "{}", left.all());
    assert!(left.all().contains("`karat resume a --to-end` makes the rest"), "{}", left.all());
    let result = place.karat(&["resume", "a", "--to-end"]);
    assert_eq!(result.code, 2, "{}", result.all());
    assert!(
        result.all().contains("then continued to its end: its figures agree with the early verdicts"),
        "{}",
        result.all()
    );
    assert_eq!(place.report("a")["stop_early"]["after_end"]["agrees"], Value::Bool(true));
}

/// SL-03, SL-05: `validate` and `plan` name each gate that keeps a run going, and refuse what cannot be followed.
#[test]
fn what_cannot_stop_early_is_named_before_the_run() {
    let url = "http://127.0.0.1:1/v1";
    let named = |gate: &str, run: &str| {
        let place = place(url, gate, run);
        let result = place.karat(&["validate"]);
        (result.code, result.all())
    };
    let (code, result) = named("{ id: quick, metric: hit, per: sample, min: 1 }", "stop_early: true");
    assert!(
        code == 0 && result.contains("the gate `quick` keeps the run going to its end: it judges every sample"),
        "{result}"
    );
    let (code, result) = named("", "stop_early: true");
    assert!(code == 0 && result.contains("`run.stop_early` does nothing"), "{result}");
    let (code, result) = named("", "stop_early: { race: hits }");
    assert!(code == 1 && result.contains("the run has no metric `hits` (did you mean `hit`?)"), "{result}");
    let (code, result) = named("", "stop_early: { race: hit }");
    assert!(code == 1 && result.contains("needs at least two systems"), "{result}");
    let (code, result) = named("{ metric: hit, min: 0.5 }", "batch: true, stop_early: true");
    assert!(code == 1 && result.contains("`run.batch` asks for all at once"), "{result}");
    let (code, result) = named("{ metric: hit, min: 0.5 }", "stop_early: { min: 0 }");
    assert!(code == 1 && result.contains("`min`"), "{result}");
    let place = place(url, "{ metric: hit, min: 0.5, decide: interval }", "stop_early: true");
    let suite =
        place.text("karat.yaml").replace("reference: target }", "reference: target, draw: { n: 50, by: target } }");
    place.write("karat.yaml", &suite);
    let result = place.karat(&["validate"]);
    assert!(result.code == 1 && result.all().contains("on a stratified draw"), "{}", result.all());
}

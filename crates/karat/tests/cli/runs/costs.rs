//! The reported cost of a run has each call once, over all parts of the run.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::Place;
use crate::runs::budgets::place;

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

/// BY-04, CL-22: the cost of a shared step is in the run's report, also if the run was stopped between that step and
/// its cells.
#[test]
fn a_saved_step_keeps_its_cost() {
    let (provider, place) = sharing(Script::echo(Echo::default()), "");
    let result = place.karat(&["run", "--run-id", "r", "--max-calls", "1"]);
    assert_eq!((result.code, provider.requests()), (5, 1), "{}", result.all());
    place.succeed(&["resume", "r", "--max-calls", "3"]);
    place.succeed(&["run", "--run-id", "whole", "--no-cache"]);
    let [resumed, whole] = ["r", "whole"].map(|run| usd(&place.report(run)["cost"]));
    assert!(provider.requests() == 6 && whole > 0.0 && (resumed - whole).abs() < 1e-12, "{resumed} of {whole}");
}

/// CL-22: what a run has paid is what all its calls have cost, those too that no cell rests on.
#[test]
fn a_stopped_run_has_paid_for_all_its_calls() {
    let reply = r#"{"choices":[{"message":{"content":"a word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":50}}"#;
    let (provider, place) = sharing(Behaviour::raw(200, reply), "");
    let row = |id: &str| format!(r#"{{"id":"{id}","question":"{id}","target":"t"}}"#);
    place.write("data.jsonl", &[row("one"), row("two")].join("\n"));
    let result = place.karat(&["run", "--run-id", "r", "--max-calls", "4", "--max-concurrency", "1"]);
    let report = place.report("r");
    assert_eq!((result.code, provider.requests()), (5, 4), "{}", result.all());
    assert!((usd(&report["cost"]) - 4.0 * 200e-6).abs() < 1e-12, "{}", report["cost"]);
}

/// CL-22: a shared step that fails for money is paid once, although it fails for all who wait for it.
#[test]
fn a_shared_failure_is_paid_once() {
    let reply = r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50}}"#;
    let (provider, place) = sharing(Behaviour::raw(200, reply), "");
    let result = place.karat(&["run", "--run-id", "r"]);
    let report = place.report("r");
    assert_eq!(report["totals"]["errors"], 2, "{}", result.all());
    let billed = provider.requests() as f64 * 200e-6;
    assert!((usd(&report["cost"]) - billed).abs() < 1e-12, "{} of {billed}", report["cost"]);
}

/// CL-22: a cell that is left out after its first step was paid counts with that.
#[test]
fn skipped_cells_count_their_paid_steps() {
    let script = Script::by(|_| Behaviour::ok("word ".repeat(400)));
    let (provider, place) = sharing(script, ", requires: { fits: true }");
    let text = std::fs::read_to_string(place.path().join("karat.yaml"))
        .unwrap()
        .replace("max_output: 100,", "max_output: 100, context_window: 300,");
    place.write("karat.yaml", &text);
    let result = place.karat(&["run", "--run-id", "r"]);
    let report = place.report("r");
    assert_eq!((&report["totals"]["skipped"], provider.requests()), (&json!(2), 1), "{}", result.all());
    assert!(usd(&report["cost"]) > 0.0, "{}", report["cost"]);
}

/// Stops a run after each number of calls and resumes it: it makes as many calls and costs as much as an uninterrupted
/// one.
fn costs_the_same_wherever_it_stops(provider: &FakeProvider, place: &Place) {
    place.succeed(&["run", "--run-id", "whole", "--no-cache"]);
    let (calls, whole) = (provider.requests(), usd(&place.report("whole")["cost"]));
    assert!(calls > 2 && whole > 0.0);
    for stop in 1..calls {
        let (before, run, most) = (provider.requests(), format!("after-{stop}"), stop.to_string());
        let result = place.karat(&["run", "--run-id", &run, "--no-cache", "--max-calls", &most]);
        assert_eq!((result.code, provider.requests() - before), (5, stop), "{}", result.all());
        place.succeed(&["resume", &run, "--max-calls", "100"]);
        let resumed = usd(&place.report(&run)["cost"]);
        assert_eq!(provider.requests() - before, calls, "after {stop} of {calls} calls");
        assert!((resumed - whole).abs() < 1e-12, "after {stop} of {calls} calls: {resumed} of {whole}");
    }
}

/// BY-04, CL-22: steps that were saved before a stop cost what their calls did, and those of the steps before them, once each.
#[test]
fn saved_steps_of_several_calls_count_once() {
    let (provider, place) = place(Script::echo(Echo::default()), 1, "{ max_concurrency: 1 }");
    place.write("data.jsonl", r#"{"id":"a","question":"q","target":"t","parts":["1","22","333"]}"#);
    let text = place.text("karat.yaml");
    let (before, after) = (text.split("variants:").next().unwrap(), text.split("scorers:").nth(1).unwrap());
    let variant = |id: &str| {
        let first = r#"{ id: first, chunk: { of: sample.parts, items: 1 }, prompt: { text: "{{ chunk.text }}" } }"#;
        let second = r#"{ id: second, prompt: { text: "all of {{ output }}" } }"#;
        format!("  {id}: [ {first}, {second}, {{ id: third, prompt: {{ text: \"{id} {{{{ output }}}}\" }} }} ]\n")
    };
    let variants = [variant("a"), variant("b")].concat();
    place.write("karat.yaml", &format!("{before}variants:\n{variants}scorers:{after}"));
    costs_the_same_wherever_it_stops(&provider, &place);
}

/// BY-04, CL-22: what a judge of pairs compares with may be paid before its own cell: that costs once, too.
#[test]
fn outputs_of_a_pair_are_paid_once() {
    let script = Script::by(|received| match received.json()["model"] == "judge" {
        true => Behaviour::ok(r#"{"good": "first"}"#),
        false => Behaviour::ok("a word"),
    });
    let (provider, place) = place(script, 1, "{ max_concurrency: 1 }");
    let judges = format!(
        "judges: [ {{ id: judge, provider: openai, model: judge, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }} ]",
        provider.base_url()
    );
    let scorers = "scorers: { better: { versus: 'variant:other', rubric: { ask: Which is better?, dimensions: { good: { definition: good, scale: [1, 5] } } } } }";
    let direct = r#"direct: [ { prompt: { text: "{{ sample.question }}" } } ]"#;
    let two = format!(r#"{direct}, other: [ {{ prompt: {{ text: "shortly: {{{{ sample.question }}}}" }} }} ]"#);
    let text = place.text("karat.yaml").replace(direct, &two);
    let text = text.replace("scorers: { hit: { metric: contains } }", &format!("{judges}\n{scorers}"));
    place.write("karat.yaml", &text);
    costs_the_same_wherever_it_stops(&provider, &place);
}

/// BY-04, CL-22: of a cell, or a judgment, of which one call failed, `retry` makes that call only; what the others have cost
/// counts once.
#[test]
fn retry_pays_only_what_failed() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let script = Script::by(|received| {
        let body = received.json();
        match (body["model"] == "judge", body.to_string()) {
            (_, text) if BROKEN.load(Ordering::Relaxed) && text.contains("bad") => Behaviour::status(400, "no"),
            (true, _) => Behaviour::ok(r#"{"good": 4}"#),
            (false, _) => Behaviour::ok("a word"),
        }
    });
    let (provider, place) = place(script, 1, "{ max_concurrency: 1 }");
    let text =
        ["one word after the other ".repeat(6), "something bad ".into(), "and the rest of it ".repeat(6)].concat();
    let rows = [
        json!({"id": "a", "question": "?", "target": "x", "parts": ["1", "bad", "333"], "text": "short"}),
        json!({"id": "b", "question": "?", "target": "x", "parts": ["1"], "text": text}),
    ];
    place.write("data.jsonl", &rows.map(|row| row.to_string()).join("\n"));
    let judge = format!(
        "{{ id: judge, provider: openai, model: judge, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }}",
        provider.base_url()
    );
    let text = place.text("karat.yaml");
    let (before, after) = (text.split("variants:").next().unwrap(), text.split("\nrun:").nth(1).unwrap());
    let variant = r#"[ { chunk: { of: sample.parts, items: 1 }, prompt: { text: "{{ chunk.text }}" } } ]"#;
    let scorer = "{ rubric: { ask: Is it good?, show: { text: { value: '{{ sample.text }}', chunk: { tokens: 16 } } }, \
                  dimensions: { good: { definition: good, scale: [1, 5] } } } }";
    place.write(
        "karat.yaml",
        &format!(
            "{before}variants: {{ direct: {variant} }}\njudges: [ {judge} ]\nscorers: {{ good: {scorer} }}\nrun:{after}"
        ),
    );
    let result = place.karat(&["run", "--run-id", "r"]);
    let requests = provider.requests();
    assert!(requests > 6 && result.code == 1, "{requests}: {}", result.all());
    BROKEN.store(false, Ordering::Relaxed);
    let result = place.succeed(&["retry", "r"]);
    // The part that failed, the judge's first look at what comes of it, and the piece that failed with the judge.
    assert_eq!(provider.requests(), requests + 3, "{}", result.all());
    place.succeed(&["run", "--run-id", "whole", "--no-cache"]);
    let [again, whole] = ["r", "whole"].map(|run| usd(&place.report(run)["cost"]));
    assert!(whole > 0.0 && (again - whole).abs() < 1e-12, "{again} of {whole}");
}

/// A model that reads "bad" as a mistake and answers "odd" with prose, until it is mended; each answer costs $0.0002.
fn flawed(is_broken: &'static AtomicBool) -> Script {
    Script::by(move |received| {
        let text = received.json().to_string();
        let content = match is_broken.load(Ordering::Relaxed) {
            true if text.contains("bad") => return Behaviour::status(400, "no"),
            true if text.contains("odd") => "no JSON",
            _ => r#"{\"x\":1}"#,
        };
        let message = format!(r#"{{"message":{{"content":"{content}"}},"finish_reason":"stop"}}"#);
        let usage = r#"{"prompt_tokens":100,"completion_tokens":50}"#;
        Behaviour::raw(200, format!(r#"{{"choices":[{message}],"usage":{usage}}}"#))
    })
}

fn in_parts(place: &Place, parts: &str) {
    place.write("data.jsonl", &format!(r#"{{"id":"a","question":"q","target":"t","parts":[{parts}]}}"#));
    let text = place.text("karat.yaml");
    let (before, after) = (text.split("variants:").next().unwrap(), text.split("scorers:").nth(1).unwrap());
    let first = r#"{ id: first, prompt: { text: "{{ sample.question }}" } }"#;
    let second = r#"{ chunk: { of: sample.parts, items: 1 }, prompt: { text: "{{ chunk.text }}" }, parse: { as: json, reask: 0 } }"#;
    place.write("karat.yaml", &format!("{before}variants: {{ direct: [ {first}, {second} ] }}\nscorers:{after}"));
}

/// CL-22, BY-04: the cost of a run over all its parts is what was billed. An unreadable reply is asked for again, also
/// if another call of the cell failed.
#[test]
fn retry_forgets_nothing_that_was_paid() {
    static BROKEN: [AtomicBool; 2] = [const { AtomicBool::new(true) }; 2];
    for (broken, parts, requests, billed) in
        [(&BROKEN[0], r#""1","bad","3""#, 5, 4), (&BROKEN[1], r#""1","bad","odd","4""#, 10, 9)]
    {
        let (provider, place) = place(flawed(broken), 1, "{ max_concurrency: 1 }");
        in_parts(&place, parts);
        assert_eq!(place.karat(&["run", "--run-id", "r"]).code, 1);
        broken.store(false, Ordering::Relaxed);
        let result = place.succeed(&["retry", "r"]);
        let paid = usd(&place.report("r")["cost"]);
        assert_eq!(provider.requests(), requests, "{}", result.all());
        assert!((paid - 200e-6 * f64::from(billed)).abs() < 1e-12, "{paid}: {}", result.all());
    }
}

/// CL-22, BY-04: the same of a judge that looks at a text in pieces: of one it fails, to another it replies with prose.
#[test]
fn retry_asks_unreadable_judges_again() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    static BILLED: AtomicU32 = AtomicU32::new(0);
    static MENDED: AtomicU32 = AtomicU32::new(0);
    let script = Script::by(|received| {
        let (text, is_broken) = (received.json().to_string(), BROKEN.load(Ordering::Relaxed));
        if is_broken && text.contains("bad") {
            return Behaviour::status(400, "no");
        }
        BILLED.fetch_add(1, Ordering::Relaxed);
        MENDED.fetch_add(u32::from(!is_broken && text.contains("odd")), Ordering::Relaxed);
        let content = if is_broken && text.contains("odd") { "no JSON" } else { r#"{\"good\":4}"# };
        let message = format!(r#"{{"message":{{"content":"{content}"}},"finish_reason":"stop"}}"#);
        let usage = r#"{"prompt_tokens":100,"completion_tokens":50}"#;
        Behaviour::raw(200, format!(r#"{{"choices":[{message}],"usage":{usage}}}"#))
    });
    let (provider, place) = place(script, 1, "{ max_concurrency: 1 }");
    let pieces = ["one word after the other ".repeat(6), "something bad ".repeat(6), "an odd end ".repeat(6)];
    place.write("data.jsonl", &json!({"id": "a", "question": "?", "target": "x", "text": pieces.concat()}).to_string());
    let judge = format!(
        "{{ id: judge, provider: openai, model: judge, base_url: \"{}\", price: {{ input: 1.0, output: 2.0 }} }}",
        provider.base_url()
    );
    let text = place.text("karat.yaml");
    let (before, after) = (text.split("scorers:").next().unwrap(), text.split("\nrun:").nth(1).unwrap());
    let scorer = "{ rubric: { ask: Is it good?, show: { text: { value: '{{ sample.text }}', chunk: { tokens: 16 } } }, \
                  dimensions: { good: { definition: good, scale: [1, 5] } } } }";
    place.write("karat.yaml", &format!("{before}judges: [ {judge} ]\nscorers: {{ good: {scorer} }}\nrun:{after}"));
    place.karat(&["run", "--run-id", "r"]);
    assert!(place.report("r")["cells"][0]["judgments"][0]["error"].is_object());
    BROKEN.store(false, Ordering::Relaxed);
    let result = place.succeed(&["retry", "r"]);
    let report = place.report("r");
    assert_eq!(report["cells"][0]["judgments"][0]["scores"]["good"]["value"], 4.0, "{}", result.all());
    assert!(MENDED.load(Ordering::Relaxed) > 0, "{}", result.all());
    let (paid, billed) = (usd(&report["cost"]), BILLED.load(Ordering::Relaxed));
    assert!((paid - 200e-6 * f64::from(billed)).abs() < 1e-12, "{paid} of {billed} calls: {}", result.all());
}

/// CL-25, CL-22: a replayed run that is tried again says the prices that the recorded one does.
#[test]
fn a_retried_replay_has_its_prices() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let (_provider, place) = place(flawed(&BROKEN), 1, "{ max_concurrency: 1 }");
    in_parts(&place, r#""1","bad","3""#);
    assert_eq!(place.karat(&["run", "--run-id", "r", "--record", "calls.jsonl"]).code, 1);
    assert_eq!(place.karat(&["run", "--run-id", "p", "--replay", "calls.jsonl"]).code, 1);
    BROKEN.store(false, Ordering::Relaxed);
    place.succeed(&["retry", "r"]);
    place.succeed(&["retry", "p"]);
    let [recorded, replayed] = ["r", "p"].map(|run| place.report(run)["cost"].clone());
    assert_eq!(recorded["extraction_cost_usd"], replayed["extraction_cost_usd"]);
    assert!(usd(&recorded) > 0.0 && usd(&replayed) == 0.0, "{replayed}");
}

/// PE-18: a service whose answer could not be used is asked again, too.
#[test]
fn retry_asks_services_again() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let script = Script::by(|_| match BROKEN.load(Ordering::Relaxed) {
        true => Behaviour::raw(200, "<html>maintenance</html>"),
        false => Behaviour::raw(200, r#"{"answer":"hello"}"#),
    });
    let (provider, place) = place(script, 2, "{ retries: 0 }");
    let text = place.text("karat.yaml");
    let (before, after) = (text.split("variants:").next().unwrap(), text.split("scorers:").nth(1).unwrap());
    let step = format!(
        "{{ id: q, version: v1, http: {{ url: \"{}/query\", body: {{ q: \"{{{{ input }}}}\" }} }}, take: {{ answer: $.answer }} }}",
        provider.base_url()
    );
    place.write("karat.yaml", &format!("{before}variants: {{ direct: [ {step} ] }}\nscorers:{after}"));
    assert_eq!(place.karat(&["run", "--run-id", "r"]).code, 1);
    BROKEN.store(false, Ordering::Relaxed);
    let result = place.karat(&["retry", "r"]);
    assert_eq!((provider.requests(), &place.report("r")["totals"]["errors"]), (4, &0.into()), "{}", result.all());
}

/// F64: the plan names programs as programs: they are no model, have no tokens, and are not free because they state no price.
#[test]
fn programs_are_not_models_of_a_plan() {
    let place = Place::new();
    place.write(
        "karat.yaml",
        "name: x\ndataset: { rows: [{ id: a, q: hi }] }\nvariants: { say: [ { command: { run: [echo, \"{{ sample.q }}\"] }, version: v1 } ] }\n",
    );
    let planned = place.succeed(&["plan"]).stdout;
    let row = planned.lines().find(|line| line.trim_start().starts_with("programs")).unwrap();
    assert!(row.contains("step") && row.ends_with("none stated") && !planned.contains("model  "), "{planned}");
}

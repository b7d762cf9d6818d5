//! Suites over the results of other tools: recorded trials and errors, given scores, lists of checks, rows for some
//! systems only.

use serde_json::{Value, json};

use crate::place::Place;

/// Two samples with two trials each; one trial failed, and one is not graded.
const OUTPUTS: &str = r#"{"id":"s1","epoch":1,"answer":"Paris","error":null,"took":{"ms":120.5},"usage":{"in":10,"out":2},"usd":0.25,"scores":{"acc":1,"ok":true}}
{"id":"s1","epoch":2,"answer":"Rome","error":"","took":{"ms":80},"usage":{"in":12,"out":1},"usd":0.5,"scores":{"acc":0.25,"ok":false}}
{"id":"s2","epoch":2,"answer":null,"error":{"message":"rate limited"},"took":{"ms":7},"usage":{"in":9,"out":0},"usd":0.125}
{"id":"s2","epoch":1,"answer":"Berlin","error":null,"took":{"ms":50},"usage":{"in":11,"out":3},"usd":1,"scores":{"acc":null}}
"#;

const SUITE: &str = r#"name: imported
dataset: { id: id, reference: target, rows: [ { id: s1, target: Paris }, { id: s2, target: Berlin } ] }
variants:
  peer:
    - recorded: { from: "outputs-{{ variant }}.jsonl", by: "{{ sample.id }}", column: answer, trial: epoch, error: error }
      meter:
        latency_ms: { total: took.ms }
        tokens: [ { model: "openai:gpt-5", input: usage.in, output: usage.out } ]
        cost_usd: usd
scorers:
  same: { metric: exact }
  given_acc: { metric: given, with: { from: "outputs-{{ variant }}.jsonl", path: scores.acc, trial: epoch } }
  given_ok: { metric: given, with: { from: "outputs-{{ variant }}.jsonl", path: scores.ok, trial: epoch } }
  took: { metric: latency }
run: { trials: 2 }
policy: { max_errors: 50% }
"#;

fn cells(place: &Place, run: &str) -> Vec<Value> {
    let shown = place.succeed(&["show", run, "--format", "json"]).stdout;
    serde_json::from_str(&shown).unwrap()
}

fn imported() -> Place {
    let place = Place::new();
    place.write("outputs-peer.jsonl", OUTPUTS);
    place.write("karat.yaml", SUITE);
    place
}

/// IO-01: `trial` finds the output, the error, the facts and the given score of each trial, counted from 1 in the file.
#[test]
fn recorded_trials_have_their_own_outputs_errors_and_given_scores() {
    let place = imported();
    let plan = place.succeed(&["plan"]).stdout;
    assert!(plan.contains("2 samples × 1 system (0 models, 1 variant) × 2 trials = 4 cells"), "{plan}");
    assert!(plan.contains("1 fail before any call"), "{plan}");
    place.succeed(&["run", "--run-id", "a"]);
    let cells = cells(&place, "a");
    let number = |at: usize, metric: &str| cells[at]["scores"][metric]["value"].as_f64();
    let column = |metric: &str| (0..4).map(|at| number(at, metric)).collect::<Vec<_>>();
    assert_eq!(column("same"), [Some(1.0), Some(0.0), Some(1.0), None]);
    assert_eq!(column("given_acc"), [Some(1.0), Some(0.25), None, None]);
    assert_eq!(column("given_ok"), [Some(1.0), Some(0.0), None, None]);
    assert_eq!(column("took"), [Some(120.5), Some(80.0), Some(50.0), None]);
    let unscored = &cells[2]["scores"]["given_acc"]["unscored"];
    assert_eq!(unscored, "the score at `$.scores.acc` is null");
    assert_eq!(cells[3]["status"], "error");
    assert_eq!(cells[3]["error"], json!({ "code": "recorded", "message": "step `0`, as recorded: rate limited" }));
    let report = place.report("a");
    assert_eq!((&report["totals"]["errors"], &report["totals"]["cells"]), (&json!(1), &json!(4)));
    let usage = |at: usize| report["cells"][at]["usage"]["input_tokens"].clone();
    assert_eq!((usage(0), usage(1), usage(3)), (json!(10), json!(12), json!(9)), "facts are kept, also of a failure");
    assert_eq!(report["cells"][3]["latency_ms"], json!(7.0));
    assert_eq!(place.karat(&["run", "--run-id", "b", "--set", "policy.max_errors=10%"]).code, 1);
    // Another score in the file is another plan.
    place.write("one.yaml", &SUITE.replace("outputs-{{ variant }}", "outputs-peer"));
    let hash = |place: &Place| {
        place.succeed(&["run", "one.yaml"]);
        place.report("latest")["run"]["plan_hash"].clone()
    };
    let before = hash(&place);
    assert_eq!(hash(&place), before);
    place.write("outputs-peer.jsonl", &OUTPUTS.replace("0.25,\"ok\"", "0.5,\"ok\""));
    assert_ne!(hash(&place), before);
}

/// IO-01: without `trial` a recorded variant still has one trial, and a missing trial is a missing output.
#[test]
fn a_recording_without_trials_has_one() {
    let place = imported();
    place.write("karat.yaml", &SUITE.replace(", trial: epoch", ""));
    let plan = place.succeed(&["plan"]).stdout;
    assert!(plan.contains("= 2 cells"), "{plan}");
    place.write("karat.yaml", SUITE);
    let result = place.karat(&["run", "--run-id", "a", "--trials", "3", "--set", "policy.max_errors=100%"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let cells = cells(&place, "a");
    let message = cells[2]["error"]["message"].as_str().unwrap();
    assert!(message.contains("there is no row \"s1\", trial 3 of outputs-peer.jsonl"), "{message}");
}

/// IO-01: what cannot be joined is said by `validate`, with its place and the nearest name.
#[test]
fn joins_that_cannot_work_are_refused_by_validate() {
    let place = imported();
    let fixed = SUITE.replace("outputs-{{ variant }}", "outputs-peer");
    let column = "peer: [ { recorded: { column: target, trial: epoch } } ]\nscorers: { same: { metric: exact } }\n";
    let with_column = format!("{}{column}", SUITE.split("  peer:").next().unwrap().to_owned() + "  ");
    for (suite, parts) in [
        (
            fixed.replacen("trial: epoch", "trial: epcoh", 1),
            ["no row of outputs-peer.jsonl has a value at `epcoh`", "`epoch`"],
        ),
        (fixed.replace("path: scores.acc", "path: scors.acc"), ["has a value at `scors.acc`", "karat.yaml:"]),
        (fixed.replace("path: scores.acc", "path: a..b"), ["`path` is not a path", "karat.yaml:"]),
        (fixed.replace("path: scores.acc, ", ""), ["the option `path` is missing", "karat.yaml:"]),
        (SUITE.replace("path: scores.acc", "pathh: scores.acc"), ["unknown option `pathh`", "did you mean `path`?"]),
        (
            fixed.replacen("outputs-peer.jsonl", "output-peer.jsonl", 1),
            ["there is no file or folder", "outputs-peer.jsonl"],
        ),
        (SUITE.replace("by: \"{{ sample.id }}\"", "by: \"{{ sample.idd }}\""), ["sample.idd", "karat.yaml:"]),
        (with_column, ["`trial` needs `from`", "karat.yaml:"]),
        (
            SUITE.replace("outputs-{{ variant }}.jsonl\", by: \"{{ sample.id }}\"", "{{ sample.id }}.jsonl\""),
            ["`error` is read from a row", "add `by:"],
        ),
    ] {
        place.write("karat.yaml", &suite);
        let result = place.karat(&["validate"]);
        let has_all = parts.iter().all(|part| result.stderr.contains(part));
        assert!(result.code == 1 && has_all, "{parts:?}\n{suite}\n{}", result.all());
    }
}

const CHECKED: &str = r#"name: checked
dataset:
  id: id
  rows:
    - { id: all, reply: "Sorry, it is late.", assert: [ { metric: checks, min: "50%", with: { of: [ { metric: contains, value: Sorry, weight: 3 }, { metric: contains, value: refund } ] } } ] }
    - { id: few, reply: "Sorry, no.", assert: [ { id: half, metric: checks, min: 0.8, with: { of: [ { metric: contains, value: Sorry }, { metric: contains, value: refund } ] } } ] }
variants: { recorded: [ { recorded: { column: reply } } ] }
scorers:
  mean:
    metric: checks
    min: 0.5
    with:
      of:
        - { metric: contains, value: Sorry, weight: 2 }
        - { metric: length, max: 12, id: short }
        - { metric: contains, value: never, weight: 0 }
        - { metric: checks, with: { of: [ { metric: contains, value: no, not: true }, { metric: contains, value: late } ] } }
  edits: { metric: levenshtein, value: "Sorry, no!", with: { unit: edits } }
"#;

/// IO-01: a weighted mean with a `min` of its own decides a scorer, a row's check, and lists within lists.
#[test]
fn weighted_checks_decide_by_their_own_limit() {
    let place = Place::new();
    place.write("karat.yaml", CHECKED);
    place.succeed(&["run", "--run-id", "a"]);
    let cells = cells(&place, "a");
    let score = |at: usize, metric: &str| cells[at]["scores"][metric].clone();
    // (2 × 1 + 1 × 0 + 1 × 1) / 4, and (2 × 1 + 1 × 1 + 1 × 0) / 4.
    assert_eq!((score(0, "mean")["value"].clone(), score(1, "mean")["value"].clone()), (json!(1.0), json!(1.0)));
    assert_eq!((score(0, "assert")["value"].clone(), score(1, "assert")["value"].clone()), (json!(1.0), json!(0.0)));
    assert_eq!(score(1, "assert")["reason"], "failed: half");
    assert_eq!(score(1, "edits")["value"], json!(1.0));
    place.write("karat.yaml", &CHECKED.replace("    min: 0.5\n", ""));
    place.succeed(&["run", "--run-id", "b"]);
    let bare: Vec<Value> = serde_json::from_str(&place.succeed(&["show", "b", "--format", "json"]).stdout).unwrap();
    assert_eq!(bare[0]["scores"]["mean"], json!({ "value": 0.75, "reason": "failed or below 1: short" }));
    let low = bare[1]["scores"]["mean"].clone();
    assert_eq!(low["value"], json!(0.75), "{low}");
}

/// IO-01: a list of checks that cannot be used is refused by `validate`, in a suite and in a row.
#[test]
fn weighted_checks_that_cannot_work_are_refused_by_validate() {
    let place = Place::new();
    let short = "{ metric: length, max: 12, id: short }";
    let row = "{ metric: contains, value: Sorry, weight: 3 }";
    for (old, new, part) in [
        (short, "{ metric: lenght, max: 12 }", "did you mean `length`?"),
        (short, "{ metric: length }", "`length` in `checks` needs a limit"),
        (short, "{ metric: length, max: 12, weight: -1 }", "`of.1.weight`"),
        (short, "{ metric: length, max: 12, wieght: 1 }", "did you mean `weight`?"),
        (short, "{ metric: length, max: high }", "`max` must be a number or a percentage"),
        (short, "{ metric: length, max: 12, with: { unti: words } }", "did you mean `unit`?"),
        (short, "{ metric: http, with: { url: 'http://127.0.0.1:1/' } }", "make it a scorer of the suite"),
        ("with:\n      of:", "value: x\n    with:\n      of:", "`value` has no effect on `checks`"),
        (row, "{ metric: contians, value: Sorry }", "did you mean `contains`?"),
        (row, "{ metric: contains, value: Sorry, weight: -3 }", "`weight` must be a number of at least 0, not -3"),
        (row, "{ rubric: { ask: calm } }", "`checks` cannot hold a rubric"),
        (row, "{ metric: given, with: { from: x.jsonl, path: y } }", "rows cannot name files"),
        (row, "{ metric: length }", "needs a limit"),
        ("{ id: half, metric: checks,", "{ id: half, weight: 2, metric: checks,", "unknown key `weight`"),
    ] {
        assert!(CHECKED.contains(old));
        place.write("karat.yaml", &CHECKED.replacen(old, new, 1));
        let result = place.karat(&["validate"]);
        assert!(result.code == 1 && result.stderr.contains(part), "{new}: {}", result.all());
    }
}

const ONLY: &str = r#"name: chosen
dataset: { source: data.jsonl, id: id, reference: target }
models:
  - { id: small, provider: scripted, with: { reply: "{{ prompt }}" }, price: { input: 1, output: 1 } }
  - { id: big, provider: scripted, with: { reply: "{{ prompt }}" }, price: { input: 1, output: 1 } }
variants:
  plain: [ { prompt: { text: "{{ sample.target }}" } } ]
  long: [ { prompt: { text: "It is {{ sample.target }}, {{ sample | length }}" } } ]
scorers: { same: { metric: exact } }
"#;

const ROWS: [&str; 3] = [
    r#"{"id":"s1","target":"a","only":{"variants":["plain"],"models":["big"]}}"#,
    r#"{"id":"s2","target":"b","only":{"models":["small"]}}"#,
    r#"{"id":"s3","target":"c"}"#,
];

/// IO-01: the cells that a row's `only` leaves out are not made: the plan, the run, its report and `resume` agree.
#[test]
fn rows_choose_their_systems() {
    let place = Place::new();
    place.write("data.jsonl", &ROWS.join("\n"));
    place.write("karat.yaml", ONLY);
    let plan = place.succeed(&["plan"]).stdout;
    assert!(plan.contains("7 to run") && plan.contains("5 left out by `only`"), "{plan}");
    assert!(plan.contains("0 skipped by conditions"), "{plan}");
    place.succeed(&["run", "--run-id", "a"]);
    let report = place.report("a");
    assert_eq!(report["totals"]["errors"], json!(0));
    let made: Vec<String> = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["status"] == "ok")
        .map(|cell| ["sample", "model", "variant"].map(|key| cell[key].as_str().unwrap()).join(" "))
        .collect();
    let of_s3 = ["s3 small plain", "s3 small long", "s3 big plain", "s3 big long"];
    let wanted = ["s1 big plain", "s2 small plain", "s2 small long"].into_iter().chain(of_s3);
    let sorted = |mut list: Vec<String>| {
        list.sort_unstable();
        list
    };
    assert_eq!(sorted(made), sorted(wanted.map(str::to_owned).collect()));
    let outputs = place.succeed(&["show", "a", "--format", "json"]).stdout;
    assert!(outputs.contains("only` leaves this system out"), "{outputs}");
    let again = place.succeed(&["run", "--run-id", "a", "--resume"]);
    assert!(again.all().contains("12 of 12 cells already done"), "{}", again.all());
    assert!(again.all().contains("0 calls made"), "{}", again.all());
    // The key is not a column and no part of a cell's identity: without it, what exists is reused.
    place.write("data.jsonl", &ROWS.join("\n").replace(r#","only":{"models":["small"]}"#, ""));
    let plan = place.succeed(&["plan"]).stdout;
    assert!(plan.contains("2 to run") && plan.contains("7 cached"), "{plan}");
}

/// IO-01: a row that names what the suite does not have is refused, with the nearest name.
#[test]
fn rows_with_unknown_systems_are_refused_by_validate() {
    let place = Place::new();
    place.write("karat.yaml", ONLY);
    for (only, part) in [
        (r#"{"variants":["plian"]}"#, "did you mean `plain`?"),
        (r#"{"models":["smal"]}"#, "did you mean `small`?"),
        (r#"{"model":["small"]}"#, "did you mean `models`?"),
        (r#"{"models":[]}"#, "the row would have no cell"),
        (r#"{"models":"small"}"#, "`only.models` must be a list of ids"),
        (r#"["small"]"#, "`only` must be a map"),
        ("{}", "names neither variants nor models"),
    ] {
        place.write("data.jsonl", &format!("{}\n{{\"id\":\"x\",\"target\":\"y\",\"only\":{only}}}\n", ROWS[2]));
        let result = place.karat(&["validate"]);
        assert!(result.code == 1 && result.stderr.contains(part), "{only}: {}", result.all());
        assert!(result.stderr.contains("data.jsonl:2"), "{only}: {}", result.all());
    }
    place.write("data.jsonl", r#"{"id":"x","target":"y","only":"a column like any other"}"#);
    place.succeed(&["validate"]);
}

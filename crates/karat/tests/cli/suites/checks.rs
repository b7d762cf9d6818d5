//! Pass and fail: bounds of scorers, checks of single rows, and `pass` over all of them.

use serde_json::{Value, json};

use crate::place::Place;

const SUITE: &str = r#"name: support
dataset:
  id: id
  rows:
    - { id: parcel, reply: "Sorry, it is late.", assert: [ { metric: contains, value: sorry, with: { ignore_case: true } }, { metric: length, max: 40 } ] }
    - { id: refund, reply: "You can't have it.", assert: [ { id: polite, metric: contains, value: "can't", not: true } ] }
    - { id: thanks, reply: "You are welcome.", assert: [] }
    - { id: long, reply: "This answer goes on and on and on and on and on.", assert: [ { metric: length, min: 1 } ] }
variants: { recorded: [ { recorded: { column: reply } } ] }
scorers:
  short: { metric: length, max: 30 }
  calm: { metric: regex, value: "(?i)useless", not: true }
  words: { metric: length, with: { unit: words } }
"#;

fn scores(place: &Place) -> Value {
    serde_json::from_str(&place.succeed(&["show", "a", "--format", "json"]).stdout).unwrap()
}

/// A bound turns a score into pass/fail, a row's own checks are one score, and `pass` holds where all do.
#[test]
fn all_checks_of_a_cell_must_hold() {
    let place = Place::new();
    place.write("karat.yaml", SUITE);
    place.succeed(&["run", "--run-id", "a"]);
    let cells = scores(&place);
    let of = |at: usize, metric: &str| cells[at]["scores"][metric].clone();
    assert_eq!(of(0, "pass"), json!({ "value": 1.0 }));
    assert_eq!(of(1, "assert"), json!({ "value": 0.0, "reason": "failed: polite" }));
    assert_eq!(of(1, "pass"), json!({ "value": 0.0, "reason": "failed: assert" }));
    assert_eq!((of(2, "assert")["na"].is_string(), of(2, "pass")), (true, json!({ "value": 1.0 })));
    assert_eq!(of(3, "short"), json!({ "value": 0.0, "reason": "it is 48" }));
    assert_eq!(of(3, "words")["value"], json!(12.0));
    let metrics = &place.report("a")["metrics"];
    let figure =
        |name: &str| (metrics[name]["value"].as_f64(), metrics[name]["n"].as_u64(), metrics[name]["method"].clone());
    assert_eq!(figure("pass"), (Some(0.5), Some(4), json!("Wilson")));
    assert_eq!(figure("calm"), (Some(1.0), Some(4), json!("Wilson")));
    assert_eq!(figure("short"), (Some(0.75), Some(4), json!("Wilson")));
    assert_eq!((figure("assert").0, figure("assert").1), (Some(2.0 / 3.0), Some(3)));
}

/// A broken check is found before anything runs, with its row.
#[test]
fn a_broken_check_is_refused_with_its_row() {
    let place = Place::new();
    for (check, part) in [
        ("{ metric: contians, value: x }", "did you mean `contains`"),
        ("{ metric: contains, vlaue: x }", "did you mean `value`"),
        ("{ metric: length }", "`max`"),
        ("{ rubric: { asks: calm } }", "one requirement in words"),
        ("{ metric: http, with: { url: 'http://127.0.0.1:1/x' } }", "calls a service or a program"),
    ] {
        place.write("karat.yaml", &SUITE.replace("[ { metric: length, min: 1 } ]", &format!("[ {check} ]")));
        let result = place.karat(&["validate"]);
        assert!(
            result.code == 1 && result.stderr.contains(part) && result.stderr.contains("`long`"),
            "{}",
            result.all()
        );
    }
    place.write("karat.yaml", &SUITE.replace("with: { unit: words }", "not: true"));
    let result = place.karat(&["validate"]);
    assert!(result.code == 1 && result.stderr.contains("`not` swaps pass and fail"), "{}", result.all());
}

/// BY-01, BY-15: what a program answers with true or false is a pass or a fail like any other: in `pass`, in its
/// interval, in the test of a comparison.
#[cfg(unix)]
#[test]
fn true_and_false_of_a_program_are_pass_and_fail() {
    let place = Place::new();
    let row = |at: usize| {
        let reply = |says: bool| if says { "thanks" } else { "no" };
        json!({ "id": format!("s{at}"), "old": reply(!at.is_multiple_of(3)), "new": reply(at != 7) }).to_string() + "\n"
    };
    place.write("data.jsonl", &(0..40).map(row).collect::<String>());
    let line = r#"while read -r line; do id=${line#*:}; id=${id%%,*}; case "$line" in *'"output":"thanks"'*) said=TRUE;; *) said=FALSE;; esac; echo "{\"id\":$id,\"output\":$said}"; done"#;
    place.write("polite.sh", &line.replace("TRUE", "true").replace("FALSE", "false"));
    place.write("points.sh", &line.replace("TRUE", "1").replace("FALSE", "0.5"));
    place.write(
        "karat.yaml",
        "name: tone\ndataset: { source: data.jsonl, id: id }\n\
         variants: { old: [ { recorded: { column: old } } ], new: [ { recorded: { column: new } } ] }\n\
         scorers:\n  kind: { metric: regex, value: \"thanks|no\" }\n  polite: { metric: command, with: { run: [sh, polite.sh] } }\n\
         \x20 points: { metric: command, with: { run: [sh, points.sh] } }\n\
         \x20 both: { metric: combine, with: { of: [kind, polite], how: min } }\n",
    );
    place.succeed(&["run", "--run-id", "a"]);
    let report = place.report("a");
    let found = |name: &str| {
        let system =
            &report["systems"].as_array().unwrap().iter().find(|it| it["id"] == "new").unwrap()["dimensions"][name];
        (system["value"].as_f64(), system["method"].clone())
    };
    for name in ["polite", "both", "pass"] {
        assert_eq!(found(name), (Some(0.975), json!("Wilson")), "{name}");
    }
    // One of 40 differs, and nobody says how low points can be.
    assert_eq!(found("points"), (Some(0.9875), json!("mean")));
    let result = place.succeed(&["compare", "old", "new", "--format", "json"]).stdout;
    let compared: Value = serde_json::from_str(&result).unwrap();
    let tests: Vec<(&Value, &Value)> =
        compared["metrics"].as_array().unwrap().iter().map(|it| (&it["metric"], &it["test"])).collect();
    let (rate, mean) = (json!("McNemar mid-p"), json!("paired t"));
    for (name, test) in [("polite", &rate), ("points", &mean), ("both", &rate), ("pass", &rate)] {
        assert!(tests.contains(&(&json!(name), test)), "{name}: {tests:?}");
    }
}

/// CL-18: a run in which no metric applies to any output has measured nothing and fails; metrics that apply to no
/// output are named, and a run without scorers passes.
#[test]
fn a_run_without_applicable_metrics_fails() {
    let place = Place::new();
    let suite = |scorers: &str| {
        let rows = "rows: [ { id: a, target: [] }, { id: b, target: [] } ]";
        format!("name: x\ndataset: {{ {rows} }}\nvariants: {{ same: [ {{ recorded: {{ column: id }} }} ] }}\n{scorers}")
    };
    place.write("karat.yaml", &suite("scorers: { hit: { metric: exact } }\n"));
    let nothing = place.karat(&["run"]);
    assert!(nothing.code == 1 && nothing.stdout.contains("failed: no cell has a score"), "{}", nothing.all());
    assert!(
        nothing.stdout.contains("warning: Metrics without a score, because they apply to no output: hit;"),
        "{}",
        nothing.all()
    );
    place.write("karat.yaml", &suite("scorers: { hit: { metric: exact }, words: { metric: length } }\n"));
    let some = place.succeed(&["run"]).stdout;
    assert!(
        some.contains("Metrics without a score, because they apply to no output: hit;") && !some.contains("failed:"),
        "{some}"
    );
    place.write("karat.yaml", &suite(""));
    let outputs = place.succeed(&["run"]).stdout;
    assert!(outputs.contains("warning: No output is scored, because no scorer is enabled."), "{outputs}");
}

/// BY-07: summary and report say why a scorer program gave no score, and how often.
#[test]
fn why_a_scorer_failed_is_said() {
    let place = Place::new();
    let suite = |program: &str| {
        let rows = "rows: [ { id: a, target: a }, { id: b, target: x } ]";
        let ext = format!("ext: {{ metric: command, with: {{ run: [ sh, -c, {} ] }} }}", json!(program));
        format!(
            "name: x\ndataset: {{ {rows} }}\nvariants: {{ same: [ {{ recorded: {{ column: id }} }} ] }}\nscorers: {{ hit: {{ metric: exact }}, {ext} }}\n"
        )
    };
    let down = r#"while read -r line; do id=${line#*\"id\":}; echo "{\"id\":${id%%,*},\"output\":{\"unscored\":\"model down\"}}"; done"#;
    place.write("karat.yaml", &suite(down));
    let result = place.karat(&["run", "--run-id", "down"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stdout.contains("failed: ext: every score of it failed: model down"), "{}", result.stdout);
    assert!(result.stdout.contains("error: 2 scores, unscored: ext: model down"), "{}", result.stdout);
    let report = place.succeed(&["report", "down", "--format", "md", "-o", "-"]).stdout;
    assert!(report.contains("| `unscored` | score | 2 | a ext: model down |"), "{report}");
}

/// DC-20: figures of the suite's own draw are those of its dataset: rows that `per` draws from rare groups count for less. A draw
/// that cannot be weighted has plain means and a warning; metrics without a weighted figure are refused.
#[test]
fn a_suites_own_draw_is_weighted() {
    let place = Place::new();
    let row = |i: usize| {
        let (topic, output) = if i.is_multiple_of(10) { ("rare", "yes") } else { ("common", "no") };
        format!("{{\"id\":\"q{i}\",\"topic\":\"{topic}\",\"lang\":\"de\",\"target\":\"yes\",\"out\":\"{output}\"}}\n")
    };
    place.write("data.jsonl", &(0..200).map(row).collect::<String>());
    let suite = |draw: &str, metric: &str| {
        format!(
            "name: drawn\ndataset: {{ source: data.jsonl, id: id, reference: target, {draw} }}\n\
             variants: {{ v: [ {{ recorded: {{ column: out }} }} ] }}\nscorers: {{ right: {{ {metric} }} }}\n"
        )
    };
    for (draw, more, text) in [
        ("draw: { n: 10, per: topic }", [].as_slice(), "0.100"),
        ("draw: { n: 10, per: topic }", &[], "stratified by topic, 10 + 10 of 200 rows"),
        ("draw: { n: 20, by: topic }", &[], "stratified by topic, 18 + 2 of 200 rows"),
        ("draw: { n: 10, per: topic }, design: none", &[], "0.500"),
        ("draw: { n: 10, per: topic }", &["--limit", "12"], "so figures are plain means of these"),
        ("draw: { n: 10, per: topic, by: lang }", &[], "with both `per` and `by` are not weighted"),
    ] {
        place.write("karat.yaml", &suite(draw, "metric: exact"));
        let result = place.succeed(&[["run"].as_slice(), more].concat()).all();
        assert!(result.contains(text), "{draw}: {result}");
    }
    place.write("karat.yaml", &suite("draw: { n: 10, per: topic }", "metric: label, aggregate: f1"));
    let refused = place.karat(&["validate"]);
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.all().contains("f1 of a weighted sample is not offered"), "{}", refused.all());
}

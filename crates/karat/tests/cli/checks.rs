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
    serde_json::from_str(&place.fine(&["show", "a", "--format", "json"]).stdout).unwrap()
}

/// A bound turns a score into pass/fail, a row's own checks are one score, and `pass` holds where all do.
#[test]
fn all_checks_of_a_cell_must_hold() {
    let place = Place::new();
    place.write("karat.yaml", SUITE);
    place.fine(&["run", "--run-id", "a"]);
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
    ] {
        place.write("karat.yaml", &SUITE.replace("[ { metric: length, min: 1 } ]", &format!("[ {check} ]")));
        let said = place.karat(&["validate"]);
        assert!(said.code == 1 && said.stderr.contains(part) && said.stderr.contains("`long`"), "{}", said.all());
    }
    place.write("karat.yaml", &SUITE.replace("with: { unit: words }", "not: true"));
    let said = place.karat(&["validate"]);
    assert!(said.code == 1 && said.stderr.contains("`not` turns pass and fail"), "{}", said.all());
}

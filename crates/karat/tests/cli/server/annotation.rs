//! `karat annotate` with tasks in the store, up to a calibration against their labels.

use std::sync::Arc;

use karat_app::{App, LabelRequest, NextRequest, Session, StoreUrl};
use karat_types::{Clock, Moment};
use serde_json::{Map, Value, json};

use crate::place::Place;

/// Outputs are numbers; one judge repeats them, the other always says 5.
const SUITE: &str = r#"name: numbers
dataset: { source: data.jsonl, id: id }
registry: [models.yaml]
models: []
judges: [good, flat]
variants: { same: [ { recorded: { column: num } } ] }
scorers:
  quality:
    rubric:
      id: q
      ask: Repeat the number.
      show: { text: "{{ output }}" }
      dimensions: { truth: { scale: [0, 10], step: 1 } }
      rationale: { field: reasoning }
analyses: [ { analysis: calibration, with: { scorer: quality } } ]
"#;

const MODELS: &str = "
schema: karat.models/1
as_of: 2026-06-01
models:
  - { id: good, provider: scripted, with: { reply: good.j2 } }
  - { id: flat, provider: scripted, with: { reply: flat.j2 } }
";

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Moment {
        Moment(1_780_315_200_000)
    }
}

fn place() -> Place {
    let place = Place::new();
    let row = |at: u32| format!("{}\n", json!({ "id": format!("s{at}"), "num": (at % 11).to_string() }));
    place.write("data.jsonl", &(0..22).map(row).collect::<String>());
    place.write("models.yaml", MODELS);
    let reply = |truth: &str| {
        format!("{{\"code\": {{{{ code | json }}}}, \"scores\": {{\"truth\": {truth}}}, \"reasoning\": \"so\"}}")
    };
    place.write("good.j2", &reply("{{ fenced('TEXT', '0') }}"));
    place.write("flat.j2", &reply("5"));
    place.write("karat.yaml", SUITE);
    place.succeed(&["run", "--no-gate", "-q", "--run-id", "base"]);
    place
}

/// Labels every item for two people: the number itself, and for the second person one more of each fourth.
fn label_all(place: &Place) {
    let app = App {
        store: StoreUrl::in_folder(place.path().join(".karat")),
        home: place.path().join(".karat"),
        lookup: Arc::new(|_| None),
        clock: Arc::new(Noon),
        own_program: None,
        opened: Session::default(),
    };
    for (person, more) in [("ann", 0), ("bob", 1)] {
        loop {
            let next = app.tasks().next("numbers", person, &NextRequest::default()).unwrap();
            let Some(item) = next["item"]["id"].as_str() else { break };
            let number: u64 = next["item"]["text"].as_str().unwrap().parse().unwrap();
            let value = number + if number.is_multiple_of(4) { more } else { 0 };
            let answers = Map::from_iter([("truth".to_owned(), json!(value))]);
            let label = LabelRequest { item: item.to_owned(), answers, ..LabelRequest::default() };
            app.tasks().submit("numbers", person, &label).unwrap();
        }
    }
}

/// HU-32, HU-33, HU-30: a task is made, labelled, closed and exported; its labels calibrate judges without an edit, from the
/// file and by the task's name, and the judges come in the planted order. Agreement of people equals that of `agree`.
#[test]
fn labels_of_a_task_calibrate_judges() {
    let place = place();
    let made = place.succeed(&["annotate", "create", "base", "-k", "2", "--seed", "3"]).stdout;
    assert!(made.contains("task numbers, version 1: made; 22 items"), "{made}");
    let again = place.succeed(&["annotate", "create", "base", "-k", "2", "--seed", "3"]).stdout;
    assert!(again.contains("was there already"), "{again}");
    let link = place.succeed(&["annotate", "invite", "numbers", "ann", "-q"]).stdout;
    assert!(link.starts_with("http://127.0.0.1:8787/annotate/numbers?token=karat_"), "{link}");
    label_all(&place);
    let listed = place.succeed(&["annotate", "ls"]).stdout;
    assert!(listed.contains("numbers@1") && listed.contains("44 of 44"), "{listed}");
    let shown: Value = serde_json::from_str(&place.succeed(&["annotate", "show", "numbers", "--json"]).stdout).unwrap();
    let alpha = &shown["agreement"][0]["alpha"];
    let text = place.succeed(&["annotate", "show", "numbers"]).stdout;
    assert!(text.contains("truth: ") && text.contains("Krippendorff's alpha (ordinal)"), "{text}");

    place.succeed(&["annotate", "close", "numbers"]);
    let labels = place.succeed(&["annotate", "export", "numbers"]).stdout;
    place.write("people.jsonl", &labels);
    let agree = ["agree", "base", "--labels", "people.jsonl", "--between", "ann,bob", "--format", "json", "-o", "-"];
    let agree: Value = serde_json::from_str(&place.succeed(&agree).stdout).unwrap();
    let same = find(&agree, "alpha").and_then(|it| it["value"].as_f64()).unwrap();
    assert!((alpha["value"].as_f64().unwrap() - same).abs() < 1e-12, "{alpha} {same}");

    let by_task = place.karat(&["calibrate", "--task", "numbers", "-q"]);
    assert!(by_task.code == 2 && by_task.stdout.contains("flat fails: "), "{}", by_task.all());
    assert!(by_task.stdout.contains("people among themselves 0.9"), "{}", by_task.stdout);
    let agreement = |judge: &str| -> f64 {
        let rounds = place.succeed(&["calibrate", "--rounds", "--format", "json"]).stdout;
        let rounds: Value = serde_json::from_str(&rounds).unwrap();
        let judges = rounds["rounds"].as_array().unwrap().last().unwrap()["calibration"]["judges"].clone();
        let found = judges.as_array().unwrap().iter().find(|it| it["judge"] == judge).unwrap().clone();
        1.0 - found["dimensions"][0]["mean_abs_difference"]["value"].as_f64().unwrap() / 10.0
    };
    let (good, flat) = (agreement("good"), agreement("flat"));
    assert!(good > 0.9 && flat < good - 0.1, "{good} {flat}");

    place.write("labels.jsonl", &place.succeed(&["annotate", "export", "numbers", "--settled"]).stdout);
    place.write("karat.yaml", &SUITE.replace("  quality:\n", "  quality:\n    labels: labels.jsonl\n"));
    place.succeed(&["validate"]);
    assert_eq!(place.karat(&["calibrate", "-q"]).code, 2);
    assert!((agreement("good") - good).abs() < 1e-12 && (agreement("flat") - flat).abs() < 1e-12);
}

/// HU-32: settled labels become a golden set in the folder that the suite names, which `golden` lists and checks without an
/// edit; a name that is nothing says so.
#[test]
fn settled_labels_are_pinned() {
    let place = place();
    place.write("karat.yaml", &SUITE.replace("analyses:", "baseline: golden\nanalyses:"));
    place.succeed(&["annotate", "create", "base"]);
    label_all(&place);
    let open = place.karat(&["annotate", "export", "numbers", "--as", "golden", "-o", "golden"]);
    assert!(open.code == 1 && open.stderr.contains("`karat annotate close numbers`"), "{}", open.all());
    place.succeed(&["annotate", "close", "numbers"]);
    let no_folder = place.karat(&["annotate", "export", "numbers", "--as", "golden"]);
    assert!(no_folder.code == 1 && no_folder.stderr.contains("`-o DIR`"), "{}", no_folder.all());
    let pinned = place.succeed(&["annotate", "export", "karat.yaml", "--as", "golden"]).stdout;
    assert!(pinned.contains("golden: changed 22 files, 0 unchanged"), "{pinned}");
    let listed = place.succeed(&["golden", "list"]).stdout;
    assert!(listed.contains("s21") && listed.contains("people"), "{listed}");
    let good = place.succeed(&["golden", "check", "--judge", "good"]);
    assert!(good.all().contains("people scored 22 of the 22 pinned samples"), "{}", good.all());
    let flat = place.karat(&["golden", "check", "--judge", "flat"]);
    assert_eq!(flat.code, 2, "{}", flat.all());
    let misplaced = place.karat(&["annotate", "export", "numbers", "-o", "x"]);
    assert!(misplaced.code == 1 && misplaced.stderr.contains("`--as golden`"), "{}", misplaced.all());
    let nothing = place.karat(&["annotate", "export", "nope"]);
    assert!(
        nothing.code == 1 && nothing.stderr.contains("not an annotation task") && nothing.stderr.contains("numbers")
    );
}

/// HU-32: names become pseudonyms, and an audit holds all events; a wrong name says what there is.
#[test]
fn exports_have_forms() {
    let place = place();
    place.succeed(&["annotate", "create", "base"]);
    label_all(&place);
    let export = |more: &[&str]| place.succeed(&[&["annotate", "export", "numbers"][..], more].concat()).stdout;
    let csv = export(&["--as", "csv", "--pseudonyms"]);
    assert!(csv.starts_with("# {") && csv.contains("\nitem,sample,question,person,answer,state\n"), "{csv}");
    assert!(csv.contains(",a1,") && !csv.contains("ann") && csv.lines().count() == 46, "{csv}");
    let items = export(&["--as", "jsonl"]);
    let head: Value = serde_json::from_str(items.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&head["provenance"]["labels_per_item"], &head["provenance"]["people"]),
        (&json!(2), &json!(["ann", "bob"]))
    );
    assert!(head["provenance"]["questions"]["truth"]["alpha"]["ci"].is_array(), "{head}");
    assert_eq!(export(&["--audit"]).lines().count(), 45);
    let absent = place.karat(&["annotate", "show", "numbrs"]);
    assert!(absent.code == 1 && absent.stderr.contains("numbers"), "{}", absent.all());
}

/// The first value under a name, wherever it is.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => match fields.get(name).filter(|found| found.is_object()) {
            Some(found) => Some(found),
            None => fields.values().find_map(|value| find(value, name)),
        },
        Value::Array(items) => items.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

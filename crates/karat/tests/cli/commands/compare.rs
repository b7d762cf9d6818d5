//! `karat compare`.

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// A suite of two recorded variants whose pass rates differ by a lot, and by nothing.
fn recorded(place: &Place, extra: &str) {
    let answers = |wrong: fn(usize) -> bool| -> String {
        let reply = |i: usize| if wrong(i) { "no idea".to_owned() } else { format!("answer {i}") };
        (0..60).map(|i| format!("{{\"id\":\"q{i}\",\"reply\":\"{}\"}}\n", reply(i))).collect()
    };
    place.write("data.jsonl", &questions(60));
    place.write("old.jsonl", &answers(|i| i % 3 == 0));
    place.write("new.jsonl", &answers(|i| i % 30 == 1));
    place.write("same.jsonl", &answers(|i| i % 3 == 0));
    let step = |name: &str| format!("[ {{ recorded: {{ from: {name}.jsonl, column: reply }} }} ]");
    let (old, new, same) = (step("old"), step("new"), step("same"));
    place.write(
        "karat.yaml",
        &format!(
            "name: replies\ndataset: {{ source: data.jsonl, id: id, reference: target }}\n\
             variants:\n  old: {old}\n  new: {new}\n  same: {same}\n\
             scorers:\n  hit: {{ metric: contains{extra} }}\n  chars: {{ metric: length, better: lower }}\n"
        ),
    );
    place.succeed(&["run", "--run-id", "a"]);
}

/// BY-01, GE-01: variants of one run, as words, by flag, as JSON; a pass rate is decided by McNemar's mid-p.
#[test]
fn variants_of_a_run_are_compared() {
    let place = Place::new();
    recorded(&place, "");
    let result = place.succeed(&["compare", "old", "new"]);
    assert!(result.stdout.contains("better") && result.stdout.contains("McNemar mid-p"), "{}", result.all());
    assert_eq!(place.succeed(&["compare", "variant:old", "variant:new"]).stdout, result.stdout);
    let json = place.succeed(&["compare", "--variants", "old", "new", "--run", "a", "--format", "json"]).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&found["schema"], &found["matched"]), (&Value::from("karat.compare/1"), &Value::from(60)));
    let hit = &found["metrics"][0];
    assert_eq!((&hit["metric"], &hit["verdict"], &hit["kind"]), (&"hit".into(), &"better".into(), &"binary".into()));
    assert!(hit["p_adjusted"].as_f64().unwrap() >= hit["p"].as_f64().unwrap());
    assert_eq!(hit["difference"]["n"], 60);
    let turned = place.succeed(&["compare", "new", "old", "--metrics", "hit", "--correction", "none"]).stdout;
    assert!(turned.contains("worse") && !turned.contains("chars"), "{turned}");
    let alike = place.succeed(&["compare", "old", "same"]).stdout;
    assert!(
        alike.contains("no difference: all 60 samples scored the same on both sides") && alike.contains("set a margin"),
        "{alike}"
    );
    let alike = place.succeed(&["compare", "old", "same", "--metrics", "hit", "--margin", "hit=0.1"]).stdout;
    assert!(alike.contains("equivalent") && alike.contains("few samples differ"), "{alike}");
    for (arguments, code) in [("worse", 2), ("undecided", 0), ("worse,undecided", 2)] {
        let bound = place.karat(&["compare", "new", "old", "--metrics", "hit", "--fail-on", arguments]);
        assert_eq!(bound.code, code, "{arguments}: {}", bound.all());
    }
    assert_eq!(place.karat(&["compare", "old", "same", "--fail-on", "worse,undecided"]).code, 4);
    let replaced = ["compare", "new", "old", "--fail-on", "worse", "--fail-exit-code", "9"];
    assert_eq!(place.karat(&replaced).code, 9);
}

/// BY-01: a scorer declares the smallest difference that matters; the command line may too.
#[test]
fn a_margin_makes_equivalence() {
    let place = Place::new();
    recorded(&place, ", margin: 0.9");
    let found = place.succeed(&["compare", "new", "old", "--metrics", "hit", "--confidence", "0.9999999999"]).stdout;
    assert!(found.contains("equivalent"), "{found}");
    let found = place.succeed(&["compare", "new", "old", "--margin", "chars=0.001"]).stdout;
    assert!(!found.contains("chars: +0.1 equivalent"), "{found}");
    let relative =
        place.succeed(&["compare", "a", "--variants", "old", "same", "--margin", "hit=20%", "--format", "json"]).stdout;
    let relative: Value = serde_json::from_str(&relative).unwrap();
    let hit = &relative["metrics"][0];
    assert_eq!(hit["margin"].as_f64(), hit["baseline"]["value"].as_f64().map(|base| 0.2 * base));
    let alone = place.karat(&["compare", "a"]);
    assert!(
        alone.code == 1 && alone.stderr.contains("`a` is one side") && alone.stderr.contains("--variants A B"),
        "{}",
        alone.all()
    );
    let wrong = place.karat(&["compare", "old", "new", "--margin", "hit=-1"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("hit=-1"), "{}", wrong.all());
}

/// PE-12, BY-01: two runs are paired by sample id, and what has no partner is listed; files are written where `-o`
/// says.
#[test]
fn runs_are_compared_by_sample_id() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(35));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "first", "--limit", "33"]);
    place.succeed(&["run", "--run-id", "second"]);
    let result = place.succeed(&["compare", "fir", "second", "-o", "out"]).stdout;
    assert!(result.contains("33 samples in both") && result.contains("only in second: q33, q34"), "{result}");
    let json = std::fs::read_to_string(place.path().join("out/compare.json")).unwrap();
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["candidate"]["only"], serde_json::json!(["q33", "q34"]));
    assert!(std::fs::read_to_string(place.path().join("out/compare.md")).unwrap().starts_with("# Comparison"));
}

/// Wrong sides and metrics exit with 1, and the message lists the valid ones.
#[test]
fn impossible_comparisons_are_refused_with_a_hint() {
    let place = Place::new();
    assert!(place.karat(&["compare", "a", "b"]).stderr.contains("no store"));
    recorded(&place, "");
    for (arguments, part) in [
        (&["compare"][..], "karat compare RUN RUN"),
        (&["compare", "a", "a"], "with itself"),
        (&["compare", "a", "old"], "`a` is a run and `old` a part of run a"),
        (&["compare", "a", "odl"], "`odl` is not a stored run"),
        (&["compare", "old", "nwe"], "`nwe`"),
        (&["compare", "--variants", "old", "nwe"], "a has no system with `nwe`"),
        (&["compare", "old", "new", "--metrics", "speed"], "speed"),
        (&["compare", "old", "new", "--confidence", "95"], "0.95"),
        (&["compare", "old", "new", "--margin", "hit"], "METRIC=X"),
        (&["compare", "old"], "`old` is one side"),
    ] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains(part), "{arguments:?}: {}", result.all());
    }
}

/// BY-16: `plan --mde` says how many samples and dollars a difference takes, from a stored run once there is one.
#[test]
fn a_plan_says_what_a_difference_takes() {
    let place = Place::new();
    let power = |arguments: &[&str]| -> Value {
        let result = place.succeed(&[&["plan", "--json"], arguments].concat());
        serde_json::from_str::<Value>(&result.stdout).unwrap()["power"].clone()
    };
    place.write("data.jsonl", &questions(60));
    recorded(&place, "");
    let measured = power(&["--mde", "hit=5%"]);
    assert_eq!((&measured["run"], &measured["metrics"][0]["metric"]), (&Value::from("a"), &Value::from("hit")));
    let (base, wanted) = (place.report("a")["metrics"]["hit"]["value"].clone(), &measured["metrics"][0]["wanted"]);
    assert!((wanted.as_f64().unwrap() - 0.05 * base.as_f64().unwrap()).abs() < 1e-12, "{measured}");
    let deviation = &measured["metrics"][0]["deviation"];
    assert!(deviation["n"].as_u64() == Some(120) && deviation["value"].as_f64().unwrap() < 0.5, "{measured}");
    assert!(measured["metrics"][0]["needed"]["samples"].as_u64().unwrap() > 60, "{measured}");
    // F40: a newer run of one sample does not fit.
    place.succeed(&["run", "-q", "--no-gate", "--limit", "1", "--run-id", "tiny"]);
    assert_eq!(power(&["--mde", "hit=5%"])["run"], Value::from("a"));
    let suite = std::fs::read_to_string(place.path().join("karat.yaml")).unwrap();
    place.write("karat.yaml", &suite.replace("name: replies", "name: others"));
    let assumed = power(&["--mde", "0.1"]);
    assert!(assumed["run"].is_null(), "{assumed}");
    // The worst case of pass/fail: s_d = 0.5, so (1.96 + 0.84)² · 25 and two for t.
    assert_eq!(assumed["metrics"][0]["needed"]["samples"], 199);
    assert!(place.succeed(&["plan", "--mde", "0.1"]).stdout.contains("0.100 takes 199 samples"));
    let share = place.karat(&["plan", "--mde", "hit=5%"]);
    assert!(share.code == 1 && share.stderr.contains("no stored run has one"), "{}", share.all());
    let unknown = place.karat(&["plan", "--mde", "chars=1"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no range"), "{}", unknown.all());
    let wrong = place.karat(&["plan", "--mde", "hit=much"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("METRIC=0.02"), "{}", wrong.all());
}

/// DC-14: a dataset that grows is looked at again, at a fifth of the level, by run, comparison and gate; repeating a command is
/// no further look, and a run on a part of the dataset is a pilot that does not count for the whole.
#[test]
fn a_later_look_is_decided_at_a_lower_level() {
    let place = Place::new();
    let rows = |n: usize| -> String {
        let row = |i: usize| {
            let (old, new) = (i % 10 < 5, i % 10 < 6);
            format!("{{\"id\":\"q{i}\",\"target\":\"true\",\"old\":\"{old}\",\"new\":\"{new}\"}}\n")
        };
        (0..n).map(row).collect()
    };
    place.write("data.jsonl", &rows(60));
    place.write(
        "karat.yaml",
        "name: looks\ndataset: { source: data.jsonl, id: id, reference: target }\n\
         variants:\n  old: [ { recorded: { column: old } } ]\n  new: [ { recorded: { column: new } } ]\n\
         scorers:\n  right: { metric: exact }\n\
         gates:\n  - { id: drop, metric: right, against: 'variant:old', max_drop: 0, decide: interval }\n",
    );
    let contrast = |run: &str| -> Value {
        let json = place.succeed(&["report", run, "--format", "json", "-o", "-"]).stdout;
        serde_json::from_str::<Value>(&json).unwrap()["analyses"]["contrasts"][0].clone()
    };
    place.succeed(&["run", "--run-id", "a"]);
    assert_eq!((&contrast("a")["verdict"], &contrast("a")["look"]), (&"better".into(), &1.into()));
    assert_eq!(contrast("a")["family"], "gates");
    place.write("data.jsonl", &rows(70));
    for run in ["b", "again"] {
        place.succeed(&["run", "--run-id", run]);
        let found = contrast(run);
        assert_eq!((&found["look"], &found["first_look"]["run"]), (&2.into(), &"a".into()), "{found}");
        assert_eq!(found["difference"]["level"], 0.99);
    }
    let look = "look 2 (first: run a, 60 samples): decided at 1 %";
    for command in [["compare", "old", "new", "--run", "b"].as_slice(), &["gate", "b"]] {
        assert!(place.succeed(command).stdout.contains(look), "{command:?}");
    }
    let pilot = place.karat(&["run", "--run-id", "pilot", "--limit", "50"]);
    assert!(pilot.all().contains("verdict undecided"), "{}", pilot.all());
    let result = place.succeed(&["compare", "old", "new", "--run", "pilot"]).stdout;
    assert!(result.contains("a pilot on a part of its dataset: decided at 1 %"), "{result}");
    place.write("data.jsonl", &rows(80));
    place.succeed(&["run", "--run-id", "c"]);
    assert_eq!(contrast("c")["look"], 3);
}

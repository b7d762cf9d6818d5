//! Golden sets apply to the system, judge and rubric that they name.

use super::*;

const DAYS: [&str; 6] = ["--sample", "2026-03-01", "--sample", "2026-03-02", "--sample", "2026-03-03"];

/// Pins three days of the preset's copy `mine`.
fn pinned() -> Place {
    let place = Place::new();
    place.succeed(&["init", "briefing", "mine"]);
    place.succeed(&[&["run", "mine", "-q"], &DAYS[..]].concat());
    place.succeed(&["golden", "pin", "mine"]);
    place
}

fn edit(place: &Place, file: &str, from: &str, to: &str) {
    let text = place.text(file);
    assert!(text.contains(from), "{text}");
    place.write(file, &text.replace(from, to));
}

/// Returns the verdict of the golden set's gate for one day.
fn regression(report: &Value, sample: &str, system: &str) -> Value {
    let gates = report["gates"].as_array().unwrap().iter();
    let own = |it: &&Value| it["id"] == "regression" && it["sample"] == sample && it["system"] == system;
    let found: Vec<&Value> = gates.filter(own).collect();
    assert_eq!(found.len(), 1, "{}", report["gates"]);
    json!([found[0]["verdict"], found[0]["reason"]])
}

/// BR-12, CL-24: a drop below what another judge or rubric pinned fails no gate and passes none; `golden check` warns and decides.
#[test]
fn a_golden_set_of_another_judge_decides_nothing() {
    let place = pinned();
    place.succeed(&[&["run", "mine", "--gate", "--run-id", "same", "-q"], &DAYS[..]].concat());
    assert_eq!(regression(&place.report("same"), "2026-03-02", "published")[0], "pass");
    let gate = |judge: &str, run: &str| {
        place.succeed(&[&["run", "mine", "--gate", "--judges", judge, "--run-id", run, "-q"], &DAYS[..]].concat());
        regression(&place.report(run), "2026-03-02", "published")
    };
    let more = "  - { id: second, model: second-v1, provider: scripted, with: { reply: ../scripts/second.j2 } }\n";
    edit(&place, "mine/models/offline.yaml", "models:\n", &format!("models:\n{more}"));
    let reply = r#"{"factuality": 3, "novelty": 3, "source_diversity": 3, "signal_density": 3, "coherence": 3, "notes": "Middling, as ever."}"#;
    place.write("mine/scripts/second.j2", reply);
    let judged = gate("second", "judge");
    assert_eq!(judged[0], "undecided");
    assert!(judged[1].as_str().unwrap().contains("the judge of `quality` changed: stub-v1 → second-v1"), "{judged}");
    edit(&place, "mine/rubrics/briefing.yaml", "version: v1", "version: v2");
    let versioned = gate("stub", "version");
    assert_eq!(versioned[0], "undecided");
    assert!(versioned[1].as_str().unwrap().contains("`version` v1 → v2"), "{versioned}");
    let check = place.karat(&["golden", "check", "mine", "--judge", "second"]);
    assert!(
        check.code == 2 && check.stdout.contains("the pinned prompt version is v1, the current one is v2"),
        "{}",
        check.all()
    );
}

/// DC-26: the rule is `drop` where a gate compares each sample with the baseline, or `--max-drop` is given, else `test`, which
/// three cards leave undecided; the gate says what the check says.
#[test]
fn a_check_is_decided_by_test_or_by_drop() {
    let place = pinned();
    edit(&place, "mine/golden/2026-03-02.json", "\"baseline_composite\": 4.35", "\"baseline_composite\": 4.95");
    let code =
        |place: &Place, more: &[&str]| place.karat(&[&["golden", "check", "mine", "-q"][..], more].concat()).code;
    let codes = |place: &Place| {
        [&[][..], &["--decide", "test"], &["--decide", "drop"], &["--max-drop", "4"], &["--max-drop", "0.1"]]
            .map(|more| code(place, more))
    };
    assert_eq!(codes(&place), [2, 4, 2, 0, 2]);
    let result = place.karat(&["golden", "check", "mine"]).stdout;
    let alarm = "1 of 3 cards dropped by more than 0.5; an unchanged judge does that to some card in below 98 % of checks (0 \
                 rises in 3 cards); canary: ";
    assert!(result.contains(&format!("{alarm}too few items to decide\n")), "{result}");
    assert!(
        result.contains("decided by drop: fails; by test: undecided (canary: too few items to decide)"),
        "{result}"
    );
    place.karat(&[&["run", "mine", "--gate", "--run-id", "gated", "-q"], &DAYS[..]].concat());
    let notes = place.report("gated")["gate_notes"].to_string();
    assert!(notes.contains(&format!("regression: quality.composite: {alarm}too few")), "{notes}");
    edit(&place, "mine/karat.yaml", "against: baseline, max_drop: 0.5", "min: 1");
    assert_eq!(codes(&place), [4, 4, 2, 0, 2]);
}

/// BR-12: a golden set is of the system that it names: others have no baseline, and a check makes none of them.
#[test]
fn a_golden_set_of_one_system_binds_no_other() {
    let place = pinned();
    let variant = "  published: [ { recorded: { column: body_text } } ]\n";
    edit(&place, "mine/karat.yaml", variant, &format!("{variant}  alt: [ {{ recorded: {{ column: title }} }} ]\n"));
    place.karat(&[&["run", "mine", "--run-id", "r", "-q"], &DAYS[..]].concat());
    let report = place.report("r");
    assert_eq!(regression(&report, "2026-03-02", "published")[0], "pass");
    let other = regression(&report, "2026-03-02", "alt");
    assert_eq!(other[0], "undecided");
    assert!(other[1].as_str().unwrap().contains("does not have the system alt"), "{other}");
    place.succeed(&["golden", "check", "mine", "--run-id", "c"]);
    assert_eq!(
        (&place.report("c")["totals"]["cells"], &place.report("c")["systems"][0]["id"]),
        (&json!(3), &json!("published"))
    );
    let other = place.karat(&["golden", "check", "mine", "--variants", "alt"]);
    assert!(other.stdout.contains("the pinned system is published, the current one is alt"), "{}", other.all());
}

/// BR-11: a folder that is not there yet is made, also where its name has a dot; a pinned run is none.
#[test]
fn a_golden_folder_may_have_a_dot() {
    let place = pinned();
    place.succeed(&["golden", "pin", "mine", "-p", "golden=golden-v1.2"]);
    assert!(place.path().join("golden-v1.2/2026-03-02.json").is_file());
    let file = place.karat(&["golden", "pin", "mine", "-p", "golden=base.json"]);
    assert!(file.code == 1 && file.stderr.contains("base.json is a file"), "{}", file.all());
}

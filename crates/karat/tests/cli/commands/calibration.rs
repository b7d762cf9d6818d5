//! `karat calibrate`.

use serde_json::Value;

use crate::place::Place;

fn rounds(place: &Place) -> Value {
    serde_json::from_str(&place.succeed(&["calibrate", "claims", "--rounds", "--format", "json"]).stdout).unwrap()
}

/// CL-13: a judge that grades like people passes; one with a bias fails, with the dimension named; rounds are listed.
#[test]
fn a_good_judge_passes_and_a_biased_one_fails() {
    let place = Place::new();
    let good = place.succeed(&["calibrate", "claims", "--judges", "sim-judge-strict", "-q"]).stdout;
    assert!(good.contains("sim-judge-strict: passes") && good.contains("bias"), "{good}");
    let biased = place.karat(&["calibrate", "claims", "--judges", "sim-judge-biased", "-q"]);
    assert_eq!(biased.code, 2, "{}", biased.all());
    assert!(biased.stdout.contains("sim-judge-biased: fails in accuracy: agreement 0.40 ("), "{}", biased.stdout);
    assert!(good.starts_with("round 1: ") && biased.stdout.starts_with("round 2: "), "{}", biased.stdout);
    let rounds = rounds(&place);
    assert_eq!(rounds["rounds"][1]["number"], 2);
    assert_eq!(rounds["schema"], "karat.calibration/1");
    let found: Vec<(bool, &Value)> = rounds["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| (round["calibration"]["passed"].as_bool().unwrap(), &round["calibration"]["prompt_version"]))
        .collect();
    assert_eq!(found, [(true, &Value::from("v1")), (false, &Value::from("v1"))]);
    let accuracy = &rounds["rounds"][1]["calibration"]["judges"][0]["dimensions"][1];
    assert_eq!(accuracy["dimension"], "accuracy");
    let deltas = accuracy["deltas"].as_array().unwrap();
    let mean = deltas.iter().map(|it| it["delta"].as_f64().unwrap()).sum::<f64>() / deltas.len() as f64;
    assert!((mean - accuracy["bias"]["value"].as_f64().unwrap()).abs() < 1e-9 && deltas[0]["sample"].is_string());
    assert!(accuracy["bias"]["value"].as_f64().unwrap() < -3.0 && accuracy["bias"]["ci"].is_array(), "{accuracy}");
    place.succeed(&["calibrate", "claims", "--rounds", "-o", "out", "-q"]);
    let markdown = std::fs::read_to_string(place.path().join("out/calibration.md")).unwrap();
    assert!(markdown.contains("## Round 2") && markdown.contains("**fail**"), "{markdown}");
}

/// CL-13: flags that choose models or variants are refused, because a round generates no outputs; their variables are
/// ignored.
#[test]
fn a_round_has_no_models_and_variants() {
    let place = Place::new();
    for (flag, value) in [("--models", "stub"), ("--variants", "raw"), ("--tier", "budget"), ("--sweep", "a=1,2")] {
        let result = place.karat(&["calibrate", "claims", flag, value]);
        assert!(result.code == 1 && result.stderr.contains(&format!("'{flag}'")), "{}", result.all());
        assert!(result.stderr.contains("chosen by `karat run`"), "{}", result.all());
    }
    let rounds = ["calibrate", "claims", "--rounds", "-q"];
    let (plain, varied) = (place.karat(&rounds), place.command(&rounds).env("KARAT_MODELS", "m").output().unwrap());
    assert_eq!((plain.code, plain.stderr), (varied.status.code().unwrap(), String::from_utf8(varied.stderr).unwrap()));
}

/// CL-13: a threshold moves with a reason only, and the round says so.
#[test]
fn a_threshold_is_decided_with_a_reason() {
    let place = Place::new();
    let biased = ["calibrate", "claims", "--judges", "sim-judge-biased", "-q"];
    let silent = place.karat(&[&biased[..], &["--threshold", "accuracy=0.1"]].concat());
    assert!(silent.code == 1 && silent.stderr.contains("--reason"), "{}", silent.all());
    let why = ["--threshold", "accuracy=0.1", "--reason", "accuracy is read by people here"];
    place.succeed(&[&biased[..], &why].concat());
    let round = &rounds(&place)["rounds"][0]["calibration"];
    let accuracy = &round["judges"][0]["dimensions"][1];
    assert_eq!(accuracy["reason"], "accuracy is read by people here");
    assert!(round["passed"] == true && accuracy["threshold"].as_f64() == Some(0.1), "{accuracy}");
    place.write("karat.yaml", &JUDGED.replace("scorer: quality }", "scorer: quality, threshold: 0.3 }"));
    let rows = ["a", "b"].map(|sample| label(sample, "o", 3, 9, 5));
    place.write("labels.jsonl", &rows.concat());
    for command in ["validate", "calibrate"] {
        let silent = place.karat(&[command, "-q"]);
        assert!(silent.code == 1 && silent.stderr.contains("add `reason: …`"), "{}", silent.all());
    }
    place.write(
        "karat.yaml",
        &JUDGED.replace("scorer: quality }", "scorer: quality, threshold: 0.3, reason: two people }"),
    );
    let result = place.karat(&["calibrate", "-q"]);
    assert!(result.code == 4 && result.stdout.contains("must exceed 0.3 (decided: two people)"), "{}", result.all());
    for (wrong, result) in
        [("speed=0.5", "speed"), ("2", "must be an agreement"), ("accuracy=high", "must be an agreement")]
    {
        let refused = place.karat(&[&biased[..], &["--threshold", wrong, "--reason", "x"]].concat());
        assert!(refused.code == 1 && refused.stderr.contains(result), "{wrong}: {}", refused.all());
    }
}

/// CL-13, BY-05: a stopped round has no verdict; when it is resumed nothing is paid twice, and it gets one.
#[test]
fn a_stopped_round_is_resumed() {
    let place = Place::new();
    let round = ["calibrate", "claims", "--judges", "sim-judge-biased"];
    let limits = ["--threshold", "0.8", "--reason", "strict", "--run-id", "r", "--max-calls", "5", "-o", "out"];
    let stopped = place.karat(&[&round[..], &limits].concat());
    assert!(stopped.code == 5 && stopped.stderr.contains("`karat resume r --max-calls"), "{}", stopped.all());
    let open = rounds(&place)["rounds"][0].clone();
    assert_eq!(open["status"], "budget_stopped");
    let judge = &open["calibration"]["judges"][0];
    assert_eq!(
        (&open["calibration"]["passed"], &judge["passed"], &judge["graded"]),
        (&Value::Null, &Value::Null, &Value::from(5))
    );
    let listed = place.succeed(&["calibrate", "claims", "--rounds", "-q"]).stdout;
    assert!(listed.contains("no verdict: stopped after 5 sets") && !listed.contains("fails"), "{listed}");
    let again = place.karat(&[&round[..], &["--run-id", "r"]].concat());
    assert!(again.code == 1 && again.stderr.contains("`karat resume r`"), "{}", again.all());
    let finished = place.karat(&["resume", "r", "--max-calls", "100"]);
    assert_eq!(finished.code, 2, "{}", finished.all());
    assert!(finished.stderr.contains(": 23 simulated calls; nothing was billed"), "{}", finished.stderr);
    assert!(finished.stdout.contains("sim-judge-biased: fails in accuracy"), "{}", finished.stdout);
    let accuracy = &rounds(&place)["rounds"][0]["calibration"]["judges"][0]["dimensions"][1];
    assert_eq!((&accuracy["reason"], &accuracy["passed"]), (&Value::from("strict"), &Value::from(false)));
    assert!(place.path().join("out/calibration.md").is_file());
    assert!(place.karat(&["retry", "r"]).stdout.contains("fails in accuracy"));
    let trials = place.karat(&[&round[..], &["--trials", "3"]].concat());
    assert!(trials.code == 1 && trials.stderr.contains("`--trials`"), "{}", trials.all());
}

/// CL-13, CL-12: each round asks the judges again, and no judge sees a label of the video that it grades.
#[test]
fn judges_are_asked_afresh_and_see_no_label_of_the_video() {
    let place = Place::new();
    let both = [
        "calibrate",
        "claims",
        "--sample",
        "kr-oats-01,kr-tendon-05",
        "--judges",
        "sim-judge-strict,sim-judge-lenient",
        "--run-id",
    ];
    let first = place.karat(&[&both[..], &["one"]].concat());
    let again = place.karat(&[&both[..], &["two"]].concat());
    for result in [&first, &again] {
        assert_eq!(result.code, 4, "14 sets decide nothing: {}", result.all());
        assert!(result.stderr.contains(": 28 simulated calls"), "{}", result.stderr);
    }
    let json: Value =
        serde_json::from_str(&place.succeed(&["calibrate", "claims", "--rounds", "--format", "json"]).stdout).unwrap();
    assert!(json["rounds"][1]["judges"]["quality.accuracy"]["pairs"].is_array(), "{json}");
    let trace = place.succeed(&["trace", "one", "1", "--json"]);
    let shown = trace.stdout.split("CALIBRATION_EXAMPLES").nth(2).unwrap_or_default().to_owned();
    assert!(!shown.is_empty() && !shown.contains("fasting glucose in 252 amateur cyclists"), "{shown}");
}

/// A suite without labels is refused with a hint on how to add them.
#[test]
fn calibration_needs_labels() {
    let place = Place::new();
    let result = place.karat(&["calibrate", "faq"]);
    assert!(result.code == 1 && result.stderr.contains("labels: FILE"), "{}", result.all());
    let none = place.karat(&["calibrate", "claims", "--rounds"]);
    assert!(none.code == 1, "{}", none.all());
}

const JUDGED: &str = r#"name: x
dataset: { rows: [{ id: a }, { id: b }] }
registry: []
models: []
judges:
  - id: flat
    provider: scripted
    with: { reply: '{"style": 3, "truth": 9, "depth": 5, "reasoning": "always the same"}' }
variants: { same: [ { recorded: { column: id } } ] }
scorers:
  quality:
    labels: labels.jsonl
    rubric:
      id: q
      ask: Grade it.
      show: { text: "{{ output }}" }
      dimensions: { style: { scale: [1, 5] }, truth: { scale: [0, 10] }, depth: { scale: [0, 10] } }
      rationale: { field: reasoning }
analyses: [ { analysis: calibration, with: { scorer: quality } } ]
"#;

/// A line of labels.
fn label(sample: &str, output: &str, style: u32, truth: u32, depth: u32) -> String {
    format!(
        "{{\"sample\": \"{sample}\", \"output\": \"{output}\", \"scores\": {{\"style\": {style}, \"truth\": {truth}, \"depth\": {depth}}}}}\n"
    )
}

/// CL-13, CL-08, DC-25: a dimension without labels does not pass; a judge that always gives the same grade fails, or is
/// undecided by `within_share`; labels off the scale are refused with their line.
#[test]
fn every_dimension_must_be_labelled() {
    let place = Place::new();
    let rows: Vec<String> = (0..8).map(|at| format!("{{ id: s{at} }}")).collect();
    let suite = JUDGED.replace("{ id: a }, { id: b }", &rows.join(", "));
    place.write("karat.yaml", &suite);
    let labels = |truth: [u32; 4], depth: &str| {
        let rows = truth.iter().cycle().take(24).enumerate().map(|(at, truth)| {
            format!("{{\"sample\": \"s{}\", \"output\": \"o{at}\", \"scores\": {{\"style\": 3, \"truth\": {truth}{depth}}}}}\n", at % 8)
        });
        rows.collect::<String>()
    };
    place.write("labels.jsonl", &labels([9, 10, 9, 8], ""));
    let result = place.karat(&["calibrate", "-q"]);
    let failed = "flat: fails in truth: agreement beyond chance 0.00";
    let open = ", the judge grades all sets alike; undecided in style: people give all sets the same grade, which says nothing of \
                the judge; AC2 1.00, in depth: no labels\n";
    assert!(result.code == 2 && [failed, open].iter().all(|it| result.stdout.contains(it)), "{}", result.all());
    place.write("karat.yaml", &suite.replace("scorer: quality }", "scorer: quality, agreement: within_share }"));
    place.write("labels.jsonl", &labels([9, 10, 9, 8], ", \"depth\": 4"));
    let result = place.karat(&["calibrate", "-q"]);
    assert!(result.code == 4 && result.stdout.contains("truth: agreement 0.95"), "{}", result.all());
    let reasons = ["in truth: agreement beyond chance 0.00", " reaches 0"];
    assert!(reasons.iter().all(|it| result.stdout.contains(it)), "{}", result.all());
    let markdown = place.succeed(&["calibrate", "--rounds", "--format", "md"]).stdout;
    assert!(markdown.contains("undecided") && markdown.contains("**fail**"), "{markdown}");
    let near = labels([9, 9, 9, 9], ", \"depth\": 5").replace("\"truth\": 9", "\"truth\": 4.46");
    place.write("labels.jsonl", &near);
    let result = place.karat(&["calibrate", "-q", "--threshold", "truth=0.548", "--reason", "hard"]);
    assert!(
        result.stdout.contains("FAIL truth: agreement 0.546") && result.stdout.contains("must exceed 0.548"),
        "{}",
        result.all()
    );
    place.write("labels.jsonl", &labels([9, 11, 9, 8], ", \"dept\": 4"));
    let result = place.karat(&["calibrate", "-q"]);
    assert_eq!(result.code, 1, "{}", result.all());
    for wanted in ["labels.jsonl:2:", "`truth` is 11", "its scale is 0 to 10", "did you mean `depth`?"] {
        assert!(result.stderr.contains(wanted), "{wanted}: {}", result.all());
    }
}

/// CL-08, CL-13: `validate` and `calibrate` report each label that cannot be compared with a judge, with its line;
/// names of choices and booleans count as their values.
#[test]
fn no_label_vanishes() {
    let place = Place::new();
    let choices = "truth: { choices: { \"right\": 1, \"wrong\": 0 } }";
    place.write(
        "karat.yaml",
        &JUDGED.replace("truth: { scale: [0, 10] }", choices).replace("\"truth\": 9", "\"truth\": \"right\""),
    );
    let label = |sample: &str, rest: &str| {
        format!(
            "{{\"sample\": \"{sample}\", {rest}\"scores\": {{\"style\": 3, \"truth\": \"right\", \"depth\": 5}}}}\n"
        )
    };
    let good = label("a", "\"output\": \"o\", ");
    place.write("labels.jsonl", &(good.clone() + &label("b", "") + "{\"sample\": \"b\", \"output\": \"p\"}\n"));
    for command in ["validate", "calibrate"] {
        let result = place.karat(&[command, "-q"]);
        assert_eq!(result.code, 1, "{}", result.all());
        for wanted in ["labels.jsonl:2:", "has no `output`", "labels.jsonl:3:", "has no `scores`"] {
            assert!(result.stderr.contains(wanted), "{wanted}: {}", result.all());
        }
    }
    place.write("labels.jsonl", &(good.clone() + &label("nobody", "\"output\": \"o\", ")));
    let warned = place.succeed(&["validate"]);
    assert!(warned.stderr.contains("labels.jsonl:2:"), "{}", warned.all());
    let refused = place.karat(&["calibrate", "-q"]);
    assert!(refused.code == 1 && refused.stderr.contains("labels.jsonl:2:"), "{}", refused.all());
    assert!(refused.stderr.contains("the sample \"nobody\""), "{}", refused.all());
    place.write("labels.jsonl", &(good + &label("b", "\"output\": \"o\", ").replace("\"right\"", "true")));
    let result = place.karat(&["calibrate", "-q"]);
    assert!(result.code == 4 && result.stdout.contains("2 sets, and nothing is decided below 20"), "{}", result.all());
}

/// CL-13: a judge that scored only a few sets does not pass, even if it agrees on them.
#[test]
fn a_judge_that_leaves_sets_unscored_fails() {
    let place = Place::new();
    let judge = "reply: '{% if \"o0\" in user or \"o1\" in user %}{\"style\": 3, \"truth\": 9, \"depth\": 5, \"reasoning\": \"fine\"}{% else %}no{% endif %}'";
    let always = r#"reply: '{"style": 3, "truth": 9, "depth": 5, "reasoning": "always the same"}'"#;
    place.write("karat.yaml", &JUDGED.replace(always, judge));
    let rows = (0..4).map(|at| {
        let sample = ["a", "b"][at % 2];
        format!("{{\"sample\": \"{sample}\", \"output\": \"o{at}\", \"scores\": {{\"style\": 3, \"truth\": 9, \"depth\": 5}}}}\n")
    });
    place.write("labels.jsonl", &rows.collect::<String>());
    let result = place.karat(&["calibrate", "-q"]);
    assert_eq!(result.code, 2, "{}", result.all());
    let wanted = "fails in style, truth, depth: 2 of 4 sets unscored, and 90 % must be scored";
    assert!(result.stdout.contains(wanted), "{}", result.all());
    place.write(
        "karat.yaml",
        &JUDGED.replace(always, judge).replace("scorer: quality }", "scorer: quality, coverage: 0.5 }"),
    );
    assert_eq!(place.karat(&["calibrate", "-q"]).code, 4);
}

/// CL-08: the first labels are made with a suite that names their file before it is there, or while it is empty.
#[test]
fn the_first_labels_are_made_with_the_suite_that_names_them() {
    let place = Place::new();
    place.write("karat.yaml", JUDGED);
    place.write("tasks.jsonl", &label("a", "o", 3, 9, 5).replace("\"sample\"", "\"annotator\": \"ann\", \"sample\""));
    let import = ["annotate", "import", "tasks.jsonl", "--labels", "labels.jsonl", "--suite", "karat.yaml"];
    assert!(place.succeed(&["annotate", "status", "karat.yaml"]).stdout.contains("labelled outputs"));
    for first in [true, false] {
        if !first {
            place.write("labels.jsonl", "");
        }
        assert!(place.succeed(&import).stdout.contains("1 label added"));
    }
    place.succeed(&["validate"]);
    std::fs::remove_file(place.path().join("labels.jsonl")).unwrap();
    let absent = place.karat(&["validate"]);
    assert!(absent.code == 1 && absent.stderr.contains("there is no file labels.jsonl"), "{}", absent.all());
    assert!(absent.stderr.contains("create it with `karat annotate import`"), "{}", absent.stderr);
}

//! Gates on runs: their verdicts and exit codes; they make no calls.

use serde_json::{Value, json};
use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place};

/// Two recorded systems, of which `short` answers in fewer words.
const SUITE: &str = r#"name: gated
dataset:
  id: id
  metadata: [kind]
  rows:
    - { id: a, kind: easy, long: "one two three four", short: "one two" }
    - { id: b, kind: easy, long: "one two three four five", short: "one" }
    - { id: c, kind: hard, long: "one two three four", short: "one two three" }
    - { id: d, kind: hard, long: "one two three four five six", short: "one two" }
variants:
  long: [ { recorded: { column: long } } ]
  short: [ { recorded: { column: short } } ]
scorers:
  words: { metric: length, with: { unit: words } }
"#;

fn place(gates: &str) -> Place {
    let place = Place::new();
    place.write("karat.yaml", &format!("{SUITE}{gates}\n"));
    place
}

fn verdicts(place: &Place, run: &str) -> Vec<Value> {
    place.report(run)["gates"].as_array().unwrap().clone()
}

/// BY-02, CL-24: three policies on one stored run end with three exit codes; its own gates stay what they are.
#[test]
fn three_policies_three_exit_codes() {
    let place = place("gates: [ { metric: words, min: 1 } ]");
    place.succeed(&["run", "--run-id", "r"]);
    let policy = |decide: &str, min: f64| {
        format!("gates: [ {{ metric: words, min: {min}, decide: {decide} }} ]\npolicy: {{ undecided: fail }}\n")
    };
    place.write("pass.yaml", &policy("point", 2.0));
    place.write("fail.yaml", &policy("point", 2.5));
    place.write("open.yaml", &policy("interval", 2.0));
    let codes =
        ["pass.yaml", "fail.yaml", "open.yaml"].map(|policy| place.karat(&["gate", "r", "--policy", policy]).code);
    assert_eq!(codes, [0, 2, 4]);
    assert_eq!(place.karat(&["gate", "r"]).code, 0);
    assert_eq!(place.karat(&["gate", "r", "--policy", "fail.yaml", "--fail-exit-code", "7"]).code, 7);
    let result = place.karat(&["gate", "r", "--policy", "fail.yaml", "--format", "json"]);
    let document: Value = serde_json::from_str(&result.stdout).unwrap();
    assert_eq!((&document["schema"], &document["verdict"]), (&json!("karat.gate/1"), &json!("fail")));
    let failed: Vec<&Value> =
        document["gates"].as_array().unwrap().iter().filter(|it| it["verdict"] == "fail").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (&failed[0]["system"], &failed[0]["observed"], &failed[0]["threshold"]),
        (&json!("short"), &json!(2.0), &json!(2.5))
    );
    place.write("two.yaml", "gates: [ { metric: words, min: 1 }, { metric: words, max: 99 } ]\n");
    let result = place.succeed(&["gate", "r", "--policy", "two.yaml", "--format", "json"]).stdout;
    let document: Value = serde_json::from_str(&result).unwrap();
    let ids: std::collections::BTreeSet<&str> =
        document["gates"].as_array().unwrap().iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["words", "words-2"]);
}

/// CL-24: a failed gate sets the exit code of a run; `--no-gate` prints the same verdict and exits with 0; a policy may
/// require `--gate`.
#[test]
fn gates_bind_a_run_by_default() {
    let bound = place("gates: [ { metric: words, min: 3 } ]");
    let result = bound.karat(&["run", "--run-id", "r"]);
    assert_eq!(result.code, 2, "{}", result.all());
    assert!(
        result.stdout.contains("words 2.000 < gate 3.000") && result.stdout.contains("verdict fail"),
        "{}",
        result.stdout
    );
    let observed = bound.karat(&["run", "--no-gate"]);
    assert!(observed.code == 0 && observed.stdout.contains("words 2.000 < gate 3.000"), "{}", observed.all());
    assert_eq!(bound.report("r")["verdict"], "fail");
    let on_request = place("gates: [ { metric: words, min: 3 } ]\npolicy: { enforce: on_request }");
    assert_eq!((on_request.karat(&["run"]).code, on_request.karat(&["run", "--gate"]).code), (0, 2));
    assert_eq!(on_request.karat(&["gate"]).code, 2);
}

/// F110: a baseline that is there and cannot be read is an error before anything is made; one that is not there yet is none.
#[test]
fn an_unreadable_baseline_is_known_before_the_run() {
    let place = place("baseline: pinned.json\ngates: [ { metric: words, max_drop: 0.5 } ]");
    std::fs::create_dir(place.path().join("pinned.json")).unwrap();
    let result = place.karat(&["run", "--run-id", "r"]);
    assert!(result.code == 1 && result.stderr.contains("reading the baseline pinned.json"), "{}", result.all());
    assert_eq!(place.karat(&["show", "r"]).code, 1, "nothing was made");
    std::fs::remove_dir(place.path().join("pinned.json")).unwrap();
    assert_eq!(place.karat(&["run", "--run-id", "r"]).code, 0);
}

/// CL-24: a pinned run is what later ones are held to; a drop of exactly the tolerance passes; what has no partner is listed.
#[test]
fn a_regression_beyond_the_tolerance_fails() {
    let place = place("baseline: pinned.json\ngates: [ { metric: words, max_drop: 0.5 } ]");
    let first = place.karat(&["run", "--run-id", "first"]);
    assert!(first.code == 0 && first.stdout.contains("nothing is pinned"), "{}", first.all());
    assert!(verdicts(&place, "first").iter().all(|it| it["verdict"] == "undecided"));
    place.succeed(&["baseline", "pin", "first"]);
    let shown = place.karat(&["baseline", "pin", "first", "-o", "-"]);
    assert_eq!((shown.code, shown.stdout.trim_end()), (0, place.text("pinned.json").trim_end()));
    assert!(!place.path().join("-").exists());
    assert_eq!(place.karat(&["gate", "first"]).code, 0);
    // Half a word less on average: exactly the tolerance. Then one word less in one more place.
    place.write("karat.yaml", &place.text("karat.yaml").replace("one two three four five six", "one two three four"));
    let within = place.karat(&["run", "--run-id", "within"]);
    assert_eq!(within.code, 0, "{}", within.all());
    place.write("karat.yaml", &place.text("karat.yaml").replace("one two three four five\"", "one two three four\""));
    let beyond = place.karat(&["run", "--run-id", "beyond"]);
    assert_eq!(beyond.code, 2, "{}", beyond.all());
    let failed: Vec<Value> = verdicts(&place, "beyond").into_iter().filter(|it| it["verdict"] == "fail").collect();
    assert_eq!((failed.len(), &failed[0]["system"], &failed[0]["change"]), (1, &json!("long"), &json!(-0.75)));
    for (variable, value, code) in
        [("KARAT_MAX_DROP", "1", 0), ("KARAT_MAX_DROP", "words=0.1", 2), ("KARAT_MIN", "words=3", 2)]
    {
        let result = place.command(&["gate", "beyond"]).env(variable, value).output().map(CommandOutput::of).unwrap();
        assert_eq!(result.code, code, "{variable}={value}: {}", result.all());
    }
    for variable in ["KARAT_MIN", "KARAT_MAX_DROP", "KARAT_BASELINE", "KARAT_POLICY", "KARAT_GATE_THRESHOLD"] {
        let result = place.command(&["gate", "within"]).env(variable, "").output().map(CommandOutput::of).unwrap();
        assert_eq!(result.code, 0, "an empty {variable}: {}", result.all());
    }
    assert_eq!(place.karat(&["gate", "within", "--baseline", ".karat/runs/first/report.json"]).code, 0);
}

/// Per column, per sample, under a condition, against another variant, and against the run before.
#[test]
fn units_and_partners() {
    let place = place("");
    place.succeed(&["run", "--run-id", "r"]);
    let gate = |rule: &str| {
        place.write("p.yaml", &format!("gates: [ {{ metric: words, {rule} }} ]\n"));
        let result = place.karat(&["gate", "r", "--policy", "p.yaml", "--format", "json"]);
        let document: Value =
            serde_json::from_str(&result.stdout).unwrap_or_else(|_| panic!("{rule}: {}", result.all()));
        let count =
            |word: &str| document["gates"].as_array().unwrap().iter().filter(|it| it["verdict"] == word).count();
        (result.code, count("pass"), count("fail"))
    };
    assert_eq!(gate("min: 2, per: kind"), (2, 3, 1));
    assert_eq!(gate("min: 2, per: sample"), (2, 7, 1));
    assert_eq!(gate("min: 2, per: sample, where: \"sample.kind == 'hard'\""), (0, 4, 0));
    assert_eq!(gate("max_drop: 1, against: 'variant:long', where: \"variant == 'short'\""), (2, 0, 1));
    assert_eq!(gate("min: 3, per: run"), (0, 1, 0));
    place.write("p.yaml", "gates: [ { metric: words, max_drop: 0, against: previous } ]\n");
    let result = place.karat(&["gate", "r", "--policy", "p.yaml"]);
    assert!(result.code == 0 && result.stdout.contains("undecided"), "{}", result.all());
    place.succeed(&["run", "--run-id", "s"]);
    let result = place.karat(&["gate", "s", "--policy", "p.yaml"]);
    assert!(result.code == 0 && result.stdout.contains("2 passed"), "{}", result.all());
}

/// BY-02: a gate on macro F1 uses the report's own figure, alone, against another variant and against a pinned run.
#[test]
fn gates_on_f1_see_the_figure_of_the_report() {
    let place = Place::new();
    let row = |(at, topic): (usize, &str)| {
        let other = if at % 3 == 0 { "other" } else { topic };
        format!("    - {{ id: s{at}, topic: {topic}, good: {topic}, weak: {other} }}")
    };
    let rows: Vec<String> =
        ["money", "law", "money", "art"].into_iter().cycle().take(24).enumerate().map(row).collect();
    let suite = "name: topics\ndataset:\n  id: id\n  reference: topic\n  metadata: [topic]\n  rows:\n".to_owned()
        + &rows.join("\n")
        + "\nvariants:\n  good: [ { recorded: { column: good } } ]\n  weak: [ { recorded: { column: weak } } ]\n\
           scorers:\n  topic: { metric: label, aggregate: f1 }\n\
           gates:\n  - { id: least, metric: topic, min: 0.9 }\n\
           \x20 - { id: beside, metric: topic, max_drop: 0.1, against: 'variant:good' }\n\
           \x20 - { id: pinned, metric: topic, max_drop: 0.1 }\n\
           \x20 - { id: each, metric: topic, min: 1, per: sample }\nbaseline: pinned.json\n";
    place.write("karat.yaml", &suite);
    assert_eq!(place.karat(&["run", "--run-id", "r"]).code, 2);
    place.succeed(&["baseline", "pin", "r"]);
    assert_eq!(place.karat(&["run", "--run-id", "s"]).code, 2);
    let report = place.report("s");
    let figure = |system: &str| {
        let of = report["systems"].as_array().unwrap().iter().find(|it| it["id"] == system).unwrap();
        of["dimensions"]["topic"]["value"].as_f64().unwrap()
    };
    let gates = verdicts(&place, "s");
    let result = |id: &str, system: &str| gates.iter().find(|it| it["id"] == id && it["system"] == system).unwrap();
    assert_eq!((figure("good"), &result("least", "good")["verdict"]), (1.0, &json!("pass")));
    assert_eq!(
        (&result("least", "weak")["observed"], &result("least", "weak")["verdict"]),
        (&json!(figure("weak")), &json!("fail"))
    );
    let beside = result("beside", "weak");
    assert_eq!((&beside["verdict"], &beside["change"]), (&json!("fail"), &json!(figure("weak") - 1.0)));
    let pinned = result("pinned", "weak");
    assert_eq!((&pinned["verdict"], &pinned["change"]), (&json!("pass"), &json!(0.0)));
    let reason = pinned["reason"].as_str().unwrap();
    assert!(reason.ends_with("(no labels are pinned: compared unpaired)"), "{reason}");
    let wrong = gates.iter().filter(|it| it["id"] == "each" && it["verdict"] == "fail").count();
    assert_eq!(wrong, 8);
}

/// Errors are no matter of gates: more than the policy allows in one system is a harness error, fewer are not.
#[test]
fn errors_are_counted_by_system() {
    let broken = SUITE.replace(", short: \"one\"", "");
    let place = Place::new();
    place.write("karat.yaml", &format!("{broken}\n"));
    let strict = place.karat(&["run"]);
    place.write("karat.yaml", &format!("{broken}policy: {{ max_errors: 25% }}\n"));
    let lenient = place.karat(&["run"]);
    assert_eq!((strict.code, lenient.code), (1, 0), "{}{}", strict.all(), lenient.all());
}

/// CL-24: if `karat gate` fails because of errors, each format says so, whatever the verdicts are.
#[test]
fn a_gate_that_ends_for_errors_says_why() {
    let place = Place::new();
    let broken = SUITE.replace(", short: \"one\"", "");
    place.write("karat.yaml", &format!("{broken}gates: [ {{ metric: words, min: 1 }} ]\n"));
    place.karat(&["run", "--run-id", "r"]);
    let result = place.karat(&["gate", "r", "-o", "out"]);
    let why = "short: 1 of 4 cells failed";
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stderr.contains(why) && result.stderr.contains("`policy.max_errors`"), "{}", result.all());
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("out/gate.json")).unwrap()).unwrap();
    assert_eq!(document["failures"].as_array().map(Vec::len), Some(1), "{document}");
    assert!(std::fs::read_to_string(place.path().join("out/gate.md")).unwrap().contains(why));
}

/// BY-01: clusters that are equal by chance decide no gate, and the report claims no certainty.
#[test]
fn identical_clusters_leave_a_gate_undecided() {
    let place = Place::new();
    let rows: Vec<String> = ["01", "00", "00", "00", "01", "00"]
        .iter()
        .enumerate()
        .map(|(at, it)| {
            let (long, short) = it.split_at(1);
            format!("    - {{ id: s{at}, of: c{}, long: \"{long}\", short: \"{short}\" }}\n", at / 3)
        })
        .collect();
    let head = "name: alike\ndataset:\n  id: id\n  cluster: of\n  rows:\n";
    let tail = "variants:\n  long: [ { recorded: { column: long } } ]\n  short: [ { recorded: { column: short } } ]\n\
                scorers:\n  right: { metric: exact, value: \"1\" }\n\
                gates: [ { metric: right, against: \"variant:long\", max_rise: 0, decide: interval } ]\n";
    place.write("karat.yaml", &format!("{head}{}{tail}", rows.concat()));
    let result = place.karat(&["run", "--run-id", "r"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let undecided = verdicts(&place, "r");
    assert!(undecided.iter().all(|it| it["verdict"] == "undecided" || it["observed"].is_null()), "{undecided:?}");
    assert!(undecided[0]["reason"].as_str().unwrap().contains("2 clusters, worth 2.0 of equal size"), "{undecided:?}");
}

/// All gates that cannot be applied are reported at once with file and line, before a run and for a stored run.
#[test]
fn bad_gates_are_reported_with_their_place() {
    let place = Place::new();
    let gates = [
        "{ metric: wrods, min: 3 }",
        "{ metric: words, max_drop: -1 }",
        "{ id: scale, metric: right, min: 95 }",
        "{ id: people, metric: words, min: 3, anchor: human }",
        "{ id: other, metric: words, against: \"variant:shrot\", max_drop: 1 }",
        "{ finding: errors.kinds, max_rise: 1 }",
        "{ finding: errors.kind, max: 1 }",
    ];
    let list = format!("gates:\n{}", gates.map(|gate| format!("  - {gate}\n")).concat());
    let suite = format!("{SUITE}  right: {{ metric: contains, value: one }}\n");
    place.write("karat.yaml", &format!("{suite}{list}"));
    let first = suite.lines().count() + 2;
    let told = |result: CommandOutput, file: &str, first: usize, parts: &[&str]| {
        assert_eq!(result.code, 1, "{}", result.all());
        for (at, part) in parts.iter().enumerate() {
            let place = format!("{file}:{}: the gate", first + at);
            let found = result.stderr.lines().any(|line| line.contains(&place) && line.contains(part));
            assert!(found, "{place} {part}: {}", result.all());
        }
    };
    let parts =
        ["`words`?", "is -1", "did you mean `95%`?", "has no judge", "`short`?", "has no baseline", "`errors.kinds`?"];
    told(place.karat(&["validate"]), "karat.yaml", first, &parts);
    place.write("karat.yaml", &suite);
    place.succeed(&["run", "--run-id", "r"]);
    place.write(
        "policy.yaml",
        "gates:\n  - { metric: words, min: 1, where: sample.late }\n  - { metric: words, id: b, min: 1, per: topic }\n",
    );
    told(place.karat(&["gate", "r", "--policy", "policy.yaml"]), "policy.yaml", 2, &["sample.late", "topic"]);
}

/// A gate that cannot be applied is refused before the run, with the metrics that exist.
#[test]
fn bad_gates_are_refused_with_a_hint() {
    let place = place("gates: [ { metric: wrods, min: 3 } ]");
    let result = place.karat(&["run"]);
    assert!(result.code == 1 && result.stderr.contains("wrods") && result.stderr.contains("words"), "{}", result.all());
    assert!(!place.path().join(".karat/runs").exists());
    place.write("karat.yaml", SUITE);
    place.succeed(&["run", "--run-id", "r"]);
    place.write("empty.yaml", "policy: { strict: true }\n");
    place.write("broken.yaml", "gates: [ { metric: words, mni: 3 } ]\n");
    place.write("other.json", "{\"schema\": \"x/1\"}");
    place.succeed(&["baseline", "pin", "r", "-o", "whole.json"]);
    place.write("bent.json", &place.text("whole.json").replacen("\"se\":0.47", "\"se\":-1,\"was\":0.47", 1));
    place.write("shares.yaml", "gates: [ { metric: words, min: 1 } ]\npolicy: { max_errors: 4, max_unscored: -1 }\n");
    place.write("turned.yaml", "gates: [ { metric: words, min: 3, max: 2 } ]\n");
    place.write("several.yaml", "gates: [ { metric: wrods, min: 3 }, { finding: erors.kinds, max: 2 } ]\n");
    let several = [
        "{ metric: words, min: 3, where: \"sample.knid == 'easy'\" }",
        "{ id: late, metric: words, min: 3, where: sample.late }",
        "{ id: by-topic, metric: words, min: 3, per: topic }",
        "{ metric: wrods, min: 3 }",
    ];
    place.write("where.yaml", &format!("gates: [ {} ]\n", several.join(", ")));
    place.write("model.yaml", "gates: [ { metric: words, min: 3, where: \"model == 'm'\" } ]\n");
    for (arguments, part) in [
        (&["gate", "r"][..], "--policy"),
        (&["gate", "r", "--policy", "empty.yaml"], "no gates"),
        (&["gate", "r", "--policy", "broken.yaml"], "`min`"),
        (&["gate", "r", "--policy", "nowhere.yaml"], "the policy file cannot be read"),
        (&["gate", "r", "--policy", "model.yaml"], "model.yaml:1:43"),
        (&["gate", "r", "--policy", "model.yaml"], "compare `model.id`"),
        (&["gate", "r", "--min", "5"], "METRIC"),
        (&["gate", "r", "--min", "words=many"], "not a number"),
        (&["gate", "r", "--min", "words=nan"], "not a number"),
        (&["gate", "r", "--max-drop", "1", "--baseline", "nowhere.json"], "baseline pin"),
        (&["gate", "r", "--max-drop", "1", "--baseline", "other.json"], "x/1"),
        (&["gate", "nowhere", "--min", "words=1"], "nowhere"),
        (&["gate", "r", "--max-drop", "1", "--baseline", "bent.json"], "`systems[0].metrics.words.se` is -1"),
        (&["gate", "r", "--policy", "shares.yaml"], "`max_unscored` is a share from 0 to 1, not -1"),
        (&["gate", "r", "--policy", "shares.yaml"], "write `4%`"),
        (&["gate", "r", "--policy", "turned.yaml"], "turned.yaml:1:40"),
        (&["gate", "r", "--policy", "several.yaml"], "`wrods`"),
        (&["gate", "r", "--policy", "several.yaml"], "did you mean `errors`"),
        (&["gate", "r", "--policy", "where.yaml"], "did you mean `sample.kind`"),
        (&["gate", "r", "--policy", "where.yaml"], "`sample.late`"),
        (&["gate", "r", "--policy", "where.yaml"], "`per: topic`"),
        (&["gate", "r", "--policy", "where.yaml"], "`wrods`"),
        (&["baseline", "pin", "r"], "-o"),
        (&["run", "--gate", "--no-gate"], "cannot be used with"),
    ] {
        let result = place.karat(arguments);
        assert!(result.code == 1 && result.stderr.contains(part), "{arguments:?}: {}", result.all());
    }
}

/// BY-02: a gate opens no connection: the provider hears nothing, and its key is not needed.
#[test]
fn a_gate_makes_no_call() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &crate::place::questions(3));
    place.write("karat.yaml", &crate::place::suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "r"]);
    let heard = provider.received_requests().len();
    drop(provider);
    assert!(heard > 0);
    let metric = place.report("r")["gates"].as_array().map(Vec::len);
    assert_eq!(metric, Some(0));
    let name = place.report("r")["metrics"].as_object().unwrap().keys().next().unwrap().clone();
    let result = place.karat(&["gate", "r", "--min", &format!("{name}=0")]);
    assert_eq!(result.code, 0, "{}", result.all());
}

/// BY-02, CL-24: only whole runs with scores are pinned or compared with.
#[test]
fn only_whole_runs_are_compared_with() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &crate::place::questions(3));
    place.write("karat.yaml", &crate::place::suite(&provider.base_url()));
    assert_eq!(place.karat(&["run", "--run-id", "part", "--max-calls", "1"]).code, 5);
    place.succeed(&["run", "--run-id", "whole"]);
    place.write("karat.yaml", &crate::place::suite("http://127.0.0.1:9/v1").replace("name: ", "name: lost-"));
    assert_eq!(place.karat(&["run", "--run-id", "lost", "--no-cache", "--timeout", "1s"]).code, 1);
    let metric = place.report("whole")["metrics"].as_object().unwrap().keys().next().unwrap().clone();
    for (run, hint) in [("part", "karat resume part"), ("lost", "karat retry lost")] {
        let pinned = place.karat(&["baseline", "pin", run, "-o", "b.json"]);
        assert!(pinned.code == 1 && pinned.stderr.contains(hint), "{}", pinned.all());
    }
    assert!(!place.path().join("b.json").exists());
    place.write("p.yaml", &format!("gates: [ {{ metric: {metric}, max_drop: 1, against: 'run:part' }} ]\n"));
    let result = place.karat(&["gate", "whole", "--policy", "p.yaml"]);
    assert!(result.code == 1 && result.stderr.contains("karat resume part"), "{}", result.all());
    let compared = place.karat(&["compare", "part", "whole"]);
    assert!(compared.stdout.contains("is unfinished: 2 of 3 cells"), "{}", compared.all());
    let nothing = place.karat(&["compare", "whole", "lost"]);
    assert!(nothing.code == 1 && nothing.stderr.contains("3 errors in 3 cells, all of them"), "{}", nothing.all());
}

/// BY-02: a gate on something that was not selected is undecided; a gate with a typo is an error.
#[test]
fn a_selection_leaves_gates_on_the_others_undecided() {
    let place = place("gates: [ { metric: words, max_drop: 1, against: \"variant:short\" } ]");
    place.succeed(&["run", "--variants", "long", "--run-id", "a"]);
    let verdicts = verdicts(&place, "a");
    assert_eq!(verdicts[0]["verdict"], "undecided", "{verdicts:?}");
    assert_eq!(verdicts[0]["reason"], "the variant short is not part of this run");
    assert_eq!(place.karat(&["gate", "a"]).code, 0);
    place.write("karat.yaml", &place.text("karat.yaml").replace("variant:short", "variant:shrot"));
    let typo = place.karat(&["run", "--variants", "long"]);
    assert!(typo.code == 1 && typo.stderr.contains("shrot"), "{}", typo.all());
}

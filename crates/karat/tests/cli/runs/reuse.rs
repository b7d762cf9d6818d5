//! Results that are reused, results that are generated again, and the reasons.

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

const SUITE: &str = r#"name: t
params: { tone: calm }
dataset: { source: d.jsonl, id: id, input: q, reference: a }
models: [ { id: m, provider: scripted, with: { reply: "{{ prompt }}" } } ]
judges: [ { id: j, provider: scripted, with: { reply: '{"good": 4, "reasoning": "It is fine."}' } } ]
variants:
  direct: [ { prompt: { text: "Say {{ sample.q }} {{ params.tone }}" }, parameters: { temperature: 0 } } ]
  two: [ { use: direct }, { id: edit, prompt: { text: "Edit {{ output }}" } } ]
scorers:
  q: { rubric: { id: r, ask: Is it good?, dimensions: { good: { scale: [1, 5] } }, show: { output: "{{ output }}" } } }
"#;

fn rows(change: impl Fn(usize) -> &'static str) -> String {
    (0..3).map(|i| format!("{{\"id\":\"s{i}\",\"q\":\"q{i}{}\",\"a\":\"a\",\"z\":1}}\n", change(i))).collect()
}

/// A place where the suite has run once, as run `a`.
fn place() -> Place {
    let place = Place::new();
    place.write("karat.yaml", SUITE);
    place.write("d.jsonl", &rows(|_| ""));
    place.succeed(&["run", "--run-id", "a"]);
    place
}

fn plan(place: &Place) -> Value {
    serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap()
}

/// Cells to make and judgments to make, by reason.
fn reasons(place: &Place) -> (Value, Value) {
    let plan = plan(place);
    (plan["reasons"]["outputs"].clone(), plan["reasons"]["judgments"].clone())
}

/// BY-06, CL-07, CL-17: the plan names what changed; a rubric re-runs no cell, a label nothing, a column only its rows.
#[test]
fn the_plan_says_what_changed() {
    let place = place();
    assert_eq!(reasons(&place), (serde_json::json!({}), serde_json::json!({})));
    for (from, to, outputs, judgments) in [
        ("Say ", "Tell ", r#"{"prompt changed":6}"#, r#"{"new output":6}"#),
        ("temperature: 0", "temperature: 1", r#"{"parameters changed":6}"#, r#"{"new output":6}"#),
        ("id: edit,", "id: edit, version: v2,", r#"{"version changed":3}"#, r#"{"new output":3}"#),
        ("{{ prompt }}", "{{ prompt }}!", r#"{"model's options changed":6}"#, r#"{"new output":6}"#),
        ("Is it good?", "Is it any good?", "{}", r#"{"judge's prompt changed":6}"#),
        ("[1, 5]", "[1, 6]", "{}", r#"{"rubric's dimensions changed":6}"#),
        ("It is fine.", "It is so so.", "{}", r#"{"judge's options changed":6}"#),
        ("name: t", "name: t\nabout: A label", "{}", "{}"),
        ("id: edit,", "id: polish,", "{}", "{}"),
    ] {
        place.write("karat.yaml", &SUITE.replace(from, to));
        let text = |json: &Value| json.to_string();
        let (made, judged) = reasons(&place);
        assert_eq!((text(&made).as_str(), text(&judged).as_str()), (outputs, judgments), "{from} → {to}");
    }
    place.write("karat.yaml", SUITE);
    place.write("d.jsonl", &rows(|i| if i == 1 { "x" } else { "" }));
    assert_eq!(reasons(&place).0, serde_json::json!({"column q changed": 2}));
    place.write("d.jsonl", &rows(|_| "").replace("\"z\":1", "\"z\":2"));
    assert_eq!(reasons(&place), (serde_json::json!({}), serde_json::json!({})));
}

/// CL-07, CL-17: changed content under the same version is warned of, with both contents; under a new version it is
/// not. Diagnostics of an older schema are dropped with a notice, without a new output. A suite that declares some
/// versions is told which prompts have none.
#[test]
fn a_change_without_a_new_version_warns() {
    let place = Place::new();
    place.write("d.jsonl", &rows(|_| ""));
    let versioned = SUITE
        .replace("{ id: edit, prompt", "{ id: edit, version: e1, prompt")
        .replace("{ id: r, ask", "{ id: r, version: r1, ask");
    place.write("karat.yaml", &versioned);
    let first = place.succeed(&["run", "--run-id", "a"]);
    let unversioned = "these steps count as `unknown-v0`: `direct.0`, `two.0`";
    assert!(first.stderr.contains(unversioned) && !first.stderr.contains("same version"), "{}", first.all());
    let result = |suite: &str| {
        place.write("karat.yaml", suite);
        place.succeed(&["plan"]).stderr
    };
    assert!(!result(&versioned).contains("same version"));
    let edited = versioned.replace("Edit {{", "Do edit {{");
    let warned = result(&edited);
    let change = "the prompt of step `two.edit` changed under the same version `e1`: it was ";
    assert!(warned.contains(change) && warned.contains(" in run a and is "), "{warned}");
    assert!(!result(&edited.replace("e1", "e2")).contains("same version"));
    let asked = result(&versioned.replace("Is it good?", "Is it any good?"));
    assert!(asked.contains("the rubric of `q` changed under the same version `r1`"), "{asked}");
    let found = versioned.replace("ask: Is it", "diagnostics: { flaws: { each: text } }, version: r2, ask: Is it");
    let found = found.replacen("version: r1, ", "", 1);
    let dropped = result(&found);
    assert!(dropped.contains("judgments of `q` up to run a have diagnostics of an older schema"), "{dropped}");
    assert!(!dropped.contains("same version"), "{dropped}");
    assert_eq!(reasons(&place), (serde_json::json!({}), serde_json::json!({"rubric's version changed": 6})));
    place.write("karat.yaml", SUITE);
    assert!(!place.succeed(&["plan"]).stderr.contains("unknown-v0"), "a suite without versions goes by content");
}

/// BY-06: `why` shows one cell with what was and what is.
#[test]
fn why_shows_both_sides() {
    let place = place();
    let result = place.succeed(&["why", "s1/m/direct"]);
    assert!(result.stdout.contains("output: cached, from run a"), "{}", result.all());
    place.write("karat.yaml", &SUITE.replace("Say {{ sample.q }}", "Say\\n{{ sample.q }}\\nnow"));
    let result = place.succeed(&["why", "s1/m/two"]);
    assert!(result.stdout.contains("stale: changed since run a: prompt"), "{}", result.all());
    assert!(result.stdout.contains("prompt of step") && result.stdout.contains("now"), "{}", result.all());
    let result = place.karat(&["why", "s9/m/two"]);
    assert!(result.code == 1 && result.stderr.contains("no cell `s9/m/two`"), "{}", result.all());
}

/// Results that a run made itself, for another cell or before it was stopped, do not count as reused.
#[test]
fn a_runs_own_results_are_not_reused() {
    let place = place();
    let twice = SUITE.replace("scorers:", "  same: [ { use: direct } ]\nscorers:");
    place.write("karat.yaml", &format!("{twice}run: {{ max_concurrency: 1 }}\n"));
    let reused = |run: &str| {
        let report = place.report(run);
        let judgments =
            report["cells"].as_array().unwrap().iter().flat_map(|cell| cell["judgments"].as_array().unwrap());
        (report["totals"]["cached"].clone(), judgments.filter(|judgment| judgment["fresh"] == false).count())
    };
    place.succeed(&["run", "--run-id", "b", "--no-cache"]);
    assert_eq!(reused("b"), (0.into(), 0));
    assert_eq!(place.karat(&["run", "--run-id", "c", "--no-cache", "--max-calls", "5"]).code, 5);
    place.succeed(&["resume", "c", "--max-calls", "1000"]);
    assert_eq!(reused("c"), (0.into(), 0));
}

/// `--no-cache` reads nothing of earlier runs, but later runs read its results; `max_age` limits the age.
#[test]
fn reuse_is_a_policy() {
    let place = place();
    let cached = |run: &str| place.report(run)["totals"]["cached"].clone();
    place.succeed(&["run", "--run-id", "b", "--no-cache"]);
    assert_eq!(cached("b"), 0);
    place.succeed(&["run", "--run-id", "c"]);
    assert_eq!(cached("c"), 6);
    let why: Value = serde_json::from_str(&place.succeed(&["why", "s0/m/two", "--json"]).stdout).unwrap();
    assert_eq!((&why["standing"], &why["run"]), (&"reused".into(), &"b".into()));
    assert!(
        place.succeed(&["report", "c", "--format", "md", "-o", "-"]).stdout.contains("the oldest less than a minute")
    );
    place.write("karat.yaml", &format!("{SUITE}run: {{ cache: {{ max_age: 1ms }} }}\n"));
    place.succeed(&["run", "--run-id", "d"]);
    assert_eq!(cached("d"), 0);
    place.write("karat.yaml", &format!("{SUITE}run: {{ cache: {{ max_age: 1d }} }}\n"));
    place.succeed(&["run", "--run-id", "e"]);
    assert_eq!(cached("e"), 6);
}

/// BY-06: where the cache is off, `plan` and `why` say that, and not that results are too old.
#[test]
fn why_names_a_disabled_cache() {
    let place = place();
    let counted = |arguments: &[&str]| -> Value {
        let plan: Value = serde_json::from_str(&place.succeed(arguments).stdout).unwrap();
        plan["reasons"].clone()
    };
    let reasons = counted(&["plan", "--no-cache", "--json"]).to_string();
    assert!(reasons.contains("cache off") && !reasons.contains("too old"), "{reasons}");
    place.write("karat.yaml", &format!("{SUITE}run: {{ cache: off }}\n"));
    let why = place.succeed(&["why", "s0/m/two"]).stdout;
    assert!(why.contains("is not reused, because the cache is off"), "{why}");
    place.write("karat.yaml", &format!("{SUITE}run: {{ cache: {{ max_age: 1ms }} }}\n"));
    let why = place.succeed(&["why", "s0/m/two"]).stdout;
    assert!(why.contains("older than `run.cache` allows"), "{why}");
}

/// PE-34, BY-06: trials never share an entry: three trials of a cell are three calls, and the next run makes none.
#[test]
fn trials_never_share() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--trials", "3"]);
    assert_eq!(provider.requests(), 15);
    place.succeed(&["run", "--trials", "3"]);
    assert_eq!(provider.requests(), 15);
}

/// BY-06, BY-04: two processes that run on one new store at once both finish, and keep what they made apart.
#[test]
fn two_processes_share_a_store() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(300));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let start = |run: &str| {
        let mut command = place.command(&["run", "--run-id", run]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let (one, other) = (start("one"), start("other"));
    for process in [one, other] {
        let result = CommandOutput::of(process.wait_with_output().unwrap());
        assert_eq!(result.code, 0, "{}", result.all());
    }
    assert_eq!(place.canonical("one"), place.canonical("other"));
    assert!((300..=600).contains(&provider.requests()), "{}", provider.requests());
}

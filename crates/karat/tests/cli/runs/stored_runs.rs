//! Stored runs that are invalidated, retried and re-scored.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// CL-23: a dry run changes nothing; what another run uses stays, and is made again when that one is invalidated, too.
#[test]
fn results_go_with_the_last_run_that_uses_them() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    let dry = place.succeed(&["invalidate", "a", "--cell", "q3/mock/direct", "--dry-run"]).stdout;
    assert!(dry.contains("1 output and 0 judgments would be invalidated") && dry.contains("q3/mock/direct/0"), "{dry}");
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!(provider.requests(), 5);
    let kept = place.succeed(&["run", "--invalidate-run", "a"]).stdout;
    assert!(kept.contains("0 outputs") && kept.contains("kept, because other results use them: 5 outputs"), "{kept}");
    let last = place.succeed(&["invalidate", "b"]).stdout;
    assert!(last.contains("5 outputs and 0 judgments invalidated"), "{last}");
    assert!(place.succeed(&["invalidate", "b"]).stdout.contains("none of these results is cached"));
    place.succeed(&["run", "--run-id", "c"]);
    assert_eq!(provider.requests(), 10);
    place.write("data.jsonl", &questions(30));
    place.succeed(&["run", "--run-id", "many"]);
    let many = place.succeed(&["invalidate", "many"]).stdout;
    assert!(many.contains("\n  and 5 more\nkept") && many.contains("cell 24") && !many.contains("cell 25"), "{many}");
    let refused = place.karat(&["invalidate", "../../etc"]);
    assert!(refused.code == 1 && refused.stderr.contains("../../etc"), "{}", refused.all());
    let missing = place.karat(&["invalidate", "a", "--cell", "q9/mock/direct"]);
    assert!(missing.code == 1 && missing.stderr.contains("no cell `q9/mock/direct`"), "{}", missing.all());
}

/// F48: a bad result that a later run reused is kept, and that is said with the flag that withdraws it from all later runs.
#[test]
fn a_result_that_was_reused_can_be_withdrawn() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "bad"]);
    place.succeed(&["run", "--run-id", "later"]);
    let result = place.succeed(&["invalidate", "bad", "--dry-run"]);
    assert!(result.stderr.contains("--force") && result.stdout.contains("(run later)"), "{}", result.all());
    let forced = place.succeed(&["invalidate", "bad", "--force"]);
    assert!(forced.stdout.contains("5 outputs and 0 judgments invalidated"), "{}", forced.all());
    assert!(forced.stdout.contains("(run later)") && !forced.stdout.contains("kept, because"), "{}", forced.all());
    place.succeed(&["run", "--run-id", "new"]);
    assert_eq!(provider.requests(), 10);
}

/// CL-23: failed cells have no cached results: nothing of them is invalidated, and nothing is listed as kept.
#[test]
fn failed_cells_have_nothing_to_invalidate() {
    let provider = FakeProvider::start(Script::by(|received| {
        match ["Question 3", "Question 4"].iter().any(|bad| received.json().to_string().contains(bad)) {
            true => Behaviour::status(400, "no"),
            false => Behaviour::ok("answer"),
        }
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let result = ["q0,q1", "q2,q3", "q3,q4"].map(|samples| {
        place.karat(&["run", "--run-id", samples.replace(',', "-").as_str(), "--sample", samples]);
        place.succeed(&["invalidate", &samples.replace(',', "-")]).stdout
    });
    insta::assert_snapshot!(result.concat());
}

/// CL-23: after the invalidation of a run the next one generates everything again, and the report of the first is kept.
#[test]
fn an_invalidated_run_is_generated_again() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    // Text that no compression makes small: what is freed must be whole pages.
    let noise: String = (1..8_000_u64).map(|i| format!("{:x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    place.write("data.jsonl", &questions(5).replace("Question", &format!("{noise} Question")));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    let before = place.canonical("a");
    assert!(place.succeed(&["invalidate", "a"]).stdout.contains("5 outputs and 0 judgments invalidated"));
    let why = place.succeed(&["why", "q1/mock/direct"]).stdout;
    assert!(why.contains("invalidated or pruned"), "{why}");
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!((provider.requests(), place.canonical("a")), (10, before));
    assert!(place.succeed(&["cache", "ls"]).stdout.contains('b'));
    assert!(place.succeed(&["cache", "prune", "--older-than", "1ms"]).stdout.starts_with("5 results invalidated"));
    assert_eq!(place.succeed(&["cache", "ls", "--json"]).stdout.trim(), "[]");
    let (before, report) = (size_of_store(&place), place.canonical("b"));
    let result = place.succeed(&["cache", "prune", "--older-than", "1ms", "--traces"]).stdout;
    assert!(result.contains("of requests and responses removed") && size_of_store(&place) < before, "{result}");
    assert_eq!(place.canonical("b"), report);
    assert!(!place.succeed(&["trace", "b", "q1/mock/direct"]).stdout.contains("Question 1"));
}

fn size_of_store(place: &Place) -> u64 {
    std::fs::metadata(place.path().join(".karat/karat.db")).unwrap().len()
}

/// PE-19: `retry` makes again what failed and nothing else; its run is then whole.
#[test]
fn retry_runs_failed_cells_only() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let provider = FakeProvider::start(Script::by(|received| {
        let is_broken = BROKEN.load(Ordering::Relaxed) && received.json().to_string().contains("Question 3");
        if is_broken {
            Behaviour::status(400, "no")
        } else {
            Behaviour::ok("answer 0 answer 1 answer 2 answer 3 answer 4")
        }
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    place.write("karat.yaml", &suite(&provider.base_url()));
    assert_eq!(place.karat(&["run", "--run-id", "a", "-o", "out"]).code, 1);
    let errors = || serde_json::from_str::<Value>(&place.text("out/report.json")).unwrap()["totals"]["errors"].clone();
    assert_eq!(errors(), 1);
    assert!(place.karat(&["resume", "a"]).stderr.contains("nothing to resume"));
    assert_eq!((provider.requests(), place.report("a")["totals"]["errors"].clone()), (5, 1.into()));
    BROKEN.store(false, Ordering::Relaxed);
    let result = place.succeed(&["retry", "a", "--verbose"]);
    assert!(result.stderr.contains("[5/5] ") && !result.stderr.contains("[6/5] "), "{}", result.all());
    let report = place.report("a");
    assert_eq!((provider.requests(), &report["totals"]["errors"]), (6, &0.into()));
    assert_eq!(errors(), 0, "the report is written where it was to be when the run began");
    assert_eq!((&report["totals"]["cells"], &report["metrics"]["hit"]["value"]), (&5.into(), &1.0.into()));
    assert!(place.succeed(&["retry", "a"]).stderr.contains("no cell of this run failed"));
}

/// PE-05, PE-19: `score` makes no output, uses today's scorers and keeps those that the suite has lost; its run can be
/// reported.
#[test]
fn stored_outputs_are_scored_again() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(5));
    let first = suite(&provider.base_url());
    place.write("karat.yaml", &first);
    place.succeed(&["run", "--run-id", "a"]);
    let now = first.replace("hit: { metric: contains }", "same: { metric: exact }").replace("sample.question", "input");
    place.write("karat.yaml", &now);
    let result = place.succeed(&["score", "a", "--run-id", "again"]);
    assert!(result.stderr.contains("no longer has `hit`"), "{}", result.all());
    assert_eq!(provider.requests(), 5);
    let report = place.report("again");
    let value = |name: &str| -> Value { report["metrics"][name]["value"].clone() };
    assert_eq!((value("hit"), value("same").as_f64().is_some()), (1.0.into(), true));
    assert_eq!((&report["totals"]["cells"], &report["totals"]["cached"]), (&5.into(), &5.into()));
    assert!(place.succeed(&["resume", "again"]).stderr.contains("finished"));
}

/// CL-23, BY-04: reports into one folder at once come one after the other: none fails, and files and manifest are whole.
#[test]
fn reports_into_one_folder_wait_for_each_other() {
    let place = Place::new();
    place.succeed(&["run", "faq", "--run-id", "a"]);
    let at_once = |flags: &[&str], folder: &str, manifest: &str| {
        let forms = ["report", "a", "--format", "md,json,html,junit,csv", "-o", folder];
        let begin = |_| {
            let mut command = place.command(&[&forms, flags].concat());
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let begun: Vec<_> = (0..8).map(begin).collect();
        for child in begun {
            let result = CommandOutput::of(child.wait_with_output().unwrap());
            assert_eq!(result.code, 0, "{}", result.all());
        }
        let manifest: Value = serde_json::from_str(&place.text(&format!("{folder}/{manifest}"))).unwrap();
        let files = manifest["files"].as_array().unwrap();
        assert_eq!(files.len(), 5);
        for file in files {
            let text = place.text(&format!("{folder}/{}", file["path"].as_str().unwrap()));
            assert_eq!(file["bytes"], text.len(), "{file}");
            assert_eq!(file["blake3"], blake3::hash(text.as_bytes()).to_hex().as_str(), "{file}");
        }
    };
    for _ in 0..3 {
        at_once(&[], "out", "manifest.json");
        at_once(&["--layout", "flat"], "many", "results/a.manifest.json");
    }
}

/// CL-23, RG-10: all report formats are written into one folder with a manifest, or flat beside other runs, and all
/// exports.
#[test]
fn every_form_is_written() {
    let place = Place::new();
    let forms = "md,json,html,junit,cells,csv";
    place.succeed(&["run", "faq", "--run-id", "a", "-o", "out", "--format", forms]);
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let manifest: Value = serde_json::from_str(&read("out/manifest.json")).unwrap();
    assert_eq!((&manifest["schema"], &manifest["run"]), (&"karat.manifest/1".into(), &"a".into()));
    let files = manifest["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    for file in files.iter().filter(|file| file["blake3"].is_string()) {
        let text = read(&format!("out/{}", file["path"].as_str().unwrap()));
        assert_eq!(file["bytes"], text.len(), "{file}");
        assert_eq!(file["blake3"], blake3::hash(text.as_bytes()).to_hex().as_str(), "{file}");
    }
    assert!(read("out/junit.xml").contains("<testsuite name=\"faq.may\""));
    place.succeed(&["report", "a", "--layout", "flat", "-o", "many", "--format", "md,json,junit"]);
    for name in ["many/results/a.json", "many/reports/a.md", "many/reports/a.junit.xml"] {
        assert!(!read(name).is_empty(), "{name}");
    }
    let lines = place.succeed(&["export", "jsonl", "a"]).stdout;
    let cells = serde_json::from_str::<Value>(&read("out/report.json")).unwrap()["totals"]["cells"].clone();
    assert_eq!(cells, lines.lines().count());
    place.succeed(&["export", "csv", "a", "-o", "cells.csv"]);
    assert_eq!(read("cells.csv"), read("out/cells.csv"));
    assert!(place.succeed(&["export", "junit", "a"]).stdout.starts_with("<?xml"));
}

/// F64: rows of `ls` that look alike say what changed since the suite's run before.
#[test]
fn the_list_says_what_changed() {
    let place = Place::new();
    let suite = |text: &str| {
        format!(
            "name: x\ndataset: {{ rows: [{{ id: a, q: hi }}] }}\nmodels: [ {{ id: m, provider: scripted, with: {{ reply: hi }} }} ]\nvariants: {{ ask: [ {{ prompt: {{ text: \"{text} {{{{ sample.q }}}}\" }} }} ] }}\nscorers: {{ hit: {{ metric: contains, value: hi }} }}\n"
        )
    };
    place.write("karat.yaml", &suite("Say"));
    place.succeed(&["run", "--run-id", "one"]);
    place.succeed(&["run", "--run-id", "two"]);
    place.write("karat.yaml", &suite("Please say"));
    place.succeed(&["run", "--run-id", "three", "--limit", "1"]);
    let listed = place.succeed(&["ls"]).stdout;
    let row = |id: &str| listed.lines().find(|line| line.trim_start().starts_with(id)).unwrap().to_owned();
    assert!(row("three").ends_with("first 1 rows · changed: variant ask"), "{listed}");
    assert!(row("two").ends_with("unchanged"), "{listed}");
    assert!(!row("one").contains("changed"), "{listed}");
}

/// F53: the trace of a call that ended while it waited for its next attempt shows what was sent and answered; a cell that was
/// not made is told as that.
#[test]
fn a_call_between_two_attempts_is_traced() {
    let provider = FakeProvider::start(Script::by(|_| Behaviour::rate_limited("20"))).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(1));
    let text = suite(&provider.base_url());
    place.write("karat.yaml", &format!("{}run: {{ cell_timeout: 1s }}\n", text.split("run:").next().unwrap()));
    let result = place.karat(&["run", "--run-id", "r"]);
    assert!(result.all().contains("waited for its next attempt (") && result.all().contains("429"), "{}", result.all());
    let traced = place.succeed(&["trace", "r", "0", "--raw"]).stdout;
    assert!(traced.contains("Question 0") && !traced.contains("request:\n\n"), "{traced}");
    let missing = place.karat(&["trace", "r", "7"]);
    assert!(missing.stderr.contains("has no cell `7`"), "{}", missing.all());
}

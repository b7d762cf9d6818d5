//! Stores that earlier versions of the program wrote: today's reads and continues them, and finds what they paid for.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place::{CommandOutput, Place};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stores")
}

/// The names of all stores: the version of their schema.
fn names() -> Vec<String> {
    let files = fs::read_dir(fixtures()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|file| file.strip_suffix(".db.zst").map(str::to_owned)).collect();
    names.sort();
    names
}

/// A folder with a store and the suite of its runs, and the figures that its writer reported.
fn unpack(name: &str) -> (Place, Value) {
    let place = Place::new();
    for file in ["karat.yaml", "data.jsonl"] {
        place.write(&format!("bench/{file}"), &fs::read_to_string(fixtures().join("bench").join(file)).unwrap());
    }
    fs::create_dir(place.path().join(".karat")).unwrap();
    let packed = fs::File::open(fixtures().join(format!("{name}.db.zst"))).unwrap();
    fs::write(place.path().join(".karat/karat.db"), zstd::decode_all(packed).unwrap()).unwrap();
    let figures = fs::read_to_string(fixtures().join(format!("{name}.json"))).unwrap();
    (place, serde_json::from_str(&figures).unwrap())
}

/// A command with the key that the suite names. Nothing listens at its address.
fn karat(place: &Place, arguments: &[&str]) -> CommandOutput {
    CommandOutput::of(place.command(arguments).env("MOCK_KEY", "none").output().unwrap())
}

/// Runs a command that must succeed. A gate that is not met is none of the store's faults.
fn succeed(place: &Place, name: &str, arguments: &[&str]) -> CommandOutput {
    let result = karat(place, arguments);
    assert!([0, 2].contains(&result.code), "{name}: karat {}: {}", arguments.join(" "), result.all());
    result
}

/// Invariant 7, formats have versions: the runs of each store are listed, reported with the figures of the program that wrote it, and compared.
#[test]
fn runs_of_old_stores_are_reported() {
    assert!(!names().is_empty());
    for name in names() {
        let (place, figures) = unpack(&name);
        let listed = succeed(&place, &name, &["ls", "-n", "99"]).stdout;
        for run in ["cut", "bench", "again", "faq"] {
            assert!(listed.contains(run), "{name}: {run}\n{listed}");
        }
        for (run, expected) in figures.as_object().unwrap() {
            let report: Value =
                serde_json::from_str(&succeed(&place, &name, &["report", run, "--format", "json", "-o", "-"]).stdout)
                    .unwrap();
            assert_eq!(report["totals"]["cells"], expected["cells"], "{name}: {run}");
            for (metric, value) in expected["metrics"].as_object().unwrap() {
                let now = report["metrics"][metric]["value"].as_f64();
                let is_same = match (now, value.as_f64()) {
                    (Some(now), Some(then)) => (now - then).abs() < 1e-9,
                    (now, then) => now == then,
                };
                assert!(is_same, "{name}: {run}: {metric} was {value} and is {now:?}");
            }
            succeed(&place, &name, &["report", run, "--format", "md,html", "-o", "out"]);
            succeed(&place, &name, &["show", run]);
        }
        let compared = succeed(&place, &name, &["compare", "bench", "again"]).stdout;
        assert!(compared.contains("hit"), "{name}: {compared}");
        assert!(succeed(&place, &name, &["trace", "bench", "0"]).stdout.contains("Question 0"), "{name}");
    }
}

/// Invariant 7, formats have versions, BY-05: what an earlier version paid for is found: the suite runs again, and a run that was stopped is
/// continued, without a call. The store is whole before and after.
#[test]
fn old_stores_are_continued_without_a_call() {
    for name in names() {
        let (place, _) = unpack(&name);
        succeed(&place, &name, &["store", "check"]);
        succeed(&place, &name, &["run", "bench/karat.yaml", "--run-id", "today"]);
        let report = place.report("today");
        assert_eq!((&report["totals"]["errors"], &report["totals"]["cells"]), (&0.into(), &12.into()), "{name}");
        assert_eq!(report["cost"]["actual_cost_usd"], 0.0, "{name}");
        succeed(&place, &name, &["resume", "cut", "--max-calls", "100"]);
        let cut = place.report("cut");
        assert_eq!((&cut["totals"]["errors"], &cut["totals"]["cells"]), (&0.into(), &12.into()), "{name}");
        succeed(&place, &name, &["compare", "cut", "today"]);
        succeed(&place, &name, &["store", "check"]);
        succeed(&place, &name, &["store", "backup", "copy.db"]);
    }
}

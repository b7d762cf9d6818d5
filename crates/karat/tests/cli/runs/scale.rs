//! Large runs: the checks of `cargo xtask soak scale` with fewer cells.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{Echo, FakeProvider, RequestLog, Script};

use crate::place::{Place, questions, suite};

const CELLS: usize = 10_500;

/// Peak of resident memory that such a run may take, in KiB.
const MOST: u64 = 150 * 1024;

/// The same of its report on stdout, which is 7 MiB long, above that of a command that reads little: 6.5 MiB, and more than
/// twice the report's length on top where it is made before it is written. Most of the rest is the program's own file.
const MOST_TO_STDOUT: u64 = 14 * 1024;

/// PE-21, PE-24, BY-09: memory is bounded, and above ten thousand cells they stand in a file of their own. It is most of
/// what a report costs, and left as it is where the same would be written.
#[test]
fn many_cells_take_little_memory() {
    let provider = FakeProvider::start_on(0, Script::echo(Echo::default()), RequestLog::Counts).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let mut command = place.command(&["run", "-q", "--run-id", "a", "--format", "json", "-o", "reports"]);
    let (ended, peak) = watched(command.stdout(Stdio::null()));
    assert!(ended.success());
    assert!(peak < MOST, "{peak} KiB");
    assert_eq!((provider.requests(), provider.duplicates()), (CELLS, 0));
    let report = std::fs::read_to_string(place.path().join("reports/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["cells_file"]["n"], CELLS);
    let cells = place.path().join("reports/cells.jsonl");
    let whole = std::fs::read(&cells).unwrap();
    assert_eq!(whole.iter().filter(|byte| **byte == b'\n').count(), CELLS);
    let manifest = place.path().join("reports/manifest.json");
    // Returns whether the file was written again.
    let report = |flags: &[&str]| {
        let before = std::fs::metadata(&cells).unwrap().ino();
        place.succeed(&[&["report", "a", "--format", "json", "-o", "reports"], flags].concat());
        std::fs::metadata(&cells).unwrap().ino() != before
    };
    let overwrite = |at: usize| {
        let mut other = whole.clone();
        other[at] = b'#';
        std::fs::write(&cells, &other).unwrap();
        blake3::hash(&other).to_hex().to_string()
    };
    assert!(!report(&[]), "nothing changed");
    let counted = |name: &str, at: &str| {
        let text: Value = serde_json::from_str(&place.text(&format!("reports/{name}"))).unwrap();
        text.pointer(at).and_then(Value::as_u64)
    };
    let n = Some(CELLS as u64);
    assert_eq!((counted("report.json", "/cells_file/n"), counted("manifest.json", "/files/1/n")), (n, n));
    // What is left as it is has as many cells as it had when it was written, whatever the run has by now.
    let fewer = place.text("reports/manifest.json").replace(&format!("\"n\": {CELLS}"), "\"n\": 7");
    std::fs::write(&manifest, fewer).unwrap();
    assert_eq!((report(&[]), counted("report.json", "/cells_file/n")), (false, Some(7)));
    overwrite(CELLS);
    assert!(report(&[]), "a byte in the middle was another");
    // What another version wrote is sound and other than what this one writes.
    let (told, other) = (blake3::hash(&whole).to_hex().to_string(), overwrite(1));
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace(&told, &other)).unwrap();
    assert!(report(&[]), "cells begin in another way");
    assert_eq!(std::fs::read(&cells).unwrap(), whole);
    assert!(report(&["--canonical"]), "the canonical form leaves things out");
    assert!(!report(&["--canonical"]));
    std::fs::write(&manifest, "no manifest").unwrap();
    assert!(report(&[]), "nobody says what the file is made of");
    assert_eq!(std::fs::read(&cells).unwrap(), whole);
    let flat = || {
        place.succeed(&["report", "a", "--format", "json", "--layout", "flat", "-o", "flat"]);
        std::fs::metadata(place.path().join("flat/results/a.cells.jsonl")).unwrap().ino()
    };
    assert_eq!(flat(), flat());
    // On stdout they are written while they are made.
    let there = place.path().join("there.json");
    let mut command = place.command(&["report", "a", "--format", "json", "-o", "-"]);
    let (ended, peak) = watched(command.stdout(File::create(&there).unwrap()));
    let text = std::fs::read_to_string(&there).unwrap();
    let inline: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((ended.success(), inline["cells"].as_array().unwrap().len()), (true, CELLS));
    // A short command may end between two looks at it.
    let base = (0..3).map(|_| watched(place.command(&["ls"]).stdout(Stdio::null())).1).max().unwrap();
    assert!(peak < base + MOST_TO_STDOUT, "{peak} KiB for a text of {}, {base} without it", text.len());
}

/// The exit of a process, and its peak of resident memory in KiB.
fn watched(command: &mut Command) -> (ExitStatus, u64) {
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        peak = peak_of(&status).max(peak);
        if let Some(ended) = child.try_wait().unwrap() {
            return (ended, peak);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// 0 where the system does not say.
fn peak_of(status: &str) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Number of rows that makes a dataset large in these tests: a run then starts before all rows are estimated.
const LARGE: usize = 4_096;

/// A suite over a dataset that is just large.
fn large(model: &str, words: impl Fn(usize) -> usize) -> Place {
    let place = Place::new();
    let rows = (0..LARGE).map(|at| format!("{{\"id\":\"s{at}\",\"q\":\"{at}{}\"}}\n", " ab".repeat(words(at))));
    place.write("rows.jsonl", &rows.collect::<String>());
    place.write(".env", &format!("KARAT_TEST_LARGE_DATASET={LARGE}\n"));
    place.write(
        "karat.yaml",
        &format!(
            "name: large
dataset: {{ source: rows.jsonl, id: id, input: q }}
models: [ {{ id: m, provider: stub, model: s, {model} }} ]
variants: {{ direct: [ {{ prompt: {{ text: '{{{{ sample.q }}}}' }}, requires: {{ fits: true }} }} ] }}
scorers: {{ hit: {{ metric: contains, value: x }} }}
"
        ),
    );
    place
}

/// Returns the least and the most that the plan costs, in dollars.
fn planned(place: &Place) -> [f64; 2] {
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    serde_json::from_value(plan["cost_usd"].clone()).unwrap()
}

/// CL-22: the estimate of a large run comes from a sample of its rows, and is close to the plan's.
#[test]
fn a_large_run_is_estimated_by_some_of_its_rows() {
    // One row in eight fits the model's window, and no period is in it.
    let words = |at: usize| match (at.wrapping_mul(2_654_435_761) >> 16) & 0xff {
        mixed if mixed % 8 == 0 => mixed / 16,
        _ => 30,
    };
    let place = large("context_window: 40, max_output: 20, price: { input: 0.01, output: 0.02 }", words);
    let planned = planned(&place);
    let result = place.succeed(&["run", "-q", "--run-id", "a"]);
    assert!(result.stdout.contains(" (from a sample of rows); "), "{}", result.all());
    let cost = &place.report("a")["cost"];
    let recorded: [f64; 2] = serde_json::from_value(cost["estimated_cost_range_usd"].clone()).unwrap();
    assert_eq!((&cost["estimated_cost_sampled"], &cost["estimated_cost_usd"]), (&true.into(), &recorded[1].into()));
    for (recorded, planned) in recorded.into_iter().zip(planned) {
        assert!((0.9..1.1).contains(&(recorded / planned)), "{recorded} is not near {planned}");
    }
    // BY-04: a run that was killed behind its first rows finds out the same.
    let killed = large("context_window: 40, max_output: 20, price: { input: 0.01, output: 0.02 }", words);
    let mut child = killed.command(&["run", "--json", "--run-id", "a"]).stdout(Stdio::piped()).spawn().unwrap();
    let events = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(events.take(LARGE / 4).all(|line| line.is_ok()));
    child.kill().unwrap();
    child.wait().unwrap();
    killed.succeed(&["resume", "a", "-q"]);
    assert_eq!(killed.canonical("a"), place.canonical("a"));
}

/// BY-05: a few adjacent expensive rows are found before a large run starts.
#[test]
fn a_large_run_that_is_too_dear_does_not_begin() {
    let words = |at: usize| if (1_000..1_064).contains(&at) { 40_000 } else { 1 };
    let place = large("max_output: 1, price: { input: 20, output: 0 }", words);
    let result = place.karat(&["run", "-q", "--run-id", "a"]);
    assert!(result.code == 5 && result.stderr.contains("$25.00"), "{}", result.all());
    assert_ne!(place.karat(&["report", "a"]).code, 0, "there is no run");
}

/// BY-05: where a single row that no other stands for, and whose length does not show it, is so dear that the ceiling would
/// have refused the run, it stops at the ceiling.
#[test]
fn a_large_run_that_has_begun_stops_at_the_ceiling() {
    let place = large("max_output: 1, price: { input: 20, output: 0 }", |_| 1);
    let many = format!("{{% for i in range(3000) %}}{}{{% endfor %}}", "ab ".repeat(1_000));
    let suite = std::fs::read_to_string(place.path().join("karat.yaml")).unwrap();
    let prompt = format!("{{{{ sample.q }}}}{{% if sample.id == \"s3001\" %}}{many}{{% endif %}}");
    place.write("karat.yaml", &suite.replace("{{ sample.q }}", &prompt));
    assert!(planned(&place)[0] > 25.0);
    let result = place.karat(&["run", "-q", "--run-id", "a"]);
    assert!(result.code == 5 && result.stderr.contains("does not fit the budget of $25.00"), "{}", result.all());
    let report = place.report("a");
    let (paid, cells) = (report["cost"]["actual_cost_usd"].as_f64().unwrap(), &report["totals"]["cells"]);
    // Row s3001, which is not in the sample, stops the run. Workers take cells in plan order, one at a time, so all rows
    // before it have been taken by then, and at most one row by each of the other workers has not reserved its call yet: it
    // is refused, too. Rows after it are made as long as its long prompt is rendered, which may be none.
    const WORKERS: u64 = 2 * 32;
    let cells = cells.as_u64().unwrap();
    assert!((0.05..=25.0).contains(&paid) && cells > 3_001 - WORKERS, "{paid}, {cells}");
}

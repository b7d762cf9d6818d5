use std::ops::{ControlFlow, Range};

use karat_analysis::testing::{MemoryRun, Sketch, example};
use karat_report::json::{self, CELLS_FILE};
use karat_report::{Cells, RenderError, Report};
use karat_types::json::Native;
use karat_types::{CellRow, CellStatus, Money, RowError, RunHeader, RunRows, RunStatus};
use serde_json::Value;

use crate::Example;

fn parsed(example: &Example) -> Value {
    serde_json::from_str(&json::render(example.report()).unwrap()).unwrap()
}

fn complaints(document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(include_str!("../../../../schemas/report.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// CL-20: the report follows the published schema, in its full and canonical forms, with its cells inside or in a file.
#[test]
fn a_report_follows_the_published_schema() {
    assert_eq!(complaints(&parsed(&Example::new())), Vec::<String>::new());
    assert_eq!(complaints(&parsed(&Example::new().canonical())), Vec::<String>::new());
    let mut broken = parsed(&Example::new());
    broken["cells"][0]["status"] = "fine".into();
    assert_eq!(complaints(&broken).len(), 1);
}

/// CL-20: exporting, parsing and exporting again gives the same bytes.
#[test]
fn export_parse_export_is_identical() {
    let first = json::render(Example::new().report()).unwrap();
    let value: Value = serde_json::from_str(&first).unwrap();
    let mut second = Vec::new();
    json::lay_out(&value, &mut second).unwrap();
    assert_eq!(first.trim_end(), String::from_utf8(second).unwrap());
}

/// PE-15, invariant 9, reports are deterministic: rendering one stored run twice is byte-identical.
#[test]
fn rendering_twice_is_byte_identical() {
    let render = || json::render(Example::new().report()).unwrap();
    assert_eq!(render(), render());
}

/// CL-20: 100 cells with one judge, including scores and diagnostics, stay below 1 MB.
#[test]
fn a_hundred_cells_with_one_judge_stay_below_a_megabyte() {
    let mut run = example();
    run.cells.iter_mut().for_each(|cell| cell.judgments.truncate(1));
    let example = Example::of(run);
    let bytes = json::render(example.report()).unwrap().len();
    let cells = example.run.cells.len();
    assert!(bytes * 100 / cells < 1_000_000, "{bytes} bytes for {cells} cells");
}

/// The same run after an interruption: other ids, times and latencies, and some results reused.
fn interrupted() -> MemoryRun {
    let mut run = example();
    run.header.id = "0198c2f4-0000-7000-8000-000000000002".to_owned();
    run.header.started_at.0 += 86_400_000;
    run.header.completed_at = None;
    run.header.status = RunStatus::Finished;
    let latency = run.plan().metric("latency").unwrap() as u16;
    for it in &mut run.cells {
        it.cell.latency_ms *= 1.5;
        it.cell.reused = it.cell.status == CellStatus::Ok && !it.cell.reused;
        it.cell.cost.paid = Money::ZERO;
        it.cell.calls.clear();
        it.cell.scores.retain(|(metric, _)| *metric != latency);
        for judgment in &mut it.judgments {
            judgment.reused = true;
            judgment.latency_ms = 1.0;
            judgment.cost.paid = Money::ZERO;
            judgment.calls.clear();
        }
    }
    run
}

/// Invariant 9, reports are deterministic: an interrupted and an uninterrupted run have the same canonical report.
#[test]
fn the_canonical_report_is_independent_of_interruptions() {
    let canonical = |run| json::render(Example::of(run).canonical().report()).unwrap();
    assert_eq!(canonical(example()), canonical(interrupted()));
    let full = |run| json::render(Example::of(run).report()).unwrap();
    assert_ne!(full(example()), full(interrupted()));
}

#[test]
fn the_canonical_report_leaves_out_what_the_contract_says() {
    let text = json::render(Example::new().canonical().report()).unwrap();
    for key in [
        "\"latency\":",
        "latency_ms",
        "call_ids",
        "cached",
        "fresh",
        "actual_cost_usd",
        "started_at",
        "completed_at",
        "attempts",
    ] {
        assert!(!text.contains(key), "{key}");
    }
    let settings = &parsed(&Example::new().canonical())["run"]["config"]["run"];
    assert!(settings["seed"].is_u64() && settings.get("max_calls").is_none(), "{settings}");
    let text = json::render(Example::new().report()).unwrap();
    for key in ["\"latency\":", "latency_ms", "call_ids", "cached", "fresh", "actual_cost_usd", "started_at"] {
        assert!(text.contains(key), "{key}");
    }
}

/// The report has every field of the contract.
#[test]
fn the_report_has_every_field_of_the_contract() {
    let document = parsed(&Example::new());
    let has = |value: &Value, keys: &[&str]| {
        let missing: Vec<&&str> = keys.iter().filter(|key| value.get(**key).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    };
    has(&document, &["schema", "run", "totals", "summary", "metrics", "systems", "models", "variants", "samples"]);
    has(&document, &["leaderboards", "cost", "gates", "verdict", "analyses", "cells"]);
    has(&document["run"], &["id", "suite", "suite_hash", "plan_hash", "dataset_hash", "started_at", "completed_at"]);
    has(&document["run"], &["status", "version", "git_commit", "seed", "config"]);
    has(&document["totals"], &["samples", "cells", "judgments", "errors", "unscored", "cached"]);
    has(&document["summary"], &["best_model", "worst_model", "hardest_sample"]);
    has(&document["metrics"]["quality.overallScore"], &["value", "n", "se", "ci", "method"]);
    let sample = &document["samples"][0];
    has(sample, &["id", "dimensions", "cost"]);
    has(&sample["dimensions"]["quality.accuracy"], &["n", "mean", "median", "min", "max", "stddev"]);
    has(&document["leaderboards"]["quality.accuracy"][0], &["id", "score"]);
    has(&document["cost"], &["extraction_tokens", "judge_tokens", "extraction_cost_usd", "judge_cost_usd"]);
    has(&document["cost"], &["estimated_cost_usd", "actual_cost_usd", "cost_per_cell", "cost_per_model"]);
    has(&document["cost"], &["cost_per_sample", "cost_per_variant"]);
    let cell = &document["cells"][1];
    has(cell, &["sample", "model", "variant", "trial", "status", "output", "scores", "judgments", "consensus"]);
    has(cell, &["usage", "latency_ms", "call_ids"]);
    has(&cell["consensus"]["accuracy"], &["mean", "variance", "flagged"]);
    has(&cell["judgments"][0], &["scorer", "judge", "prompt_version", "scores", "reasoning", "diagnostics"]);
    has(&cell["judgments"][0], &["caps", "rung", "fresh", "call_ids"]);
    assert_eq!(document["analyses"]["variant_delta"]["base"], "raw");
}

#[test]
fn a_long_output_is_a_reference_and_a_short_one_is_shown() {
    let document = parsed(&Example::new());
    assert!(document["cells"][0].get("output").is_none());
    assert!(document["cells"][0]["output_ref"]["bytes"].as_u64().unwrap() > 2_048);
    assert_eq!(document["cells"][1]["output"]["claims"][0]["text"], "iron iron iron iron");
}

/// PE-23: the report of a large run stays small.
#[test]
fn cells_of_a_large_run_are_in_a_file_of_their_own() {
    let example = Example::of(Sketch::new(1, 1, 10_001).fill(5.0).run());
    assert!(!json::is_inline(example.report()));
    let mut lines = Vec::new();
    let file = json::write_cells(example.report().cells(), CELLS_FILE, &mut lines).unwrap();
    assert_eq!((file.n, file.path.as_str()), (10_001, "cells.jsonl"));
    assert_eq!(file.blake3, blake3::hash(&lines).to_hex().to_string());
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 10_001);
    let mut report = Vec::new();
    json::write_beside_cells(example.report(), &file, &mut report).unwrap();
    let document: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(complaints(&document), Vec::<String>::new());
    assert!(document.get("cells").is_none() && document.get("samples").is_none());
    assert_eq!(document["cells_file"]["n"], 10_001);
    assert!(report.len() < 20_000);
}

/// PE-23: a full disk and unreadable rows are returned as errors by the file of cells and by report.json.
#[test]
fn errors_of_disk_and_rows_are_returned() {
    let example = Example::of(Sketch::new(1, 3, 2_000).fill(5.0).run());
    let cells = example.report().cells();

    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for room in [0, 300_000] {
        let error = json::write_cells(cells, CELLS_FILE, &mut Full(room)).unwrap_err();
        assert!(matches!(&error, RenderError::Write(why) if why.kind() == std::io::ErrorKind::StorageFull), "{error}");
    }

    struct Broken<'a>(&'a dyn RunRows);
    impl RunRows for Broken<'_> {
        fn header(&self) -> &RunHeader {
            self.0.header()
        }
        fn for_each_in(
            &self,
            ordinals: Range<u64>,
            row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
        ) -> Result<(), RowError> {
            if ordinals.contains(&1_500) {
                Err(RowError("damaged".to_owned()))
            } else {
                self.0.for_each_in(ordinals, row)
            }
        }
        fn output(&self, ordinal: u64) -> Result<Option<Value>, RowError> {
            self.0.output(ordinal)
        }
    }
    let broken = Broken(cells.rows);
    let told = "the report could not be made because the run's rows could not be read: damaged";
    let error = json::write_cells(Cells { rows: &broken, ..cells }, CELLS_FILE, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), told);
    let error = json::render(Report { rows: &broken, ..example.report() }).unwrap_err();
    assert_eq!(error.to_string(), told);
}

#[test]
fn the_document_without_its_cells() {
    let mut document = parsed(&Example::new());
    let object = document.as_object_mut().unwrap();
    for long in ["cells", "samples", "systems", "variants", "analyses", "leaderboards", "metrics"] {
        object.remove(long);
    }
    object["models"].as_array_mut().unwrap().truncate(1);
    insta::assert_json_snapshot!(Native(&document));
}

#[test]
fn cells_of_every_kind() {
    let document = parsed(&Example::new());
    let cells = document["cells"].as_array().unwrap();
    let of = |status: &str| cells.iter().find(|cell| cell["status"] == status).unwrap();
    let failed_judge = &cells[23];
    insta::assert_json_snapshot!([of("error"), of("skipped"), failed_judge].map(Native));
}

#[test]
fn the_analyses() {
    let document = parsed(&Example::new());
    let analyses = &document["analyses"];
    let accuracy = "quality.accuracy";
    let shown = [
        &analyses["variant_delta"]["comparisons"][0]["metrics"][1],
        &analyses["agreement"][accuracy],
        &analyses["leaderboards"][accuracy],
        &analyses["grading"],
        &analyses["recommendations"],
    ];
    insta::assert_json_snapshot!(shown.map(Native));
}

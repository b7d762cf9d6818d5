//! Runs whose stored rows are damaged.

use std::path::Path;
use std::sync::Arc;

use karat_app::{AppError, CallRecording, Execution, Invocation, Outputs, Overrides, RunEnd, Stop};
use karat_store::{Store, StoredRun};
use karat_types::{CellRecord, Moment, Record, ReportFormat, RunHeader, RunRows, RunStatus, SilentObserver};
use serde_json::{Value, json};

use crate::place::app;

fn execution() -> Execution {
    let (observer, stop) = (Arc::new(SilentObserver), Stop::default());
    Execution { run_id: Some("a".to_owned()), resume: false, observer, stop, tape: CallRecording::None }
}

fn report(folder: &Path) -> Result<String, AppError> {
    let mut report = Vec::new();
    app(folder).reports().export("a", ReportFormat::Json, Outputs::default(), true, &mut report)?;
    Ok(String::from_utf8(report).unwrap())
}

/// A4: a report of a run with missing or damaged rows is an error that names `resume`, and `resume` makes what is missing:
/// the report is the same as before.
#[test]
fn resume_makes_what_a_report_misses() {
    for (damage, said) in [
        ("delete from judgments where rowid % 2 = 0", "judgments, and"),
        ("delete from cells where rowid % 2 = 0", "cells, and"),
        (
            "update cells set facts = cast(substr(facts, 1, length(facts) - 5) || x'0000000000' as blob) where rowid % 2 = 0",
            "checksum",
        ),
    ] {
        let scratch = testkit::scratch().unwrap();
        let folder = scratch.path();
        let invocation =
            Invocation { overrides: Overrides { limit: Some(1), ..Overrides::default() }, ..Invocation::of("claims") };
        let first = app(folder);
        first.runs().run(first.runs().load(&invocation).unwrap(), &invocation, execution()).unwrap();
        drop(first);
        let before = report(folder).unwrap();
        assert!(app(folder).stored().check().unwrap().is_sound());

        let store = rusqlite::Connection::open(folder.join("karat.db")).unwrap();
        assert!(store.execute(damage, []).unwrap() > 0);
        drop(store);
        let error = report(folder).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("`karat resume a`"), "{error}");
        let checked = app(folder).stored().check().unwrap();
        assert!(
            !checked.is_sound() && checked.text().contains("`karat resume a` makes them again"),
            "{}",
            checked.text()
        );

        let RunEnd { notice, .. } = app(folder).runs().resume("a", &Invocation::default(), execution()).unwrap();
        assert!(notice.is_none_or(|notice| !notice.contains("nothing to resume")));
        assert!(report(folder).unwrap() == before, "{damage}: the reports differ");
        assert!(app(folder).stored().check().unwrap().is_sound());
        let again = app(folder).runs().resume("a", &Invocation::default(), execution()).unwrap();
        assert!(again.notice.is_some_and(|notice| notice.contains("nothing to resume")));
    }
}

/// All cells of a run of preset `claims`, with their samples.
fn records(rows: &StoredRun) -> Vec<Record> {
    let mut records = Vec::new();
    rows.samples(|sample| records.push(Record::Sample(sample))).unwrap();
    for ordinal in 0..rows.header().planned_cells() {
        let output = rows.stored_output(ordinal).unwrap().map(Arc::new);
        let cell = rows.cell(ordinal).unwrap().unwrap();
        records.push(Record::Cell(Arc::new(CellRecord { output, ..cell })));
    }
    records
}

/// F102: a run whose stored start is missing, or cannot be read, has unknown gates: its report is an error, and no pass.
#[test]
fn a_run_with_an_unknown_start_has_no_verdict() {
    let scratch = testkit::scratch().unwrap();
    let folder = scratch.path();
    let invocation =
        Invocation { overrides: Overrides { limit: Some(1), ..Overrides::default() }, ..Invocation::of("claims") };
    let first = app(folder);
    first.runs().run(first.runs().load(&invocation).unwrap(), &invocation, execution()).unwrap();
    let store = Store::open(&first.store).unwrap();
    let begun = store.run("a").unwrap();
    for (id, invocation) in [("none", Value::Null), ("other", json!({ "rules": 7 }))] {
        let ledger = store.begin(&RunHeader { id: id.to_owned(), invocation, ..begun.clone() }).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            ledger.append(records(&store.rows("a").unwrap())).await.unwrap();
            ledger.finish(RunStatus::Finished, Moment(1)).await.unwrap();
        });
        let error = app(folder).reports().summary(id).unwrap_err().to_string();
        assert!(error.contains(&format!("run {id} does not say what it was started with")), "{error}");
    }
    assert!(app(folder).reports().summary("a").is_ok());
}

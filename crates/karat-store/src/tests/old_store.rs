//! Old files stay readable (invariant 7).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use karat_types::*;
use serde_json::{Map, Value, json};

use super::test_data::*;
use crate::{Reservation, Store, StoreUrl};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/store/v1.db")
}

fn old_output() -> Arc<Value> {
    Arc::new(json!({"text": "Paris", "weights": [0.1, 2.5e-8]}))
}

fn old_sample() -> SampleRecord {
    SampleRecord {
        row: 0,
        id: "capital".to_owned(),
        cluster: Some("geography".to_owned()),
        date: Some("2026-01-31".to_owned()),
        metadata: Map::from_iter([("level".to_owned(), json!(2))]),
        reads: Vec::new(),
        texts: Vec::new(),
    }
}

fn old_cell() -> CellRecord {
    CellRecord {
        scores: vec![
            (0, Score::value(1.0)),
            (1, Score::value_because(0.25, "too short")),
            (2, Score::not_applicable("no reference")),
            (3, Score::unscored("no number")),
        ],
        cost: CellCost {
            usage: Usage {
                input_tokens: 30,
                cached_input_tokens: 8,
                output_tokens: 5,
                reasoning_tokens: 1,
                ..Usage::default()
            },
            cost: Some(Money(1_500)),
            paid: Money::ZERO,
        },
        reused: true,
        notes: vec![Note { kind: NoteKind::Lenient, text: "fenced".to_owned(), count: 1 }],
        ..cell(0, "paris", &old_output())
    }
}

fn old_judgment() -> JudgmentRecord {
    JudgmentRecord {
        diagnostics: Map::from_iter([("missed".to_owned(), json!(["a river"]))]),
        caps: vec!["no_source".to_owned()],
        ..judgment(0, 1, 0, "judged")
    }
}

fn old_records() -> Vec<Record> {
    vec![
        Record::Reserved { calls: 3, upper: Money(12_000) },
        Record::Sample(old_sample()),
        Record::Call(call("paris")),
        Record::Call(failed_call("lyon")),
        Record::Step(step("paris", &old_output()).into()),
        Record::Cell(old_cell().into()),
        Record::Judgment(old_judgment().into()),
        Record::Sample(sample(1)),
        Record::Cell(failed_cell(1, "lyon").into()),
    ]
}

/// The header as it was written. Fields that version 1 lacks are absent.
fn old_header() -> RunHeader {
    let mut header =
        RunHeader { status: RunStatus::Interrupted, completed_at: Some(Moment(1_700_000_001_000)), ..header("old", 2) };
    let run = &mut Arc::make_mut(&mut header.plan).run;
    (run.refuses_calls, run.call_log, run.capture, run.cell_line) = (false, None, Capture::Full, None);
    header
}

#[test]
#[ignore = "writes the fixture: once for each schema version, never again after its release"]
fn write_fixture() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("old", 2)).unwrap();
    block_on(async {
        ledger.append(old_records()).await.unwrap();
        ledger.append(vec![Record::Call(call("unused"))]).await.unwrap();
        ledger.finish(RunStatus::Interrupted, Moment(1_700_000_001_000)).await.unwrap();
    });
    let path = store.path().to_owned();
    drop((ledger, store));
    fs::create_dir_all(fixture().parent().unwrap()).unwrap();
    fs::copy(path, fixture()).unwrap();
}

/// Invariant 7: a store of schema version 1 is read to its last field, and its run can be resumed.
#[test]
fn a_store_of_version_1_is_read() {
    let folder = folder();
    let url = StoreUrl::in_folder(folder.path());
    fs::copy(fixture(), url.path()).unwrap();
    let store = Store::open(&url).unwrap();

    let run = store.run("old").unwrap();
    assert_eq!(run, old_header());
    let rows = rows(&store, "old");
    assert_eq!(
        rows,
        [
            (old_sample(), 0, 0, CellRecord { output: None, ..old_cell() }, vec![old_judgment()]),
            (sample(1), 0, 0, failed_cell(1, "lyon"), vec![]),
        ]
    );
    assert_eq!(store.rows("old").unwrap().output(0).unwrap().as_ref(), Some(&*old_output()));
    assert_eq!(store.step(key("paris")).unwrap().unwrap().record, step("paris", &old_output()));
    assert_eq!(store.judgment(key("judged")).unwrap().unwrap().record, old_judgment());
    assert_eq!(store.call(None, key("lyon")).unwrap().unwrap().record, failed_call("lyon"));
    let paid = store.account("old").unwrap().paid;
    assert_eq!((paid.len(), paid.get(&store, key("unused")).unwrap()), (1, Some(call("unused"))));
    let totals = store.runs(1).unwrap()[0].totals;
    assert_eq!((totals.cells, totals.errors, totals.spending.calls), (2, 1, 3));
    assert_eq!(totals.spending.open, Reservation::default());

    let ledger = store.reopen("old").unwrap();
    block_on(ledger.append(vec![Record::Cell(cell(1, "lyon", &old_output()).into())])).unwrap();
    assert_eq!(store.finished_cells("old").unwrap().errors.len(), 0);
}

//! Old files stay readable (invariant 7, formats have versions).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use karat_types::*;
use serde_json::{Map, Value, json};

use super::checksums::{filled, readers};
use super::test_data::*;
use crate::sql::params;
use crate::sql::tables::TABLES;
use crate::{Reservation, Store, StoreError, StoreUrl};

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

/// Invariant 7, formats have versions: a store of schema version 1 is read to its last field, and its run can be resumed.
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

/// X2: a store on a server gets its checksums as one in a file does.
pub(crate) fn a_server_without_checksums_gets_them() {
    let folder = folder();
    let store = store_in(&folder);
    filled(&store);
    let url = store.url().clone();
    let seen = |store: &Store| -> Vec<String> {
        readers().values().map(|read| read(store).unwrap_or_else(|error| error.to_string())).collect()
    };
    let before = seen(&store);
    let connection = store.writing();
    let session = connection.server().unwrap();
    for table in TABLES.iter().filter(|table| table.sums.is_none()) {
        session.batch(&format!("alter table {} drop column sum", table.name)).unwrap();
    }
    session
        .batch(
            "drop table block_sums; alter table annotation_tasks drop column items, drop column events;
             drop function sum_of; drop function sum_part(bigint); drop function sum_part(bytea);
             drop function sum_part(text); drop function write_block;
             create function write_block() returns bigint language sql as 'select 1::bigint';
             update meta set value = 2 where key = 'schema'",
        )
        .unwrap();
    drop(connection);
    drop(store);
    let store = Store::open(&url).unwrap();
    assert_eq!(seen(&store), before);
    assert!(store.check().unwrap().is_sound(), "{:?}", store.check().unwrap());
    store.writing().execute("update tokens set role = 'admin'", params![]).unwrap();
    assert!(store.tokens().unwrap_err().to_string().contains("table `tokens`"));
}

/// Makes a store of the version before checksums of a closed one.
fn unseal(url: &StoreUrl) {
    let file = rusqlite::Connection::open(url.path()).unwrap();
    for table in TABLES {
        file.execute_batch(&format!("drop trigger if exists {}_sealed", table.name)).unwrap();
        if table.sums.is_none() {
            file.execute_batch(&format!("alter table {} drop column sum", table.name)).unwrap();
        }
    }
    file.execute_batch(
        "drop table block_sums; alter table annotation_tasks drop column items;
         alter table annotation_tasks drop column events; pragma user_version = 15; pragma wal_checkpoint(truncate)",
    )
    .unwrap();
}

/// X2: a store of the version before gets its checksums, reads as before, and is told when a bit changes then. Opened for
/// reading only, it is read as it is.
#[test]
fn a_store_without_checksums_gets_them() {
    let folder = folder();
    let store = store_in(&folder);
    filled(&store);
    let url = store.url().clone();
    let seen = |store: &Store| -> Vec<String> {
        readers().values().map(|read| read(store).unwrap_or_else(|error| error.to_string())).collect()
    };
    let before = seen(&store);
    drop(store);
    unseal(&url);
    let old = Store::as_it_is(&url, false).unwrap();
    let read = readers();
    let as_it_is =
        ["cells", "tokens", "annotation_events", "vectors", "batches"].map(|table| read[table](&old).unwrap());
    drop(old);
    let store = Store::open(&url).unwrap();
    assert_eq!(seen(&store), before);
    let now = ["cells", "tokens", "annotation_events", "vectors", "batches"].map(|table| read[table](&store).unwrap());
    assert_eq!(as_it_is, now);
    assert!(store.check().unwrap().is_sound(), "{:?}", store.check().unwrap());
    store.writing().execute("update tokens set role = 'admin'", params![]).unwrap();
    let error = store.tokens().unwrap_err().to_string();
    assert!(error.contains("table `tokens`") && error.contains("`karat store restore`"), "{error}");
}

/// X2: a store is not migrated while an older process writes a run; it is read as it is. A row of an older process that has
/// the file open still is refused.
#[test]
fn a_store_in_use_is_not_migrated() {
    let folder = folder();
    let store = store_in(&folder);
    filled(&store);
    let url = store.url().clone();
    drop(store);
    unseal(&url);
    let lock = crate::database::run_lock::RunLock::take(url.path(), "r").unwrap().unwrap();
    assert!(matches!(Store::open(&url), Err(StoreError::Migration { .. })));
    assert_eq!(Store::open_to_read(&url).unwrap().runs(9).unwrap().len(), 1);
    drop(lock);
    let old = rusqlite::Connection::open(url.path()).unwrap();
    old.execute("insert into journal (suite, kind, at, body) values ('s', 'k', 1, '{}')", []).unwrap();
    drop(Store::open(&url).unwrap());
    let refused = old.execute("insert into journal (suite, kind, at, body) values ('s', 'k', 1, '{}')", []);
    assert!(refused.unwrap_err().to_string().contains("migrated by a newer karat"));
    let refused = old.execute(
        "insert into blocks (run, log, reuse, judgments, outputs, traces) values (1, x'', x'', x'', x'', x'')",
        [],
    );
    assert!(refused.is_err());
}

#[test]
#[ignore = "a process of its own: see a_migration_may_be_killed"]
fn opens_until_it_is_killed() {
    let mut address = String::new();
    std::io::stdin().read_line(&mut address).unwrap();
    println!("opening");
    drop(Store::open(&address.trim_end().parse().unwrap()).unwrap());
}

/// X2: a migration that is killed anywhere has happened as a whole or not at all, and the next process does it.
#[expect(clippy::disallowed_methods, reason = "the kill is timed by a whole migration")]
#[test]
fn a_migration_may_be_killed() {
    use std::io::BufRead;
    let folder = folder();
    let store = Store::open(&url_in(folder.path())).unwrap();
    filled(&store);
    let ledger = store.begin(&header("long", 1_500)).unwrap();
    block_on(async {
        let cells: Vec<Record> = (0..1_500).flat_map(whole_cell).collect();
        ledger.append(cells).await.unwrap();
        ledger.finish(RunStatus::Finished, Moment(3)).await.unwrap();
    });
    let url = store.url().clone();
    drop((ledger, store));
    unseal(&url);
    let old = fs::read(url.path()).unwrap();
    let (mut before, mut after, mut whole) = (0, 0, Duration::ZERO);
    for round in 0..24_u32 {
        for rest in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{rest}", url.path().display()));
        }
        fs::write(url.path(), &old).unwrap();
        let (mut child, mut output) = super::crash::start("tests::old_store::opens_until_it_is_killed", folder.path());
        while !{
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            line.contains("opening")
        } {}
        let begin = Instant::now();
        if round > 0 {
            std::thread::sleep(whole * round / 20);
            child.kill().unwrap();
        }
        child.wait().unwrap();
        // The first one is not killed.
        whole = if round == 0 { begin.elapsed() } else { whole };
        let version: i64 = rusqlite::Connection::open(url.path())
            .unwrap()
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        if version == 15 {
            before += 1
        } else {
            after += 1
        }
        let store = Store::open(&url).unwrap();
        assert!(store.check().unwrap().is_sound(), "{:?}", store.check().unwrap());
        assert_eq!(store.finished_cells("long").unwrap().cells.len(), 1_500);
    }
    println!("killed before the end of the migration: {before}, after it: {after}");
}

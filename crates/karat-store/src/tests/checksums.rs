//! Every row has a checksum (one rule, `sql/sealed.rs`): a changed bit of any column of any table is told.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::*;
use serde_json::json;

use super::test_data::*;
use crate::server::annotation::tasks::{NewAnnotationTask, NewStoredItem};
use crate::sql::tables::{RELEASED, SHARDS, STOPS, TABLES};
use crate::sql::{OwnedValue, SqlResult, Table, ToValue, params};
use crate::{
    CollectedCall, JournalEntry, KeptAnswer, NewQueuedRun, RunOutcome, Store, StoreError, StoredBatch, StoredFiring,
    StoredIncident, StoredMessage, StoredToken,
};

/// Tables that only a server has: the version, and locks of living processes. Nothing of them gets into a result.
const LOCKS: [&str; 3] = ["meta", "claims", "making"];

/// Columns of the same kind.
const LOCK_COLUMNS: [(&str, &str); 2] = [("blocks", "id"), ("blocks", "tx")];

/// A store with a row in every table.
pub(super) fn filled(store: &Store) {
    let ledger = store.begin(&header("r", 3)).unwrap();
    block_on(async {
        for ordinal in 0..3 {
            ledger.append(whole_cell(ordinal)).await.unwrap();
            let judged = judgment(ordinal, 0, 0, &format!("judgment {ordinal}"));
            ledger.append(vec![Record::Judgment(judged.into())]).await.unwrap();
        }
        ledger.finish(RunStatus::Finished, Moment(1)).await.unwrap();
    });
    drop(ledger);
    // Inserts the waiting keys into the index.
    store.prune(Moment(-1), false, true).unwrap();
    store.add_journal_entry("suite", "alert", &JournalEntry { at: Moment(2), body: json!({"n": 1}) }).unwrap();
    let token = StoredToken {
        id: "abcd".to_owned(),
        name: "ci".to_owned(),
        role: "run".to_owned(),
        hash: [7; 32],
        created_at: Moment(5),
        expires_at: Some(Moment(90)),
        used_at: Some(Moment(6)),
        revoked_at: Some(Moment(80)),
    };
    store.add_token(&token).unwrap();
    store.rows("r").unwrap().keep_derived("index", key("d"), b"derived").unwrap();
    store.keep_vectors(&[(key("v"), vec![0.6, -0.8])]).unwrap();
    store.keep_blob("blake3:aa", "image/png", b"\x89PNG", Moment(10)).unwrap();
    fill_batches(store);
    fill_service(store);
    fill_tasks(store);
    let connection = store.writing();
    RELEASED.insert(&connection, "", params![1, 2]).unwrap();
    SHARDS.insert(&connection, "", params![1, 1, 1, 2]).unwrap();
    STOPS.insert(&connection, "", params![1, 0, "{}"]).unwrap();
}

fn fill_batches(store: &Store) {
    let call = CollectedCall { key: key("b"), model: "m".to_owned(), body: vec![1, 2], upper: Money(5), earlier: 0 };
    store.collect_batch_items("r", &[call]).unwrap();
    let batch = StoredBatch {
        key: "batch".to_owned(),
        model: "m".to_owned(),
        lines: 1,
        state: crate::BatchState::Prepared,
        file: None,
        remote_id: None,
        created_at: Moment(3),
    };
    store.prepare_batch("r", &batch, &[key("b")]).unwrap();
    store.set_batch_file("batch", "file").unwrap();
    store.set_batch_remote_id("batch", "remote").unwrap();
    let answer = crate::BatchAnswer { status: Some(200), body: vec![3], error: Some("why".to_owned()) };
    store.absorb_batch("batch", &[(0, crate::BatchLineEnd::Answered(answer))]).unwrap();
}

fn fill_service(store: &Store) {
    let text = str::to_owned;
    let firing = StoredFiring {
        run: text("due"),
        suite: text("suite"),
        schedule: text("nightly"),
        due: Moment(1),
        state: text("fired"),
        note: text("note"),
        at: Moment(2),
    };
    store.add_firing(&firing).unwrap();
    store.followed_since("suite", "nightly", Moment(7)).unwrap();
    store.set_paused("suite", "nightly", Some(Moment(8))).unwrap();
    let incident = StoredIncident {
        id: text("inc"),
        suite: text("suite"),
        alert: text("alert"),
        key: text("key"),
        state: text("open"),
        body: text("{\"event\": \"gate\"}"),
        at: Moment(3),
    };
    let message = StoredMessage {
        id: text("msg"),
        path: text("path"),
        suite: text("suite"),
        alert: text("alert"),
        incident: text("inc"),
        body: text("{}"),
        next_at: Some(Moment(9)),
        error: text("410"),
        ..StoredMessage::default()
    };
    let outcome = RunOutcome { incidents: vec![incident], dropped: Vec::new(), messages: vec![message] };
    store.add_outcome("done", &outcome, Moment(4)).unwrap();
    let answer = KeptAnswer {
        key: text("k"),
        fingerprint: [3; 32],
        status: 202,
        body: text("{}"),
        location: Some(text("/x")),
        at: Moment(5),
    };
    let new = NewQueuedRun { run: "queued", order: "{}", is_new: true, at: Moment(5), most_waiting: 2 };
    store.enqueue(&new, Some(&answer)).unwrap();
    store.take_queued("me", Moment(7)).unwrap();
    store.end_queued("queued", Some("failed"), Some("why"), Moment(9)).unwrap();
}

fn fill_tasks(store: &Store) {
    let item = NewStoredItem { shown: key("i"), body: "item".to_owned() };
    let new = NewAnnotationTask {
        name: "t",
        secret: [7; 32],
        hash: key("h"),
        body: "{}",
        items: std::slice::from_ref(&item),
        at: Moment(5),
    };
    let (task, _) = store.add_annotation_task(&new).unwrap();
    let label = |change: &crate::AnnotationChange<'_>| {
        change.set_lease(0, "ann", Moment(9))?;
        change.set_draft(0, "ann", Some("half"), Moment(6))?;
        change.add_event(Some(0), "ann", "label", "{\"good\":5}", Moment(6))
    };
    store.change_annotations(task.id, label).unwrap();
}

/// The value with one bit changed; `None` where there is no bit. Of a key it is one that no other row of the test has.
fn flipped(value: &OwnedValue, is_key: bool) -> Option<OwnedValue> {
    Some(match value {
        OwnedValue::Null => return None,
        OwnedValue::Integer(number) => OwnedValue::Integer(number ^ if is_key { 64 } else { 1 }),
        OwnedValue::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            *bytes.last_mut()? ^= 1;
            OwnedValue::Text(String::from_utf8(bytes).ok()?)
        }
        OwnedValue::Blob(bytes) => {
            let mut bytes = bytes.clone();
            let middle = bytes.len() / 2;
            *bytes.get_mut(middle)? ^= 4;
            OwnedValue::Blob(bytes)
        }
    })
}

/// A column of a table with a row that has a bit there: the conditions that find the row, and its value.
fn read_value(store: &Store, table: &str, columns: &[&str], column: &str) -> Option<(Vec<OwnedValue>, OwnedValue)> {
    let connection = store.writing();
    let read: Vec<&str> = columns.iter().copied().chain([column]).collect();
    let select = format!("select {} from {table} where {column} is not null", read.join(", "));
    let mut statement = connection.prepare_cached(&select).unwrap();
    let mut rows = statement.query(params![]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let value = OwnedValue::from(row.value(columns.len()).unwrap());
        if flipped(&value, false).is_some() {
            let key = (0..columns.len()).map(|at| row.value(at).map(OwnedValue::from));
            return Some((key.collect::<SqlResult<_>>().unwrap(), value));
        }
    }
    None
}

/// Sets a column of a row, whatever the rules of the store are.
fn write_value(store: &Store, table: &str, (names, key): (&[&str], &[OwnedValue]), column: &str, value: &OwnedValue) {
    let conditions: Vec<String> = names.iter().zip(2..).map(|(name, at)| format!("{name} = ?{at}")).collect();
    let condition = if names.is_empty() { "true".to_owned() } else { conditions.join(" and ") };
    let update = format!("update {table} set {column} = ?1 where {condition}");
    let values: Vec<&dyn ToValue> = [value].into_iter().chain(key).map(|value| value as &dyn ToValue).collect();
    assert_eq!(store.writing().execute(&update, &values).unwrap(), 1, "{update}");
}

/// Returns the values that a reader of the store sees.
pub(super) type Reader = fn(&Store) -> Result<String, StoreError>;

/// The readers of each table. One that fails, or sees what it saw before, believes no damage.
pub(super) fn readers() -> BTreeMap<&'static str, Reader> {
    let report: Reader = |store| {
        let mut seen = String::new();
        let rows = store.rows("r")?;
        let read = rows.for_each(&mut |row| {
            seen.push_str(&format!("{row:?} {:?}", rows.output(row.cell.ordinal).map_err(|error| error.0)));
            std::ops::ControlFlow::Continue(())
        });
        match read {
            Ok(()) if !seen.contains("Err(") => Ok(seen),
            _ => Err(StoreError::OutOfRange("the report is refused".to_owned())),
        }
    };
    let found = |kinds: &[(&'static str, Reader)]| kinds.iter().copied().collect::<BTreeMap<_, _>>();
    found(&[
        ("runs", report),
        ("samples", report),
        ("cells", report),
        ("judgments", report),
        ("blocks", |store| {
            let report = readers()["cells"](store)?;
            let paid = store.account("r")?;
            Ok(format!("{report} {:?} {:?}", paid.spending, store.call(Some("r"), key("cell 1"))?))
        }),
        ("reuse", |store| Ok(format!("{:?}", (store.step(key("cell 1"))?, store.judgment(key("judgment 1"))?)))),
        ("reuse_state", |store| Ok(format!("{:?}", store.cached_results()?))),
        ("journal", |store| Ok(format!("{:?}", store.journal_entries("suite", "alert")?))),
        ("released", |store| Ok(format!("{:?}", store.invalidate("r", None, DRY)?))),
        ("tokens", |store| Ok(format!("{:?}", store.tokens()?))),
        ("derived", |store| Ok(format!("{:?}", store.rows("r")?.read_derived("index", key("d"))?))),
        ("batches", |store| Ok(format!("{:?}", store.batches("r")?))),
        ("batch_items", |store| Ok(format!("{:?}", (store.batch_items("r")?, store.batch_answer("r", key("b"))?)))),
        ("vectors", |store| Ok(format!("{:?}", store.vector(key("v"))?))),
        ("firings", |store| Ok(format!("{:?}", store.firing("due")?))),
        ("schedules", |store| {
            Ok(format!("{:?}", (store.known_since("suite", "nightly")?, store.paused_since("suite", "nightly")?)))
        }),
        ("incidents", |store| Ok(format!("{:?}", store.incidents(None, 9)?))),
        ("outbox", |store| Ok(format!("{:?}", store.messages(None, 9)?))),
        ("outcomes", |store| Ok(format!("{:?}", store.has_outcome("done")?))),
        ("queue", |store| Ok(format!("{:?}", store.queued_run("queued")?))),
        ("idempotency", |store| Ok(format!("{:?}", store.kept_answer("k", Moment(6))?))),
        ("blobs", |store| Ok(format!("{:?}", store.blob("blake3:aa")?))),
        ("annotation_tasks", |store| Ok(format!("{:?}", store.annotation_task("t", None)?))),
        ("annotation_items", |store| Ok(format!("{:?}", (store.annotation_items(1)?, store.annotation_twins(9)?)))),
        ("annotation_events", |store| Ok(format!("{:?}", store.annotation_events(1, 0)?))),
        ("annotation_leases", |store| store.change_annotations(1, |it| Ok(format!("{:?}", it.leases()?)))),
        ("annotation_drafts", |store| store.change_annotations(1, |it| Ok(format!("{:?}", it.draft(0, "ann")?)))),
        ("stops", |store| Ok(format!("{:?}", store.stop_of("r").map_err(|error| error.to_string())))),
        // Read while shards are merged.
        ("shards", |_| Ok(String::new())),
    ])
}

/// Columns by which a row is looked up: a reader that asks for another value does not find it. Nothing is believed then: it
/// is made again, or is missing, and `store check` names it.
const SOUGHT_BY: [(&str, &str); 13] = [
    ("vectors", "key"),
    ("reuse", "key"),
    ("derived", "run"),
    ("derived", "kind"),
    ("derived", "key"),
    ("blobs", "digest"),
    ("firings", "run"),
    ("schedules", "suite"),
    ("schedules", "schedule"),
    ("outcomes", "run"),
    ("queue", "run"),
    ("idempotency", "key"),
    ("annotation_drafts", "person"),
];

/// Further ones: of a draft, a place that somebody holds, and the stop of a run.
const ALSO_SOUGHT_BY: [(&str, &str); 8] = [
    ("reuse", "kind"),
    ("annotation_drafts", "task"),
    ("annotation_drafts", "item"),
    ("annotation_leases", "task"),
    ("stops", "run"),
    ("released", "run"),
    ("released", "ordinal"),
    ("incidents", "state"),
];

/// X2, X3: one changed bit of every column of every table is named by the check of the store, with table and key, and no
/// reader believes it.
#[test]
pub(crate) fn every_bit_of_every_table_is_told() {
    let folder = folder();
    let store = store_in(&folder);
    filled(&store);
    let url = store.url().clone();
    assert!(store.check().unwrap().is_sound(), "{:?}", store.check().unwrap());
    let readers = readers();
    let mut lines = Vec::new();
    for table in TABLES {
        let before = readers[table.name](&Store::open(&url).unwrap()).unwrap();
        let own = table.columns.iter().chain(table.long).map(|column| (table.name, *column, table.key));
        let sums = match table.sums {
            None => vec![(table.name, "sum", table.key)],
            Some(sums) => ["seq", "run", "sum"].map(|column| (sums, column, &["seq"][..])).into(),
        };
        for (name, column, key_names) in own.chain(sums) {
            let Some((key, value)) = read_value(&store, name, key_names, column) else {
                panic!("the test has no value of {name}.{column}");
            };
            let Some(changed) = flipped(&value, key_names.contains(&column)) else {
                panic!("{name}.{column} has no bit: {value:?}")
            };
            write_value(&store, name, (key_names, &key), column, &changed);
            let check = store.check().unwrap();
            let told = check.rows.iter().find(|row| row.contains(&format!("the table `{}`", table.name)));
            assert!(told.is_some() && !check.is_sound(), "{name}.{column}: {check:?}");
            let seen = match readers[table.name](&Store::open(&url).unwrap()) {
                Err(_) => "refused by its readers",
                Ok(seen) if seen.contains("does not match its checksum") => "refused by its readers",
                Ok(seen) if seen == before => "not read there",
                Ok(_) if SOUGHT_BY.iter().chain(&ALSO_SOUGHT_BY).any(|it| *it == (name, column)) => "not found",
                Ok(seen) if table.remedy == crate::sql::Remedy::MadeAgain && seen.contains("None") => "made again",
                Ok(seen) => panic!("{name}.{column} is believed:\n{seen}\n{before}"),
            };
            lines.push(format!("{name:18} {column:15} named by `store check`, {seen}"));
            // The key may be what was changed.
            let key: Vec<OwnedValue> = key_names
                .iter()
                .zip(key)
                .map(|(part, old)| if *part == column { changed.clone() } else { old })
                .collect();
            write_value(&store, name, (key_names, &key), column, &value);
        }
        assert!(store.check().unwrap().is_sound(), "{}: {:?}", table.name, store.check().unwrap());
    }
    println!("{}", lines.join("\n"));
}

/// X2: a table or a column that is not under the rule fails here.
#[test]
pub(crate) fn no_table_and_no_column_is_without_a_checksum() {
    let folder = folder();
    let store = store_in(&folder);
    let connection = store.writing();
    let select = connection.dialect(
        "select it.name, info.name from sqlite_schema as it, pragma_table_info(it.name) as info
            where it.type = 'table' and it.name not like 'sqlite_%'",
        "select table_name::text, column_name::text from information_schema.columns where table_schema = current_schema()",
    );
    let mut statement = connection.prepare_cached(select).unwrap();
    let found = statement.query_map(params![], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?))).unwrap();
    let found: BTreeSet<(String, String)> = found.collect::<SqlResult<_>>().unwrap();
    let found = found.into_iter().filter(|(table, column)| {
        !LOCKS.contains(&table.as_str()) && !LOCK_COLUMNS.contains(&(table.as_str(), column.as_str()))
    });
    let own = |table: &&'static Table| {
        let columns = table.columns.iter().chain(table.long).copied();
        let own = columns.chain(table.sums.is_none().then_some("sum")).map(|column| (table.name, column));
        own.chain(table.sums.into_iter().flat_map(|sums| ["seq", "run", "sum"].map(|column| (sums, column))))
            .collect::<Vec<_>>()
    };
    let listed: BTreeSet<(String, String)> =
        TABLES.iter().flat_map(own).map(|(table, column)| (table.to_owned(), column.to_owned())).collect();
    assert_eq!(found.collect::<BTreeSet<_>>(), listed);
}

/// X2: a row in the place of another is not a row of that place: its checksum is of its table and its key.
#[test]
pub(crate) fn a_row_in_another_place_is_told() {
    let folder = folder();
    let store = store_in(&folder);
    filled(&store);
    // The facts and the checksum of one cell under the key of another.
    let swap = "update cells set facts = (select facts from cells as it where it.ordinal = 1 limit 1),
        sum = (select sum from cells as it where it.ordinal = 1 limit 1) where ordinal = 0";
    assert_eq!(store.writing().execute(swap, params![]).unwrap(), 1);
    let rows = store.check().unwrap().rows;
    assert!(rows.len() == 1 && rows[0].contains("ordinal 0 of the table `cells`"), "{rows:?}");
}

/// X2: a person's label that is gone, or belongs to another task now, is not a missing label without a word.
#[test]
pub(crate) fn a_label_that_is_gone_is_told() {
    for change in
        ["delete from annotation_events", "update annotation_events set task = 3", "delete from annotation_items"]
    {
        let folder = folder();
        let store = store_in(&folder);
        filled(&store);
        assert_eq!(store.writing().execute(change, params![]).unwrap(), 1);
        let read = store.annotation_events(1, 0).map(drop).and_then(|()| store.annotation_items(1).map(drop));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("and 0 are there") && error.contains("`karat store restore`"), "{error}");
        assert!(!store.check().unwrap().is_sound());
        assert!(store.change_annotations::<_, StoreError>(1, |it| it.events(0)).is_err() || change.contains("items"));
    }
}

/// X3: a damaged vector is asked for again, and the new one takes its place.
#[test]
pub(crate) fn a_damaged_vector_is_made_again() {
    let folder = folder();
    let store = store_in(&folder);
    store.keep_vectors(&[(key("v"), vec![0.6, -0.8]), (key("w"), vec![1.0])]).unwrap();
    let (names, old) = read_value(&store, "vectors", &["key"], "vector").unwrap();
    write_value(&store, "vectors", (&["key"], &names), "vector", &flipped(&old, false).unwrap());
    let damaged = [key("v"), key("w")].map(|it| store.vector(it).is_err());
    assert_eq!(damaged.iter().filter(|is| **is).count(), 1);
    store.keep_vectors(&[(key("v"), vec![0.6, -0.8]), (key("w"), vec![1.0])]).unwrap();
    assert_eq!(store.vector(key("v")).unwrap(), Some(vec![0.6, -0.8]));
    assert!(store.check().unwrap().is_sound());
}

/// X3: what is damaged of a run is left out, removed when the run is continued, and then made again.
#[test]
pub(crate) fn damaged_rows_of_a_run_are_made_again() {
    let folder = folder();
    let store = store_in(&folder);
    filled(&store);
    for (table, change) in [("cells", "output = 5"), ("judgments", "entry = 7"), ("samples", "row = 9")] {
        let place = if table == "samples" { "row" } else { "ordinal" };
        let update = format!("update {table} set {change} where {place} = 1");
        assert_eq!(store.writing().execute(&update, params![]).unwrap(), 1);
    }
    let finished = store.finished_cells("r").unwrap();
    assert_eq!(finished.cells.iter().collect::<Vec<_>>(), [0, 2]);
    assert!(!finished.has_judgment(1, 0, 0) && finished.has_judgment(2, 0, 0));
    assert_eq!(finished.samples.iter().collect::<Vec<_>>(), [0, 2]);
    let report = readers()["cells"](&store);
    assert!(report.is_err());
    store.remove_damaged(&finished.damage).unwrap();
    assert_eq!(store.check().unwrap().rows, [""; 0]);
    let ledger = store.reopen("r").unwrap();
    let again = Record::Judgment(judgment(1, 0, 0, "judgment 1").into());
    block_on(ledger.append(whole_cell(1).into_iter().chain([again]).collect())).unwrap();
    block_on(ledger.finish(RunStatus::Finished, Moment(2))).unwrap();
    assert!(store.check().unwrap().is_sound() && readers()["cells"](&store).is_ok());
}

/// X2: the checksums that a server computes are those of this code, also of nothing and of long texts.
pub(crate) fn a_server_has_the_same_checksum() {
    let folder = folder();
    let store = store_in(&folder);
    let connection = store.writing();
    let values: [OwnedValue; 5] = [
        OwnedValue::Null,
        OwnedValue::Integer(-7),
        OwnedValue::Integer(i64::MAX),
        OwnedValue::Text("aé\u{1f600}".repeat(300)),
        OwnedValue::Blob((0..=255).collect()),
    ];
    for (value, kind) in values.iter().zip(["bigint", "bigint", "bigint", "text", "bytea"]) {
        let select = format!("select sum_of(sum_part(cast(?1 as {kind})))");
        let sum: Vec<u8> = connection.query_row(&select, &[value as &dyn ToValue], |row| row.get(0)).unwrap();
        assert_eq!(sum, crate::sql::tables::BLOBS.parts_of_row(&[value]), "{value:?}");
    }
}

//! Stores that cannot be opened or written, and appends that no caller waits for.

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use karat_types::*;
use rusqlite::Connection;

use super::test_data::*;
use crate::database::schema;
use crate::sql::params;
use crate::sql::tables::RUNS;
use crate::{Store, StoreError, StoreUrl, WriteGuard};

/// Invariant 5, a paid call is durable: on a full disk every waiter gets an error, nothing of the failed commit is stored, acknowledged
/// records stay, and nothing is written after the gap.
#[test]
fn a_full_disk_fails_every_waiter_and_all_later_appends() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 100)).unwrap();
    block_on(ledger.append(whole_cell(0))).unwrap();
    let pages: i64 = store.writing().file().unwrap().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = |pages: i64| -> i64 {
        store
            .writing()
            .file()
            .unwrap()
            .query_row(&format!("pragma max_page_count = {pages}"), [], |row| row.get(0))
            .unwrap()
    };
    limit(pages);

    // Bytes that do not compress, so that no part of them fits.
    let noise = |ordinal: u64| CallRecord {
        response: (0..10_000).flat_map(|n| key(&format!("{ordinal} {n}")).0).collect::<Vec<_>>().into(),
        ..call(&format!("cell {ordinal}"))
    };
    let errors = block_on(async {
        let tasks: Vec<_> = (1..5)
            .map(|ordinal| {
                let ledger = ledger.clone();
                let mut records = whole_cell(ordinal);
                records.push(Record::Call(noise(ordinal)));
                tokio::spawn(async move { ledger.append(records).await })
            })
            .collect();
        let mut errors = Vec::new();
        for task in tasks {
            errors.push(task.await.unwrap().unwrap_err());
        }
        errors
    });
    for error in &errors {
        assert!(matches!(error.cause(), StoreError::Full { .. }), "{error}");
        assert!(error.to_string().contains("Free some space, then run the suite again"), "{error}");
        assert!(error.source().is_some());
    }
    limit(1 << 30);
    assert!(block_on(ledger.append(whole_cell(9))).is_err());
    assert!(block_on(ledger.finish(RunStatus::Finished, Moment(1))).is_err());
    assert_eq!(ordinals(&store, "r"), [0]);
    assert_eq!(store.account("r").unwrap().spending.calls, 1);

    drop(ledger);
    let ledger = store.reopen("r").unwrap();
    block_on(ledger.append(whole_cell(1))).unwrap();
    assert_eq!(ordinals(&store, "r"), [0, 1]);
}

/// PE-25: "database is locked": a store that stays locked is an error with the waiting time, the holder and the next
/// step.
#[test]
fn a_locked_store_is_an_error_that_names_the_holder() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    let _running = store.begin(&header("other", 1)).unwrap();
    let other = Connection::open(store.path()).unwrap();
    let running = RUNS.change(&store.writing(), "name = 'other'", params![], |row| {
        row.set("pid", &4711);
        Ok(())
    });
    assert_eq!(running.unwrap(), 1);
    other.execute_batch("begin immediate").unwrap();
    store.writing().file().unwrap().busy_timeout(Duration::from_millis(20)).unwrap();
    store.patience().set_limit(Duration::from_millis(10));
    let error = block_on(ledger.append(whole_cell(0))).unwrap_err().to_string();
    assert!(error.contains("for 30 seconds; it may be process 4711 (run other)"), "{error}");
    assert!(error.contains("then run the suite again"), "{error}");
    assert!(store.begin(&header("s", 1)).unwrap_err().to_string().contains("process 4711"));
}

/// PE-25: a store that another process locks for a moment is waited for.
#[test]
fn a_store_that_is_locked_for_a_moment_is_waited_for() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    let other = Connection::open(store.path()).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        other.execute_batch("commit").unwrap();
    });
    block_on(ledger.append(whole_cell(0))).unwrap();
    holder.join().unwrap();
    assert_eq!(ordinals(&store, "r"), [0]);
}

/// X19, F105: what is paid waits for a lock longer than one attempt does: records of calls, vectors of texts, images. Once
/// it has waited long enough, the error says how long.
#[test]
fn paid_results_outlast_a_lock() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    store.writing().file().unwrap().busy_timeout(Duration::from_millis(5)).unwrap();
    let other = Connection::open(store.path()).unwrap();
    let locked = |write: &(dyn Fn(&Store) + Sync)| {
        other.execute_batch("begin immediate").unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(&store));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!writer.is_finished());
            other.execute_batch("rollback").unwrap();
        });
    };
    locked(&|_| block_on(ledger.append(whole_cell(0))).unwrap());
    locked(&|store| store.keep_vectors(&[(key("v"), vec![1.0])]).unwrap());
    locked(&|store| store.keep_blob("blake3:aa", "image/png", b"x", Moment(1)).unwrap());
    assert_eq!((ordinals(&store, "r"), store.vector(key("v")).unwrap()), (vec![0], Some(vec![1.0])));
    assert!(store.blob("blake3:aa").unwrap().is_some());
    other.execute_batch("begin immediate").unwrap();
    store.patience().set_limit(Duration::from_millis(30));
    let over = store.keep_vectors(&[(key("w"), vec![1.0])]).unwrap_err();
    assert!(matches!(over, StoreError::Busy { .. }), "{over}");
}

/// A folder that cannot be created is an error that names it and the next step.
#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    let inside_a_file = StoreUrl::in_folder(folder.path().join("file/.karat"));
    fs::create_dir(folder.path().join("karat.db")).unwrap();
    for url in [inside_a_file, StoreUrl::in_folder(folder.path())] {
        let error = Store::open(&url).unwrap_err();
        assert!(matches!(error, StoreError::Open { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains(&url.path().display().to_string()), "{message}");
        assert!(message.contains("--store sqlite:PATH"), "{message}");
    }
}

/// Writing to a read-only store is an error that says so.
#[test]
fn writing_to_a_read_only_store_is_an_error() {
    let folder = folder();
    let store = store_in(&folder);
    store.writing().file().unwrap().pragma_update(None, "query_only", true).unwrap();
    let error = store.begin(&header("r", 1)).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("Change the permissions"), "{error}");
}

/// Invariant 7, formats have versions: files of other programs are left alone, and files of a newer Karat are refused by version.
#[test]
fn other_files_are_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("text.db"), "no database ".repeat(1000)).unwrap();
    Connection::open(at("other.db")).unwrap().execute_batch("create table theirs (x)").unwrap();
    for name in ["text.db", "other.db"] {
        let before = fs::read(at(name)).unwrap();
        let error = Store::open(&format!("sqlite:{}", at(name).display()).parse().unwrap()).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert_eq!(fs::read(at(name)).unwrap(), before);
    }
    let url = StoreUrl::in_folder(folder.path().join("newer"));
    drop(Store::open(&url).unwrap());
    Connection::open(url.path()).unwrap().pragma_update(None, "user_version", schema::VERSION + 1).unwrap();
    let error = Store::open(&url).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found, .. } if found == schema::VERSION + 1), "{error}");
    assert!(error.to_string().contains("use a newer Karat"));
}

/// Invariant 5, a paid call is durable: a guard is dropped once its records are on disk; if they cannot be written, it comes back.
#[test]
fn guards_are_dropped_once_records_are_on_disk() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 3)).unwrap();
    let slot = Arc::new(());
    let append = |at: u64| block_on(ledger.append_guarded(whole_cell(at), WriteGuard::new(slot.clone())));
    append(0).unwrap();
    assert_eq!(Arc::strong_count(&slot), 1);
    store.writing().file().unwrap().pragma_update(None, "query_only", true).unwrap();
    for at in [1, 2] {
        let unwritten = append(at).unwrap_err();
        assert_eq!((unwritten.guard.is_some(), Arc::strong_count(&slot)), (true, 2), "{}", unwritten.error);
    }
    assert_eq!(Arc::strong_count(&slot), 1);
}

/// A new state folder is ignored by git and readable by its owner only. An existing folder is left as it is.
#[test]
fn the_folder_is_private_and_ignored_by_git() {
    let folder = folder();
    let store = store_in(&folder);
    let own = folder.path().join(".karat");
    assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "*\n");
    let _ledger = store.begin(&header("r", 1)).unwrap();
    #[cfg(unix)]
    for entry in fs::read_dir(&own).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".gitignore") {
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
    }
    let _plain = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
    assert!(!folder.path().join(".gitignore").exists());
}

/// PE-22, BY-09: every query over a run, and every look-up, uses an index in the order in which it reads.
#[test]
fn queries_use_indexes() {
    let folder = folder();
    let store = store_in(&folder);
    let queries = {
        use crate::sql::tables::{BLOCKS, CELLS, JUDGMENTS, REUSE, SAMPLES};
        let connection = store.writing();
        let of = |table: &crate::sql::Table, end: &str| format!("select {} {end}", table.select(&connection, &[]));
        let logs = |end: &str| crate::read::account::log_query(&connection, end);
        [
            of(&CELLS, crate::read::rows::CELLS),
            of(&SAMPLES, crate::read::rows::SAMPLES),
            of(&JUDGMENTS, crate::read::rows::JUDGMENTS),
            crate::read::rows::STATE.to_owned(),
            of(&CELLS, crate::read::finished::CELLS),
            of(&JUDGMENTS, crate::read::finished::JUDGMENTS),
            of(&SAMPLES, crate::read::finished::SAMPLES),
            logs(crate::read::account::LOGS),
            crate::block::section_cache::SectionKind::Outputs.query(&connection),
            crate::reuse::known_keys::list_query(&connection, crate::reuse::known_keys::WAITING),
            of(&REUSE, crate::reuse::known_keys::FIND),
            logs(crate::read::lookup::CALLS_OF_RUN),
            of(&BLOCKS, crate::reuse::reuse_view::MAKER),
            crate::reuse::known_keys::list_query(&connection, crate::reuse::reuse_view::OWN_LISTS),
            crate::database::store_lease::WRITTEN.to_owned(),
        ]
    };
    for query in &queries {
        let plan = query_plan(&store, query);
        let sought =
            ["SEARCH", "SCALAR SUBQUERY", "CORRELATED SCALAR", "SCAN CONSTANT ROW", "USE TEMP B-TREE FOR LAST"];
        let is_sought = |line: &String| sought.iter().any(|start| line.starts_with(start));
        assert!(plan.iter().all(is_sought), "{query}: {plan:?}");
    }
    // Blocks without keys are skipped, however many runs reused everything.
    assert!(query_plan(&store, &queries[9])[0].contains("USING INDEX blocks_with_keys"));
    // Totals are counted without reading a row, and cells are counted without sorting.
    for (query, searches) in [(crate::read::totals::CELLS, 1), (crate::read::totals::OTHERS, 2)] {
        let plan = query_plan(&store, query);
        let count = |what: &str| plan.iter().filter(|line| line.contains(what)).count();
        assert_eq!(count("USING COVERING INDEX cells_by_place"), searches, "{query}: {plan:?}");
        assert_eq!(count("TEMP B-TREE"), searches - 1, "of those that differ, few are sorted: {query}: {plan:?}");
    }
}

fn query_plan(store: &Store, query: &str) -> Vec<String> {
    let connection = store.writing();
    let mut statement = connection.file().unwrap().prepare(&format!("explain query plan {query}")).unwrap();
    let parameters = vec![1; statement.parameter_count()];
    let lines = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(3)).unwrap();
    lines.map(Result::unwrap).collect()
}

/// Invariant 7, formats have versions: damage is an error that names what cannot be read.
#[test]
fn damage_is_an_error() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    block_on(ledger.append(whole_cell(0))).unwrap();
    store
        .writing()
        .file()
        .unwrap()
        .execute_batch("update cells set facts = x'01ff'; update blocks set outputs = x'01'")
        .unwrap();
    let read = store.rows("r").unwrap().for_each(&mut |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    assert!(read.0.contains("ordinal 0 of the table `cells`") && read.0.contains("`karat resume r`"), "{read}");
    assert!(matches!(store.step(key("cell 0")), Err(StoreError::Damaged { .. })));
}

/// Invariant 5, a paid call is durable: deferred appends are written with the next awaited one, in the order in which they were appended.
#[test]
fn deferred_appends_go_with_the_next_append() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 100)).unwrap();
    block_on(async {
        let first = ledger.append_deferred(whole_cell(0)).await.unwrap();
        let second = ledger.append_deferred(whole_cell(1)).await.unwrap();
        assert!(ordinals(&store, "r").is_empty());
        ledger.append(vec![Record::Call(call("next"))]).await.unwrap();
        first.wait().await.unwrap();
        second.wait().await.unwrap();
    });
    assert_eq!(ordinals(&store, "r"), [0, 1]);
}

/// Invariant 8, memory is bounded: deferred appends are bounded, and are written by a flush or when the store is closed.
#[test]
fn deferred_appends_are_written_by_flush_and_close() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1_000)).unwrap();
    block_on(async {
        let asked_for = ledger.append_deferred(whole_cell(0)).await.unwrap();
        ledger.flush().await.unwrap();
        asked_for.wait().await.unwrap();
        let one_of_many = ledger.append_deferred(whole_cell(1)).await.unwrap();
        for ordinal in 2..300 {
            ledger.append_deferred(whole_cell(ordinal)).await.unwrap();
        }
        one_of_many.wait().await.unwrap();
    });
    drop((ledger, store));
    assert_eq!(ordinals(&store_in(&folder), "r").len(), 300);
}

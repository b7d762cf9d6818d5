//! Data derived from a run and kept beside it.

use std::sync::Arc;

use karat_types::{Moment, Record, RunStatus};
use serde_json::json;

use crate::{Store, StoredCall};

use super::test_data::*;

/// DB-04: derived data is returned under its key only, replaced, listed, survives reopening, and may be deleted.
#[test]
fn derived_data_is_kept_under_its_key() {
    let folder = folder();
    let store = store_in(&folder);
    drop(store.begin(&header("r", 1)).unwrap());
    let run = store.rows("r").unwrap();
    assert_eq!(run.read_derived("index", key("a")).unwrap(), None);
    run.keep_derived("index", key("a"), b"first").unwrap();
    run.keep_derived("index", key("b"), &[7; 100_000]).unwrap();
    assert_eq!(run.read_derived("index", key("a")).unwrap(), None, "the second took its place");
    assert_eq!(run.read_derived("other", key("b")).unwrap(), None);
    let url = store.url().clone();
    drop((run, store));

    let store = Store::open(&url).unwrap();
    assert_eq!(store.rows("r").unwrap().read_derived("index", key("b")).unwrap(), Some(vec![7; 100_000]));
    let listed = store.derived_of_runs("index").unwrap();
    assert_eq!(
        listed.iter().map(|it| (it.run.as_str(), it.key, it.bytes.len())).collect::<Vec<_>>(),
        [("r", key("b"), 100_000)]
    );
    let connection = rusqlite::Connection::open(url.path()).unwrap();
    connection.execute("update derived set body = x'00'", []).unwrap();
    assert_eq!(store.rows("r").unwrap().read_derived("index", key("b")).unwrap(), None, "damage is not data");
    connection.execute("delete from derived", []).unwrap();
    assert_eq!(store.derived_of_runs("index").unwrap(), []);
}

/// DB-52: a store of an older version that is only read has no derived data, which is not an error.
#[test]
fn older_store_has_no_derived_data() {
    let folder = folder();
    let store = store_in(&folder);
    drop(store.begin(&header("r", 1)).unwrap());
    let url = store.url().clone();
    drop(store);
    let connection = rusqlite::Connection::open(url.path()).unwrap();
    connection.execute_batch("drop table derived; pragma user_version = 4").unwrap();
    drop(connection);
    let store = Store::as_it_is(&url, false).unwrap();
    let run = store.rows("r").unwrap();
    assert_eq!(run.read_derived("index", key("a")).unwrap(), None);
    run.keep_derived("index", key("a"), b"not written").unwrap();
    assert_eq!(store.derived_of_runs("index").unwrap(), []);
}

/// DB-14: calls are found together, in the order asked for, and what was pruned is told from what was never made.
#[test]
fn calls_are_found_together() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    block_on(async {
        for name in ["a", "b"] {
            ledger.append(vec![Record::Call(call(name))]).await.unwrap();
        }
        ledger.append(vec![Record::Call(failed_call("c"))]).await.unwrap();
        ledger.append(vec![Record::Step(step("s", &Arc::new(json!("x"))).into())]).await.unwrap();
    });
    let found = store.calls(Some("r"), &[key("b"), key("none"), key("c"), key("a")]).unwrap();
    let names: Vec<Option<karat_types::Key>> = found
        .iter()
        .map(|it| match it {
            StoredCall::Kept(call) => Some(call.record.key),
            _ => None,
        })
        .collect();
    assert_eq!(names, [Some(key("b")), None, Some(key("c")), Some(key("a"))]);
    assert_eq!(found[1], StoredCall::Missing);
    block_on(ledger.finish(RunStatus::Finished, Moment(1))).unwrap();
    drop(ledger);
    store.prune(Moment(i64::MAX), true, true).unwrap();
    let reopened = Store::open(store.url()).unwrap();
    assert_eq!(reopened.calls(None, &[key("a")]).unwrap(), [StoredCall::Pruned]);
}

//! Damage: bits that flip and rows that are gone are errors, and never other figures (A4).

use std::fs;
use std::ops::ControlFlow;

use karat_types::*;
use rusqlite::params;

use super::test_data::*;
use crate::{LedgerError, Store, StoreError};

/// A finished run of three cells with a judgment each.
fn finished_run(store: &Store) {
    let ledger = store.begin(&header("r", 3)).unwrap();
    block_on(async {
        for ordinal in 0..3 {
            ledger.append(whole_cell(ordinal)).await.unwrap();
            let judged = judgment(ordinal, 0, 0, &format!("judgment {ordinal}"));
            ledger.append(vec![Record::Judgment(judged.into())]).await.unwrap();
        }
        ledger.finish(RunStatus::Finished, Moment(1)).await.unwrap();
    });
}

fn read(store: &Store) -> Result<(), String> {
    let rows = store.rows("r").map_err(|error| error.to_string())?;
    rows.for_each(&mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())
}

fn change(store: &Store, statement: &str) {
    assert!(store.writing().file().unwrap().execute(statement, []).unwrap() > 0, "{statement}");
}

/// A4: each bit of a cell, of its status, of a sample and of the totals is covered by a checksum.
#[test]
fn a_flipped_bit_is_an_error() {
    let folder = folder();
    let store = store_in(&folder);
    finished_run(&store);
    assert_eq!(read(&store), Ok(()));
    for (table, column, place) in
        [("cells", "facts", "ordinal = 1"), ("samples", "facts", "row = 1"), ("runs", "totals", "name = 'r'")]
    {
        let query = format!("select {column} from {table} where {place}");
        let bytes: Vec<u8> = store.writing().file().unwrap().query_row(&query, [], |row| row.get(0)).unwrap();
        let write = |bytes: &[u8]| {
            let statement = format!("update {table} set {column} = ?1 where {place}");
            assert_eq!(store.writing().file().unwrap().execute(&statement, params![bytes]).unwrap(), 1);
        };
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            write(&flipped);
            assert!(read(&store).is_err(), "bit {at} of {table}");
        }
        write(&bytes);
        assert_eq!(read(&store), Ok(()));
    }
    change(&store, "update cells set status = 1 where ordinal = 2");
    let error = read(&store).unwrap_err();
    assert!(
        error.contains("ordinal 2 of the table `cells`") && error.contains("`karat resume r` makes it again"),
        "{error}"
    );
    assert_eq!(store.finished_cells("r").unwrap().damage.cells.iter().collect::<Vec<_>>(), [2]);
}

/// A4: rows that are gone are told by the totals of the run, and by the check of the store.
#[test]
fn rows_that_are_gone_are_an_error() {
    for (statement, missing) in [
        ("delete from judgments where ordinal = 1", "ended with 3 judgments, and 2 are there"),
        ("delete from cells where ordinal = 1", "ended with 3 cells, and 2 are there"),
    ] {
        let folder = folder();
        let store = store_in(&folder);
        finished_run(&store);
        assert!(store.check().unwrap().is_sound());
        change(&store, statement);
        let error = read(&store).unwrap_err();
        assert!(error.contains(missing), "{error}");
        let check = store.check().unwrap();
        let found = check.runs[0].mendable.iter().chain(&check.runs[0].lost).any(|found| found.contains(missing));
        assert!(found && !check.is_sound(), "{check:?}");
    }
}

/// A4: the check reads what reports do not: calls, outputs, requests and responses.
#[test]
fn the_check_reads_every_section() {
    for (column, what) in
        [("log", "calls"), ("judgments", "judgments"), ("outputs", "outputs"), ("traces", "requests and responses")]
    {
        let folder = folder();
        let store = store_in(&folder);
        finished_run(&store);
        let longest = format!("length({column}) = (select max(length({column})) from blocks)");
        change(
            &store,
            &format!(
                "update blocks set {column} = cast(substr({column}, 1, length({column}) - 1) || x'00' as blob) where {longest}
                 and substr({column}, -1) <> x'00'"
            ),
        );
        let check = store.check().unwrap();
        let said = &check.runs[0].lost;
        assert!(said.iter().any(|found| found.contains(&format!("the {what} of block"))), "{column}: {check:?}");
    }
}

/// Once a store is deleted while a run writes it, the run ends: its results would go into a file that nobody can open.
#[test]
fn a_deleted_store_ends_the_run() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 3)).unwrap();
    block_on(ledger.append(whole_cell(0))).unwrap();
    fs::remove_file(store.path()).unwrap();
    let error: LedgerError = block_on(ledger.append(whole_cell(1))).unwrap_err();
    assert!(matches!(error.cause(), StoreError::Gone { .. }), "{error}");
    assert!(block_on(ledger.append(whole_cell(2))).is_err());
}

/// A log of changes without its store is an error: a new store in its place would throw the log away.
#[test]
fn a_log_without_its_store_is_an_error() {
    let folder = folder();
    let store = store_in(&folder);
    let url = store.url().clone();
    drop(store);
    let log = format!("{}-wal", url.path().display());
    fs::remove_file(url.path()).unwrap();
    fs::write(&log, "changes").unwrap();
    for error in [Store::open(&url).unwrap_err(), url.check_orphans().unwrap_err()] {
        assert!(matches!(error, StoreError::Orphaned { .. }) && error.to_string().contains(&log), "{error}");
    }
    assert_eq!(fs::read(&log).unwrap(), b"changes");
}

//! Appends that no caller waits for.

use karat_types::*;

use super::test_data::*;

/// Invariant 5: deferred appends are written with the next awaited one, in the order in which they were appended.
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

/// Invariant 8: deferred appends are bounded, and are written by a flush or when the store is closed.
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

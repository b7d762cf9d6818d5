//! Records that nobody waits for.

use karat_types::*;

use super::given::*;

/// Law 5: what nobody waits for is written with what somebody waits for, in the order in which it was appended.
#[test]
fn what_is_put_off_goes_with_the_next_append() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 100)).unwrap();
    block_on(async {
        let first = ledger.append_later(whole_cell(0)).await.unwrap();
        let second = ledger.append_later(whole_cell(1)).await.unwrap();
        assert!(ordinals(&store, "r").is_empty());
        ledger.append(vec![Record::Call(call("next"))]).await.unwrap();
        first.on_disk().await.unwrap();
        second.on_disk().await.unwrap();
    });
    assert_eq!(ordinals(&store, "r"), [0, 1]);
}

/// Law 8: what is put off is bounded, and is written when somebody asks for it, or when the store is closed.
#[test]
fn what_is_put_off_is_written_without_another_append() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1_000)).unwrap();
    block_on(async {
        let asked_for = ledger.append_later(whole_cell(0)).await.unwrap();
        ledger.flush().await.unwrap();
        asked_for.on_disk().await.unwrap();
        let one_of_many = ledger.append_later(whole_cell(1)).await.unwrap();
        for ordinal in 2..300 {
            ledger.append_later(whole_cell(ordinal)).await.unwrap();
        }
        one_of_many.on_disk().await.unwrap();
    });
    drop((ledger, store));
    assert_eq!(ordinals(&store_in(&folder), "r").len(), 300);
}

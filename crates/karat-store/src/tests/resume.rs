//! Queries that a resumed run needs.

use crate::{Reservation, Spending, StoreError};
use karat_types::*;

use super::test_data::*;

/// BY-04: a paid reply that no row uses is available to the resumed run; other replies are not.
#[test]
pub(crate) fn paid_calls_are_those_that_no_row_uses() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 9)).unwrap();
    let other = store.begin(&header("other", 9)).unwrap();
    block_on(async {
        ledger.append(whole_cell(0)).await.unwrap();
        let judgment = judgment(0, 0, 0, "j");
        ledger.append(vec![Record::Call(call("call of j")), Record::Call(call("call of k"))]).await.unwrap();
        ledger.append(vec![Record::Judgment(judgment.into())]).await.unwrap();
        ledger.append(vec![Record::Call(call("a")), Record::Call(failed_call("b"))]).await.unwrap();
        other.append(vec![Record::Call(call("z"))]).await.unwrap();
        // A failed cell has used its call. A reply that `retry` pays for later is unused again.
        ledger.append(vec![Record::Call(call("x")), Record::Cell(failed_cell(5, "x").into())]).await.unwrap();
        ledger.append(vec![Record::Call(call("y")), Record::Cell(failed_cell(6, "y").into())]).await.unwrap();
        ledger.append(vec![Record::Call(CallRecord { attempts: 3, ..call("x") })]).await.unwrap();
    });
    drop(ledger);

    let paid = store.account("r").unwrap().paid;
    assert_eq!(paid.len(), 3);
    assert_eq!(paid.get(&store, key("call of k")).unwrap(), Some(call("call of k")));
    assert_eq!(paid.get(&store, key("a")).unwrap(), Some(call("a")));
    assert_eq!(paid.get(&store, key("x")).unwrap().unwrap().attempts, 3);
    for used in ["cell 0", "call of j", "b", "y", "z"] {
        assert!(!paid.contains(key(used)) && paid.get(&store, key(used)).unwrap().is_none(), "{used}");
    }
}

/// BY-05: money and calls add up over all parts of a run; reservations that were not released stay open.
#[test]
pub(crate) fn spending_adds_up_over_the_parts_of_a_run() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 9)).unwrap();
    block_on(async {
        ledger.append(vec![Record::Reserved { calls: 3, upper: Money(12_000) }]).await.unwrap();
        ledger.append(vec![Record::Call(call("a")), Record::Call(failed_call("b"))]).await.unwrap();
    });
    drop(ledger);
    let ledger = store.reopen("r").unwrap();
    let free = CallRecord { cost: Some(Money(7)), cost_source: CostSource::Reported, ..call("c") };
    block_on(async {
        ledger.append(vec![Record::Reserved { calls: 2, upper: Money(5_000) }]).await.unwrap();
        ledger.append(vec![Record::Call(free), Record::Released { calls: 1, upper: Money(1_000) }]).await.unwrap();
    });
    let expected = Spending {
        calls: 3,
        attempts: 8,
        spent: Money(1_507),
        reported: Money(7),
        counted: Money::ZERO,
        unpriced: 1,
        open: Reservation { calls: 4, upper: Money(16_000) },
    };
    assert_eq!(store.account("r").unwrap().spending, expected);
    assert_eq!(expected.committed_total(), Reservation { calls: 12, upper: Money(17_507) });
    block_on(ledger.finish(RunStatus::Finished, Moment(9))).unwrap();
    assert_eq!(store.runs(1).unwrap()[0].totals.spending, expected);
}

/// BY-05: the amount that a call of unknown cost counts with reaches the run's next part, as its most expensive call.
#[test]
pub(crate) fn the_most_expensive_call_may_have_an_unknown_cost() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 9)).unwrap();
    let dearest = || store.account("r").unwrap().dearest;
    let unknown = |reserved| Record::Call(CallRecord { cost: None, reserved: Money(reserved), ..call("a") });
    let free = Record::Call(CallRecord { cost: Some(Money::ZERO), ..call("b") });
    for (record, expected) in
        [(free, None), (unknown(700), 700.into()), (Record::Call(call("c")), 1_500.into()), (unknown(0), 1_500.into())]
    {
        block_on(ledger.append(vec![record])).unwrap();
        assert_eq!(dearest(), expected.map(Money));
    }
}

/// BY-04: finished cells are found by their ordinals, by the latest row of each.
#[test]
pub(crate) fn finished_cells_are_found_by_their_latest_row() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 100)).unwrap();
    block_on(async {
        for ordinal in [64, 2, 99] {
            ledger.append(whole_cell(ordinal)).await.unwrap();
        }
        ledger.append(vec![Record::Sample(sample(5)), Record::Cell(failed_cell(5, "x").into())]).await.unwrap();
        ledger.append(vec![Record::Sample(sample(6)), Record::Cell(failed_cell(6, "y").into())]).await.unwrap();
        let skipped = CellRecord { status: CellStatus::Skipped, ..failed_cell(7, "z") };
        ledger.append(vec![Record::Sample(sample(7)), Record::Cell(skipped.into())]).await.unwrap();
        ledger.append(whole_cell(5)).await.unwrap();
    });
    let finished = store.finished_cells("r").unwrap();
    assert_eq!(finished.cells.iter().collect::<Vec<_>>(), [2, 5, 6, 7, 64, 99]);
    assert_eq!(finished.errors.iter().collect::<Vec<_>>(), [6]);
    assert_eq!(finished.skipped.iter().collect::<Vec<_>>(), [7]);
    assert_eq!(ordinals(&store, "r"), [2, 5, 6, 7, 64, 99]);
    let statuses: Vec<_> = rows(&store, "r").into_iter().map(|row| row.3.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == CellStatus::Error).count(), 1);
    let totals = store.runs(1).unwrap()[0].totals;
    assert_eq!((totals.cells, totals.errors, totals.skipped), (6, 1, 1));
}

/// Runs are found by id, by the start of an id, as the latest, and as the latest unfinished one of a plan. A run that
/// no process writes is not running.
#[test]
pub(crate) fn runs_are_found_by_id_prefix_and_latest() {
    let folder = folder();
    let store = store_in(&folder);
    assert!(store.resolve("latest").unwrap_err().to_string().contains("which is empty"));
    for (id, suite) in [("0190-a", "one"), ("0190-b", "two"), ("nightly%", "one")] {
        let header = RunHeader { plan: plan(suite, 1, 1, 1).into(), ..header(id, 1) };
        let ledger = store.begin(&header).unwrap();
        if id == "0190-a" {
            block_on(ledger.finish(RunStatus::Finished, Moment(1))).unwrap();
        }
    }
    assert_eq!(store.resolve("latest").unwrap(), "nightly%");
    assert_eq!(store.resolve("nig").unwrap(), "nightly%");
    assert_eq!(store.resolve("0190-b").unwrap(), "0190-b");
    let ambiguous = store.resolve("0190").unwrap_err();
    assert!(matches!(&ambiguous, StoreError::Ambiguous { matches, .. } if matches.len() == 2), "{ambiguous}");
    for unknown in ["", "%", "x"] {
        let error = store.resolve(unknown).unwrap_err();
        assert!(error.to_string().contains("0190-b") && matches!(error, StoreError::NoSuchRun { .. }), "{error}");
    }
    assert_eq!(store.latest_unfinished(key("one"), None).unwrap().unwrap().id, "nightly%");
    assert_eq!(store.latest_unfinished(key("two"), None).unwrap().unwrap().id, "0190-b");
    assert_eq!(store.latest_unfinished(key("three"), None).unwrap(), None);
    let listed: Vec<_> = store.runs(2).unwrap().into_iter().map(|run| (run.id, run.suite, run.status)).collect();
    assert_eq!(
        listed,
        [
            ("nightly%".to_owned(), "one".to_owned(), RunStatus::Interrupted),
            ("0190-b".to_owned(), "two".to_owned(), RunStatus::Interrupted)
        ]
    );
}

/// A run's name is unique, a missing run cannot be resumed, and a run has one writer at a time.
#[test]
pub(crate) fn a_run_name_is_unique_and_has_one_writer() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    assert!(matches!(store.reopen("r"), Err(StoreError::RunInUse { pid: Some(pid), .. }) if pid == std::process::id()));
    drop(ledger);
    assert!(matches!(store.begin(&header("r", 1)), Err(StoreError::RunExists(id)) if id == "r"));
    assert!(matches!(store.reopen("s"), Err(StoreError::NoSuchRun { nearest, .. }) if nearest == ["r"]));
    let ledger = store.reopen("r").unwrap();
    block_on(ledger.finish(RunStatus::Interrupted, Moment(8))).unwrap();
    assert_eq!(store.run("r").unwrap().completed_at, Some(Moment(8)));
    drop(ledger);
    let _ledger = store.reopen("r").unwrap();
    let run = store.run("r").unwrap();
    assert_eq!((run.status, run.completed_at), (RunStatus::Running, None));
}

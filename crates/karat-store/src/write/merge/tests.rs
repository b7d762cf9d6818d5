//! A merged run holds what one process would have written; a merge can be repeated, and never mixes runs.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use karat_types::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ShardSource;
use crate::tests::test_data::*;
use crate::{Ledger, Reservation, Store, StoreError, StoreUrl};

const ROWS: u64 = 40;

fn shard(number: u32, count: u32) -> Shard {
    Shard::new(number, count).unwrap()
}

/// The rows of a shard: whole groups of five rows.
fn rows_of_shard(part: Shard) -> Vec<u64> {
    (0..ROWS).filter(|row| part.holds("", Some(&format!("c{}", row / 5)))).collect()
}

fn whole_header() -> RunHeader {
    RunHeader { plan: Arc::new(plan("suite", ROWS, 2, 1)), ..header("r", ROWS) }
}

fn shard_header(part: Shard) -> RunHeader {
    let rows = rows_of_shard(part).len() as u64;
    RunHeader {
        shard: Some(ShardRows { shard: part, rows }),
        started_at: Moment(1_700_000_000_000 + i64::from(part.number())),
        ..whole_header()
    }
}

fn merged_header(status: RunStatus) -> RunHeader {
    RunHeader { status, completed_at: Some(Moment(1_700_000_009_000)), ..whole_header() }
}

fn store_at(folder: &TempDir, name: &str) -> Store {
    Store::open(&StoreUrl::in_folder(folder.path().join(name))).unwrap()
}

/// The records of a row: a call for each cell, a judgment of the first, and a step that rows share.
fn records(row: u64) -> Vec<Record> {
    let output = Arc::new(json!({"row": row}));
    let mut records = vec![
        Record::Reserved { calls: 2, upper: Money(8_000) },
        Record::Sample(SampleRecord { cluster: Some(format!("c{}", row / 5)), ..sample(row) }),
    ];
    for ordinal in [2 * row, 2 * row + 1] {
        let name = format!("cell {ordinal}");
        records.push(Record::Call(call(&name)));
        records.push(Record::Step(step(&name, &output).into()));
        let made = if ordinal % 7 == 3 { failed_cell(ordinal, &name) } else { cell(ordinal, &name, &output) };
        records.push(Record::Cell(made.into()));
    }
    records.push(Record::Judgment(judgment(2 * row, 0, 1, &format!("judged {row}")).into()));
    records.push(Record::Released { calls: 2, upper: Money(8_000) });
    records
}

/// Writes rows to a run, some of them in one commit.
fn write(ledger: &Ledger, rows: &[u64], group: usize, status: RunStatus) {
    block_on(async {
        for rows in rows.chunks(group.max(1)) {
            ledger.append(rows.iter().flat_map(|row| records(*row)).collect()).await.unwrap();
        }
        ledger.finish(status, Moment(1_700_000_008_000)).await.unwrap();
    });
}

/// Runs a shard in a store of its own.
fn run_shard(store: &Store, part: Shard, group: usize) -> ShardSource {
    let ledger = store.begin(&shard_header(part)).unwrap();
    write(&ledger, &rows_of_shard(part), group, RunStatus::Finished);
    source(store, part)
}

fn source(store: &Store, part: Shard) -> ShardSource {
    ShardSource { store: Store::open_source(store.url()).unwrap(), run: "r".to_owned(), shard: part }
}

fn all_shards(folder: &TempDir, count: u32, group: usize) -> Vec<ShardSource> {
    let run = |number| run_shard(&store_at(folder, &format!("s{number}")), shard(number, count), group);
    (1..=count).map(run).collect()
}

/// Everything that a later reader sees of a run.
fn content(store: &Store) -> (Vec<Row>, Vec<Option<Value>>, crate::Totals, BTreeSet<String>) {
    let run = store.rows("r").unwrap();
    let rows = rows(store, "r");
    let outputs = rows.iter().map(|(_, _, _, cell, _)| run.output(cell.ordinal).unwrap()).collect();
    let found = |ordinal: &u64| store.step(key(&format!("cell {ordinal}"))).unwrap().is_some();
    let reusable = (0..2 * ROWS).filter(found).map(|ordinal| ordinal.to_string()).collect();
    (rows, outputs, run.totals().unwrap(), reusable)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// SC-02: whatever the number of shards, their commits and the order of merging, the merged run has the rows, outputs,
    /// money and reusable results of one process, and merging again changes nothing.
    #[test]
    fn a_merged_run_is_that_of_one_process(count in 1..7_u32, group in 1..9_usize, turn in 0..7_usize, other in any::<bool>()) {
        let folder = folder();
        let one = store_at(&folder, "one");
        write(&one.begin(&whole_header()).unwrap(), &(0..ROWS).collect::<Vec<_>>(), 3, RunStatus::Finished);
        let mut parts = all_shards(&folder, count, group);
        let turn = turn % parts.len();
        parts.rotate_left(turn);
        let target = store_at(&folder, "target");
        if other {
            let before = RunHeader { id: "before".to_owned(), ..whole_header() };
            write(&target.begin(&before).unwrap(), &[0, 1, 2], 1, RunStatus::Finished);
        }
        let header = merged_header(RunStatus::Finished);
        prop_assert!(target.merge_shards(&header, &parts).unwrap() > 0);
        prop_assert_eq!(content(&target), content(&one));
        let stored = target.run("r").unwrap();
        prop_assert_eq!(&stored, &RunHeader { shard: None, ..header.clone() });
        let state = target.rows("r").unwrap().state().unwrap();
        prop_assert_eq!(target.merge_shards(&header, &parts).unwrap(), 0);
        prop_assert_eq!(target.rows("r").unwrap().state().unwrap(), state);
        prop_assert_eq!(content(&target), content(&one));
        prop_assert!(target.check().unwrap().is_sound());
        drop(target);
        let again = store_at(&folder, "target");
        prop_assert_eq!(content(&again), content(&one));
    }
}

/// SC-02: a shard that was merged unfinished adds its rest later, also rows that replace earlier ones; what was paid in both
/// parts counts once.
#[test]
fn a_resumed_shard_adds_its_rest() {
    let folder = folder();
    let (first, second) = (shard(1, 2), shard(2, 2));
    let (one, two) = (store_at(&folder, "s1"), store_at(&folder, "s2"));
    let done = run_shard(&one, first, 2);
    let own = rows_of_shard(second);
    let ledger = two.begin(&shard_header(second)).unwrap();
    write(&ledger, &own[..7], 3, RunStatus::Interrupted);
    drop(ledger);
    let target = store_at(&folder, "target");
    let parts = [done.clone(), source(&two, second)];
    assert!(target.merge_shards(&merged_header(RunStatus::Interrupted), &parts).unwrap() > 0);
    assert_eq!(target.run("r").unwrap().status, RunStatus::Interrupted);
    let calls = |store: &Store| store.account("r").unwrap().spending.calls;
    assert_eq!(calls(&target), calls(&one) + 14);
    let ledger = two.reopen("r").unwrap();
    // A failed cell is made again, as `retry` does.
    let again = 2 * own[0] + 1;
    block_on(ledger.append(vec![
        Record::Call(call("again")),
        Record::Cell(cell(again, "again", &Arc::new(json!("again"))).into()),
    ]))
    .unwrap();
    write(&ledger, &own[7..], 4, RunStatus::Finished);
    drop(ledger);
    let parts = [done, source(&two, second)];
    assert!(target.merge_shards(&merged_header(RunStatus::Finished), &parts).unwrap() > 0);
    assert_eq!(target.run("r").unwrap().status, RunStatus::Finished);
    assert_eq!(ordinals(&target, "r"), (0..2 * ROWS).collect::<Vec<_>>());
    assert_eq!(target.rows("r").unwrap().output(again).unwrap(), Some(json!("again")));
    assert_eq!(calls(&target), 2 * ROWS + 1);
    assert!(target.check().unwrap().is_sound());
}

/// SC-02: reservations of killed shards are summed: they count as spent in the merged run, too.
#[test]
fn open_reservations_are_summed() {
    let folder = folder();
    let mut parts = Vec::new();
    for number in 1..=2 {
        let part = shard(number, 2);
        let store = store_at(&folder, &format!("s{number}"));
        let ledger = store.begin(&shard_header(part)).unwrap();
        block_on(ledger.append(vec![Record::Reserved { calls: 3, upper: Money(100 * i128::from(number)) }])).unwrap();
        drop(ledger);
        parts.push(source(&store, part));
    }
    let target = store_at(&folder, "target");
    target.merge_shards(&merged_header(RunStatus::Interrupted), &parts).unwrap();
    let open = target.account("r").unwrap().spending.open;
    assert_eq!(open, Reservation { calls: 6, upper: Money(300) });
}

/// SC-02: an older copy of a shard adds nothing; a newer one, given first or last, adds its rest once.
#[test]
fn copies_of_one_shard_are_merged_once() {
    let folder = folder();
    let part = shard(1, 1);
    let store = store_at(&folder, "s1");
    let ledger = store.begin(&shard_header(part)).unwrap();
    write(&ledger, &[0, 1, 2], 1, RunStatus::Interrupted);
    let old = folder.path().join("old.db");
    store.back_up(&old).unwrap();
    write(&ledger, &(3..ROWS).collect::<Vec<_>>(), 5, RunStatus::Finished);
    drop(ledger);
    let old = Store::open_source(&old.to_str().unwrap().parse().unwrap()).unwrap();
    let old = ShardSource { store: old, run: "r".to_owned(), shard: part };
    for (name, order) in [("a", [old.clone(), source(&store, part)]), ("b", [source(&store, part), old.clone()])] {
        let target = store_at(&folder, name);
        target.merge_shards(&merged_header(RunStatus::Finished), &order).unwrap();
        assert_eq!(content(&target).0, rows(&store, "r"));
        assert_eq!(target.account("r").unwrap().spending.calls, 2 * ROWS);
    }
}

/// SC-02: two copies of a shard with different rows are refused with the cell, and nothing is written; equal rows pass, also
/// in other blocks.
#[test]
fn different_copies_are_refused_with_the_cell() {
    let folder = folder();
    let part = shard(2, 2);
    let one = run_shard(&store_at(&folder, "one"), part, 1);
    let same = run_shard(&store_at(&folder, "same"), part, 4);
    let other = store_at(&folder, "other");
    let ledger = other.begin(&shard_header(part)).unwrap();
    let own = rows_of_shard(part);
    let changed = 2 * own[3];
    block_on(async {
        for row in &own {
            let mut records = records(*row);
            for record in &mut records {
                if let Record::Cell(cell) = record
                    && cell.ordinal == changed
                {
                    Arc::make_mut(cell).latency_ms = 99.0;
                }
            }
            ledger.append(records).await.unwrap();
        }
        ledger.finish(RunStatus::Finished, Moment(5)).await.unwrap();
    });
    drop(ledger);
    let target = store_at(&folder, "target");
    let header = merged_header(RunStatus::Interrupted);
    let error = target.merge_shards(&header, &[one.clone(), source(&other, part)]).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, StoreError::ShardsDiffer { .. }), "{message}");
    assert!(message.contains(&format!("cell {changed} (s{}", own[3])) && message.contains("shard 2/2"), "{message}");
    assert!(matches!(target.run("r"), Err(StoreError::NoSuchRun { .. })), "nothing is written");
    let merged = target.merge_shards(&header, &[one.clone(), same]).unwrap();
    assert!(merged > 0);
    assert_eq!(rows(&target, "r"), rows(&one.store, "r"));
    let judged = store_at(&folder, "judged");
    let ledger = judged.begin(&shard_header(part)).unwrap();
    write(&ledger, &own, 9, RunStatus::Interrupted);
    let again = JudgmentRecord { reasoning: "other words".to_owned(), ..judgment(2 * own[1], 0, 1, "x") };
    block_on(ledger.append(vec![Record::Judgment(again.into())])).unwrap();
    drop(ledger);
    let error = target.merge_shards(&header, &[source(&judged, part)]).unwrap_err().to_string();
    assert!(error.contains(&format!("cell {} (s{}", 2 * own[1], own[1])), "{error}");
}

/// SC-02: a cell that the merged run has made by itself is not replaced by a shard that comes late.
#[test]
fn a_late_shard_does_not_replace_what_was_made_here() {
    let folder = folder();
    let parts = all_shards(&folder, 2, 3);
    let target = store_at(&folder, "target");
    target.merge_shards(&merged_header(RunStatus::Interrupted), &parts[..1]).unwrap();
    let before = ordinals(&target, "r").len() as u64;
    let ledger = target.reopen("r").unwrap();
    write(&ledger, &rows_of_shard(shard(2, 2)), 2, RunStatus::Finished);
    drop(ledger);
    let error = target.merge_shards(&merged_header(RunStatus::Finished), &parts).unwrap_err();
    assert!(matches!(error, StoreError::ShardsDiffer { .. }), "{error}");
    assert!(before < 2 * ROWS);
    assert_eq!(ordinals(&target, "r"), (0..2 * ROWS).collect::<Vec<_>>());
    assert_eq!(target.merge_shards(&merged_header(RunStatus::Finished), &parts[..1]).unwrap(), 0);
    assert_eq!(target.run("r").unwrap().status, RunStatus::Finished);
}

/// SC-02: a run that is not made of shards is never added to; a run that is being written is in use.
#[test]
fn only_merged_runs_are_added_to() {
    let folder = folder();
    let parts = all_shards(&folder, 1, 5);
    let target = store_at(&folder, "target");
    let ledger = target.begin(&whole_header()).unwrap();
    let header = merged_header(RunStatus::Finished);
    assert!(matches!(target.merge_shards(&header, &parts), Err(StoreError::RunInUse { .. })));
    drop(ledger);
    assert!(matches!(target.merge_shards(&header, &parts), Err(StoreError::NotMerged { .. })));
    assert!(rows(&target, "r").is_empty());
    let other = store_at(&folder, "other");
    other.merge_shards(&header, &parts).unwrap();
    let changed =
        RunHeader { plan: Arc::new(PlanHeader { plan_hash: key("changed"), ..plan("suite", ROWS, 2, 1) }), ..header };
    let error = other.merge_shards(&changed, &parts).unwrap_err().to_string();
    assert!(error.contains("it is of another plan") && error.contains("--store sqlite:"), "{error}");
}

/// SC-02: a shard without samples is a shard like the others.
#[test]
fn an_empty_shard_is_merged() {
    let folder = folder();
    let part = shard(1, 2);
    let empty = store_at(&folder, "empty");
    let none = RunHeader { shard: Some(ShardRows { shard: part, rows: 0 }), ..whole_header() };
    let ledger = empty.begin(&none).unwrap();
    block_on(ledger.finish(RunStatus::Finished, Moment(2))).unwrap();
    drop(ledger);
    let target = store_at(&folder, "target");
    let header = merged_header(RunStatus::Interrupted);
    assert_eq!(target.merge_shards(&header, &[source(&empty, part)]).unwrap(), 0);
    assert_eq!(target.merge_shards(&header, &[source(&empty, part)]).unwrap(), 0);
    assert_eq!((target.run("r").unwrap().planned_cells(), rows(&target, "r").len()), (2 * ROWS, 0));
    assert_eq!(empty.runs(1).unwrap()[0].planned, 0);
}

/// SC-02: damage of a shard is not copied: rows that are gone or changed are refused with the shard and the cell.
#[test]
fn damage_is_not_copied() {
    let folder = folder();
    let target = store_at(&folder, "target");
    let header = merged_header(RunStatus::Finished);
    let change = |name: &str, statement: &str| {
        let store = store_at(&folder, name);
        drop(run_shard(&store, shard(1, 1), 4));
        assert!(store.writing().file().unwrap().execute(statement, []).unwrap() > 0);
        target.merge_shards(&header, &[source(&store, shard(1, 1))]).unwrap_err().to_string()
    };
    let gone = change("gone", "delete from cells where ordinal = 5");
    assert!(gone.contains("shard 1/1 of run r") && gone.contains("80 cells, and 79 are there"), "{gone}");
    assert!(gone.contains("`karat resume r --store sqlite:"), "{gone}");
    let flipped =
        change("flipped", "update cells set facts = cast(substr(facts, 1, 20) || x'07' as blob) where ordinal = 6");
    assert!(flipped.contains("cell 6") && flipped.contains("checksum"), "{flipped}");
    assert!(matches!(target.run("r"), Err(StoreError::NoSuchRun { .. })));
    for content in [&b""[..], b"SQLite format 3"] {
        let path = folder.path().join("unwritten.db");
        fs::write(&path, content).unwrap();
        let error = Store::open_source(&path.to_str().unwrap().parse().unwrap()).unwrap_err();
        assert_eq!(matches!(error, StoreError::Unwritten { .. }), content.is_empty(), "{error}");
    }
    let path = folder.path().join("text.db");
    fs::write(&path, "no store, but long enough to be one if it were one").unwrap();
    assert!(Store::open_source(&path.to_str().unwrap().parse().unwrap()).is_err());
}

/// SC-02: results that a shard's store has invalidated are not reused from the merged run.
#[test]
fn invalidated_results_stay_invalidated() {
    let folder = folder();
    let store = store_at(&folder, "s1");
    run_shard(&store, shard(1, 1), 4);
    let cells = [4].into_iter().collect();
    assert_eq!(store.invalidate("r", Some(&cells), APPLY).unwrap().gone.len(), 2);
    let target = store_at(&folder, "target");
    target.merge_shards(&merged_header(RunStatus::Finished), &[source(&store, shard(1, 1))]).unwrap();
    let found = |ordinal: u64| target.step(key(&format!("cell {ordinal}"))).unwrap().is_some();
    assert!(found(3) && !found(4) && found(5));
}

/// SC-02: a run that is read by its shards alone is listed as such, and an older Karat does not take it for a whole run.
#[test]
fn shards_are_told_from_whole_runs() {
    let folder = folder();
    let store = store_at(&folder, "s1");
    run_shard(&store, shard(2, 3), 4);
    write(&store.begin(&RunHeader { id: "whole".to_owned(), ..whole_header() }).unwrap(), &[0], 1, RunStatus::Finished);
    let shards: Vec<String> = store.shards().unwrap().into_iter().map(|header| header.id).collect();
    assert_eq!(shards, ["r"]);
    let hash = whole_header().plan.plan_hash;
    drop(store.reopen("r").unwrap());
    assert_eq!(store.latest_unfinished(hash, Some(shard(2, 3))).unwrap().unwrap().id, "r");
    assert!(store.latest_unfinished(hash, None).unwrap().is_none());
    assert!(store.latest_unfinished(hash, Some(shard(1, 3))).unwrap().is_none());
    let planned = store.runs(9).unwrap().into_iter().find(|run| run.id == "r").unwrap().planned;
    assert_eq!(planned, 2 * rows_of_shard(shard(2, 3)).len() as u64);
}

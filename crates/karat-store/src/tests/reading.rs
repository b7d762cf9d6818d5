//! Reading stored runs.

use std::sync::Arc;

use karat_types::*;
use serde_json::json;

use crate::{FollowPosition, ListPlace, NewQueuedRun, Queueing, ROWS_OF_COMMIT, RunChange, Store};

use super::test_data::*;

/// BY-06: a store in a read-only folder can be read, and writing to it is an error.
#[test]
fn a_read_only_store_is_read() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use crate::database::schema;
    use crate::database::schema::Access;

    let folder = folder();
    let store = store_in(&folder);
    drop(store.begin(&header("r", 0)).unwrap());
    let url = store.url().clone();
    drop(store);
    let lie = |mode| set_permissions(url.path().parent().unwrap(), Permissions::from_mode(mode)).unwrap();
    let reader = schema::open_reader(url.path(), Access::Frozen).unwrap();
    schema::readable(&reader, url.path()).unwrap();
    lie(0o555);
    set_permissions(url.path(), Permissions::from_mode(0o444)).unwrap();
    let opened = Store::open_to_read(&url).map(|store| (store.run("r").is_ok(), store.begin(&header("s", 0)).is_ok()));
    let may_write_all_the_same = std::fs::OpenOptions::new().append(true).open(url.path()).is_ok();
    lie(0o755);
    assert_eq!(opened.unwrap(), (true, may_write_all_the_same));
}

/// Invariant 7, formats have versions: a read-only store of an older Karat is read, or refused with the reason.
#[test]
fn an_older_read_only_store_is_read_or_refused() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    block_on(ledger.append(vec![Record::Step(step("s", &Arc::new(json!("x"))).into())])).unwrap();
    let url = store.url().clone();
    let become_version = |version: i64| {
        let connection = rusqlite::Connection::open(url.path()).unwrap();
        connection.execute_batch("drop index if exists blocks_with_keys; drop table if exists tokens").unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    };
    drop((ledger, store));
    become_version(3);
    let store = Store::as_it_is(&url, false).unwrap();
    assert_eq!(store.step(key("s")).unwrap().map(|stored| stored.run).as_deref(), Some("r"));
    assert_eq!(store.tokens().unwrap(), []);
    drop(store);
    become_version(2);
    let error = Store::as_it_is(&url, false).unwrap_err().to_string();
    let wanted = format!("has schema version 2, must be migrated to version {}", crate::database::schema::VERSION);
    assert!(error.contains(&wanted), "{error}");
}

/// Invariant 8, memory is bounded: rows come in plan order, each with its sample, system and trial, and its judgments by scorer and
/// judge.
#[test]
pub(crate) fn rows_come_in_plan_order() {
    let folder = folder();
    let store = store_in(&folder);
    let header = RunHeader { plan: Arc::new(plan("suite", 2, 2, 3)), ..header("r", 0) };
    let ledger = store.begin(&header).unwrap();
    block_on(async {
        for row in [1, 0] {
            ledger.append(vec![Record::Sample(sample(row))]).await.unwrap();
        }
        for ordinal in (0..12).rev() {
            let output = Arc::new(json!(ordinal));
            ledger.append(vec![Record::Cell(cell(ordinal, &ordinal.to_string(), &output).into())]).await.unwrap();
        }
        for (scorer, judge) in [(1, 0), (0, 1), (0, 0)] {
            ledger.append(vec![Record::Judgment(judgment(7, scorer, judge, "j").into())]).await.unwrap();
        }
        ledger.finish(RunStatus::Finished, Moment(1_700_000_009_000)).await.unwrap();
    });

    let rows = rows(&store, "r");
    let places: Vec<_> =
        rows.iter().map(|(sample, system, trial, cell, _)| (cell.ordinal, sample.row, *system, *trial)).collect();
    let expected: Vec<_> = (0..12).map(|n| (n, n / 6, (n / 3 % 2) as usize, (n % 3) as u32)).collect();
    assert_eq!(places, expected);
    for cut in 0..=12 {
        assert_eq!([rows_of(&store, "r", 0..cut), rows_of(&store, "r", cut..12)].concat(), rows, "at {cut}");
    }
    let (_, _, _, seventh, judgments) = &rows[7];
    assert_eq!(*seventh, CellRecord { output: None, ..cell(7, "7", &Arc::new(json!(7))) });
    assert_eq!(*judgments, [judgment(7, 0, 0, "j"), judgment(7, 0, 1, "j"), judgment(7, 1, 0, "j")]);
    assert!(rows[6].4.is_empty() && rows[8].4.is_empty());

    let run = store.rows("r").unwrap();
    assert_eq!(run.output(7).unwrap(), Some(json!(7)));
    assert_eq!(run.output(12).unwrap(), None);
    let ended = RunHeader { status: RunStatus::Finished, completed_at: Some(Moment(1_700_000_009_000)), ..header };
    assert_eq!(*run.header(), ended);
    assert_eq!(store.run("r").unwrap(), ended);
}

/// BY-09: a run's state changes with everything that is written to it, and not with other runs.
#[test]
pub(crate) fn a_runs_state_changes_with_its_records() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 0)).unwrap();
    let other = store.begin(&header("s", 0)).unwrap();
    let state = || store.rows("r").unwrap().state().unwrap();
    let mut states = vec![state()];
    let append = |ledger: &crate::Ledger, ordinal| {
        let output = Arc::new(json!(ordinal));
        let cell = Record::Cell(cell(ordinal, "k", &output).into());
        block_on(ledger.append(vec![Record::Sample(sample(0)), cell])).unwrap();
    };
    append(&ledger, 0);
    states.push(state());
    // The same cell again, as `retry` writes it.
    append(&ledger, 0);
    states.push(state());
    block_on(ledger.append(vec![Record::Judgment(judgment(0, 0, 0, "j").into())])).unwrap();
    states.push(state());
    block_on(ledger.finish(RunStatus::Finished, Moment(9))).unwrap();
    states.push(state());
    append(&other, 0);
    assert_eq!(state(), states[4]);
    states.push(store.rows("s").unwrap().state().unwrap());
    let all: std::collections::BTreeSet<_> = states.iter().collect();
    assert_eq!(all.len(), states.len(), "{states:?}");
}

/// Number, kind and ordinal of each change, and the new place.
fn look(store: &Store, from: FollowPosition) -> (Vec<(u64, &'static str, u64)>, Money, FollowPosition) {
    let (mut seen, mut spent) = (Vec::new(), Money::ZERO);
    let to = store.follow("r", from, &mut |change| match change {
        RunChange::Cell { seq, cell } => seen.push((seq, "cell", cell.ordinal)),
        RunChange::Judgment { seq, ordinal, .. } => seen.push((seq, "judgment", ordinal)),
        RunChange::Spent(money) => spent += money,
    });
    (seen, spent, to.unwrap())
}

/// DB-21, SV-06: each look gives what was added since the last, in order and once, with the numbers that a look from the
/// beginning gives; rows of other runs are none of it.
#[test]
pub(crate) fn every_change_is_seen_once_under_the_same_number() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 9)).unwrap();
    let other = store.begin(&header("other", 9)).unwrap();
    assert_eq!(look(&store, FollowPosition::default()), (Vec::new(), Money::ZERO, FollowPosition::default()));
    let mut place = FollowPosition::default();
    let (mut all, mut all_spent) = (Vec::new(), Money::ZERO);
    for at in 0..4 {
        block_on(async {
            ledger.append(whole_cell(at)).await.unwrap();
            other.append(whole_cell(at)).await.unwrap();
            ledger.append(vec![Record::Judgment(judgment(at, 0, 0, "j").into())]).await.unwrap();
        });
        let (seen, spent, to) = look(&store, place);
        assert_eq!(seen.iter().map(|(_, kind, of)| (*kind, *of)).collect::<Vec<_>>(), [("cell", at), ("judgment", at)]);
        assert!(seen.iter().all(|(seq, ..)| *seq > place.end() && *seq < to.end()));
        assert_eq!(look(&store, to), (Vec::new(), Money::ZERO, to));
        all.extend(seen);
        all_spent += spent;
        place = to;
    }
    assert!(all.is_sorted_by(|(a, ..), (b, ..)| a < b), "{all:?}");
    assert!(all.iter().all(|(seq, ..)| *seq > ROWS_OF_COMMIT));
    assert_eq!(look(&store, FollowPosition::default()), (all, all_spent, place));
    assert_eq!(all_spent, store.account("r").unwrap().spending.spent);
    assert_eq!(store.run_status("r").unwrap(), RunStatus::Running);
    drop(ledger);
    assert_eq!(store.run_status("r").unwrap(), RunStatus::Interrupted);
}

/// SV-03: pages of runs neither repeat nor miss one while runs are added.
#[test]
pub(crate) fn pages_of_runs_stay_while_runs_are_added() {
    let folder = folder();
    let store = store_in(&folder);
    let begin = |id: &str| drop(store.begin(&header(id, 1)).unwrap());
    ["a", "b", "c", "d", "e"].into_iter().for_each(begin);
    let queue = |run: &str| {
        let new = NewQueuedRun { run, order: "{}", is_new: true, at: Moment(1), most_waiting: 9 };
        assert_eq!(store.enqueue(&new, None).unwrap(), Queueing::Added);
    };
    ["q1", "q2"].into_iter().for_each(queue);
    let page = |place| -> (Vec<String>, Option<ListPlace>) {
        let page = store.runs_behind(place, 2).unwrap();
        let last = page.last().map(|(_, place)| *place);
        (page.into_iter().map(|(run, _)| run).collect(), last)
    };
    let (first, place) = page(None);
    assert_eq!(first, ["q2", "q1"]);
    begin("q1");
    begin("f");
    queue("q3");
    let (second, place) = page(place);
    assert_eq!(second, ["e", "d"]);
    assert_eq!(page(place).0, ["c", "b"]);
    assert_eq!(page(None).0, ["q3", "f"]);
    // A run that was on a later page does not leave it by starting.
    let (_, place) = (page(None).0, store.runs_behind(None, 1).unwrap()[0].1);
    begin("q2");
    let rest: Vec<String> = store.runs_behind(Some(place), 9).unwrap().into_iter().map(|(run, _)| run).collect();
    assert_eq!(rest, ["f", "q1", "q2", "e", "d", "c", "b", "a"]);
}

//! Invalidation removes a run's own results from reuse and leaves those of others.

use std::collections::BTreeSet;
use std::sync::Arc;

use karat_types::*;
use serde_json::json;

use super::test_data::*;
use crate::{InvalidatedResults, OrdinalSet, Store};

/// A run of two cells that share their first step; each has its own judgment.
fn fill(store: &Store, run: &str) {
    let ledger = store.begin(&header(run, 2)).unwrap();
    let output = Arc::new(json!("x"));
    let second = |name: &str| StepRecord { calls: vec![key("raw"), key(name)], ..step(name, &output) };
    let made = |at: u64, name: &str| CellRecord { calls: vec![key("raw"), key(name)], ..cell(at, name, &output) };
    block_on(ledger.append(vec![
        Record::Sample(sample(0)),
        Record::Sample(sample(1)),
        Record::Step(step("raw", &output).into()),
        Record::Step(second("a").into()),
        Record::Cell(made(0, "a").into()),
        Record::Step(second("b").into()),
        Record::Cell(made(1, "b").into()),
        Record::Judgment(judgment(0, 0, 0, "ja").into()),
        Record::Judgment(judgment(1, 0, 0, "jb").into()),
    ]))
    .unwrap();
}

fn names(withdrawal: &InvalidatedResults) -> Vec<Key> {
    withdrawal.gone.iter().map(|result| result.key).collect()
}

fn has(store: &Store) -> [bool; 5] {
    let step = |name| store.step(key(name)).unwrap().is_some();
    let judgment = |name| store.judgment(key(name)).unwrap().is_some();
    [step("raw"), step("a"), step("b"), judgment("ja"), judgment("jb")]
}

/// CL-23: the results of one cell are removed, a step that another cell uses stays, and a dry run changes nothing.
#[test]
pub(crate) fn invalidating_one_cell_keeps_shared_steps() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "r");
    let cells: OrdinalSet = [0].into_iter().collect();
    let planned = store.invalidate("r", Some(&cells), DRY).unwrap();
    assert_eq!(has(&store), [true; 5]);
    let done = store.invalidate("r", Some(&cells), APPLY).unwrap();
    assert_eq!(planned, done);
    assert_eq!(names(&done).len(), 2);
    assert_eq!((done.kept.len(), done.kept[0].key), (1, key("raw")));
    assert_eq!(has(&store), [true, false, true, false, true]);
    assert_eq!(rows(&store, "r").len(), 2);
    assert_eq!(store.invalidate("r", None, APPLY).unwrap().gone.len(), 3);
    assert_eq!(has(&store), [false; 5]);
    assert_eq!(store.invalidate("r", None, APPLY).unwrap(), InvalidatedResults::default());
    assert!(store.invalidate("no run", None, APPLY).is_err());
}

/// CL-23: results that another run uses stay, whether that run reused a whole output or an earlier step.
#[test]
pub(crate) fn results_used_by_other_runs_stay() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "r");
    let output = Arc::new(json!("x"));
    let ledger = store.begin(&header("other", 2)).unwrap();
    let on_raw = CellRecord { calls: vec![key("raw"), key("own")], ..cell(0, "own", &output) };
    let reused = CellRecord { reused: true, calls: vec![key("raw"), key("b")], ..cell(1, "b", &output) };
    let judged = JudgmentRecord { reused: true, ..judgment(1, 0, 0, "jb") };
    block_on(ledger.append(vec![
        Record::Cell(on_raw.into()),
        Record::Cell(reused.into()),
        Record::Judgment(judged.into()),
    ]))
    .unwrap();
    let done = store.invalidate("r", None, APPLY).unwrap();
    assert_eq!(has(&store), [true, false, true, false, true]);
    assert!(done.kept.iter().all(|result| result.used_by.contains("other")), "{done:?}");
    assert!(matches!(store.invalidate("other", None, APPLY), Err(crate::StoreError::RunInUse { .. })));
}

/// F48: by force a result is withdrawn from all later runs, whoever uses it or has made it too; what is made after that is
/// reused again, and rows stay.
#[test]
pub(crate) fn force_withdraws_what_others_use() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "bad");
    let output = Arc::new(json!("x"));
    let ledger = store.begin(&header("reused", 2)).unwrap();
    let reused = CellRecord { reused: true, calls: vec![key("raw"), key("b")], ..cell(1, "b", &output) };
    let judged = JudgmentRecord { reused: true, ..judgment(1, 0, 0, "jb") };
    block_on(ledger.append(vec![
        Record::Sample(sample(0)),
        Record::Sample(sample(1)),
        Record::Cell(reused.into()),
        Record::Judgment(judged.into()),
    ]))
    .unwrap();
    drop(ledger);
    // A run that made the same results itself.
    fill(&store, "again");
    let kept = store.invalidate("bad", None, APPLY).unwrap();
    assert!(!kept.kept.is_empty() && has(&store).contains(&true), "{kept:?}");
    let done = store.invalidate("bad", None, FORCE).unwrap();
    assert_eq!((has(&store), &*done.kept), ([false; 5], &[][..]));
    let users: BTreeSet<&String> = done.gone.iter().flat_map(|result| &result.used_by).collect();
    assert!(users.iter().any(|run| *run == "reused"), "it names who used them: {done:?}");
    assert_eq!(rows(&store, "reused").len(), 1);
    let reopened = store_in(&folder);
    assert_eq!(has(&reopened), [false; 5]);
    fill(&reopened, "new");
    assert_eq!(has(&reopened), [true; 5]);
    // The runs that lost them ask for nothing: the new results go with the run that made them.
    assert_eq!(reopened.invalidate("new", None, APPLY).unwrap().gone.len(), 5);
    assert_eq!(has(&reopened), [false; 5]);
}

/// CL-23: failures keep no result of another run alive: neither a cell without an output nor a failed judgment,
/// although their calls and keys are those of the run that succeeded. Invalidating such a cell also removes the steps
/// before the failed one.
#[test]
pub(crate) fn failed_cells_keep_no_result() {
    let folder = folder();
    let store = store_in(&folder);
    let failed = |at: u64, name: &str| {
        let error = Some(CellError::new("http_500", "no answer"));
        let calls = vec![key("raw"), key(name)];
        Record::Cell(CellRecord { status: CellStatus::Error, error, calls, ..CellRecord::empty(at) }.into())
    };
    let unjudged = JudgmentRecord { error: Some(CellError::new("parse", "no JSON")), ..judgment(1, 0, 0, "jb") };
    let ledger = store.begin(&header("bad", 2)).unwrap();
    block_on(ledger.append(vec![failed(0, "a"), failed(1, "b"), Record::Judgment(unjudged.into())])).unwrap();
    drop(ledger);
    fill(&store, "good");
    let planned = store.invalidate("good", None, DRY).unwrap();
    assert_eq!((planned.gone.len(), &*planned.kept), (5, &[][..]));
    let kept = store.invalidate("bad", None, APPLY).unwrap();
    assert!(kept.gone.is_empty() && kept.kept.iter().all(|result| result.used_by.contains("good")), "{kept:?}");
    assert_eq!(store.invalidate("good", None, APPLY).unwrap().gone.len(), 5);
    assert_eq!(has(&store), [false; 5]);

    let ledger = store.begin(&header("half", 2)).unwrap();
    block_on(ledger.append(vec![Record::Step(step("raw", &Arc::new(json!("x"))).into()), failed(0, "a")])).unwrap();
    drop(ledger);
    assert_eq!(names(&store.invalidate("half", Some(&[0].into_iter().collect()), APPLY).unwrap()), [key("raw")]);
}

/// CL-23: a result that another run has repeated since an invalidation belongs to that run; once the first run makes
/// it again, it owns a copy too.
#[test]
pub(crate) fn repeated_results_belong_to_the_run_that_repeated_them() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "r");
    assert_eq!(store.invalidate("r", None, APPLY).unwrap().gone.len(), 5);
    fill(&store, "other");
    reuse_all(&store, "scored");
    let cell: OrdinalSet = [0].into_iter().collect();
    for asked in [None, Some(&cell)] {
        assert_eq!(store.invalidate("r", asked, APPLY).unwrap(), InvalidatedResults::default());
    }
    assert_eq!(has(&store), [true; 5]);
    let ledger = store.reopen("r").unwrap();
    block_on(ledger.append(vec![Record::Step(step("a", &Arc::new(json!("x"))).into())])).unwrap();
    drop(ledger);
    assert_eq!(store.invalidate("r", Some(&cell), APPLY).unwrap().kept.len(), 1);
}

/// A run that reuses everything from another.
fn reuse_all(store: &Store, run: &str) {
    let ledger = store.begin(&header(run, 2)).unwrap();
    let output = Arc::new(json!("x"));
    let taken = |at: u64, name: &str| {
        Record::Cell(CellRecord { reused: true, calls: vec![key("raw"), key(name)], ..cell(at, name, &output) }.into())
    };
    let judged = |at, name: &str| Record::Judgment(JudgmentRecord { reused: true, ..judgment(at, 0, 0, name) }.into());
    block_on(ledger.append(vec![taken(0, "a"), taken(1, "b"), judged(0, "ja"), judged(1, "jb")])).unwrap();
}

/// CL-23: a result shared by several runs is removed with the last of them, in any order, also cell by cell. Until
/// then the answer names the runs for which it stays.
#[test]
pub(crate) fn shared_results_are_removed_with_the_last_run() {
    for order in [["maker", "one", "two"], ["two", "maker", "one"], ["one", "two", "maker"]] {
        let folder = folder();
        let store = store_in(&folder);
        fill(&store, "maker");
        reuse_all(&store, "one");
        reuse_all(&store, "two");
        for (at, run) in order[..2].iter().enumerate() {
            let done = store.invalidate(run, None, APPLY).unwrap();
            assert!(done.gone.is_empty() && !done.kept.is_empty(), "{run}: {done:?}");
            for result in &done.kept {
                assert!(result.used_by.iter().map(String::as_str).eq(sorted(&order[at + 1..])), "{run}: {done:?}");
            }
        }
        let cell: OrdinalSet = [0].into_iter().collect();
        assert_eq!(store.invalidate(order[2], Some(&cell), APPLY).unwrap().gone.len(), 2);
        assert_eq!(
            (has(&store), store.invalidate(order[2], None, APPLY).unwrap().gone.len()),
            ([true, false, true, false, true], 3)
        );
        assert_eq!(has(&store), [false; 5]);
    }
}

fn sorted<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// CL-23: if another run made the same result, its copy is reused, unless it was invalidated too.
#[test]
pub(crate) fn only_the_own_copy_is_removed() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "first");
    fill(&store, "second");
    assert_eq!(store.step(key("a")).unwrap().unwrap().run, "second");
    let kept = store.invalidate("first", None, DRY).unwrap().kept;
    assert!(kept.len() == 5 && kept.iter().all(|result| result.used_by.contains("second")), "{kept:?}");
    assert_eq!(store.invalidate("second", None, APPLY).unwrap().gone.len(), 5);
    assert_eq!((has(&store), store.step(key("a")).unwrap().unwrap().run.as_str()), ([true; 5], "first"));
    assert_eq!(store.invalidate("second", None, APPLY).unwrap().gone, []);
    assert_eq!(store.invalidate("first", None, APPLY).unwrap().gone.len(), 5);
    assert_eq!(has(&store), [false; 5]);
}

/// BY-04: old results are pruned by the age of the run that made them. Runs keep their rows, and an unfinished run
/// keeps its results, so that resuming it pays for nothing twice.
#[test]
pub(crate) fn old_results_are_pruned() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "old");
    let ledger = store.begin(&RunHeader { started_at: Moment(1_800_000_000_000), ..header("new", 1) }).unwrap();
    block_on(ledger.append(vec![Record::Step(step("n", &Arc::new(json!("n"))).into())])).unwrap();
    let counts = |store: &Store| -> Vec<(String, u64, u64)> {
        store.cached_results().unwrap().into_iter().map(|it| (it.run, it.outputs, it.judgments)).collect()
    };
    let both = [("new".to_owned(), 1, 0), ("old".to_owned(), 3, 2)];
    assert_eq!(counts(&store), both);
    let prune = |apply| store.prune(Moment(1_750_000_000_000), false, apply).unwrap().results;
    assert_eq!((prune(true), counts(&store)), (0, both.to_vec()));
    block_on(store.reopen("old").unwrap().finish(RunStatus::Finished, Moment(1_700_000_009_000))).unwrap();
    assert_eq!((prune(false), counts(&store)), (5, both.to_vec()));
    assert_eq!(prune(true), 5);
    assert_eq!(counts(&store), both[..1]);
    assert_eq!(has(&store), [false; 5]);
    assert_eq!(rows(&store, "old").len(), 2);
}

/// BY-04: if a run that is not pruned has made the same result, its copy is reused: an unfinished run that reuses
/// nothing from others would pay for it twice. Invalidated results stay invalidated.
#[test]
pub(crate) fn pruning_keeps_copies_of_other_runs() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "withdrawn");
    store.invalidate("withdrawn", None, APPLY).unwrap();
    let old = |store: &Store, run: &str| {
        fill(store, run);
        block_on(store.reopen(run).unwrap().finish(RunStatus::Finished, Moment(1_700_000_009_000))).unwrap();
    };
    old(&store, "older");
    assert_eq!((store.prune(Moment(1_750_000_000_000), false, true).unwrap().results, has(&store)), (5, [false; 5]));
    fill(&store, "unfinished");
    old(&store, "old");
    let own = || store.reuse_view("unfinished", None).unwrap().step(key("a")).unwrap().map(|it| it.run);
    let taken_over = || store.step(key("a")).unwrap().map(|it| it.run);
    let prune = |apply| store.prune(Moment(1_750_000_000_000), false, apply).unwrap().results;
    let both = |run: &str| (Some("unfinished".to_owned()), Some(run.to_owned()));
    assert_eq!((prune(false), (own(), taken_over())), (0, both("old")));
    assert_eq!((prune(true), (own(), taken_over())), (0, both("unfinished")));
    assert_eq!(has(&store), [true; 5]);
}

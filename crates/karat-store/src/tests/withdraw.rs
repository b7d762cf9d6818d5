//! Results are taken out of reuse: a run's own, and nobody else's.

use std::sync::Arc;

use karat_types::*;
use serde_json::json;

use super::given::*;
use crate::{OrdinalSet, Store, Withdrawal};

/// A run of two cells that share their first step; each has a judgment of its own.
fn fill(store: &Store, run: &str) {
    let ledger = store.begin(&header(run, 2)).unwrap();
    let output = Arc::new(json!("x"));
    let second = |name: &str| StepRecord { calls: vec![key("raw"), key(name)], ..step(name, &output) };
    let made = |at: u64, name: &str| CellRecord { calls: vec![key("raw"), key(name)], ..cell(at, name, &output) };
    block_on(ledger.append(vec![
        Record::Sample(sample(0)),
        Record::Sample(sample(1)),
        Record::Step(step("raw", &output)),
        Record::Step(second("a")),
        Record::Cell(made(0, "a")),
        Record::Step(second("b")),
        Record::Cell(made(1, "b")),
        Record::Judgment(judgment(0, 0, 0, "ja")),
        Record::Judgment(judgment(1, 0, 0, "jb")),
    ]))
    .unwrap();
}

fn names(withdrawal: &Withdrawal) -> Vec<Key> {
    withdrawal.gone.iter().map(|result| result.key).collect()
}

fn has(store: &Store) -> [bool; 5] {
    let step = |name| store.step(key(name)).unwrap().is_some();
    let judgment = |name| store.judgment(key(name)).unwrap().is_some();
    [step("raw"), step("a"), step("b"), judgment("ja"), judgment("jb")]
}

/// CL-23: one cell's results go, a step that another cell rests on stays; a dry run changes nothing.
#[test]
fn one_cell_goes_alone() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "r");
    let cells: OrdinalSet = [0].into_iter().collect();
    let planned = store.withdraw("r", Some(&cells), false).unwrap();
    assert_eq!(has(&store), [true; 5]);
    let done = store.withdraw("r", Some(&cells), true).unwrap();
    assert_eq!(planned, done);
    assert_eq!(names(&done).len(), 2);
    assert_eq!((done.kept.len(), done.kept[0].key), (1, key("raw")));
    assert_eq!(has(&store), [true, false, true, false, true]);
    assert_eq!(rows(&store, "r").len(), 2);
    assert_eq!(store.withdraw("r", None, true).unwrap().gone.len(), 5);
    assert_eq!(has(&store), [false; 5]);
    assert!(store.withdraw("no run", None, true).is_err());
}

/// CL-23: what another run rests on stays, whether that run took over a whole output or a step on the way.
#[test]
fn what_other_runs_use_stays() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "r");
    let output = Arc::new(json!("x"));
    let ledger = store.begin(&header("other", 2)).unwrap();
    let on_raw = CellRecord { calls: vec![key("raw"), key("own")], ..cell(0, "own", &output) };
    let reused = CellRecord { reused: true, calls: vec![key("raw"), key("b")], ..cell(1, "b", &output) };
    let judged = JudgmentRecord { reused: true, ..judgment(1, 0, 0, "jb") };
    block_on(ledger.append(vec![Record::Cell(on_raw), Record::Cell(reused), Record::Judgment(judged)])).unwrap();
    let done = store.withdraw("r", None, true).unwrap();
    assert_eq!(has(&store), [true, false, true, false, true]);
    assert!(done.kept.iter().all(|result| result.used_by.contains("other")), "{done:?}");
    assert!(matches!(store.withdraw("other", None, true), Err(crate::StoreError::RunInUse { .. })));
}

/// CL-23: where an earlier run made the same result, that one is taken over again; a later one's is not touched.
#[test]
fn only_the_own_entry_goes() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "first");
    fill(&store, "second");
    assert_eq!(store.step(key("a")).unwrap().unwrap().run, "second");
    assert_eq!(store.withdraw("first", None, true).unwrap(), Withdrawal::default());
    assert_eq!(store.withdraw("second", None, true).unwrap().gone.len(), 5);
    assert_eq!((has(&store), store.step(key("a")).unwrap().unwrap().run.as_str()), ([true; 5], "first"));
}

/// Results of old runs are pruned by the age of the run that made them; runs keep their rows.
#[test]
fn old_results_are_pruned() {
    let folder = folder();
    let store = store_in(&folder);
    fill(&store, "old");
    let ledger = store.begin(&RunHeader { started_at: Moment(1_800_000_000_000), ..header("new", 1) }).unwrap();
    block_on(ledger.append(vec![Record::Step(step("n", &Arc::new(json!("n"))))])).unwrap();
    let counts = |store: &Store| -> Vec<(String, u64, u64)> {
        store.cached().unwrap().into_iter().map(|it| (it.run, it.outputs, it.judgments)).collect()
    };
    let both = [("new".to_owned(), 1, 0), ("old".to_owned(), 3, 2)];
    assert_eq!(counts(&store), both);
    let prune = |apply| store.prune(Moment(1_750_000_000_000), false, apply).unwrap().results;
    assert_eq!((prune(false), counts(&store)), (5, both.to_vec()));
    assert_eq!(prune(true), 5);
    assert_eq!(counts(&store), both[..1]);
    assert_eq!(has(&store), [false; 5]);
    assert_eq!(rows(&store, "old").len(), 2);
}

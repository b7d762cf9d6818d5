//! Reuse of results by content key across runs.

use std::sync::Arc;

use crate::block::section_cache::SectionKind;
use crate::{Store, StoredRecord};
use karat_types::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::test_data::*;
use crate::sql::params;

/// BY-06: a step's output is found by its content key from any run, with the run that made it; the latest counts.
#[test]
pub(crate) fn steps_are_shared_by_runs() {
    let folder = folder();
    let store = store_in(&folder);
    let early = RunHeader { started_at: Moment(5), ..header("early", 1) };
    let (first, second) = (Arc::new(json!({"text": "a", "x": 0.1 + 0.2})), Arc::new(json!("b")));
    let noted = StepRecord {
        notes: vec![Note { kind: NoteKind::Truncated, text: "cut".to_owned(), count: 2 }],
        facts: ResponseFacts {
            latency_ms: [("llm".to_owned(), 8.5)].into(),
            version: Some("a1b2".to_owned()),
            models: [("llm".to_owned(), "gpt-4.1".to_owned())].into(),
            steps: vec![StepCost { cost: Some(Money(7)), ..StepCost::default() }, StepCost::default()],
            user: None,
            untimed: true,
            vectors: None,
            answered: vec![ServedName { asked: "gpt-4.1".to_owned(), other: Some("gpt-4.1-2025-04-14".to_owned()) }],
        },
        ..step("s", &first)
    };
    let ledger = store.begin(&early).unwrap();
    block_on(ledger.append(vec![
        Record::Cell(cell(3, "elsewhere", &second).into()),
        Record::Step(noted.clone().into()),
        Record::Cell(cell(0, "s", &first).into()),
    ]))
    .unwrap();
    let expected = StoredRecord { record: noted, run: "early".to_owned(), run_started_at: Moment(5) };
    assert_eq!(store.step(key("s")).unwrap(), Some(expected));
    assert_eq!(store.step(key("other")).unwrap(), None);

    let ledger = store.begin(&header("late", 1)).unwrap();
    block_on(ledger.append(vec![Record::Step(step("s", &second).into())])).unwrap();
    let latest = store.step(key("s")).unwrap().unwrap();
    assert_eq!((latest.run.as_str(), latest.record), ("late", step("s", &second)));
}

/// BY-06, CL-25: a run that reuses nothing of other runs finds its own results and nothing else, also if another run
/// started after it or repeated the result, in this process or another.
#[test]
pub(crate) fn a_run_can_reuse_its_own_results_only() {
    let folder = folder();
    let (store, elsewhere) = (store_in(&folder), store_in(&folder));
    let output = |run: &str| Arc::new(json!(run));
    let made = |run: &str, name: &str| {
        let judged = JudgmentRecord { reasoning: run.to_owned(), ..judgment(1, 0, 0, name) };
        vec![Record::Step(step(name, &output(run)).into()), Record::Judgment(judged.into())]
    };
    let before = store.begin(&RunHeader { started_at: Moment(1), ..header("before", 1) }).unwrap();
    let own = store.begin(&RunHeader { started_at: Moment(5), ..header("own", 1) }).unwrap();
    let other = elsewhere.begin(&RunHeader { started_at: Moment(9), ..header("other", 1) }).unwrap();
    let write = |ledger: &crate::Ledger, run: &str, name: &str| block_on(ledger.append(made(run, name))).unwrap();
    let stock = store.reuse_view("own", None).unwrap();
    let check = |name: &str, expected: Option<&str>| {
        store.catch_up().unwrap();
        elsewhere.catch_up().unwrap();
        for stock in
            [&stock, &store.reuse_view("own", None).unwrap(), &elsewhere.reuse_view("own", Some(Moment(10))).unwrap()]
        {
            let step = stock.step(key(name)).unwrap().map(|it| (it.run, it.record.output));
            assert_eq!(step, expected.map(|run| (run.to_owned(), output(run))), "{name}");
            let judgment = stock.judgment(key(name)).unwrap().map(|it| (it.run, it.record.reasoning));
            assert_eq!(judgment, expected.map(|run| (run.to_owned(), run.to_owned())), "{name}");
            let has = (stock.has_step(key(name)).unwrap(), stock.has_judgment(key(name)).unwrap());
            assert_eq!(has, (expected.is_some(), expected.is_some()), "{name}");
        }
    };
    write(&before, "before", "a");
    check("a", None);
    write(&own, "own", "a");
    check("a", Some("own"));
    for name in ["a", "b"] {
        write(&other, "other", name);
    }
    check("a", Some("own"));
    check("b", None);
    write(&own, "own", "b");
    write(&before, "before", "b");
    for _ in 0..2 {
        check("a", Some("own"));
        check("b", Some("own"));
        check("c", None);
        let connection = store.writing();
        let transaction = connection.begin().unwrap();
        crate::reuse::index_writer::index_all(&transaction).unwrap();
        transaction.commit().unwrap();
    }
    let runs = |run: &str, oldest| store.reuse_view(run, oldest).unwrap().step(key("a")).unwrap().map(|it| it.run);
    assert_eq!((runs("none", None), runs("none", Some(Moment(10)))), (None, None));
    assert_eq!(runs("none", Some(Moment(9))).as_deref(), Some("other"));
    assert_eq!(runs("own", Some(Moment(i64::MIN))).as_deref(), Some("other"));
}

/// An invalidated result is not found by its own run either when another run's copy has taken its place.
#[test]
pub(crate) fn invalidated_results_stay_so_for_their_own_run() {
    let folder = folder();
    let store = store_in(&folder);
    let output = Arc::new(json!("x"));
    for run in ["first", "second"] {
        let ledger = store.begin(&header(run, 1)).unwrap();
        block_on(
            ledger.append(vec![Record::Step(step("a", &output).into()), Record::Cell(cell(0, "a", &output).into())]),
        )
        .unwrap();
    }
    let found = || store.reuse_view("second", None).unwrap().step(key("a")).unwrap().map(|it| it.run);
    assert_eq!(found().as_deref(), Some("second"));
    assert_eq!(store.invalidate("second", None, APPLY).unwrap().gone.len(), 1);
    assert_eq!((found(), store.step(key("a")).unwrap().unwrap().run.as_str()), (None, "first"));
}

/// BY-06: results of another process are found, whether they wait for the index or are in it; the latest counts.
#[test]
pub(crate) fn results_of_another_process_are_found() {
    let folder = folder();
    let (store, other) = (store_in(&folder), store_in(&folder));
    let ledger = store.begin(&header("r", 1)).unwrap();
    let outputs: Vec<_> = (0..6).map(|n| Arc::new(json!(n))).collect();
    let found = |store: &Store, name: &str| store.step(key(name)).unwrap().map(|stored| stored.record.output);
    for (at, output) in outputs.iter().enumerate() {
        block_on(
            ledger.append(vec![
                Record::Step(step("s", output).into()),
                Record::Step(step(&at.to_string(), output).into()),
            ]),
        )
        .unwrap();
        other.catch_up().unwrap();
        assert_eq!(found(&other, "s"), Some(output.clone()));
        if at % 2 == 1 {
            let connection = store.writing();
            let transaction = connection.begin().unwrap();
            crate::reuse::index_writer::index_all(&transaction).unwrap();
            transaction.commit().unwrap();
            store.catch_up().unwrap();
        }
        for store in [&store, &other] {
            assert_eq!(found(store, "s"), Some(output.clone()));
            for (past, output) in outputs[..=at].iter().enumerate() {
                assert_eq!(found(store, &past.to_string()), Some(output.clone()));
            }
            assert_eq!(found(store, "none"), None);
        }
    }
}

/// Runs with many outputs, whose keys enter the index part by part.
struct Indexed {
    folder: TempDir,
    output: Arc<Value>,
}

impl Indexed {
    fn new() -> Self {
        Self { folder: folder(), output: Arc::new(json!("same")) }
    }

    /// Writes this many outputs in one commit, with keys of this prefix.
    fn write(&self, ledger: &crate::Ledger, prefix: &str, count: usize) {
        let steps = (0..count).map(|n| Record::Step(step(&format!("{prefix} {n}"), &self.output).into()));
        block_on(ledger.append(steps.collect())).unwrap();
    }
}

/// Number of keys in the index, and of keys that wait.
fn indexed_and_waiting(store: &Store) -> (i64, i64) {
    let count = |query: &str| store.writing().query_row(query, params![], |row| row.get(0)).unwrap();
    (count("select count(*) from reuse"), count("select waiting from reuse_state"))
}

/// The run whose output a key leads to.
fn maker(store: &Store, name: &str) -> Option<String> {
    store.step(key(name)).unwrap().map(|stored| stored.run)
}

/// PE-22, BY-06: once enough keys wait, each commit inserts some into the index, and no commit inserts all.
#[test]
pub(crate) fn keys_come_into_the_index_part_by_part() {
    let many = Indexed::new();
    let store = store_in(&many.folder);
    store.catch_up().unwrap();
    let ledger = store.begin(&header("r", 1)).unwrap();
    let mut seen = Vec::new();
    for (prefix, count) in [("a", 65_536), ("b", 20_000), ("c", 20_000), ("d", 1)] {
        many.write(&ledger, prefix, count);
        seen.push(indexed_and_waiting(&store));
        for name in ["a 0", "a 30000", "a 65535", &format!("{prefix} {}", count - 1)] {
            assert_eq!(maker(&store, name).as_deref(), Some("r"), "{name}");
        }
    }
    assert_eq!(seen, [(0, 65_536), (40_000, 85_536), (65_536, 40_000), (65_536, 40_001)]);
    // A process that saw the index from its start rejects unknown keys without a query; a later process must ask.
    let known =
        |store: &Store, name: &str| store.0.known_keys.recall((key(name), SectionKind::Outputs)).map(|it| it.is_some());
    assert_eq!((known(&store, "none"), known(&store, "d 0"), known(&store, "a 1")), (Some(false), Some(true), None));
    let later = store_in(&many.folder);
    later.catch_up().unwrap();
    assert_eq!((known(&later, "none"), known(&later, "d 0")), (None, Some(true)));
    assert_eq!(later.step(key("none")).unwrap(), None);
    // Places read from the index are known until this process learns that the index has changed.
    for store in [&store, &later] {
        assert_eq!((maker(store, "a 1").as_deref(), known(store, "a 1")), (Some("r"), Some(true)));
    }
    later.0.known_keys.discard();
    later.catch_up().unwrap();
    assert_eq!((known(&later, "a 1"), known(&store, "a 1")), (None, Some(true)));
    ["e", "f"].iter().for_each(|prefix| many.write(&ledger, prefix, 60_000));
    assert_eq!((known(&store, "a 1"), maker(&store, "a 1").as_deref()), (None, Some("r")));
}

/// PE-22: after many hits in the index, the whole index is read once, and later look-ups need no query.
#[test]
pub(crate) fn a_frequently_hit_index_is_read_as_a_whole() {
    let many = Indexed::new();
    let store = store_in(&many.folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    many.write(&ledger, "a", 4_000);
    store.prune(Moment(0), false, true).unwrap();
    assert_eq!(indexed_and_waiting(&store), (4_000, 0));
    let is_known =
        |name: &str| store.0.known_keys.recall((key(name), SectionKind::Outputs)).is_some_and(|it| it.is_some());
    for at in 0..256 {
        assert!(!is_known("a 3999"));
        assert_eq!(maker(&store, &format!("a {at}")).as_deref(), Some("r"));
    }
    assert!((0..4_000).all(|at| is_known(&format!("a {at}"))));
    assert_eq!(store.step(key("a 4000")).unwrap(), None);
    // A later copy by another run counts.
    let later = store.begin(&header("later", 1)).unwrap();
    many.write(&later, "a", 1);
    assert_eq!(maker(&store, "a 0").as_deref(), Some("later"));
}

/// BY-06: waiting keys are found while another process writes and this process learns of it in between.
#[test]
pub(crate) fn waiting_keys_are_found_while_others_write() {
    let folder = folder();
    let (store, elsewhere) = (store_in(&folder), store_in(&folder));
    let (own, other) = (store.begin(&header("own", 1)).unwrap(), elsewhere.begin(&header("other", 1)).unwrap());
    let output = Arc::new(json!("x"));
    let write = |ledger: &crate::Ledger, name: &str| {
        block_on(ledger.append(vec![Record::Step(step(name, &output).into())])).unwrap();
    };
    write(&own, "waits");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0..100 {
                write(&other, &format!("other {at}"));
                write(&own, &format!("own {at}"));
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            assert_eq!(maker(&store, "waits").as_deref(), Some("own"));
        }
    });
}

/// Keys that an ended process has not inserted are inserted by the next process that writes many, and do not wait
/// forever.
#[test]
pub(crate) fn keys_do_not_wait_forever() {
    let many = Indexed::new();
    let store = store_in(&many.folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    many.write(&ledger, "a", 65_536);
    many.write(&ledger, "b", 10_000);
    drop((ledger, store));
    let store = store_in(&many.folder);
    let ledger = store.reopen("r").unwrap();
    assert_eq!(indexed_and_waiting(&store), (20_000, 75_536));
    assert_eq!(store.cached_results().unwrap().iter().map(|run| run.outputs).sum::<u64>(), 75_536);
    // Insertion starts again with the keys that wait now; a few of each part are in the index already.
    for (count, expected) in [(4095, 79_631), (1, 79_632), (100, 79_732), (51_340, 0)] {
        many.write(&ledger, &format!("{count} more"), count);
        assert_eq!(indexed_and_waiting(&store).1, expected);
    }
    assert_eq!(indexed_and_waiting(&store).0, 131_072);
    for name in ["a 0", "a 65535", "b 9999", "100 more 99", "51340 more 51339"] {
        assert_eq!(maker(&store, name).as_deref(), Some("r"), "{name}");
    }
}

/// BY-06: a result that several runs made counts once, for the latest run, whether its key is in the index or waits.
#[test]
pub(crate) fn a_result_counts_once() {
    let folder = folder();
    let store = store_in(&folder);
    let output = Arc::new(json!("x"));
    let make = |run: &str, names: &[&str]| {
        let ledger = store.begin(&header(run, 1)).unwrap();
        let steps = names.iter().map(|name| Record::Step(step(name, &output).into()));
        block_on(ledger.append(steps.collect())).unwrap();
    };
    let counts = || -> Vec<(String, u64)> {
        store.cached_results().unwrap().into_iter().map(|cached| (cached.run, cached.outputs)).collect()
    };
    let check = |sets: &[bool], expected: &[(&str, u64)]| {
        for index in sets {
            if *index {
                let connection = store.writing();
                let transaction = connection.begin().unwrap();
                crate::reuse::index_writer::index_all(&transaction).unwrap();
                transaction.commit().unwrap();
            }
            let expected: Vec<_> = expected.iter().map(|(run, outputs)| ((*run).to_owned(), *outputs)).collect();
            assert_eq!(counts(), expected, "{index}");
        }
    };
    make("first", &["a", "b"]);
    make("second", &["a"]);
    check(&[false, true], &[("second", 1), ("first", 1)]);
    make("third", &["a"]);
    check(&[false, true], &[("third", 1), ("first", 1)]);
}

/// CL-23, BY-06: results that others invalidate or repeat while keys are inserted part by part stay so.
#[test]
pub(crate) fn late_keys_undo_no_invalidation() {
    let many = Indexed::new();
    let (store, elsewhere) = (store_in(&many.folder), store_in(&many.folder));
    let first = store.begin(&header("first", 1)).unwrap();
    many.write(&first, "a", 65_536);
    drop(first);
    let second = store.begin(&header("second", 1)).unwrap();
    many.write(&second, "b", 5000);
    assert_eq!(elsewhere.invalidate("first", None, APPLY).unwrap().gone.len(), 65_536);
    let other = elsewhere.begin(&header("other", 1)).unwrap();
    many.write(&other, "b", 1);
    many.write(&second, "c", 5000);
    store.catch_up().unwrap();
    assert_eq!(indexed_and_waiting(&store), (5000, 5001));
    assert_eq!((maker(&store, "a 0"), maker(&store, "a 65535")), (None, None));
    assert_eq!((maker(&store, "b 0").as_deref(), maker(&store, "b 1").as_deref()), (Some("other"), Some("second")));
}

/// BY-06, invariant 4, identity is content: only sound judgments are reused, and the latest of them, whichever run made it.
#[test]
pub(crate) fn only_sound_judgments_are_reused() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 9)).unwrap();
    let sound = judgment(1, 0, 2, "j");
    let failed = JudgmentRecord { error: Some(CellError::new("parse", "no JSON")), ..judgment(2, 0, 2, "j") };
    let unscored = JudgmentRecord { scores: vec![(1, Score::unscored("no number"))], ..judgment(3, 0, 2, "j") };
    let only_failed = JudgmentRecord { error: Some(CellError::new("parse", "no JSON")), ..judgment(4, 0, 0, "f") };
    block_on(async {
        for judgment in [&sound, &failed, &unscored, &only_failed] {
            ledger.append(vec![Record::Judgment(judgment.clone().into())]).await.unwrap();
        }
    });
    assert_eq!(store.judgment(key("j")).unwrap().unwrap().record, sound);
    assert_eq!(store.judgment(key("f")).unwrap(), None);

    let finished = store.finished_cells("r").unwrap();
    assert!([1, 2, 3].iter().all(|ordinal| finished.has_judgment(*ordinal, 0, 2)));
    assert!(finished.has_judgment(4, 0, 0) && !finished.has_judgment(4, 0, 2));
    assert!(!finished.is_unscored(1, 0, 2) && finished.is_unscored(2, 0, 2) && finished.is_unscored(3, 0, 2));
}

/// Invariant 2, capture before parsing: a call is found with its raw bytes: its own run first, then any; an answer before a failure.
#[test]
pub(crate) fn calls_are_found_with_their_raw_bytes() {
    let folder = folder();
    let store = store_in(&folder);
    let answered = call("c");
    let ledger = store.begin(&header("early", 1)).unwrap();
    block_on(async {
        ledger.append(vec![Record::Call(call("other")), Record::Call(answered.clone())]).await.unwrap();
        ledger.append(vec![Record::Call(failed_call("c"))]).await.unwrap();
    });
    let later = CallRecord { model: "second".to_owned(), ..call("c") };
    let ledger = store.begin(&header("late", 1)).unwrap();
    block_on(ledger.append(vec![Record::Call(later.clone())])).unwrap();
    store.begin(&header("empty", 1)).unwrap();

    let found = |run| store.call(run, key("c")).unwrap().unwrap();
    assert_eq!(found(Some("early")).record, answered);
    assert_eq!(found(Some("late")).record, later);
    assert_eq!((found(Some("empty")).run.as_str(), found(None).record), ("late", later));
    assert_eq!(store.call(None, key("never made")).unwrap(), None);
    assert!(store.call(Some("no run"), key("c")).unwrap_err().to_string().contains("late"));
}

//! Plans, headers and records for tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{Store, StoreUrl, Withdraw};
use bytes::Bytes;
use karat_types::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// An invalidation, one on trial, and one that also withdraws what others use.
pub const APPLY: Withdraw = Withdraw { apply: true, force: false };
pub const DRY: Withdraw = Withdraw { apply: false, force: false };
pub const FORCE: Withdraw = Withdraw { apply: true, force: true };

pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

thread_local! {
    /// The database of a test that runs with a server.
    static DATABASE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The addresses of folders on servers, so that a second store in a folder is the same store.
static ADDRESSES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Runs a test with a store on a server in place of each file. Without PostgreSQL it is skipped.
pub fn on_server(test: fn()) {
    if let Some(cluster) = testkit::postgres() {
        DATABASE.set(Some(cluster.database().unwrap()));
        test();
        DATABASE.set(None);
    }
}

/// The address of the store in a folder: a file in it, or a schema of the test's database that belongs to the folder.
pub fn url_in(folder: impl AsRef<Path>) -> StoreUrl {
    let Some(database) = DATABASE.with_borrow(Clone::clone) else {
        return StoreUrl::in_folder(folder);
    };
    let mut addresses = ADDRESSES.lock().unwrap();
    let schema = format!("t{}_{}", std::process::id(), addresses.len());
    let database = database.split("&schema=").next().unwrap();
    let address = addresses.entry(folder.as_ref().to_owned()).or_insert_with(|| format!("{database}&schema={schema}"));
    address.parse().unwrap()
}

pub fn store_in(folder: &TempDir) -> Store {
    Store::open(&url_in(folder.path().join(".karat"))).unwrap()
}

pub fn key(name: &str) -> Key {
    Key::of("test", name.as_bytes())
}

pub fn plan(name: &str, rows: u64, systems: usize, trials: u32) -> PlanHeader {
    let systems = (0..systems).map(|variant| System { model: None, variant, trials }).collect();
    PlanHeader {
        services: Default::default(),
        tools: Vec::new(),
        as_of: None,
        schema: "karat.plan/1".to_owned(),
        suite: name.to_owned(),
        about: None,
        suite_hash: "0".repeat(64),
        plan_hash: key(name),
        params: Map::new(),
        dataset: DatasetHeader {
            rows,
            hash: "d".to_owned(),
            sources: Vec::new(),
            version: None,
            clustered: false,
            zone: None,
            mismatches: Default::default(),
            changelog: None,
            design: None,
        },
        models: Vec::new(),
        judges: Vec::new(),
        embedders: Vec::new(),
        variants: Vec::new(),
        systems,
        trials,
        scorers: Vec::new(),
        metrics: Vec::new(),
        headline: Vec::new(),
        analyses: Vec::new(),
        statistics: Default::default(),
        run: RunSpec {
            stop_early: None,
            max_concurrency: 8,
            timeout_ms: 60_000,
            cell_timeout_ms: None,
            retries: 5,
            budget_usd: Some(0.1 + 0.2),
            budget_declared: true,
            max_calls: None,
            refuses_calls: true,
            batch: false,
            call_log: Some("calls.log".to_owned()),
            cell_line: Some("{sample}".to_owned()),
            capture: Capture::Responses,
            prints_rows: false,
            layout: Default::default(),
            seed: u64::MAX,
            cache: CachePolicy::Reuse,
            measures_judges: false,
        },
        tokenizer: "o200k_base".to_owned(),
        privacy: PrivacySpec::default(),
    }
}

pub fn header(id: &str, rows: u64) -> RunHeader {
    RunHeader {
        id: id.to_owned(),
        plan: Arc::new(plan("suite", rows, 1, 1)),
        started_at: Moment(1_700_000_000_000),
        completed_at: None,
        status: RunStatus::Running,
        version: "0.1.0".to_owned(),
        shard: None,
        git_commit: None,
        invocation: json!({"suite": "karat.yaml"}),
    }
}

pub fn sample(row: u64) -> SampleRecord {
    SampleRecord { row, id: format!("s{row}"), ..SampleRecord::default() }
}

pub fn call(name: &str) -> CallRecord {
    CallRecord {
        key: key(name),
        model: "mock".to_owned(),
        request: Bytes::from(format!(r#"{{"ask":"{name}"}}"#)),
        response: Bytes::from(format!(r#"{{"answer":"{name}"}}"#)),
        status: Some(200),
        usage: Some(Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() }),
        cost: Some(Money(1_500)),
        cost_source: CostSource::Table,
        reserved: Money(4_000),
        latency_ms: 12.5,
        attempts: 1,
        impossible: false,
        finish: Some(FinishReason::Stop),
        error: None,
    }
}

pub fn failed_call(name: &str) -> CallRecord {
    CallRecord {
        response: Bytes::new(),
        usage: None,
        cost: None,
        cost_source: CostSource::Unknown,
        attempts: 6,
        finish: None,
        error: Some(CallError { code: CallErrorCode::Timeout, message: "no answer".to_owned(), status: None }),
        ..call(name)
    }
}

pub fn step(name: &str, output: &Arc<Value>) -> StepRecord {
    StepRecord {
        key: key(name),
        output: Arc::clone(output),
        notes: Vec::new(),
        usage: Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() },
        cost: Some(Money(1_500)),
        latency_ms: 12.5,
        calls: vec![key(name)],
        facts: ResponseFacts::default(),
    }
}

pub fn cell(ordinal: u64, name: &str, output: &Arc<Value>) -> CellRecord {
    CellRecord {
        ordinal,
        key: key(name),
        status: CellStatus::Ok,
        reused: false,
        made_at: None,
        output: Some(Arc::clone(output)),
        output_hash: Key::of("output", output.to_string().as_bytes()),
        scores: vec![(0, Score::value(0.1 + ordinal as f64))],
        cost: CellCost { usage: Usage::default(), cost: Some(Money(1_500)), paid: Money(1_500) },
        latency_ms: 12.5,
        calls: vec![key(name)],
        facts: ResponseFacts::default(),
        notes: Vec::new(),
        error: None,
    }
}

pub fn failed_cell(ordinal: u64, name: &str) -> CellRecord {
    CellRecord {
        status: CellStatus::Error,
        output: None,
        scores: Vec::new(),
        error: Some(CellError::new("timeout", "no answer")),
        ..cell(ordinal, name, &Arc::new(Value::Null))
    }
}

pub fn judgment(ordinal: u64, scorer: u16, judge: u16, name: &str) -> JudgmentRecord {
    JudgmentRecord {
        ordinal,
        key: key(name),
        scorer,
        judge,
        scores: vec![(1, Score::value_because(7.5, "well said"))],
        reasoning: format!("the words of judge {judge}"),
        diagnostics: Map::new(),
        caps: Vec::new(),
        rounds: Vec::new(),
        rung: Some("direct".to_owned()),
        shuffle_seed: 3,
        prompt_version: Some("2".to_owned()),
        reused: false,
        made_at: None,
        error: None,
        cost: CellCost::default(),
        latency_ms: 1.0,
        calls: vec![key(&format!("call of {name}"))],
        notes: Vec::new(),
        answered: Vec::new(),
        cascade: None,
    }
}

/// All records of a cell with one call.
pub fn whole_cell(ordinal: u64) -> Vec<Record> {
    let name = format!("cell {ordinal}");
    let output = Arc::new(json!({"text": name}));
    vec![
        Record::Sample(sample(ordinal)),
        Record::Call(call(&name)),
        Record::Step(step(&name, &output).into()),
        Record::Cell(cell(ordinal, &name, &output).into()),
    ]
}

pub type Row = (SampleRecord, usize, u32, CellRecord, Vec<JudgmentRecord>);

/// All rows of a run, in order.
pub fn rows(store: &Store, run: &str) -> Vec<Row> {
    rows_of(store, run, 0..u64::MAX)
}

/// The rows with these ordinals.
pub fn rows_of(store: &Store, run: &str, ordinals: Range<u64>) -> Vec<Row> {
    let mut rows = Vec::new();
    store
        .rows(run)
        .unwrap()
        .for_each_in(ordinals, &mut |row| {
            rows.push((row.sample.clone(), row.system, row.trial, row.cell.clone(), row.judgments.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// The ordinals of a run's rows.
pub fn ordinals(store: &Store, run: &str) -> Vec<u64> {
    rows(store, run).into_iter().map(|(_, _, _, cell, _)| cell.ordinal).collect()
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

//! Measures how fast cells become durable, compared with a flat file that gets the same bytes.
//!
//! `cargo bench -p karat-store --bench ledger -- [CELLS] [IN_FLIGHT] [WORDS] [FOLDER]`. A cell is a sample, a share
//! of a reservation, a call with its trace (a question of WORDS words and a short answer), a step, and a row with
//! three scores: the records of a cell with one call. `synchronous=FULL`: each commit is on disk before it is
//! acknowledged.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a benchmark prints figures and stops at the first trouble"
)]

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use karat_store::{Store, StoreUrl};
use karat_types::{
    CachePolicy, CallRecord, Capture, CellCost, CellRecord, CellStatus, CostSource, DatasetHeader, FinishReason, Key,
    Moment, Money, PlanHeader, PrivacySpec, Record, RunHeader, RunRows, RunSpec, RunStatus, SampleRecord, Score,
    StepRecord, System, Usage,
};
use serde_json::{Map, Value, json};

/// Number of cells created in memory before they are written, so that creating them is not measured.
const BATCH: u64 = 10_000;

/// Number of records between two syncs of the flat file.
const FLAT_GROUP: usize = 256;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let cells = arguments.next().map_or(20_000, |text| text.parse().expect("the number of cells"));
    let in_flight = arguments.next().map_or(1_024, |text| text.parse().expect("the number of cells in flight"));
    let words = arguments.next().map_or(60, |text| text.parse().expect("the number of words of a question"));
    let folder = arguments.next().map_or_else(|| PathBuf::from("target"), PathBuf::from).join("ledger-bench");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder to write in");

    let flat = write_flat(&folder.join("flat"), cells, words);
    println!("flat file, one fdatasync per {FLAT_GROUP} cells: {flat}");
    let url = StoreUrl::in_folder(folder.join("store"));
    let ledger = write_ledger(&url, cells, in_flight, words);
    println!("ledger, {in_flight} cells in flight:            {ledger}");
    println!("ledger / flat file: {:.2} of the speed", flat.wall.as_secs_f64() / ledger.wall.as_secs_f64());
    read_back(&url, cells);
    fs::remove_dir_all(&folder).expect("the folder is removed");
}

/// The measured values.
struct Measured {
    cells: u64,
    wall: Duration,
    cpu: Duration,
    bytes: u64,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells = self.cells as f64;
        write!(
            f,
            "{:.0} cells/s, {:.1} µs CPU a cell, {:.0} bytes a cell ({:.2} s)",
            cells / self.wall.as_secs_f64(),
            self.cpu.as_secs_f64() * 1e6 / cells,
            self.bytes as f64 / cells,
            self.wall.as_secs_f64()
        )
    }
}

/// Sums the time of the measured parts.
#[derive(Default)]
struct Watch {
    wall: Duration,
    cpu: Duration,
}

impl Watch {
    #[allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
    fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), cpu_time());
        let result = work();
        self.wall += wall.elapsed();
        self.cpu += cpu_time() - cpu;
        result
    }
}

/// Returns the CPU time of all threads of this process from `/proc/self/stat`, in hundredths of a second.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn write_flat(path: &Path, cells: u64, words: usize) -> Measured {
    let mut file = File::create(path).expect("a file");
    let (mut watch, mut bytes) = (Watch::default(), 0);
    for from in (0..cells).step_by(BATCH as usize) {
        let batch: Vec<Vec<u8>> = (from..cells.min(from + BATCH)).map(|ordinal| flat_bytes(ordinal, words)).collect();
        bytes += batch.iter().map(|cell| cell.len() as u64).sum::<u64>();
        watch.measure(|| {
            for group in batch.chunks(FLAT_GROUP) {
                file.write_all(&group.concat()).and_then(|()| file.sync_data()).expect("a written group");
            }
        });
    }
    Measured { cells, wall: watch.wall, cpu: watch.cpu, bytes }
}

fn flat_bytes(ordinal: u64, words: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in cell(ordinal, words) {
        match record {
            Record::Call(call) => bytes.extend(call.request.iter().chain(&call.response)),
            Record::Cell(cell) => bytes.extend(serde_json::to_vec(&(&cell.scores, &cell.output)).expect("JSON")),
            _ => {}
        }
    }
    bytes
}

fn write_ledger(url: &StoreUrl, cells: u64, in_flight: u64, words: usize) -> Measured {
    let store = Store::open(url).expect("a store");
    let ledger = store.begin(&header(cells)).expect("a run");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut watch = Watch::default();
    for from in (0..cells).step_by(BATCH as usize) {
        let mut batch: Vec<Vec<Record>> = (from..cells.min(from + BATCH)).map(|ordinal| cell(ordinal, words)).collect();
        batch.reverse();
        watch.measure(|| {
            runtime.block_on(async {
                let mut tasks = tokio::task::JoinSet::new();
                loop {
                    while tasks.len() < in_flight as usize {
                        let Some(records) = batch.pop() else { break };
                        let ledger = ledger.clone();
                        tasks.spawn(async move { ledger.append(records).await });
                    }
                    let Some(done) = tasks.join_next().await else { break };
                    done.expect("a task").expect("a durable cell");
                }
            });
        });
    }
    watch.measure(|| {
        runtime.block_on(ledger.finish(RunStatus::Finished, Moment(1))).expect("a finished run");
        drop((ledger, store));
    });
    let folder = url.path().parent().expect("a folder");
    let bytes = fs::read_dir(folder)
        .expect("the store's folder")
        .map(|entry| entry.and_then(|entry| entry.metadata()).map_or(0, |metadata| metadata.len()));
    Measured { cells, wall: watch.wall, cpu: watch.cpu, bytes: bytes.sum() }
}

fn read_back(url: &StoreUrl, cells: u64) {
    let mut opening = Watch::default();
    let store = opening.measure(|| Store::open(url)).expect("a store");
    println!("open: {:.1} ms", opening.wall.as_secs_f64() * 1e3);
    let timed = |what: &str, work: &mut dyn FnMut()| {
        let mut watch = Watch::default();
        watch.measure(work);
        println!("{what}: {:.2} s", watch.wall.as_secs_f64());
    };
    timed("rows in plan order", &mut || {
        let (mut rows, mut sum) = (0, 0.0);
        let read = store.rows("bench").expect("the run").for_each(&mut |row| {
            rows += 1;
            sum += row.cell.scores.iter().filter_map(|(_, score)| score.number()).sum::<f64>();
            ControlFlow::Continue(())
        });
        read.expect("all rows");
        assert!(rows == cells && sum > 0.0, "{rows} rows");
    });
    timed("finished cells", &mut || {
        assert_eq!(store.finished_cells("bench").expect("the run").cells.len(), cells);
    });
    timed("paid calls", &mut || assert!(store.account("bench").expect("the run").paid.is_empty()));
    timed("10,000 steps by key, in plan order", &mut || {
        for ordinal in 0..cells.min(10_000) {
            assert!(store.step(key("step", ordinal)).expect("a step").is_some());
        }
    });
    timed("one call by key", &mut || assert!(store.call(None, key("call", 0)).expect("a call").is_some()));
    println!("peak memory: {} MiB", peak_memory_kib() / 1024);
}

/// Returns the largest resident set of this process so far.
fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

fn key(domain: &str, ordinal: u64) -> Key {
    Key::of(domain, &ordinal.to_le_bytes())
}

/// Returns the records of a cell with one call.
fn cell(ordinal: u64, words: usize) -> Vec<Record> {
    let (call, step) = (key("call", ordinal), key("step", ordinal));
    let answer = format!("code-{:.10}", step.to_string());
    let context = text(ordinal, words);
    let question =
        format!("Item {ordinal:06}. Context: {context}. What is the code of this item? Answer with the code only.");
    let request = json!({"model": "mock-model", "temperature": 0, "messages": [
        {"role": "system", "content": "Answer the question in a few sentences. Name your sources."},
        {"role": "user", "content": question},
    ]});
    let response = json!({"id": format!("chatcmpl-{call}"), "object": "chat.completion", "model": "mock-model",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 240, "completion_tokens": 130, "total_tokens": 370}});
    let usage = Usage { input_tokens: 240, output_tokens: 130, ..Usage::default() };
    let cost = Money(500_000 + i128::from(ordinal % 97));
    let output = Arc::new(Value::String(answer));
    let mut records = vec![
        Record::Sample(SampleRecord { row: ordinal, id: format!("q-{ordinal}"), ..SampleRecord::default() }),
        Record::Call(CallRecord {
            key: call,
            model: "mock".to_owned(),
            request: Bytes::from(request.to_string()),
            response: Bytes::from(response.to_string()),
            status: Some(200),
            usage: Some(usage),
            cost: Some(cost),
            cost_source: CostSource::Table,
            reserved: Money(900_000),
            latency_ms: 100.25,
            attempts: 1,
            impossible: false,
            finish: Some(FinishReason::Stop),
            error: None,
        }),
        Record::Step(
            StepRecord {
                key: step,
                output: Arc::clone(&output),
                notes: Vec::new(),
                usage,
                cost: Some(cost),
                latency_ms: 100.25,
                calls: vec![call],
                facts: Default::default(),
            }
            .into(),
        ),
        Record::Cell(
            CellRecord {
                ordinal,
                key: step,
                status: CellStatus::Ok,
                reused: false,
                made_at: None,
                output: Some(output),
                output_hash: key("output", ordinal),
                scores: (0..3).map(|metric| (metric, Score::value((ordinal % 10) as f64 / 10.0))).collect(),
                cost: CellCost { usage, cost: Some(cost), paid: cost },
                latency_ms: 100.25,
                calls: vec![call],
                facts: Default::default(),
                notes: Vec::new(),
                error: None,
            }
            .into(),
        ),
    ];
    if ordinal.is_multiple_of(64) {
        records.insert(0, Record::Reserved { calls: 64, upper: Money(64 * 900_000) });
    }
    records
}

/// Returns a text of pseudo-random words.
fn text(seed: u64, count: usize) -> String {
    const WORDS: [&str; 26] = [
        "system", "report", "value", "market", "signal", "water", "energy", "region", "policy", "model", "record",
        "sample", "storage", "network", "engine", "review", "history", "library", "planet", "garden", "bridge",
        "letter", "harbor", "window", "coffee", "evening",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..count).map(|_| WORDS[draw() % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

fn header(cells: u64) -> RunHeader {
    let plan = PlanHeader {
        services: Default::default(),
        tools: Vec::new(),
        as_of: None,
        schema: "karat.plan/1".to_owned(),
        suite: "bench".to_owned(),
        about: None,
        suite_hash: String::new(),
        plan_hash: key("plan", cells),
        params: Map::new(),
        dataset: DatasetHeader {
            rows: cells,
            hash: String::new(),
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
        systems: vec![System { model: None, variant: 0, trials: 1 }],
        trials: 1,
        scorers: Vec::new(),
        metrics: Vec::new(),
        headline: Vec::new(),
        analyses: Vec::new(),
        statistics: Default::default(),
        run: RunSpec {
            stop_early: None,
            max_concurrency: 64,
            timeout_ms: 60_000,
            cell_timeout_ms: None,
            retries: 5,
            budget_usd: None,
            budget_declared: false,
            max_calls: None,
            refuses_calls: false,
            cell_line: None,
            call_log: None,
            batch: false,
            capture: Capture::Full,
            prints_rows: false,
            layout: Default::default(),
            seed: 0,
            cache: CachePolicy::Reuse,
            measures_judges: false,
        },
        tokenizer: "o200k_base".to_owned(),
        privacy: PrivacySpec::default(),
    };
    RunHeader {
        id: "bench".to_owned(),
        plan: Arc::new(plan),
        started_at: Moment(0),
        completed_at: None,
        status: RunStatus::Running,
        version: String::new(),
        shard: None,
        git_commit: None,
        invocation: Value::Null,
    }
}

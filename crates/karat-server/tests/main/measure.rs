//! Server times of pages on a run of 100,000 cells (DB-60). Prints a table and asserts no time: machines differ.
//!
//! `cargo test -p karat-server --test main -- --ignored --nocapture measure`; `KARAT_TEST_CELLS` sets the number of cells.

use std::fs;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use karat_app::{CallRecording, Execution, Invocation, Stop, ViewState};
use karat_types::SilentObserver;
use serde_json::json;

use crate::place::Place;

const SUITE: &str = "
name: large
dataset: { source: data.jsonl, id: id, input: q, reference: gold }
models:
  - { id: echo, provider: scripted, with: { reply: '{{ user }}' } }
  - { id: terse, provider: scripted, with: { reply: '{{ user[:12] }}' } }
variants:
  plain: [ { prompt: { text: '{{ sample.q }}' } } ]
  json: [ { prompt: { text: '{{ sample.q }}' }, parse: { as: json } } ]
scorers:
  hit: { metric: contains }
  f1: { metric: token_f1 }
  near: { metric: levenshtein }
";

/// Requests of each page.
const ROUNDS: usize = 20;

fn large_run(place: &Place, cells: usize) -> Duration {
    let folder = place.app.home.join("suite");
    fs::create_dir_all(&folder).unwrap();
    let row = |at: usize| {
        let word = format!("word{}", at * 7_919 % 10_007);
        let question =
            if at.is_multiple_of(3) { format!("{{\"a\": \"{word}\"}}") } else { format!("{word} and {at} more words") };
        format!("{}\n", json!({ "id": format!("sample/{at:06}"), "q": question, "gold": word }))
    };
    fs::write(folder.join("data.jsonl"), (0..cells / 4).map(row).collect::<String>()).unwrap();
    fs::write(folder.join("karat.yaml"), SUITE).unwrap();
    let invocation = Invocation::of(folder.join("karat.yaml").display().to_string());
    let execution = Execution {
        run_id: Some("large".to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    };
    let begun = Instant::now();
    place.app.runs().run(place.app.runs().load(&invocation).unwrap(), &invocation, execution).unwrap();
    begun.elapsed()
}

/// DB-60: the server time of each page of a run of 100,000 cells.
#[test]
#[ignore = "takes minutes and prints a table"]
fn measure_pages_of_a_large_run() {
    let cells: usize = std::env::var("KARAT_TEST_CELLS").ok().and_then(|cells| cells.parse().ok()).unwrap_or(100_000);
    let place = Place::view();
    println!("{cells} cells made in {:.1} s", large_run(&place, cells).as_secs_f64());
    let cold = place.reopened();
    let begun = Instant::now();
    let first = cold.page("/runs/large/cells");
    println!("first request {:.0} ms, {} bytes", millis(begun.elapsed()), first.text.len());
    while matches!(cold.app.views().run("large").unwrap(), ViewState::Building { .. }) {}
    println!("index built in {:.2} s", begun.elapsed().as_secs_f64());
    let warm = place.reopened();
    let begun = Instant::now();
    warm.page("/runs/large/cells");
    println!("first request of a process with a stored index {:.0} ms", millis(begun.elapsed()));
    let cursor = format!("/runs/large/cells?sort=-f1&after={}", cells / 2);
    let cell = format!("/runs/large/cell?n={}&sort=-f1", cells / 2 + 1);
    let pages = [
        ("runs", "/", 300),
        ("run", "/runs/large", 300),
        ("two models of a run", "/compare?a=echo&b=terse&of=model&run=large", 300),
        ("cells", "/runs/large/cells", 300),
        ("cells, sorted by metric", "/runs/large/cells?sort=-f1", 200),
        ("cells, sorted by id", "/runs/large/cells?sort=-sample", 200),
        ("cells, filtered", "/runs/large/cells?metric=f1&lt=0.5&model=terse&flag=unscored&flag=error", 200),
        ("cells, id searched", "/runs/large/cells?q=0123", 200),
        ("cells, error searched", "/runs/large/cells?q=parse", 200),
        ("cells, a page in the middle", &cursor, 200),
        ("sample", "/runs/large/sample?id=sample/001234&flag=error&sort=-f1", 300),
        ("trace", &cell, 300),
        ("trace of the first cell", "/runs/large/cell?n=0", 300),
    ];
    let before = resident_mib();
    println!(
        "{:<30} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8}",
        "page", "first ms", "median ms", "p95 ms", "/budget", "bytes", "gzip"
    );
    for (name, path, budget) in pages {
        let mut times = Vec::new();
        let (mut bytes, mut zipped) = (0, 0);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let answer = warm.page(path);
            times.push(millis(begun.elapsed()));
            assert_eq!(answer.status, 200, "{path}");
            (bytes, zipped) = (answer.text.len(), gzipped(&answer.text));
        }
        let first = times[0];
        times.sort_by(f64::total_cmp);
        let (median, p95) = (times[ROUNDS / 2], times[ROUNDS - 2]);
        println!(
            "{name:<30} {first:>9.1} {median:>9.1} {p95:>9.1} {:>8.2} {bytes:>9} {zipped:>8}",
            p95 / f64::from(budget)
        );
    }
    println!("memory {before:.0} MiB before, {:.0} MiB after", resident_mib());
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// Memory of this process that is in use; 0 where the system does not tell.
fn resident_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

fn gzipped(text: &str) -> usize {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap().len()
}

//! Sessions a second on one core, and the same scorer in Python where `python3` is there (SU-08).
//!
//! `cargo bench -p karat-scoring --bench summary`
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark measures time, prints, and stops when something is wrong"
)]

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use karat_scoring::summary::{AhaMoment, Fidelity, Summary};

const SESSIONS: usize = 2_000;
const ROUNDS: usize = 5;

/// A summary of the length that people write: five words, two sentences, four actions.
fn summary(seed: usize) -> Summary {
    let text = |from: usize, words: usize| -> String {
        let word =
            |at: usize| format!("{}{}", ["proxy", "cookie", "Index", "queue", "größe"][at % 5], (seed * 7 + at) % 97);
        (from..from + words).map(word).collect::<Vec<_>>().join(" ")
    };
    Summary {
        title: text(0, 5),
        summary: format!("{}. {}.", text(5, 22), text(27, 18)),
        key_actions: (0..4).map(|action| text(action * 9, 7)).collect(),
        outcome: ["success", "partial", "failed"][seed % 3].to_owned(),
        aha_moments: (0..3).map(|at| AhaMoment { seq: (seed + at) as i64, kind: format!("kind-{}", at % 2) }).collect(),
        topics_found: Vec::new(),
    }
}

fn main() {
    let pairs: Vec<(Summary, Summary)> = (0..SESSIONS).map(|at| (summary(at), summary(at + at % 4))).collect();
    let fidelity = Fidelity::default();
    let round =
        || pairs.iter().map(|(reference, candidate)| fidelity.score("s", reference, candidate).overall).sum::<f64>();
    let expected = black_box(round());
    let time = |_| {
        let start = Instant::now();
        black_box(round());
        start.elapsed().as_secs_f64()
    };
    let fastest = (0..ROUNDS).map(time).min_by(f64::total_cmp).unwrap();
    let rate = SESSIONS as f64 / fastest;
    println!("karat   {rate:>10.0} sessions/s (the fastest of {ROUNDS} × {SESSIONS})");
    let file = std::env::temp_dir().join(format!("karat-bench-summary-{}.json", std::process::id()));
    std::fs::write(&file, serde_json::to_vec(&pairs).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/summary.py");
    let python = Command::new("python3").arg(script).arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    match python {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut numbers = said.split_whitespace().map(|number| number.parse::<f64>().unwrap());
            let (theirs, sum) = (numbers.next().unwrap(), numbers.next().unwrap());
            assert!((sum - expected).abs() < 1e-6, "the two scorers differ: {sum} against {expected}");
            println!("python  {theirs:>10.0} sessions/s, the same scores\nratio   {:>10.1}", rate / theirs);
        }
        _ => println!("python  not measured: there is no python3, or the script failed"),
    }
}

//! Sessions a second on one core, and the same scorer in Python where `python3` is there (SU-08).
//!
//! `cargo bench -p karat-summary --bench summary`
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when something is wrong"
)]

use karat_summary::{AhaMoment, Fidelity, Summary};
use testkit::{time_in_python, time_work};

const SESSIONS: usize = 2_000;

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
    let score = |(reference, candidate): &(Summary, Summary)| fidelity.score("s", reference, candidate).overall;
    let ours = time_work(|| pairs.iter().map(score).sum());
    let rate = |seconds: f64| SESSIONS as f64 / seconds;
    println!("karat   {:>10.0} sessions/s", rate(ours.seconds));
    let python = time_in_python(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/summary.py"), &pairs).unwrap();
    match python.get("summary") {
        Some(theirs) => {
            assert!((theirs.result - ours.result).abs() < 1e-6, "the two scorers differ: {theirs:?} against {ours:?}");
            println!("python  {:>10.0} sessions/s, the same scores", rate(theirs.seconds));
            println!("ratio   {:>10.1}", theirs.seconds / ours.seconds);
        }
        None => println!("python  not measured: there is no python3"),
    }
}

//! Text metrics in pairs a second on one core, beside the Python packages whose numbers they reproduce.
//!
//! `cargo bench -p karat-scoring --bench text`; `PYTHON` names another interpreter than `python3`.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark measures time, prints, and stops when something is wrong"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use karat_scoring::metrics::bleu::Bleu;
use karat_scoring::metrics::chrf::Chrf;
use karat_scoring::metrics::rouge::{Rouge, RougeType};

const PAIRS: usize = 2_000;
const WORDS: usize = 20;
const ROUNDS: usize = 5;

const LEXICON: [&str; 24] = [
    "the",
    "cat",
    "relational",
    "running",
    "answers",
    "quickly",
    "because",
    "students",
    "were",
    "measuring",
    "happily",
    "and",
    "its",
    "conditional",
    "results",
    "a",
    "of",
    "on",
    "questions",
    "studied",
    "models",
    "agreed",
    "with",
    "judges",
];

/// A sentence of [`WORDS`] words; `noise` replaces some of them.
fn sentence(seed: usize, noise: usize) -> String {
    let word = |at: usize| {
        let mixed = (seed * 31 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let shift = if noise > 0 && (mixed + noise).is_multiple_of(4) { noise } else { 0 };
        LEXICON[(mixed + shift) % LEXICON.len()]
    };
    format!("{}.", (0..WORDS).map(word).collect::<Vec<_>>().join(" "))
}

/// What is measured, its name in the script's reply, its goal in pairs a second, and the score of (candidate, reference).
type Row<'a> = (&'a str, &'a str, f64, &'a dyn Fn(&str, &str) -> f64);

fn main() {
    let pairs: Vec<(String, String)> = (0..PAIRS).map(|at| (sentence(at, 0), sentence(at, 1 + at % 5))).collect();
    let rouge = Rouge { stem: true, ..Rouge::default() };
    let (bleu, chrf) = (Bleu::default(), Chrf::default());
    let rows: [Row<'_>; 3] = [
        ("ROUGE-1, 2 and L, stemmed", "rouge", 100_000.0, &|candidate, reference| {
            let found = rouge.scores([RougeType::One, RougeType::Two, RougeType::L], candidate, reference);
            found.iter().map(|overlap| overlap.f1).sum()
        }),
        ("BLEU of a sentence", "bleu", 100_000.0, &|candidate, reference| {
            bleu.sentence(candidate, &[reference]).unwrap().score
        }),
        ("chrF", "chrf", 30_000.0, &|candidate, reference| chrf.sentence(candidate, &[reference]).unwrap()),
    ];
    let python = python(&pairs);
    println!("{:<28} {:>14} {:>14} {:>7} {:>10}", "", "karat pairs/s", "python pairs/s", "ratio", "goal");
    for (what, reference, goal, score) in rows {
        let round = || pairs.iter().map(|(reference, candidate)| score(candidate, reference)).sum::<f64>();
        let expected = black_box(round());
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                black_box(round());
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let rate = PAIRS as f64 / times[ROUNDS / 2];
        let (theirs, ratio) = match python.get(reference) {
            Some((rate_of_python, sum)) => {
                assert!((sum - expected).abs() < 1e-6 * expected.abs(), "{what}: {sum} against {expected}");
                (format!("{rate_of_python:.0}"), format!("{:.1}", rate / rate_of_python))
            }
            None => ("–".to_owned(), "–".to_owned()),
        };
        println!("{what:<28} {rate:>14.0} {theirs:>14} {ratio:>7} {goal:>10.0}");
    }
    if python.is_empty() {
        println!("python: not measured; it wants python3 with rouge-score and sacrebleu");
    }
}

/// Pairs a second and the sum of the scores by name; empty where the interpreter or a package is missing.
fn python(pairs: &[(String, String)]) -> BTreeMap<String, (f64, f64)> {
    let file = std::env::temp_dir().join(format!("karat-bench-text-{}.json", std::process::id()));
    std::fs::write(&file, serde_json::to_vec(pairs).unwrap()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/text.py");
    let interpreter = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(interpreter).arg(script).arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    match output {
        Ok(output) if output.status.success() => serde_json::from_slice(&output.stdout).unwrap(),
        _ => BTreeMap::new(),
    }
}

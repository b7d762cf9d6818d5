//! Text metrics in pairs a second on one core, beside the Python packages whose numbers they reproduce.
//!
//! `cargo bench -p karat-scoring --bench text`; `PYTHON` names another interpreter than `python3`.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when something is wrong"
)]

use karat_scoring::metrics::bleu::Bleu;
use karat_scoring::metrics::chrf::Chrf;
use karat_scoring::metrics::rouge::{Rouge, RougeType};
use testkit::{time_in_python, time_work};

const PAIRS: usize = 2_000;
const WORDS: usize = 20;

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

/// The measured metric, its name in the script's reply, its goal in pairs a second, and the score of (candidate, reference).
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
    let python = time_in_python(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/text.py"), &pairs).unwrap();
    println!("{:<28} {:>14} {:>14} {:>7} {:>10}", "", "karat pairs/s", "python pairs/s", "ratio", "goal");
    for (what, reference, goal, score) in rows {
        let ours = time_work(|| pairs.iter().map(|(reference, candidate)| score(candidate, reference)).sum());
        let rate = |seconds: f64| format!("{:.0}", PAIRS as f64 / seconds);
        let (theirs, ratio) = match python.get(reference) {
            Some(theirs) => {
                let is_close = (theirs.result - ours.result).abs() < 1e-6 * ours.result.abs();
                assert!(is_close, "{what}: {theirs:?} against {ours:?}");
                (rate(theirs.seconds), format!("{:.1}", theirs.seconds / ours.seconds))
            }
            None => ("–".to_owned(), "–".to_owned()),
        };
        println!("{what:<28} {:>14} {theirs:>14} {ratio:>7} {goal:>10.0}", rate(ours.seconds));
    }
    if python.is_empty() {
        println!("python: not measured; it wants python3 with rouge-score and sacrebleu");
    }
}

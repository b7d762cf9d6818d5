//! Simulated times and token counts. They depend on question and answer only.

use serde_json::{Value, json};

use crate::answer::Answer;

/// The factor by which a slow stage takes longer.
const SLOW_FACTOR: u64 = 40;

/// Milliseconds by stage.
pub(crate) fn times(question: &str, answer: &str, slow: bool) -> Value {
    let jitter = question.bytes().fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 1009);
    let retrieval = 38 + jitter % 17;
    let rerank = 12 + jitter % 7;
    let llm = 520 + 9 * words(answer) + jitter % 61;
    let verification = (41 + jitter % 13) * if slow { SLOW_FACTOR } else { 1 };
    let total = retrieval + rerank + llm + verification;
    json!({
        "retrieval": retrieval, "rerank": rerank, "llm": llm, "verification": verification, "total": total
    })
}

/// Tokens by model: about four for three words.
pub(crate) fn usage(question: &str, answer: &Answer) -> Value {
    let tokens = |words: u64| words * 4 / 3;
    let read: u64 = answer.sources.iter().filter_map(|source| source.get("text")?.as_str()).map(words).sum();
    let asked = tokens(words(question));
    json!([
        { "kind": "embedding", "model": "demo-embed", "input_tokens": asked },
        { "kind": "llm", "model": "demo-answer", "input_tokens": 160 + asked + tokens(read),
          "output_tokens": tokens(words(&answer.text)) },
    ])
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

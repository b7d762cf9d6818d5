//! A small, deterministic question-answering service over filings, with planted faults. The preset `rag` measures it
//! offline.
//!
//! ```text
//! question ─► question (kind, words, quarters) ─► search (candidates by space) ─► answer (from tables, calls, slides, notes)
//!                                                                            │
//!                                              fault (planted, by question) ─┤─ meter (simulated times, tokens)
//! ```
//!
//! It knows its documents only, not the dataset's gold or metrics. Times are simulated: they depend on the question, and
//! nothing waits. Read `answer.rs` first.

mod answer;
mod fault;
mod library;
mod meter;
mod question;
mod search;
mod server;

use serde_json::{Value, json};

pub use fault::{Fault, Faults};
pub use library::{Library, LibraryError};
pub use server::serve;

use answer::Answer;
use question::Question;

/// Candidates per space when the request has no `top_k`.
const TOP_K: usize = 10;

/// The service.
#[derive(Debug)]
pub struct Service {
    library: Library,
    faults: Faults,
    commit: &'static str,
}

impl Service {
    /// A service over documents with faults; without faults it is the repaired build.
    pub fn new(library: Library, faults: Faults) -> Self {
        let commit = if faults.is_empty() { "b7e44a1" } else { "9c1f0d2" };
        Self { library, faults, commit }
    }

    /// Answers `{question, filters?, top_k?}`; `None` for a request without a question.
    pub fn answer(&self, request: &Value) -> Option<Value> {
        let text = request.get("question")?.as_str()?;
        let question = Question::parse(text);
        let top = request.get("top_k").and_then(Value::as_u64).map_or(TOP_K, |k| k as usize);
        let filters = request.get("filters").unwrap_or(&Value::Null);
        let candidates = search::candidates(&self.library, &question, filters, top);
        let fault = self.faults.for_question(text);
        let answer = Answer::to_question(&self.library, &question);
        let answer = match fault {
            Some(fault) => fault.apply(answer, &self.library),
            None => answer,
        };
        let slow = fault == Some(Fault::SlowStage);
        Some(json!({
            "answer": answer.text,
            "citations": answer.citations,
            "sources": answer.sources,
            "verification": { "grounded": !answer.sources.is_empty() },
            "speakers": answer.speakers,
            "candidates": candidates,
            "timings_ms": meter::times(text, &answer.text, slow),
            "usage": meter::usage(text, &answer),
            "models": { "text": "demo-embed", "llm": "demo-answer" },
            "commit": self.commit,
        }))
    }
}

#[cfg(test)]
mod tests;

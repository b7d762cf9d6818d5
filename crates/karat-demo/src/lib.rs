//! A question-answering service over filings that is small, deterministic and wrong where it is told to be: what the
//! preset `rag` measures offline.
//!
//! ```text
//! question ─► question (what is asked) ─► search (candidates by space) ─► answer (from tables, calls, slides, notes)
//!                                                                            │
//!                                              fault (planted, by question) ─┤─ meter (simulated times, tokens)
//! ```
//!
//! It knows the documents it was given and nothing of queries, gold or metrics. Its times are simulated: they depend on
//! the question only, and nothing waits.

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

/// Candidates that are returned in each space where the request says nothing.
const TOP_K: usize = 10;

/// The service.
#[derive(Debug)]
pub struct Service {
    library: Library,
    faults: Faults,
    commit: &'static str,
}

impl Service {
    /// A service over documents with planted faults; without any it is the repaired build.
    pub fn new(library: Library, faults: Faults) -> Self {
        let commit = if faults.is_empty() { "b7e44a1" } else { "9c1f0d2" };
        Self { library, faults, commit }
    }

    /// Answers `{question, filters?, top_k?}`; `None` where that is no question.
    pub fn answer(&self, request: &Value) -> Option<Value> {
        let text = request.get("question")?.as_str()?;
        let question = Question::read(text);
        let top = request.get("top_k").and_then(Value::as_u64).map_or(TOP_K, |k| k as usize);
        let filters = request.get("filters").unwrap_or(&Value::Null);
        let candidates = search::candidates(&self.library, &question, filters, top);
        let fault = self.faults.of(text);
        let answer = Answer::make(&self.library, &question);
        let answer = match fault {
            Some(fault) => fault.spoil(answer, &self.library),
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

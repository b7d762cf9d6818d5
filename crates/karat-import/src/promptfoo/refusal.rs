//! Constructs of the source that are not carried over.

use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::report::{Dropped, ImportReport};

/// The reason why something is not carried over, and a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    why: String,
    instead: Option<String>,
}

impl Refusal {
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), instead: None }
    }

    /// The refusal of a program.
    pub fn of_program() -> Self {
        Self::new("is a program, which an import neither runs nor copies")
    }

    /// The refusal of what cannot be read. A report does not tell in which folder of a machine it lies.
    pub fn of_error(error: &ImportError) -> Self {
        Self {
            why: format!("cannot be carried over: {}", error.without_folder()),
            instead: error.hint().map(str::to_owned),
        }
    }

    pub fn instead(mut self, instead: impl Into<String>) -> Self {
        self.instead = Some(instead.into());
        self
    }

    /// The construct at a place that concerns one sample.
    pub fn of_sample(self, path: &str, construct: &str) -> Dropped {
        Dropped { samples: 1, ..self.of_all(path, construct) }
    }

    /// The construct at a place that concerns no sample in particular.
    pub fn of_all(self, path: &str, construct: &str) -> Dropped {
        let Self { why, instead } = self;
        Dropped { path: path.to_owned(), line: None, construct: construct.to_owned(), why, instead, samples: 0 }
    }
}

/// The refusal of a judge's prompt: the questions that it asks are dropped with it.
pub(super) fn rubric_prompt() -> Refusal {
    Refusal::new("is written for promptfoo's replies").instead("`prompt: { system, user }` of the rubric")
}

/// Lists the keys of a map that are not known.
pub(super) fn drop_unknown_keys(path: &str, map: &Map<String, Value>, known: &[&str], report: &mut ImportReport) {
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        let refusal = match key.as_str() {
            "rubricPrompt" => rubric_prompt(),
            "storeOutputAs" => Refusal::new("hands an output to later tests, and rows are independent"),
            _ => Refusal::new("is not a key that this version knows"),
        };
        report.drop(refusal.of_all(&format!("{path}.{key}"), key));
    }
}

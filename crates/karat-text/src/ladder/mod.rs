//! The JSON ladder: which JSON value a model meant.
//!
//! A reply is read on the first rung that bears:
//!
//! 1. `direct`: the whole reply is JSON.
//! 2. `fenced`: a Markdown code fence holds JSON; fences marked `json` before others.
//! 3. `embedded`: JSON stands in prose. A value that was started and broken off is never searched for smaller ones.
//! 4. `repaired`: JSON with mistakes that leave no doubt about what was meant: comments, trailing or missing commas,
//!    other quotes or none, Python words, raw line breaks and unescaped quotes in texts, missing closing brackets (unless
//!    the reply is known to be cut off), a missing opening brace, an object written as a text, quotes escaped for HTML.
//!
//! The marks of a Markdown quotation (`> `) around JSON are none of it.
//!
//! Reasoning (`<think>…</think>` and the like, or a fence marked so) is not an answer on any rung. The words around a value are
//! not read. Of several values that differ, [`Ladder::choose`] takes the corrected or final one, or none; who
//! knows more takes all of them with [`Ladder::survey`] and decides by their content.
//!
//! Texts keep their content on every rung. What is not a number in JSON (`NaN`, `Infinity`) is refused on every rung, as
//! are texts and lists that never end and lists abbreviated with `...`. Prose never becomes an object. Time is linear in the
//! reply's length, and nesting is limited to 128.
//!
//! ```
//! use karat_text::ladder::{self, Expectation, Rung};
//! use serde_json::json;
//!
//! let reply = "Sure!\n```json\n{\"score\": 7}\n```";
//! assert_eq!(ladder::read(reply, Expectation::Object)?, (json!({"score": 7}), Rung::Fenced));
//! assert!(ladder::read("I would give it a 7.", Expectation::Object).is_err());
//! # Ok::<(), ladder::LadderError>(())
//! ```
//!
//! Map: this file is the face; `survey` walks the rungs, `meant` chooses among what it finds; `candidates` finds stretches that may be JSON, `sniff` and `keys` tell
//! by their beginning; `strict` parses JSON, `lenient` with `quotes` and `words` repairs it; `reasoning_blocks` and `markup`
//! take away what stands around.

mod candidates;
pub mod half_characters;
mod keys;
mod lenient;
mod markup;
mod meant;
mod quotes;
mod reasoning_blocks;
mod sniff;
mod strict;
mod survey;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::fmt;

use karat_types::json::Parsed;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use meant::Meant;
pub use survey::{BrokenJson, Candidate, Survey};

/// The kind of value that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// An object. A list of exactly one object counts, and is noted.
    Object,
    /// Any value; within prose, an object or a list.
    Any,
}

/// The rung on which a value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// The whole reply.
    Direct,
    /// In a code fence.
    Fenced,
    /// In prose.
    Embedded,
    /// After repairs.
    Repaired,
}

impl Rung {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Fenced => "fenced",
            Self::Embedded => "embedded",
            Self::Repaired => "repaired",
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The value.
    pub value: Value,
    /// The rung.
    pub rung: Rung,
    /// Leniences: repairs, duplicate keys. Empty when there were none.
    pub notes: Vec<String>,
    /// Keys that stand twice in one object and say different things. The last one is the value; whether that is good enough
    /// the caller knows.
    pub contradictions: Vec<String>,
    /// True if the reply ended before the value did: what is absent may have been to come.
    pub is_unfinished: bool,
}

/// The reason why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    /// The reply holds nothing but white space.
    #[error("the reply is empty")]
    Empty,
    /// Nothing in the reply begins like JSON.
    #[error("the reply contains no JSON")]
    NoJson,
    /// JSON, but not what is expected.
    #[error("the reply's JSON is {0}, where one object is expected")]
    WrongKind(&'static str),
    /// Values that differ.
    #[error("the reply holds {0} JSON values that differ, where one is expected")]
    Several(usize),
    /// JSON that is broken beyond what is repaired.
    #[error("the reply's JSON is broken at line {line}, column {column}: {problem}")]
    Broken {
        /// The problem.
        problem: String,
        /// Line in the reply, from 1.
        line: usize,
        /// Column in the reply in characters, from 1.
        column: usize,
    },
}

/// Reads the JSON of one of Karat's own files, without any lenience.
///
/// # Errors
/// No JSON, or a duplicate key in an object, since it is unknown which of the two was meant.
pub fn exact(text: &str) -> Result<Value, String> {
    let parsed: Parsed = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    match parsed.duplicates.first() {
        Some(twice) => Err(format!("the key {:?} stands twice in one object", twice.key)),
        None => Ok(parsed.value),
    }
}

/// Reads a reply that is complete.
///
/// # Errors
/// No JSON, JSON of the wrong kind, JSON that is broken beyond repair, or several values of which none is meant for sure.
pub fn read(text: &str, expectation: Expectation) -> Result<(Value, Rung), LadderError> {
    Ladder::new(expectation).choose(text, |_| true).map(|meant| (meant.found.value, meant.found.rung))
}

/// The text of an answer without the reasoning before it; blanks stand in its place.
pub fn without_reasoning(text: &str) -> Cow<'_, str> {
    reasoning_blocks::blank_reasoning(text.trim_start_matches('\u{feff}'))
}

/// The text of an answer in another form than JSON: without reasoning, and the content of its code fence alone where that has
/// one of these marks, or is the only one.
pub fn body<'a>(text: &'a str, marks: &[&str]) -> Cow<'a, str> {
    let plain = without_reasoning(text);
    let fences = candidates::fences(&plain);
    let marked: Vec<_> =
        fences.iter().filter(|it| marks.iter().any(|mark| it.info.eq_ignore_ascii_case(mark))).collect();
    let span = match (marked.as_slice(), fences.as_slice()) {
        ([only], _) => Some(only.span()),
        ([], [only]) => Some(only.span()),
        _ => None,
    };
    match (span, plain) {
        (Some(span), Cow::Borrowed(plain)) => Cow::Borrowed(&plain[span]),
        (Some(span), Cow::Owned(plain)) => Cow::Owned(plain[span].to_owned()),
        (None, plain) => plain,
    }
}

/// A ladder with its settings.
#[derive(Debug, Clone, Copy)]
pub struct Ladder {
    expectation: Expectation,
    truncated: bool,
}

impl Ladder {
    /// A ladder for complete replies.
    pub fn new(expectation: Expectation) -> Self {
        Self { expectation, truncated: false }
    }

    /// Says whether the reply is known to be cut off: then missing closing brackets are not filled in.
    #[must_use]
    pub fn with_truncation(mut self, truncated: bool) -> Self {
        self.truncated = truncated;
        self
    }
}

/// The first of these values on the highest rung: strict JSON before repaired, one that says something before empty ones.
pub fn first(mut candidates: Vec<Candidate>) -> Option<Candidate> {
    if candidates.iter().any(|it| it.found.rung < Rung::Repaired) {
        candidates.retain(|it| it.found.rung < Rung::Repaired);
    }
    let meant = candidates.iter().position(|it| is_substantial(&it.found.value)).unwrap_or(0);
    candidates.into_iter().nth(meant)
}

/// True if a value in prose is likely meant: `[1]` is often a citation, `{}` a turn of phrase.
fn is_substantial(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array() || item.is_string()),
        _ => true,
    }
}

impl Found {
    fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

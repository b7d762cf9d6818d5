//! The JSON ladder: which JSON value a model meant.
//!
//! A reply is read on the first rung that bears:
//!
//! 1. `direct`: the whole reply is JSON.
//! 2. `fenced`: a Markdown code fence holds JSON; fences marked `json` before others.
//! 3. `embedded`: JSON stands in prose. A value that was begun and broken off is never searched for smaller ones.
//! 4. `repaired`: JSON with mistakes that leave no doubt about what was meant: comments, trailing or missing commas,
//!    other quotes or none, Python words, raw line breaks and unescaped quotes in texts, missing closing brackets (unless
//!    the reply is known to be cut off), a missing opening brace, an object written as a text, quotes escaped for HTML.
//!
//! The marks of a Markdown quotation (`> `) around JSON are none of it.
//!
//! Reasoning (`<think>…</think>` and the like) is no answer on any rung, and a value within
//! other elements than those for answers (`<plan>`) is no ranked one. Of several values, that
//! which ranks highest counts ([`Ladder::ranking`]); where several of these differ, the last one, if it is announced as
//! the final one, else the only one in a fence, unless that is introduced as a form or an example, and none otherwise. One
//! whose scores the words after it give anew counts no more, nor one that the sentence before it says is not meant. Unranked, the first one of the highest rung counts.
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

mod candidates;
mod keys;
mod lenient;
mod markup;
mod prose;
mod quotes;
mod reasoning_blocks;
mod sniff;
mod strict;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use candidates::{CodeFence, Region, RegionKind};
use prose::choice::{Candidate, choose};
use prose::enclosing_elements::EnclosingElements;
use prose::value_context;
use strict::Parsed;

use crate::kind::kind;

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
    /// The words around the value: the line before it and all that follows. Empty where the reply is the value.
    pub around: String,
}

/// The reason why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    /// The reply holds nothing but white space.
    #[error("the reply is empty")]
    Empty,
    /// Nothing in the reply begins like JSON.
    #[error("the reply holds no JSON {0}")]
    NoJson(&'static str),
    /// JSON, but not what is expected.
    #[error("the reply's JSON is {0}, where one object is expected")]
    WrongKind(&'static str),
    /// Several values are equally what is looked for, but not the same.
    #[error("the reply holds {0} JSON objects that differ, and none of them is announced as the final one")]
    Several(usize),
    /// The value is introduced as an example, or stands in a comment.
    #[error("the reply's JSON object is introduced as an example, or stands in a comment")]
    Example,
    /// The sentence that the value stands in says that it is not meant, or not the model's own.
    #[error("the words before the reply's JSON object say that it is no answer")]
    Hypothetical,
    /// The value stands where a model thinks or plans, and no other after it.
    #[error("the reply's JSON object stands within notes, and none stands outside of them")]
    Aside,
    /// The words after the value give it up, or its scores anew.
    #[error("the words after the reply's JSON object take it back, or give one of its scores anew and differently")]
    TakenBack,
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
    let parsed: Parsed = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    match parsed.duplicates.first() {
        Some(twice) => Err(format!("the key {:?} stands twice in one object", twice.key)),
        None => Ok(parsed.value),
    }
}

/// Reads a reply that is complete.
///
/// # Errors
/// No JSON, JSON of the wrong kind, or JSON that is broken beyond repair.
pub fn read(text: &str, expectation: Expectation) -> Result<(Value, Rung), LadderError> {
    Ladder::new(expectation).climb(text).map(|found| (found.value, found.rung))
}

/// A ladder with its settings.
#[derive(Clone, Copy)]
pub struct Ladder<'a> {
    expectation: Expectation,
    truncated: bool,
    ranking: Option<&'a dyn Fn(&Value) -> usize>,
}

impl<'a> Ladder<'a> {
    /// A ladder for complete replies.
    pub fn new(expectation: Expectation) -> Self {
        Self { expectation, truncated: false, ranking: None }
    }

    /// Says whether the reply is known to be cut off: then missing closing brackets are not filled in.
    #[must_use]
    pub fn truncated(mut self, truncated: bool) -> Self {
        self.truncated = truncated;
        self
    }

    /// Among several values the highest-ranking ones count, on any rung; rank 0 means the value is not looked for.
    #[must_use]
    pub fn ranking(mut self, ranking: &'a dyn Fn(&Value) -> usize) -> Self {
        self.ranking = Some(ranking);
        self
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// As [`read`].
    pub fn climb(&self, text: &str) -> Result<Found, LadderError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(LadderError::Empty);
        }
        if let Some(found) = self.direct(text) {
            return found;
        }
        if let Some(plain) = markup::unescape_html(text) {
            let found = self.climb(&plain)?;
            return Ok(Found { rung: Rung::Repaired, ..found }.noting("the reply was escaped for HTML"));
        }
        self.search(&markup::remove_quotation_marks(&reasoning_blocks::blank_reasoning(text)))
    }

    fn direct(&self, text: &str) -> Option<Result<Found, LadderError>> {
        let parsed = strict::whole(text.trim())?;
        let kind = kind(&parsed.value);
        if let Some(found) = self.accept(parsed.clone(), Rung::Direct) {
            return Some(Ok(found));
        }
        if let Value::String(inner) = &parsed.value
            && let Some(found) = strict::whole(inner.trim()).and_then(|inner| self.accept(inner, Rung::Repaired))
        {
            return Some(Ok(found.noting("the object was written as a text")));
        }
        Some(Err(LadderError::WrongKind(kind)))
    }

    /// The rungs after the first. Ranked, all of them are looked at; else the first that bears.
    fn search(&self, text: &str) -> Result<Found, LadderError> {
        let fences = candidates::fences(text);
        let asides = EnclosingElements::of(text, &fences);
        let headless = sniff::headless(text.trim_start());
        let mut regions = if headless { Vec::new() } else { candidates::regions(text) };
        let fenced = fences.iter().filter_map(|fence| {
            let parsed = strict::whole(fence.body.trim())?;
            self.candidate(fence.span(), parsed, Rung::Fenced)
        });
        let mut whole: Vec<Candidate> = fenced.collect();
        let embedded = regions.iter_mut().filter_map(|region| Some((region.span.clone(), region.value.take()?)));
        whole.extend(embedded.filter_map(|(span, parsed)| self.candidate(span, parsed, Rung::Embedded)));
        if self.ranking.is_none() && !whole.is_empty() {
            return choose(text, &asides, whole).map(|chosen| chosen.found);
        }
        let (mended, broken) = self.repair(text, &fences, &regions, headless);
        let first_problem = broken.first().map(|broken| broken.error.clone());
        whole.extend(mended);
        if whole.is_empty() {
            return Err(first_problem.unwrap_or(match (self.expectation, regions.is_empty()) {
                (Expectation::Object, false) => LadderError::WrongKind("no single object"),
                (Expectation::Object, true) => LadderError::NoJson("object"),
                (Expectation::Any, _) => LadderError::NoJson("value"),
            }));
        }
        let chosen = choose(text, &asides, whole)?;
        // What was begun anew after it and never ended may have been the answer.
        let later = broken.into_iter().find(|broken| chosen.is_repeated(text, broken.span.clone()));
        match later {
            Some(later) => Err(later.error),
            None if chosen.is_taken_back(text) => Err(LadderError::TakenBack),
            None => Ok(Found { around: value_context::words(text, &chosen.span), ..chosen.found }),
        }
    }

    fn candidate(&self, span: Range<usize>, parsed: Parsed, rung: Rung) -> Option<Candidate> {
        self.accept(parsed, rung).map(|found| self.ranked(span, found, rung == Rung::Fenced))
    }

    fn ranked(&self, span: Range<usize>, found: Found, is_fenced: bool) -> Candidate {
        Candidate { span, rank: self.ranking.map_or(0, |ranking| ranking(&found.value)), found, is_fenced }
    }

    /// Hints for values that cannot be repaired.
    fn repair(
        &self,
        text: &str,
        fences: &[CodeFence],
        regions: &[Region],
        headless: bool,
    ) -> (Vec<Candidate>, Vec<Broken>) {
        let bodies = fences.iter().filter(|fence| sniff::like_json(fence.body.trim_start()));
        let bodies = bodies.map(|fence| (fence.span(), RegionKind::Open, true));
        let regions = regions.iter().filter(|region| region.kind != RegionKind::Strict);
        let regions = regions.map(|region| (region.span.clone(), region.kind, false));
        let (mut mended, mut broken) = (Vec::new(), Vec::new());
        for (span, kind, is_fenced) in bodies.chain(regions) {
            let candidate = &text[span.clone()];
            match self.mend(candidate, kind) {
                Ok(found) => mended.push(self.ranked(span, found, is_fenced)),
                Err(Some(problem)) => broken.push(Broken { error: problem.placed(text, candidate), span }),
                Err(None) => {}
            }
        }
        if headless {
            mended.extend(self.mend_headless(text.trim()).map(|found| self.ranked(0..text.len(), found, false)));
        }
        (mended, broken)
    }

    /// Repairs what begins like JSON; an error without a problem means JSON of the wrong kind. Where brackets balance,
    /// all of it must be read.
    fn mend(&self, candidate: &str, kind: RegionKind) -> Result<Found, Option<lenient::ParseProblem>> {
        if let Some(parsed) = strict::parse_escaped(candidate) {
            let found = self.accept(parsed, Rung::Repaired).ok_or(None)?;
            return Ok(found.noting("the quotes were escaped"));
        }
        let mended = lenient::parse(candidate, self.truncated).map_err(Some)?;
        if kind == RegionKind::Broken && mended.end < candidate.len() {
            return Err(Some(lenient::ParseProblem::new("something follows the value", mended.end)));
        }
        let found = self.accept(mended.parsed, Rung::Repaired).ok_or(None)?;
        let found = Found { is_unfinished: mended.is_unfinished, ..found };
        Ok(mended.repairs.into_iter().fold(found, Found::noting))
    }

    /// Repairs a reply that goes on where a `{` should stand before it; all of it must be read.
    fn mend_headless(&self, text: &str) -> Option<Found> {
        let whole = format!("{{{text}");
        let mended = lenient::parse(&whole, self.truncated).ok().filter(|mended| mended.end == whole.len())?;
        let found = self.accept(mended.parsed, Rung::Repaired)?;
        let found = Found { is_unfinished: mended.is_unfinished, ..found };
        Some(mended.repairs.into_iter().fold(found, Found::noting).noting("the opening brace was missing"))
    }

    fn accept(&self, parsed: Parsed, rung: Rung) -> Option<Found> {
        let notes = parsed.notes();
        let differing = parsed.duplicates.iter().filter(|duplicate| duplicate.differs);
        let contradictions = differing.map(|duplicate| duplicate.key.clone()).collect();
        let found = |value| Found { value, rung, notes, contradictions, is_unfinished: false, around: String::new() };
        match (self.expectation, parsed.value) {
            (Expectation::Any, value) | (Expectation::Object, value @ Value::Object(_)) => Some(found(value)),
            (Expectation::Object, Value::Array(mut items)) if items.len() == 1 => {
                let value = items.pop().filter(Value::is_object)?;
                Some(found(value).noting("the object stood in a list"))
            }
            _ => None,
        }
    }
}

/// A stretch that begins like JSON and cannot be read.
struct Broken {
    span: Range<usize>,
    error: LadderError,
}

impl fmt::Debug for Ladder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ladder")
            .field("expectation", &self.expectation)
            .field("truncated", &self.truncated)
            .finish_non_exhaustive()
    }
}

impl Found {
    fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

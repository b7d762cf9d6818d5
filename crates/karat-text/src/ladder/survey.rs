//! All JSON values of a reply, for a caller that knows which of them is meant.

use std::collections::HashSet;
use std::ops::Range;

use karat_types::json::Parsed;
use serde_json::Value;

use super::candidates::{CodeFence, Region, RegionKind};
use super::{Expectation, Found, Ladder, LadderError, Rung};
use super::{candidates, lenient, markup, reasoning_blocks, sniff, strict};

/// The values of a reply, and the stretches that begin like one and cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// At least one: strict JSON before repaired, and in either those in code fences first.
    pub candidates: Vec<Candidate>,
    /// Broken stretches.
    pub broken: Vec<BrokenJson>,
}

/// A value of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The value.
    pub found: Found,
    /// Its bytes in the text that was searched: the reply without reasoning, marks of quotations and HTML's escapes. Places
    /// are comparable within one survey.
    pub span: Range<usize>,
    /// Its text there.
    pub source: String,
    /// True if it stands in a code fence.
    pub is_fenced: bool,
    /// The last clause before it, after the value that stands before it.
    pub(super) lead: String,
}

/// A stretch that begins like JSON and cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenJson {
    /// Its first byte, comparable with the places of values.
    pub start: usize,
    /// Its text.
    pub text: String,
    /// The problem.
    pub error: LadderError,
}

impl Ladder {
    /// Every value of a reply.
    ///
    /// # Errors
    /// As [`read`](super::read).
    pub fn survey(&self, text: &str) -> Result<Survey, LadderError> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(LadderError::Empty);
        }
        if let Some(found) = self.direct(text) {
            let (span, source) = (0..text.len(), text.to_owned());
            let only = found.map(|found| Candidate { found, span, source, is_fenced: false, lead: String::new() })?;
            return Ok(Survey { candidates: vec![only], broken: Vec::new() });
        }
        if let Some(plain) = markup::unescape_html(text) {
            let mut survey = self.survey(&plain)?;
            for candidate in &mut survey.candidates {
                candidate.found.rung = Rung::Repaired;
                candidate.found.notes.push("the reply was escaped for HTML".to_owned());
            }
            return Ok(survey);
        }
        self.search(&markup::remove_quotation_marks(&reasoning_blocks::blank_reasoning(text)))
    }

    fn direct(&self, text: &str) -> Option<Result<Found, LadderError>> {
        let parsed = strict::whole(text.trim())?;
        let kind = crate::kind::kind(&parsed.value);
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

    /// The rungs after the first.
    fn search(&self, text: &str) -> Result<Survey, LadderError> {
        let (thoughts, fences): (Vec<CodeFence<'_>>, Vec<CodeFence<'_>>) =
            candidates::fences(text).into_iter().partition(|fence| reasoning_blocks::is_name(fence.info));
        let (thoughts, bodies) = (Spans::of(&thoughts), Spans::of(&fences));
        let headless = sniff::headless(text.trim_start());
        let mut regions = if headless { Vec::new() } else { candidates::regions(text) };
        regions.retain(|region| !thoughts.contain(&region.span));
        let candidate = |span: Range<usize>, found| {
            let source = text[span.clone()].to_owned();
            Candidate { is_fenced: bodies.contain(&span), lead: String::new(), source, span, found }
        };
        let fenced = fences.iter().filter_map(|fence| {
            let found = self.accept(strict::whole(fence.body.trim())?, Rung::Fenced)?;
            Some(candidate(fence.span(), found))
        });
        let mut candidates: Vec<Candidate> = fenced.collect();
        let embedded = regions.iter_mut().filter_map(|region| Some((region.span.clone(), region.value.take()?)));
        candidates
            .extend(embedded.filter_map(|(span, parsed)| Some(candidate(span, self.accept(parsed, Rung::Embedded)?))));
        let (mended, broken) = self.repair(text, &fences, &regions, headless);
        candidates.extend(mended.into_iter().map(|(span, found)| candidate(span, found)));
        // The content of a fence is a region, too.
        let mut starts = HashSet::new();
        candidates.retain(|it| starts.insert(it.span.start));
        add_leads(&mut candidates, text);
        if candidates.is_empty() {
            let problem = broken.into_iter().next().map(|broken| broken.error);
            return Err(problem.unwrap_or(match (self.expectation, regions.is_empty()) {
                (Expectation::Object, false) => LadderError::WrongKind("no single object"),
                _ => LadderError::NoJson,
            }));
        }
        Ok(Survey { candidates, broken })
    }

    /// The values of stretches that are no strict JSON, and the stretches that cannot be repaired.
    fn repair(
        &self,
        text: &str,
        fences: &[CodeFence<'_>],
        regions: &[Region],
        headless: bool,
    ) -> (Vec<(Range<usize>, Found)>, Vec<BrokenJson>) {
        let bodies = fences.iter().filter(|fence| sniff::like_json(fence.body.trim_start()));
        let bodies = bodies.map(|fence| (fence.span(), RegionKind::Open));
        let regions = regions.iter().filter(|region| region.kind != RegionKind::Strict);
        let regions = regions.map(|region| (region.span.clone(), region.kind));
        let (mut mended, mut broken) = (Vec::new(), Vec::new());
        for (span, kind) in bodies.chain(regions) {
            let candidate = &text[span.clone()];
            match self.mend(candidate, kind) {
                Ok(found) => mended.push((span, found)),
                Err(Some(problem)) => broken.push(BrokenJson {
                    error: problem.into_ladder_error(text, candidate),
                    start: span.start,
                    text: candidate.to_owned(),
                }),
                Err(None) => {}
            }
        }
        if headless {
            let found = self.mend_headless(text.trim());
            mended.extend(found.map(|found| (0..text.len(), found)));
        }
        (mended, broken)
    }

    /// Repairs text that begins like JSON; an error without a problem means JSON of the wrong kind. Where brackets balance,
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
        let notes = strict::notes(&parsed);
        let differing = parsed.duplicates.iter().filter(|duplicate| duplicate.differs);
        let contradictions = differing.map(|duplicate| duplicate.key.clone()).collect();
        let found = |value| Found { value, rung, notes, contradictions, is_unfinished: false };
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

/// Adds the words before each value.
fn add_leads(candidates: &mut [Candidate], text: &str) {
    if candidates.len() < 2 {
        return;
    }
    let mut order: Vec<&mut Candidate> = candidates.iter_mut().collect();
    order.sort_unstable_by_key(|it| it.span.start);
    let mut before = 0;
    for candidate in order {
        candidate.lead = text.get(before..candidate.span.start).map(lead).unwrap_or_default().to_owned();
        before = before.max(candidate.span.end);
    }
}

/// The most bytes of the words before a value.
const NEAR: usize = 160;

/// The last clause before a value, without the marks of a fence, of headings or emphasis.
fn lead(between: &str) -> &str {
    let near = &between[between.ceil_char_boundary(between.len().saturating_sub(NEAR))..];
    let mut clause = near.trim_end();
    if let Some(at) = clause.rfind("```").or_else(|| clause.rfind("~~~"))
        && !clause[at..].contains(char::is_whitespace)
    {
        clause = &clause[..at];
    }
    let clause = clause.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_end = |c: char| matches!(c, '!' | '?' | '\n' | ';' | '。' | '！' | '？');
    let clause = clause.rsplit(is_end).next().unwrap_or_default();
    clause.rsplit(". ").next().unwrap_or_default()
}

/// Stretches of a text, sorted; the search is logarithmic, so that many stretches and many values stay cheap.
struct Spans(Vec<Range<usize>>);

impl Spans {
    /// The contents of fences.
    fn of(fences: &[CodeFence<'_>]) -> Self {
        let mut spans: Vec<Range<usize>> = fences.iter().map(CodeFence::span).collect();
        spans.sort_unstable_by_key(|span| span.start);
        let mut furthest = 0;
        for span in &mut spans {
            furthest = furthest.max(span.end);
            span.end = furthest;
        }
        Self(spans)
    }

    /// True if a stretch lies in one of them.
    fn contain(&self, stretch: &Range<usize>) -> bool {
        let before = self.0.partition_point(|span| span.start <= stretch.start);
        before.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|span| stretch.end <= span.end)
    }
}

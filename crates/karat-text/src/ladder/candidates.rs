//! Finds the regions of a reply that may be JSON.

use std::ops::Range;

use karat_types::json::Parsed;

use super::{sniff, strict};

/// A stretch of a reply that begins like JSON.
#[derive(Debug)]
pub(super) struct Region {
    pub span: Range<usize>,
    /// The value, where the stretch is strict JSON; taken out when it was looked at.
    pub value: Option<Parsed>,
    pub kind: RegionKind,
}

/// The kind of a stretch that begins like JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegionKind {
    /// It is strict JSON.
    Strict,
    /// It is not, but its brackets balance.
    Broken,
    /// Its brackets never balance: it goes to the end of the text.
    Open,
}

/// The content of a Markdown code fence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeFence<'a> {
    pub info: &'a str,
    pub body: &'a str,
    /// Its first byte in the text.
    start: usize,
}

impl CodeFence<'_> {
    /// The span of its content, without the white space around.
    pub fn span(&self) -> Range<usize> {
        let start = self.start + self.body.len() - self.body.trim_start().len();
        start..start + self.body.trim().len()
    }
}

/// The contents of Markdown code fences, those marked as JSON first. A fence that is never closed ends with the text.
pub(super) fn fences(text: &str) -> Vec<CodeFence<'_>> {
    let (mut marked, mut others) = (Vec::new(), Vec::new());
    for mark in ["```", "~~~"] {
        let mut rest = text;
        let mut closes = true;
        while let Some(at) = rest.find(mark) {
            let opened = rest[at..].trim_start_matches(&mark[..1]);
            let info_end = opened.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(0);
            let (info, body) = opened.split_at(info_end);
            let (body, after) = close(body, mark, &mut closes);
            let is_json = info.to_ascii_lowercase().starts_with("json");
            let start = text.len() - opened.len() + info_end;
            if is_json { &mut marked } else { &mut others }.push(CodeFence { info, body, start });
            rest = after;
        }
    }
    marked.append(&mut others);
    marked
}

/// Cuts a fence's body off at its closing mark: on the opening line if it stands there, else at the beginning of a line,
/// else anywhere. `closes` remembers that no later line begins with a mark, so that the search runs once.
fn close<'a>(body: &'a str, mark: &str, closes: &mut bool) -> (&'a str, &'a str) {
    let cut = |at: usize| (&body[..at], body[at..].trim_start_matches(&mark[..1]));
    let Some(first) = body.find(mark) else { return (body, "") };
    let Some(line_end) = body[..first].find('\n') else { return cut(first) };
    if *closes {
        let mut from = line_end;
        while let Some(at) = body[from..].find(mark).map(|at| from + at) {
            if body[..at].trim_end_matches([' ', '\t']).ends_with('\n') {
                return cut(at);
            }
            from = at + mark.len();
        }
        *closes = false;
    }
    cut(first)
}

/// The most broken lists of numbers that may pass for citations. A bound keeps the search linear.
const PATIENCE: u32 = 64;

/// Every outermost stretch that begins like JSON. One that is broken ends where its brackets balance; where they never
/// do, it takes the rest of the text, since what stands inside it is not what was meant.
pub(super) fn regions(text: &str) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut at = 0;
    let mut patience = PATIENCE;
    while let Some(start) = text[at..].find(['{', '[']).map(|found| at + found) {
        let rest = &text[start..];
        if !sniff::like_json(rest) && !may_be_strict(rest) {
            at = start + 1;
        } else if let Some((parsed, length)) = strict::prefix(rest) {
            at = start + length;
            regions.push(Region { span: start..at, value: Some(parsed), kind: RegionKind::Strict });
        } else if !sniff::like_json(rest) {
            at = start + 1;
        } else if is_citation(rest) && patience > 0 {
            patience -= 1;
            at = start + 1;
        } else {
            let length = closing_length(rest);
            at = length.map_or(text.len(), |length| start + length);
            regions.push(Region {
                span: start..at,
                value: None,
                kind: if length.is_some() { RegionKind::Broken } else { RegionKind::Open },
            });
        }
    }
    regions
}

/// Strict JSON allows what [`sniff::like_json`] does not look at: keys of any length.
fn may_be_strict(text: &str) -> bool {
    text.strip_prefix('{').is_some_and(|inner| inner.trim_start().starts_with('"'))
}

/// True for `[2, p. 4]` in prose: a citation, not a list.
fn is_citation(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|inner| inner.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

/// The length up to which the first bracket is closed: outside of texts in double quotes, or else all brackets counted.
fn closing_length(text: &str) -> Option<usize> {
    balance(text, true).or_else(|| balance(text, false))
}

/// A closing bracket that closes nothing is passed over; one that closes an outer bracket closes those within it, too.
fn balance(text: &str, mind_quotes: bool) -> Option<usize> {
    let mut open: Vec<u8> = Vec::new();
    let (mut objects, mut lists) = (0usize, 0usize);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' if mind_quotes => quoted = !quoted,
            b'{' if !quoted => {
                objects += 1;
                open.push(b'}');
            }
            b'[' if !quoted => {
                lists += 1;
                open.push(b']');
            }
            b'}' | b']' if !quoted && (if byte == b'}' { objects } else { lists }) > 0 => {
                while let Some(closed) = open.pop() {
                    *(if closed == b'}' { &mut objects } else { &mut lists }) -= 1;
                    if closed == byte {
                        break;
                    }
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

//! The parser of the last rung: JSON with mistakes that leave no doubt.

use std::collections::BTreeMap;

use karat_types::json::{self, DuplicateKey, Parsed};
use serde_json::{Map, Value};

use super::words::{Word, skip_space, word};
use super::{LadderError, keys, quotes, sniff, words};
use quotes::Place;

/// Nesting beyond which a value is refused; the same as in strict JSON.
const DEPTH: usize = 128;

/// A value that was repaired.
pub(super) struct RepairedValue {
    pub parsed: Parsed,
    /// The repairs, in words.
    pub repairs: Vec<String>,
    /// Bytes that were read.
    pub end: usize,
    /// True if the text ended before the value did.
    pub is_unfinished: bool,
}

/// The problem, and its offset in the candidate.
#[derive(Debug)]
pub(super) struct ParseProblem {
    what: String,
    at: usize,
}

impl ParseProblem {
    pub fn new(what: &str, at: usize) -> Self {
        Self { what: what.to_owned(), at }
    }

    /// The problem as an error that names the place in the whole reply.
    pub fn into_ladder_error(self, text: &str, candidate: &str) -> LadderError {
        let offset = (candidate.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let at = offset.saturating_add(self.at).min(text.len());
        let before = &text[..text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        LadderError::Broken {
            problem: self.what,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// Reads the value that the text begins with. With `truncated`, missing closing brackets are not filled in.
pub(super) fn parse(text: &str, truncated: bool) -> Result<RepairedValue, ParseProblem> {
    let mut parser = LenientParser {
        text,
        at: 0,
        truncated,
        is_unfinished: false,
        open: Vec::new(),
        repairs: BTreeMap::new(),
        duplicates: Vec::new(),
    };
    let value = parser.value(Place::Item)?;
    let repairs = parser.repairs.iter().map(|(repair, count)| match count {
        1 => format!("repaired: {repair}"),
        _ => format!("repaired: {repair} ({count} times)"),
    });
    let repairs = repairs.collect();
    parser.space();
    let parsed = Parsed { value, duplicates: parser.duplicates };
    Ok(RepairedValue { parsed, repairs, end: parser.at, is_unfinished: parser.is_unfinished })
}

struct LenientParser<'a> {
    text: &'a str,
    at: usize,
    truncated: bool,
    is_unfinished: bool,
    /// The closing brackets that are waited for.
    open: Vec<char>,
    repairs: BTreeMap<&'static str, u32>,
    duplicates: Vec<DuplicateKey>,
}

impl<'a> LenientParser<'a> {
    fn value(&mut self, place: Place) -> Result<Value, ParseProblem> {
        self.space();
        match self.peek() {
            Some('{') => self.parse_nested('}', Self::object),
            Some('[') => self.parse_nested(']', Self::array),
            Some(_) if quotes::begins(self.rest()) => self.parse_quoted(place).map(Value::String),
            Some(_) => self.parse_bare(),
            None => Err(self.problem("a value is missing")),
        }
    }

    fn parse_nested(
        &mut self,
        close: char,
        read: impl Fn(&mut Self) -> Result<Value, ParseProblem>,
    ) -> Result<Value, ParseProblem> {
        if self.open.len() == DEPTH {
            return Err(self.problem("nested more than 128 deep"));
        }
        self.at += 1;
        self.open.push(close);
        let value = read(self);
        self.open.pop();
        value
    }

    fn object(&mut self) -> Result<Value, ParseProblem> {
        let mut members = Map::new();
        while !self.ends('}', members.is_empty())? {
            let key = self.key()?;
            let value = self.value(Place::Member)?;
            json::insert(&mut members, key, value, &mut self.duplicates);
            self.separator(sniff::with_key)?;
        }
        Ok(Value::Object(members))
    }

    fn array(&mut self) -> Result<Value, ParseProblem> {
        let mut items = Vec::new();
        while !self.ends(']', items.is_empty())? {
            items.push(self.value(Place::Item)?);
            self.separator(sniff::value)?;
        }
        Ok(Value::Array(items))
    }

    /// True if the object or list is over. Takes its closing bracket, and fills in a missing one.
    fn ends(&mut self, close: char, empty: bool) -> Result<bool, ParseProblem> {
        let mut may_begin_with_comma = empty;
        loop {
            self.space();
            match self.peek() {
                Some(found) if found == close => {
                    self.at += 1;
                    return Ok(true);
                }
                None if self.truncated => return Err(self.problem("the reply is cut off here")),
                None if self.is_cut_in_a_number() => {
                    return Err(self.problem("the reply ends in a number, which may have had more digits"));
                }
                None if close == ']' => {
                    return Err(self.problem("the reply ends in a list, which may have had more members"));
                }
                None => {
                    self.repair("a missing closing bracket");
                    self.is_unfinished = true;
                    return Ok(true);
                }
                Some(found @ ('}' | ']')) if self.open.contains(&found) => {
                    self.repair("a missing closing bracket");
                    return Ok(true);
                }
                Some('}' | ']') => {
                    self.repair("a closing bracket too many");
                    self.at += 1;
                    may_begin_with_comma = true;
                }
                Some(',') if may_begin_with_comma => {
                    if empty {
                        self.repair("a comma too many");
                    }
                    self.at += 1;
                }
                Some(_) => return Ok(false),
            }
        }
    }

    /// True if the text ends with a digit: what was 10 may have become 1.
    fn is_cut_in_a_number(&self) -> bool {
        self.text.ends_with(|c: char| c.is_ascii_digit() || c == '.')
    }

    fn key(&mut self) -> Result<String, ParseProblem> {
        let key = if quotes::begins(self.rest()) {
            self.parse_quoted(Place::Key)?
        } else {
            let length = keys::bare_key_length(self.rest());
            if length == 0 {
                return Err(self.problem("a key is expected"));
            }
            self.repair("a key without quotes");
            self.take(length).to_owned()
        };
        self.space();
        match self.peek() {
            Some(':') => {}
            Some('：') => self.repair("a full-width colon"),
            _ => return Err(self.problem("a colon is expected")),
        }
        self.at += self.peek().map_or(0, char::len_utf8);
        Ok(key)
    }

    /// Takes what separates two members, or lets it be missing where the next one clearly begins.
    fn separator(&mut self, begins_next: impl Fn(&str) -> bool) -> Result<(), ParseProblem> {
        self.space();
        let mut commas = 0;
        while let Some(found) = self.peek().filter(|it| words::is_separator(*it)) {
            match found {
                ',' => {}
                ';' => self.repair("a semicolon for a comma"),
                _ => self.repair("a full-width comma"),
            }
            self.at += found.len_utf8();
            commas += 1;
            self.space();
        }
        match self.peek() {
            None | Some('}' | ']') if commas > 0 => self.repair("a trailing comma"),
            None | Some('}' | ']') => {}
            Some(_) if commas > 1 => self.repair("a comma too many"),
            Some(_) if commas == 1 => {}
            Some(_) if begins_next(self.rest()) => self.repair("a missing comma"),
            Some(_) => return Err(self.problem("a comma or a closing bracket is expected")),
        }
        Ok(())
    }

    fn parse_quoted(&mut self, place: Place) -> Result<String, ParseProblem> {
        let quoted = quotes::read(self.rest(), place)
            .map_err(|found| ParseProblem { what: found.problem.to_owned(), at: self.at + found.at })?;
        self.at += quoted.length;
        quoted.repairs.into_iter().for_each(|repair| self.repair(repair));
        Ok(quoted.text)
    }

    fn parse_bare(&mut self) -> Result<Value, ParseProblem> {
        let rest = self.rest();
        let stops = |c: char| matches!(c, ',' | '，' | '、' | ';' | '}' | ']' | '{' | '[' | '"' | '\n' | '\r' | '#');
        let end = rest.find(stops).unwrap_or(rest.len());
        let end = rest[..end].find("//").or_else(|| rest[..end].find("/*")).unwrap_or(end);
        let bare = rest[..end].trim_end_matches(words::is_space);
        match word(bare) {
            Word::Strict(value) => {
                self.at += bare.len();
                Ok(value)
            }
            Word::Lenient(value, repair) => {
                self.at += bare.len();
                self.repair(repair);
                Ok(value)
            }
            Word::Unreadable(what) => Err(ParseProblem { what, at: self.at }),
        }
    }

    fn space(&mut self) {
        let rest = self.rest();
        let after = skip_space(rest);
        let skipped = &rest[..rest.len() - after.len()];
        if skipped.contains(['/', '#']) {
            self.repair("a comment");
        }
        self.at += skipped.len();
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + length];
        self.at += length;
        taken
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn repair(&mut self, repair: &'static str) {
        *self.repairs.entry(repair).or_default() += 1;
    }

    fn problem(&self, what: &str) -> ParseProblem {
        ParseProblem::new(what, self.at)
    }
}

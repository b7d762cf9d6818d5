//! Addresses made by templates: each value is encoded for the place where it stands, so that it can never change the rest.
//!
//! A template of an address writes its values between marks ([`write`]); [`Address`] then joins its texts, and knows from what
//! is already there whether a value stands in the host, the path or the query.

use std::ops::Range;

use minijinja::{Environment, Error, ErrorKind, Output, State, Value, value::ValueKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::code::Block;
use super::{TemplateError, json};

/// Marks before and after a value, whose content is written in hexadecimal digits.
const OPEN: char = '\u{2}';
const CLOSE: char = '\u{3}';

/// The first character of a value's content.
const PLAIN: char = 'p';
const ENCODED: char = 'e';

/// The characters that are the same in each part of an address are kept.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Those of a host, which may have a port or be one of IPv6.
const HOST: &AsciiSet = &UNRESERVED.remove(b':').remove(b'[').remove(b']');

/// Text of an environment variable, which is filled in later, for finding the place behind it.
const VARIABLE: &str = "http://variable";

/// Filters that say that a value is encoded.
const ENCODING: [&str; 2] = ["urlencode", "safe"];

/// Statements that make texts of values, whose places would be lost.
const CAPTURING: [&str; 4] = ["macro", "call", "filter", "block"];

/// Changes an environment to one for addresses.
pub(super) fn prepare(environment: &mut Environment<'_>) {
    environment.set_formatter(write);
}

/// Refuses code after which it would not be known which part of a text is a value, and which is encoded already.
pub(super) fn check(source: &str, blocks: &[Block<'_>]) -> Result<(), TemplateError> {
    for block in blocks {
        let has = |text: &str| block.tokens.iter().any(|token| token.is(text));
        let keyword = block.keyword().unwrap_or_default();
        if CAPTURING.contains(&keyword) || keyword == "set" && !has("=") {
            let message = format!("`{{% {keyword} %}}` around a text cannot be used in an address");
            return Err(problem(source, block, message, "write the text and its values where they are inserted"));
        }
        let Some(at) = block.tokens.iter().position(|token| ENCODING.iter().any(|name| token.is(name))) else {
            continue;
        };
        let is_last = !block.tokens[at..].iter().any(|token| token.is("|"));
        if !is_last || ["~", "+", "*", "%"].into_iter().any(has) {
            let message = format!("`{}` must be the last that is done to a value", block.tokens[at].text);
            return Err(problem(source, block, message, "write texts beside it outside of the braces"));
        }
    }
    Ok(())
}

fn problem(source: &str, block: &Block<'_>, message: String, hint: &str) -> TemplateError {
    let line = source[..block.span.start].matches('\n').count() + 1;
    TemplateError { message, line: Some(line), span: Some(block.span.clone()), hint: Some(hint.to_owned()) }
}

/// `{{ text | urlencode }}`: a text for a part of an address; an object as the names and values of a query.
pub(super) fn url_encode(value: &Value) -> Result<Value, Error> {
    encode_value(value).map(Value::from_safe_string)
}

fn encode_value(value: &Value) -> Result<String, Error> {
    if value.kind() != ValueKind::Map {
        return Ok(encode(&text_of(value)?));
    }
    let pairs = value.try_iter()?.map(|name| {
        let member = value.get_item(&name)?;
        Ok(format!("{}={}", encode(&text_of(&name)?), encode(&text_of(&member)?)))
    });
    Ok(pairs.collect::<Result<Vec<String>, Error>>()?.join("&"))
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

fn text_of(value: &Value) -> Result<String, Error> {
    let value = json::value(value).map_err(|problem| Error::new(ErrorKind::BadSerialization, problem))?;
    Ok(json::text(&value))
}

/// Writes a value between marks.
fn write(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        // An error that names it.
        return minijinja::escape_formatter(out, state, value);
    }
    // No text of a row is safe: only a filter makes it so.
    let kind = if value.is_safe() { ENCODED } else { PLAIN };
    out.write_str(&mark(&text_of(value)?, kind)).map_err(Into::into)
}

fn mark(text: &str, kind: char) -> String {
    let mut marked = String::with_capacity(2 * text.len() + 3);
    marked.extend([OPEN, kind]);
    for byte in text.bytes() {
        let digit = |half: u8| char::from_digit(u32::from(half), 16);
        marked.extend([digit(byte >> 4), digit(byte & 15)].into_iter().flatten());
    }
    marked.push(CLOSE);
    marked
}

/// A part of a text: of the template itself, or a value.
enum Part {
    Text(String),
    Value(String),
    /// A value that the author's filter has encoded.
    Encoded(String),
}

/// Splits a text at its marks.
fn split(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once(OPEN) {
        let Some((content, after)) = marked.split_once(CLOSE) else { break };
        parts.push(Part::Text(before.to_owned()));
        let text = unhex(content.get(1..).unwrap_or_default());
        match content.starts_with(ENCODED) {
            true => parts.push(Part::Encoded(text)),
            false => parts.push(Part::Value(text)),
        }
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    parts
}

fn unhex(digits: &str) -> String {
    let pairs = digits.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The part of an address in which a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The beginning: the value is an address itself, such as that of a service.
    Root,
    /// Between `//` and the path.
    Host,
    Path,
    /// The query, or what follows it.
    Query,
}

/// An address in the making.
#[derive(Default)]
pub(crate) struct Address {
    /// The text, with [`VARIABLE`] for a variable.
    text: String,
    /// The values in it, other than one at its beginning.
    values: Vec<Range<usize>>,
    /// The end of the value at its beginning.
    root: usize,
}

impl Address {
    pub(crate) fn add_variable(&mut self) {
        self.text.push_str(if self.text.is_empty() { VARIABLE } else { "variable" });
    }

    /// Adds a text that [`write`] made. Returns it with its values encoded.
    pub(crate) fn add(&mut self, rendered: &str) -> String {
        let begin = self.text.len();
        for part in split(rendered) {
            let at = self.text.len();
            let place = self.place();
            match part {
                Part::Text(text) => self.text.push_str(&text),
                Part::Encoded(text) | Part::Value(text) if place == Place::Root => {
                    self.text.push_str(&text);
                    self.root = self.text.len();
                }
                Part::Encoded(text) => self.add_value(at, &text),
                Part::Value(text) => {
                    let set = if place == Place::Host { HOST } else { UNRESERVED };
                    self.add_value(at, &utf8_percent_encode(&text, set).to_string());
                }
            }
        }
        self.text[begin..].to_owned()
    }

    fn add_value(&mut self, at: usize, text: &str) {
        self.text.push_str(text);
        self.values.push(at..self.text.len());
    }

    fn place(&self) -> Place {
        let Some((_, rest)) = self.text.split_once("://") else { return Place::Root };
        match rest.find(['/', '?', '#']) {
            None => Place::Host,
            Some(_) if rest.contains(['?', '#']) => Place::Query,
            Some(_) => Place::Path,
        }
    }

    /// Checks the whole.
    ///
    /// # Errors
    /// A value that makes the address another one although it is encoded: a step upwards in the path, or an address with a
    /// query at the beginning of a longer one.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (root, rest) = self.text.split_at(self.root);
        let is_continued = !rest.is_empty() && (!rest.starts_with('&') || root.contains('#'));
        if let Some(mark) = root.find(['?', '#']).filter(|_| is_continued) {
            let part = if root[mark..].starts_with('?') { "a query" } else { "a fragment" };
            return Err(format!(
                "the address begins with `{root}`, which has {part}, so `{rest}` would be part of that"
            ));
        }
        let path_end = self.text.find(['?', '#']).unwrap_or(self.text.len());
        let mut begin = 0;
        for segment in self.text[..path_end].split('/') {
            let end = begin + segment.len();
            let is_made = self.values.iter().any(|value| value.start < end && value.end > begin);
            if is_made && [".", ".."].contains(&segment.to_ascii_lowercase().replace("%2e", ".").as_str()) {
                return Err(format!("`{segment}` cannot be a part of an address's path: it leads to another one"));
            }
            begin = end + 1;
        }
        Ok(())
    }
}

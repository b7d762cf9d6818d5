//! The code within a template, as tokens: enough to find filters, chains and assignments before minijinja parses them.
//!
//! A source that does not lex is cut where it stops making sense; minijinja reports what is wrong with it.

use std::ops::Range;

/// One `{{ }}` or `{% %}`.
pub(super) struct Block<'s> {
    /// Its place, with the marks around it.
    pub span: Range<usize>,
    pub is_statement: bool,
    pub tokens: Vec<Token<'s>>,
}

/// A word, number, text or operator of code.
#[derive(Clone, Copy)]
pub(super) struct Token<'s> {
    pub kind: Kind,
    pub text: &'s str,
    /// Byte offset in the source.
    pub at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Literal,
    Operator,
}

impl Token<'_> {
    pub fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Literal && self.text == text
    }

    pub fn is_opening(&self) -> bool {
        self.kind == Kind::Operator && ["(", "[", "{"].contains(&self.text)
    }

    pub fn is_closing(&self) -> bool {
        self.kind == Kind::Operator && [")", "]", "}"].contains(&self.text)
    }
}

/// A part of the source, and the text in its place; it is never shorter.
pub(super) struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: String,
    /// The order of edits that start at one place.
    pub order: u8,
}

impl Edit {
    /// The end of what is written around an operation.
    pub const CLOSES: u8 = 0;
    /// The end of what is written around a whole value, which may be an operation.
    pub const CLOSES_VALUE: u8 = 1;
    /// The beginning of what is written around a whole value.
    pub const OPENS_VALUE: u8 = 2;
    /// The beginning of what is written around an operation.
    pub const OPENS: u8 = 3;

    /// A text between two characters of the source.
    pub fn insert(at: usize, text: String, order: u8) -> Self {
        Self { start: at, end: at, text, order }
    }
}

impl<'s> Block<'s> {
    /// The word that a statement begins with.
    pub fn keyword(&self) -> Option<&'s str> {
        self.tokens.first().filter(|first| self.is_statement && first.kind == Kind::Word).map(|first| first.text)
    }
}

pub(super) fn expression(source: &str) -> Block<'_> {
    Block { span: 0..source.len(), is_statement: false, tokens: tokens(source, 0, None).0 }
}

/// A text that an expression compares a name with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The name, such as `sample.language`.
    pub name: String,
    /// The text.
    pub text: String,
    /// Byte range of the text in the source, with its quotes.
    pub span: Range<usize>,
}

/// The texts that names are compared with, by `==` and `!=` in either order, and by `in` a list of texts.
pub(super) fn comparisons(source: &str) -> Vec<Comparison> {
    let tokens = expression(source).tokens;
    let is_equality = |token: &Token<'_>| token.is("==") || token.is("!=");
    let compared = |at: usize| {
        let text = tokens[at].text.strip_prefix(['"', '\'']).filter(|_| tokens[at].kind == Kind::Literal)?;
        let text = text.strip_suffix(['"', '\'']).filter(|text| !text.contains('\\'))?;
        let left =
            tokens[..at].split_last().filter(|(last, _)| is_equality(last)).and_then(|(_, rest)| name_before(rest));
        let right = || {
            tokens[at + 1..]
                .split_first()
                .filter(|(first, _)| is_equality(first))
                .and_then(|(_, rest)| name_after(rest))
        };
        let name = left.or_else(right).or_else(|| listing_name(&tokens[..at]))?;
        Some(Comparison { name, text: text.to_owned(), span: tokens[at].span() })
    };
    (0..tokens.len()).filter_map(compared).collect()
}

/// The dotted name that tokens end with, unless a filter or an index stands between.
fn name_before(tokens: &[Token<'_>]) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = tokens;
    loop {
        let (last, before) = rest.split_last().filter(|(last, _)| last.kind == Kind::Word)?;
        parts.push(last.text);
        rest = match before.split_last() {
            Some((dot, before)) if dot.is(".") => before,
            Some((filter, _)) if filter.is("|") || filter.is("is") => return None,
            _ => break,
        };
    }
    parts.reverse();
    Some(parts.join("."))
}

/// The dotted name that tokens begin with.
fn name_after(tokens: &[Token<'_>]) -> Option<String> {
    let mut name = tokens.first().filter(|first| first.kind == Kind::Word)?.text.to_owned();
    let mut rest = &tokens[1..];
    while let [dot, part, after @ ..] = rest
        && dot.is(".")
        && part.kind == Kind::Word
    {
        name = format!("{name}.{}", part.text);
        rest = after;
    }
    let is_more = |next: &Token<'_>| ["|", "(", "[", "."].iter().any(|more| next.is(more));
    (!rest.first().is_some_and(is_more)).then_some(name)
}

/// The name before the list of texts that tokens end in: `name in ["a", `.
fn listing_name(tokens: &[Token<'_>]) -> Option<String> {
    let is_member = |token: &Token<'_>| token.kind == Kind::Literal || token.is(",");
    let open =
        tokens.iter().rposition(|token| !is_member(token)).filter(|at| tokens[*at].is("[") || tokens[*at].is("("))?;
    let (_, before) = tokens[..open].split_last().filter(|(last, _)| last.is("in"))?;
    let before = match before.split_last() {
        Some((last, before)) if last.is("not") => before,
        _ => before,
    };
    name_before(before)
}

/// The blocks of a template. Comments and raw parts have none.
pub(super) fn blocks(source: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while let Some(open) = source[at..].find('{').map(|found| at + found) {
        at = match source.get(open..open + 2) {
            Some("{#") => source[open..].find("#}").map_or(source.len(), |found| open + found + 2),
            Some(opening @ ("{{" | "{%")) => {
                let is_statement = opening == "{%";
                let close = if is_statement { "%}" } else { "}}" };
                // A sign that removes the space before the block is not an operator.
                let start = open + 2 + usize::from(source[open + 2..].starts_with(['-', '+']));
                let (tokens, end) = tokens(source, start, Some(close));
                let block = Block { span: open..end, is_statement, tokens };
                let is_raw = block.keyword() == Some("raw");
                blocks.push(block);
                if is_raw { source[end..].find("endraw").map_or(source.len(), |found| end + found) } else { end }
            }
            _ => open + 1,
        };
    }
    blocks
}

/// The tokens from an offset, up to the closing mark that stands outside of brackets; and the offset behind it.
fn tokens<'s>(source: &'s str, start: usize, close: Option<&str>) -> (Vec<Token<'s>>, usize) {
    let mut tokens: Vec<Token<'s>> = Vec::new();
    let mut at = start;
    let mut open = 0_usize;
    while let Some(first) = source[at..].chars().next() {
        if open == 0 && close.is_some_and(|close| closes(&source[at..], close)) {
            let length = if source[at..].starts_with(['-', '+']) { 3 } else { 2 };
            return (tokens, at + length);
        }
        let (kind, length) = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '"' | '\'' => (Kind::Literal, quoted_length(&source[at..], first)),
            '0'..='9' => (Kind::Literal, number_length(&source[at..])),
            _ if is_word(first) => (Kind::Word, source[at..].find(|it| !is_word(it)).unwrap_or(source.len() - at)),
            _ => (Kind::Operator, operator_length(&source[at..], first)),
        };
        let token = Token { kind, text: &source[at..at + length], at };
        open = if token.is_opening() { open + 1 } else { open.saturating_sub(usize::from(token.is_closing())) };
        tokens.push(token);
        at += length;
    }
    (tokens, source.len())
}

fn closes(rest: &str, close: &str) -> bool {
    rest.strip_prefix(['-', '+']).unwrap_or(rest).starts_with(close)
}

fn is_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, it) in rest.char_indices().skip(1) {
        match it {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if it == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A number with its fraction: `1.5` is one literal, `1.a` is not.
fn number_length(rest: &str) -> usize {
    let digits = |from: usize| rest[from..].find(|it| !is_word(it)).map_or(rest.len(), |found| from + found);
    let whole = digits(0);
    let has_fraction =
        rest[whole..].strip_prefix('.').is_some_and(|after| after.starts_with(|it: char| it.is_ascii_digit()));
    if has_fraction { digits(whole + 1) } else { whole }
}

fn operator_length(rest: &str, first: char) -> usize {
    let is_double = ["==", "!=", "<=", ">=", "//", "**"].iter().any(|double| rest.starts_with(double));
    if is_double { 2 } else { first.len_utf8() }
}

//! Rewrites a source so that what it keeps and collects is bounded while it is rendered, see `growth`, and what it compares
//! and calculates with is checked, see `types`.

use std::ops::Range;

use super::code::{Block, Edit, Kind, Token};
use super::growth::{COUNT, KEEP, KEEP_ALL, KEEP_MEMBER};
use super::types::operands;

/// Texts that were written into a source, so that places in it can be told apart from the author's.
#[derive(Debug, Default)]
pub(super) struct Insertions(Vec<(usize, usize)>);

impl Insertions {
    /// The offset in the author's source.
    pub fn original(&self, at: usize) -> usize {
        let mut before = 0;
        for (place, length) in &self.0 {
            let start = place + before;
            if at <= start {
                break;
            }
            before += (*length).min(at - start);
        }
        at - before
    }
}

/// The source in which assigned values are checked, collected text is counted, and operations check their operands.
/// `None` if nothing has to be rewritten.
pub(super) fn instrument(source: &str, blocks: &[Block<'_>]) -> Option<(String, Insertions)> {
    let mut edits = text_counts(source, blocks);
    edits.extend(blocks.iter().filter_map(|block| {
        let names = named_values(block);
        let check = || format!("{{{{[{}]|{KEEP_ALL}{}}}}}", names.join(","), cut_after(source, block));
        (!names.is_empty()).then(|| Edit::insert(block.span.end, check(), Edit::OPENS))
    }));
    for (value, filter) in blocks.iter().filter_map(kept_value) {
        edits.push(Edit::insert(value.start, "(".to_owned(), Edit::OPENS_VALUE));
        edits.push(Edit::insert(value.end, format!(")|{filter}"), Edit::CLOSES_VALUE));
    }
    edits.extend(operands::edits(source, blocks));
    if edits.is_empty() {
        return None;
    }
    // At one place the closing ones come first, and the others from the outermost.
    edits.sort_by_key(|edit| (edit.start, edit.order));
    let mut written = String::with_capacity(source.len() + edits.len() * 8);
    let mut insertions = Insertions::default();
    let mut done = 0;
    for Edit { start, end, text, .. } in edits {
        written.push_str(&source[done..start]);
        written.push_str(&text);
        insertions.0.push((start, text.len() - (end - start)));
        done = end;
    }
    written.push_str(&source[done..]);
    Some((written, insertions))
}

/// The value of an assignment that can hold a list or map within another, and the filter through which it passes.
fn kept_value(block: &Block<'_>) -> Option<(Range<usize>, &'static str)> {
    let tokens = block.tokens.as_slice();
    let equals = tokens.iter().position(|token| token.is("=")).filter(|_| block.keyword() == Some("set"))?;
    let (target, value) = (&tokens[..equals], &tokens[equals + 1..]);
    // A namespace outlives the statement: every value that it gets is kept.
    let filter = if target.iter().any(|token| token.is(".")) { KEEP_MEMBER } else { KEEP };
    let can_nest = filter == KEEP_MEMBER || value.iter().any(|token| token.is_opening() || token.is("|"));
    let (first, last) = value.first().zip(value.last()).filter(|_| can_nest)?;
    Some((first.at..last.span().end, filter))
}

/// The names that a block gives to values which can hold others: the items of a list that the template makes, the variables
/// of `with`, and the parameters of macros and callers, also where a loop calls itself.
fn named_values<'s>(block: &Block<'s>) -> Vec<&'s str> {
    let tokens = block.tokens.as_slice();
    let can_nest = |tokens: &[Token<'_>]| tokens.iter().any(|it| it.is_opening() || it.is("|") || it.is(","));
    let words = |tokens: &[Token<'s>]| -> Vec<&'s str> {
        tokens.iter().filter(|it| it.kind == Kind::Word).map(|it| it.text).collect()
    };
    match block.keyword() {
        Some("for") => {
            let Some(at) = tokens.iter().position(|token| token.is("in")) else { return Vec::new() };
            let (names, list) = (&tokens[1..at], &tokens[at + 1..]);
            let is_made = can_nest(list) || list.last().is_some_and(|last| last.is("recursive"));
            if is_made { words(names) } else { Vec::new() }
        }
        Some("macro") => parameters(tokens.get(2..).unwrap_or_default()),
        Some("call") => parameters(tokens.get(1..).unwrap_or_default()),
        Some("with") if can_nest(tokens) => {
            let depths = depths(tokens);
            let ends = (1..tokens.len()).filter(|at| tokens[*at].is("=") && depths[*at] == 0);
            let targets = ends.map(|end| match tokens[end - 1].is(")") {
                true => tokens[..end].iter().rposition(|it| it.is("(")).map_or(&tokens[..0], |open| &tokens[open..end]),
                false => &tokens[end - 1..end],
            });
            targets.flat_map(words).collect()
        }
        _ => Vec::new(),
    }
}

/// The names of parameters, if these tokens begin with their bracket.
fn parameters<'s>(tokens: &[Token<'s>]) -> Vec<&'s str> {
    let depths = depths(tokens);
    let begins = |at: &usize| depths[*at] == 0 && tokens[*at].is("(") || depths[*at] == 1 && tokens[*at].is(",");
    // The call whose body this is stands behind the bracket.
    let end = (1..tokens.len()).find(|at| depths[*at] == 0).unwrap_or(tokens.len());
    let is_open = tokens.first().is_some_and(|first| first.is("("));
    let names = (0..end).filter(|at| is_open && begins(at)).filter_map(|at| tokens.get(at + 1));
    names.filter(|token| token.kind == Kind::Word).map(|token| token.text).collect()
}

/// The brackets that are open before each token.
fn depths(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut open = 0_usize;
    let before = |token: &Token<'_>| {
        let depth = open;
        open = (open + usize::from(token.is_opening())).saturating_sub(usize::from(token.is_closing()));
        depth
    };
    tokens.iter().map(before).collect()
}

/// The sign with which a text that is written behind a block lets the block remove the space after it.
fn cut_after(source: &str, block: &Block<'_>) -> &'static str {
    if source.get(..block.span.end.saturating_sub(2)).is_some_and(|code| code.ends_with('-')) { "-" } else { "" }
}

/// Counts of the plain text that a block collects (`set`, macros, `call` and `filter`), if any part of the template is
/// rendered more than once. minijinja collects it without a limit.
fn text_counts(source: &str, blocks: &[Block<'_>]) -> Vec<Edit> {
    let repeats = |block: &Block<'_>| matches!(block.keyword(), Some("for" | "macro" | "call"));
    if !blocks.iter().any(repeats) {
        return Vec::new();
    }
    // What a raw part holds is text after the block before it.
    let blocks: Vec<&Block<'_>> = blocks.iter().filter(|block| block.keyword() != Some("raw")).collect();
    let mut open = 0_usize;
    let mut edits = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        match block.keyword() {
            Some("set") if !block.tokens.iter().any(|token| token.is("=")) => open += 1,
            Some("macro" | "call" | "filter") => open += 1,
            Some("endset" | "endmacro" | "endcall" | "endfilter") => open = open.saturating_sub(1),
            _ => {}
        }
        let from = block.span.end;
        let length = blocks.get(at + 1).map_or(source.len(), |next| next.span.start) - from;
        if open > 0 && length > 0 {
            let cut = cut_after(source, block);
            edits.push(Edit::insert(from, format!("{{{{{length}|{COUNT}{cut}}}}}"), Edit::OPENS));
        }
    }
    edits
}

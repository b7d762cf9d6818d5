//! The plain text that a block collects: of `{% set x %}…{% endset %}`, of macros, `call` and `filter`. minijinja collects it
//! without a check, so in a loop a short template makes a text that no memory holds. Written as an insertion, the
//! same text is counted.

use std::ops::Range;

use super::code::Block;

/// A part of the source, and what stands in its place; it is never shorter.
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
}

/// A part of a source outside of code.
struct Literal {
    range: Range<usize>,
    /// The text that is written of it.
    text: String,
}

/// The insertions that stand for collected text, if any part of the template is rendered more than once.
pub(super) fn edits(source: &str, blocks: &[Block<'_>]) -> Vec<Edit> {
    let repeats = |block: &Block<'_>| matches!(block.keyword(), Some("for" | "macro" | "call"));
    if !blocks.iter().any(repeats) {
        return Vec::new();
    }
    let mut edits = Vec::new();
    let mut open = 0_usize;
    for (at, block) in blocks.iter().enumerate() {
        match block.keyword() {
            Some("set") if !block.tokens.iter().any(|token| token.is("=")) => open += 1,
            Some("macro" | "call" | "filter") => open += 1,
            Some("endset" | "endmacro" | "endcall" | "endfilter") => open = open.saturating_sub(1),
            _ => {}
        }
        if open > 0 {
            let next = blocks.get(at + 1);
            let end = next.map_or(source.len(), |next| next.span.start);
            let is_cut = next.is_some_and(|next| source[next.span.start + 2..].starts_with('-'));
            edits.extend(literals(source, block, end, is_cut).into_iter().filter_map(|literal| edit(source, literal)));
        }
    }
    edits
}

/// The literals from the end of a block to that of the text after it, without the comments between them. `is_cut` tells
/// that the next block takes the white space before it away.
fn literals(source: &str, block: &Block<'_>, end: usize, is_cut: bool) -> Vec<Literal> {
    let mut literals = Vec::new();
    let mut at = block.span.end;
    let mut trims = source[..at].get(..at.saturating_sub(2)).is_some_and(|before| before.ends_with('-'));
    if block.keyword() == Some("raw") {
        let Some(close) = source[at..end].find("endraw").map(|found| at + found) else { return literals };
        let (Some(open), Some(after)) = (source[at..close].rfind("{%"), source[close..end].find("%}")) else {
            return literals;
        };
        let content = trim_sides(&source[at..at + open], trims, source[at + open + 2..].starts_with('-'));
        let stop = close + after + 2;
        literals.push(Literal { range: block.span.start..stop, text: content.to_owned() });
        trims = source[..stop - 2].ends_with('-');
        at = stop;
    }
    while let Some(open) = source[at..end].find("{#").map(|found| at + found) {
        let Some(close) = source[open..end].find("#}").map(|found| open + found) else { break };
        let is_cut = source[open + 2..].starts_with('-');
        literals.push(Literal { range: at..open, text: trim_sides(&source[at..open], trims, is_cut).to_owned() });
        trims = source[..close].ends_with('-');
        at = close + 2;
    }
    literals.push(Literal { range: at..end, text: trim_sides(&source[at..end], trims, is_cut).to_owned() });
    literals
}

fn trim_sides(text: &str, from_start: bool, from_end: bool) -> &str {
    let text = if from_start { text.trim_start() } else { text };
    if from_end { text.trim_end() } else { text }
}

/// The insertion of a literal. It is at least as long as the literal and has as many lines, so that places stay as they are.
fn edit(source: &str, Literal { range, text }: Literal) -> Option<Edit> {
    let written = &source[range.clone()];
    if text.is_empty() {
        return None;
    }
    let quoted = serde_json::Value::from(text).to_string();
    let lines = "\n".repeat(written.matches('\n').count());
    let spaces = " ".repeat(written.len().saturating_sub(quoted.len() + lines.len() + 4));
    Some(Edit {
        start: range.start,
        end: range.end,
        text: format!("{{{{{quoted}{lines}{spaces}}}}}"),
        order: Edit::OPENS,
    })
}

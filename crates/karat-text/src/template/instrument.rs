//! Rewrites a source so that what it keeps and collects is checked while it is rendered, see `growth`, and what it compares
//! and calculates with, see `types`.

use std::ops::Range;

use super::captures::{self, Edit};
use super::code::{Block, Kind, Token};
use super::growth::{KEEP, KEEP_MEMBER};
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

/// The source in which every expression whose value is kept, and that can grow, passes through [`KEEP`], text that blocks
/// collect again and again is inserted by expressions, and operations check their operands. `None` if nothing has to be
/// rewritten.
pub(super) fn instrument(source: &str, blocks: &[Block<'_>]) -> Option<(String, Insertions)> {
    const KEEPING: &[&str] = &["set", "with", "for", "macro", "call"];
    let keeps = blocks.iter().any(|block| block.keyword().is_some_and(|keyword| KEEPING.contains(&keyword)));
    let mut edits: Vec<Edit> = captures::edits(source, blocks);
    for Slot { range, filter } in blocks.iter().filter(|_| keeps).flat_map(growing_slots) {
        let edit = |at, text, order| Edit { start: at, end: at, text, order };
        edits.push(edit(range.start, "(".to_owned(), Edit::OPENS_VALUE));
        edits.push(edit(range.end, format!(")|{filter}"), Edit::CLOSES_VALUE));
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

/// An expression, and the filter through which its value passes.
struct Slot {
    range: Range<usize>,
    filter: &'static str,
}

/// A bracket, or the block itself, while its members are read.
struct Level {
    /// Where the present member begins: the index of its first token.
    from: usize,
    grows: bool,
    /// True if the members of this level are kept.
    keeps: bool,
    /// True if a namespace gets the present member.
    is_attribute: bool,
}

impl Level {
    fn new(from: usize, keeps: bool) -> Self {
        Self { from, grows: false, keeps, is_attribute: false }
    }
}

/// The members of brackets that have an operator which can grow a text, and the values of assignments that can be larger or
/// deeper than what they are made of.
fn growing_slots(block: &Block<'_>) -> Vec<Slot> {
    let tokens = &block.tokens;
    let assigns = matches!(block.keyword(), Some("set" | "with"));
    let mut levels = vec![Level::new(usize::MAX, false)];
    let mut slots = Vec::new();
    let mut finish = |level: &Level, to: usize| {
        let members = tokens.get(level.from..to).filter(|members| !members.is_empty() && level.grows && level.keeps);
        if let Some([first, ..]) = members.filter(|members| !members[0].is("*"))
            && let Some(last) = tokens.get(to - 1)
        {
            let filter = if level.is_attribute { KEEP_MEMBER } else { KEEP };
            slots.push(Slot { range: first.at..last.span().end, filter });
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        let is_outermost = levels.len() == 1;
        let Some(level) = levels.last_mut() else { break };
        if token.is_opening() {
            // A list, a map or a call makes a value of its own.
            level.grows |= is_outermost;
            levels.push(Level::new(at + 1, true));
        } else if token.is_closing() {
            finish(level, at);
            if !is_outermost {
                levels.pop();
            }
        } else if token.is(",") || token.is(":") {
            finish(level, at);
            // The values of `set a, b = …` are kept as well.
            *level = Level::new(at + 1, !is_outermost || level.keeps);
        } else if token.is("=") {
            // A namespace outlives the statement: every value that it gets is kept.
            let is_attribute = is_outermost && at.checked_sub(2).is_some_and(|dot| tokens[dot].is("."));
            let keeps = !is_outermost || assigns;
            *level = Level { grows: is_attribute, is_attribute, ..Level::new(at + 1, keeps) };
        } else if grows(token) {
            level.grows = true;
        }
    }
    if let Some(level) = levels.last() {
        finish(level, tokens.len());
    }
    slots
}

fn grows(token: &Token<'_>) -> bool {
    token.kind == Kind::Operator && ["~", "+", "*"].contains(&token.text)
}

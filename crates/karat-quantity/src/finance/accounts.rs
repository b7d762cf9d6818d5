//! Numbers in parentheses: negative ones of accounts, and asides.

use crate::chars::{digit, is_inline_space};
use crate::finance::direction;
use crate::numeral::digits::{Form, Numeral};
use crate::role;
use crate::unit::Unit;
use crate::{Quantity, Role};

use crate::finance::word_list::word_lists;

word_lists!("accounts.txt": LEADING);

/// The surroundings of a number in parentheses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parentheses {
    /// True if a scale or unit stands inside, after the number: "($1.2 million)".
    pub(crate) inside_unit: bool,
    /// True if currency, scale or unit stand outside, as in accounts alone: "$(1.2) million", "(4)%".
    pub(crate) split: bool,
}

/// More words than a row of a statement is named by.
const LABEL: usize = 4;

/// Characters looked at before a parenthesis.
const LONGEST: usize = 120;

/// Makes a number alone in parentheses negative, as in accounts: `(1,234)`.
///
/// Not a year or a footnote, nor what only restates the amount before it: "5% ($60 million)",
/// "$1.2 billion ($1,200 million)", nor an aside in a sentence: "a record level ($1.2 billion)".
pub(crate) fn read(
    text: &str,
    found: &mut Quantity,
    numeral: &Numeral,
    previous: Option<&Quantity>,
    parentheses: Parentheses,
) {
    let raw = &text[numeral.start..numeral.end];
    let date = found.role != Role::Quantity || role::is_year(raw, numeral);
    if date || numeral.form == Form::Spelled {
        return;
    }
    let marked = found.unit != Unit::Plain || found.scaled;
    let before = text[..found.span.start].trim_end();
    let restates = previous.is_some_and(|previous| {
        let beside = previous.span.end == before.len();
        beside && marked && (previous.unit != found.unit || nearly_equal(previous, found))
    });
    if restates {
        return;
    }
    let noted = before.ends_with(char::is_alphabetic) || text[..found.span.start].ends_with(|c| digit(c).is_some());
    if !marked && raw.len() <= 2 && noted {
        found.role = Role::Reference;
    } else if parentheses.split || !is_aside(text, found, parentheses) {
        found.value = -found.value;
    }
}

/// True if two amounts differ by no more than the rounding that either shows.
fn nearly_equal(a: &Quantity, b: &Quantity) -> bool {
    let difference = a.value.checked_sub(b.value).map(|d| d.abs());
    difference.is_some_and(|difference| difference <= a.step.max(b.step))
}

/// True if the parenthesis only adds an amount to the words before it: "Headcount (4,334) rose".
fn is_aside(text: &str, found: &Quantity, parentheses: Parentheses) -> bool {
    let line = last_line(&text[..found.span.start]);
    let before = line.trim_end_matches(is_inline_space);
    let in_column = line.len() > before.len() + 1 || line.ends_with('\t');
    let before = before.trim_end_matches(['*', '_', '`', '"', '”', '’', '\'']);
    let word = before.rsplit(is_inline_space).next().unwrap_or_default();
    let leads_on = LEADING.contains(word.to_lowercase().as_str());
    let named = word.contains(char::is_alphabetic) && word.ends_with(char::is_alphanumeric) || is_date(word);
    let row = is_row(before, &text[found.span.end..], parentheses);
    named && !in_column && !leads_on && !row && !direction::is_loss(before, &found.phrase)
}

/// The last line of `text`, no farther back than a row of a table is long.
fn last_line(text: &str) -> &str {
    let start = text.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let near = &text[start..];
    &near[near.rfind(['\n', '\r', '|']).map_or(0, |at| at + 1)..]
}

fn is_date(word: &str) -> bool {
    word.len() == 4 && (word.starts_with("19") || word.starts_with("20")) && word.bytes().all(|b| b.is_ascii_digit())
}

/// True if words and number are a row of a statement that lost its columns: "Operating income (1,234)".
fn is_row(before: &str, after: &str, parentheses: Parentheses) -> bool {
    let rest = after.trim_start_matches(is_inline_space);
    let ends = rest.chars().next().is_none_or(|c| matches!(c, '\n' | '\r' | '|' | '(' | '$') || digit(c).is_some());
    let words = before.split(is_inline_space).filter(|word| !word.is_empty()).count();
    ends && words <= LABEL && !parentheses.inside_unit
}

//! Asserts that are short JavaScript or Python about the output, as checks.
//!
//! Nothing is run: an expression is read as the tests that it is made of (`includes`, `length`, comparisons, members of the
//! output's JSON) and their `and`, `or` and `not`. Anything else is dropped.
//!
//! `tokens` cuts the code, `parser` reads expressions with the values of `operand`, whose comparisons are the tests of `test`;
//! `pieces` counts words and lines. `verdict` reads what the code answers, with `if` and `return`, `numbers` scores that are
//! computed from a count.

mod amount;
mod numbers;
mod operand;
mod parser;
mod pieces;
mod test;
#[cfg(test)]
mod tests;
mod tokens;
mod verdict;

use serde_json::{Map, Value};

use self::parser::Parser;
use super::Item;

/// The language of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    JavaScript,
    Python,
}

/// The output that code sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::promptfoo) enum Root {
    /// The text of a model.
    #[default]
    Text,
    /// The answer of a program or service, which may be an object.
    Either,
    /// A value that was read from JSON.
    Json,
}

/// Code of an assert.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code<'a> {
    pub text: &'a str,
    pub language: Language,
    pub root: Root,
    /// The least score that passes; without it every score above 0 does.
    pub threshold: Option<f64>,
    /// The variables of the row.
    pub vars: &'a Map<String, Value>,
}

/// A check in the place of code.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Translated {
    pub item: Item,
    /// True if the code gives scores between those of a pass and a failure.
    pub is_graded: bool,
}

/// The check of code; `None` of code that is more than tests of the output.
pub(super) fn translate(code: Code<'_>) -> Option<Translated> {
    let text = code.text.trim();
    // Several lines are the body of a function, which answers by `return` alone.
    let is_body = text.contains('\n');
    let tokens = tokens::tokens(text, code.language)?;
    let (verdict, is_graded) = Parser::new(&tokens, code).verdict(is_body)?;
    let item = verdict.into_item(is_graded)?;
    Some(Translated { item, is_graded })
}

/// Returns true if code reads the variables of its row.
pub(super) fn reads_row(code: &str) -> bool {
    code.contains("context.vars") || code.contains("context[")
}

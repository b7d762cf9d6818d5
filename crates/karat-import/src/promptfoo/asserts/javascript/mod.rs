//! Asserts that are one expression of JavaScript or Python about the output, as checks.
//!
//! Nothing is run: an expression is read as the tests that it is made of (`includes`, `length`, comparisons, members of the
//! output's JSON) and their `and`, `or` and `not`. Anything else is no such expression.
//!
//! `tokens` cuts the code, `parser` reads it with the values of `operand`, whose comparisons are the tests of `test`; `pieces`
//! counts words and lines.

mod operand;
mod parser;
mod pieces;
mod test;
#[cfg(test)]
mod tests;
mod tokens;

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
    /// The variables of the row.
    pub vars: &'a Map<String, Value>,
}

/// The check of an expression; `None` of other code.
pub(super) fn item(code: Code<'_>) -> Option<Item> {
    let text = code.text.trim_end();
    // Several lines are the body of a function, which answers by `return` alone.
    if text.contains('\n') && !text.contains("return") {
        return None;
    }
    Parser::new(&tokens::tokens(text)?, code).test()?.into_item()
}

/// Returns true if code reads the variables of its row.
pub(super) fn reads_row(code: &str) -> bool {
    code.contains("context.vars") || code.contains("context[")
}

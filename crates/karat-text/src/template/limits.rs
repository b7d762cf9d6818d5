//! Limits that a source must keep before minijinja parses it, and names of filters and tests that do not exist.
//!
//! minijinja bounds nesting, but not chains: it walks `a + a + …` and `elif … elif …` by recursion, so that a long one
//! overflows the stack, which no program survives.

use std::ops::Range;

use minijinja::{Environment, ErrorKind, Value};

use super::TemplateError;
use super::code::{Block, Kind, Token};
use crate::similar::nearest;

/// Longest source with code in it, in bytes.
const LENGTH: usize = 4 << 20;

/// Most operators in a row, those of brackets around them included.
const CHAIN: usize = 250;

/// Most `elif` that hang together.
const ELIFS: usize = 100;

/// Filters for "did you mean …?"; a test holds that all of them exist.
pub(super) const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "fence",
    "first",
    "float",
    "format",
    "fromjson",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "only",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "transcript",
    "trim",
    "unique",
    "upper",
    "zip",
];

/// Tests for "did you mean …?".
pub(super) const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "even",
    "false",
    "float",
    "in",
    "integer",
    "iterable",
    "lower",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
    "upper",
];

/// Checks the length of a source.
pub(super) fn check_length(source: &str) -> Result<(), TemplateError> {
    if source.len() <= LENGTH {
        return Ok(());
    }
    let message = format!("the template has {} MiB, and at most {} MiB are allowed", source.len() >> 20, LENGTH >> 20);
    Err(problem(source, 0..0, message, "give long texts as columns of the dataset, and insert them"))
}

/// Checks the chains of a source.
pub(super) fn check_chains(source: &str, blocks: &[Block<'_>]) -> Result<(), TemplateError> {
    let mut elifs: Vec<usize> = Vec::new();
    for block in blocks {
        check_chain(source, block)?;
        match (block.keyword(), elifs.last_mut()) {
            (Some("if"), _) => elifs.push(0),
            (Some("endif"), _) => drop(elifs.pop()),
            (Some("elif"), Some(count)) => *count += 1,
            _ => {}
        }
        if let Some(first) = block.tokens.first()
            && elifs.iter().sum::<usize>() > ELIFS
        {
            let message = format!("more than {ELIFS} `elif` hang together");
            return Err(problem(
                source,
                first.span(),
                message,
                "look the value up in a map, or in a column of the dataset",
            ));
        }
    }
    Ok(())
}

/// Checks the names of filters and tests.
pub(super) fn check_names(
    source: &str,
    blocks: &[Block<'_>],
    environment: &Environment<'_>,
) -> Result<(), TemplateError> {
    blocks.iter().try_for_each(|block| check_block(source, block, environment))
}

/// Counts operators by bracket. A comma begins a new chain, and a bracket continues the one around it.
fn check_chain(source: &str, block: &Block<'_>) -> Result<(), TemplateError> {
    let mut open: Vec<usize> = Vec::new();
    let mut depth = 0;
    let mut here = 0;
    for token in &block.tokens {
        if token.is_opening() {
            here += 1;
            depth += here;
            open.push(std::mem::take(&mut here));
        } else if token.is_closing() {
            here = open.pop().unwrap_or(0);
            depth -= here;
        } else if token.is(",") {
            here = 0;
        } else if is_link(token) {
            here += 1;
        }
        if depth + here > CHAIN {
            let message = format!("more than {CHAIN} operators hang together");
            return Err(problem(source, token.span(), message, "split it with `{% set %}`, or compute it in a column"));
        }
    }
    Ok(())
}

/// Returns whether a token makes an expression one step deeper.
fn is_link(token: &Token<'_>) -> bool {
    const WORDS: &[&str] = &["not", "and", "or", "in", "is", "if", "else"];
    match token.kind {
        Kind::Word => WORDS.contains(&token.text),
        Kind::Operator => ![",", ":", "="].contains(&token.text),
        Kind::Literal => false,
    }
}

fn check_block(source: &str, block: &Block<'_>, environment: &Environment<'_>) -> Result<(), TemplateError> {
    let words = block.tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word);
    for (at, token) in words {
        let before = |distance: usize| at.checked_sub(distance).and_then(|at| block.tokens.get(at));
        let is_after = |text: &str| before(1).is_some_and(|token| token.is(text));
        if is_after("|") || at == 1 && block.keyword() == Some("filter") {
            if !has_filter(environment, token.text) {
                return Err(unknown(source, token, "filter", FILTERS));
            }
        } else if (is_after("is") || is_after("not") && before(2).is_some_and(|token| token.is("is")))
            && !token.is("not")
            && !has_test(environment, token.text)
        {
            return Err(unknown(source, token, "test", TESTS));
        }
    }
    Ok(())
}

pub(super) fn has_filter(environment: &Environment<'_>, name: &str) -> bool {
    let outcome = environment.empty_state().apply_filter(name, &[Value::UNDEFINED]);
    outcome.err().is_none_or(|error| error.kind() != ErrorKind::UnknownFilter)
}

pub(super) fn has_test(environment: &Environment<'_>, name: &str) -> bool {
    let outcome = environment.empty_state().perform_test(name, &[Value::UNDEFINED]);
    outcome.err().is_none_or(|error| error.kind() != ErrorKind::UnknownTest)
}

fn unknown(source: &str, token: &Token<'_>, what: &str, known: &[&str]) -> TemplateError {
    let hint = match nearest(token.text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{what}s: {}", known.join(", ")),
    };
    problem(source, token.span(), format!("there is no {what} `{}`", token.text), hint)
}

fn problem(source: &str, span: Range<usize>, message: String, hint: impl Into<String>) -> TemplateError {
    let line = source[..span.start].matches('\n').count() + 1;
    TemplateError { message, line: Some(line), span: Some(span), hint: Some(hint.into()) }
}

//! Limits that a source must keep before minijinja parses it; names of filters and tests that do not exist, filters without
//! their arguments, and methods of other languages.
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
    "urlencode",
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

pub(super) fn check_length(source: &str) -> Result<(), TemplateError> {
    if source.len() <= LENGTH {
        return Ok(());
    }
    let message = format!("the template has {} MiB, and at most {} MiB are allowed", source.len() >> 20, LENGTH >> 20);
    Err(problem(source, 0..0, message, "give long texts as columns of the dataset, and insert them"))
}

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
            check_arguments(source, &block.tokens[at..], environment)?;
        } else if is_after(".") && block.tokens.get(at + 1).is_some_and(|next| next.is("(")) {
            // `loop.cycle("a", "b")` is a function of the loop.
            if !before(2).is_some_and(|owner| owner.is("loop") || owner.is("self")) {
                return Err(method_error(source, token, environment));
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

/// Checks that a filter has as many arguments as it needs, and no more. `tokens` begin with its name.
fn check_arguments(source: &str, tokens: &[Token<'_>], environment: &Environment<'_>) -> Result<(), TemplateError> {
    // `format` takes as many as its text has places.
    let Some(name) = tokens.first().filter(|name| name.text != "format") else { return Ok(()) };
    let Some(count) = argument_count(&tokens[1..]) else { return Ok(()) };
    let call = |count: usize| {
        let values: Vec<Value> = std::iter::repeat_n(Value::from("a"), count + 1).collect();
        environment.empty_state().apply_filter(name.text, &values).err().map(|error| error.kind())
    };
    let (message, more) = match call(count) {
        Some(ErrorKind::MissingArgument) => ("needs more arguments", true),
        Some(ErrorKind::TooManyArguments) => ("has too many arguments", false),
        _ => return Ok(()),
    };
    let fits = |count: &usize| !matches!(call(*count), Some(ErrorKind::MissingArgument | ErrorKind::TooManyArguments));
    let mut counts: Box<dyn Iterator<Item = usize>> =
        if more { Box::new(count + 1..count + 5) } else { Box::new((0..count).rev()) };
    let hint = match counts.find(fits) {
        Some(0) => format!("write `| {}` without any", name.text),
        Some(count) => format!("write `| {}({})`", name.text, vec!["…"; count].join(", ")),
        None => "see the list of filters in the suite reference".to_owned(),
    };
    Err(problem(source, name.span(), format!("the filter `{}` {message}", name.text), hint))
}

/// The number of arguments in the brackets that follow a filter; `None` if some of them have names or are spread.
fn argument_count(tokens: &[Token<'_>]) -> Option<usize> {
    if !tokens.first().is_some_and(|token| token.is("(")) {
        return Some(0);
    }
    let (mut depth, mut commas, mut is_empty, mut ends_with_comma) = (0_usize, 0, true, false);
    for token in tokens {
        if token.is_closing() {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(if is_empty { 0 } else { commas + usize::from(!ends_with_comma) });
            }
        }
        if depth == 1 && (token.is("=") || token.is("*") && (ends_with_comma || is_empty)) {
            return None;
        }
        ends_with_comma = depth == 1 && token.is(",");
        commas += usize::from(ends_with_comma);
        is_empty &= depth == 0;
        depth += usize::from(token.is_opening());
    }
    None
}

/// Methods of Python and JavaScript, and what stands for them here.
const METHODS: &[(&str, &str)] = &[
    ("strip", "| trim"),
    ("lstrip", "| trim"),
    ("rstrip", "| trim"),
    ("toLowerCase", "| lower"),
    ("toUpperCase", "| upper"),
    ("startswith", "is startingwith(…)"),
    ("startsWith", "is startingwith(…)"),
    ("endswith", "is endingwith(…)"),
    ("endsWith", "is endingwith(…)"),
    ("splitlines", "| lines"),
    ("keys", "| list"),
    ("values", "| items | map(attribute=1) | list"),
    ("get", "[\"name\"] | default(…)"),
];

/// The error of a method, which no value has.
fn method_error(source: &str, token: &Token<'_>, environment: &Environment<'_>) -> TemplateError {
    let name = token.text;
    let stands = METHODS.iter().find(|(method, _)| *method == name).map(|(_, ours)| (*ours).to_owned());
    let own = || has_filter(environment, name).then(|| format!("| {name}"));
    let hint = match stands.or_else(own) {
        Some(ours) => format!("write `{ours}`"),
        None => format!("use a filter; filters: {}", FILTERS.join(", ")),
    };
    problem(source, token.span(), format!("values have no methods, so `.{name}()` cannot be called"), hint)
}

/// The statements that need an end of their own.
const ENDED: &[&str] = &["for", "if", "with", "macro", "call", "filter", "block", "autoescape"];

/// The error of a statement without its end, if there is one. Says nothing of a source whose last block is not closed.
pub(super) fn unclosed_statement(source: &str, blocks: &[Block<'_>]) -> Option<TemplateError> {
    let is_closed =
        |block: &Block<'_>| source[..block.span.end].ends_with(if block.is_statement { "%}" } else { "}}" });
    if !blocks.iter().all(is_closed) {
        return None;
    }
    let mut open: Vec<(&str, &Block<'_>)> = Vec::new();
    for block in blocks {
        let Some(keyword) = block.keyword() else { continue };
        let is_text_of_set = keyword == "set" && !block.tokens.iter().any(|token| token.is("="));
        if ENDED.contains(&keyword) || is_text_of_set {
            open.push((keyword, block));
        } else if let Some(ended) = keyword.strip_prefix("end").filter(|ended| !ended.is_empty())
            && open.last().is_some_and(|(keyword, _)| *keyword == ended)
        {
            open.pop();
        }
    }
    let (keyword, block) = open.pop()?;
    let message = format!("`{{% {keyword} %}}` is never closed");
    let hint = format!("add `{{% end{keyword} %}}` where its part ends");
    Some(problem(source, block.span.clone(), message, hint))
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

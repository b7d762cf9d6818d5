//! Errors of templates, worded so that the author can fix them.

use std::ops::Range;

use minijinja::ErrorKind;
use minijinja::value::ValueKind;

use super::Context;
use super::growth::{TOO_DEEP, TOO_LARGE};
use super::instrument::Insertions;
use super::types::TypeMismatch;
use crate::similar::nearest;

/// A template or expression that does not compile, or cannot be computed for a context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", .hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
pub struct TemplateError {
    /// The problem.
    pub message: String,
    /// Line in the source, from 1.
    pub line: Option<usize>,
    /// Byte range in the source.
    pub span: Option<Range<usize>>,
    /// The advice.
    pub hint: Option<String>,
}

impl TemplateError {
    pub(super) fn at_compile_time(error: &minijinja::Error, source: &str) -> Self {
        let mut this = Self::with_location(error, source, &Insertions::default());
        this.hint = match error.kind() {
            ErrorKind::UnknownFilter => Some("see the list of filters in the suite reference".to_owned()),
            ErrorKind::SyntaxError => error.detail().and_then(|detail| syntax_hint(detail, source, this.span.as_ref())),
            _ => None,
        };
        this
    }

    /// An error of a rendering. `insertions` are what the compiled source has beyond the author's.
    pub(super) fn at_run_time(
        error: &minijinja::Error,
        source: &str,
        insertions: &Insertions,
        context: &Context,
    ) -> Self {
        let mut this = Self::with_location(error, source, insertions);
        if let Some(TypeMismatch { message, hint }) = TypeMismatch::of(error).cloned() {
            return Self { message, hint: Some(hint), ..this };
        }
        let undefined = error.detail().and_then(undefined_name);
        match (error.kind(), undefined) {
            (ErrorKind::OutOfFuel, _) => {
                this.message = "the template runs too long and was stopped".to_owned();
                this.hint = Some("look for a loop over a very long list".to_owned());
            }
            (_, Some(name)) => this.hint = hint(name, context),
            // Only the sink that collects the text refuses to be written to.
            (ErrorKind::WriteFailure, _) => this.set_too_large(),
            (ErrorKind::InvalidOperation, _) if error.detail() == Some(TOO_LARGE) => this.set_too_large(),
            (ErrorKind::InvalidOperation, _) if error.detail() == Some(TOO_DEEP) => {
                this.message =
                    "the template keeps a value with more than 128 lists or maps within each other".to_owned();
                this.hint =
                    Some("look for a list that is put into itself, or a namespace within another value".to_owned());
            }
            _ => {}
        }
        this
    }

    fn set_too_large(&mut self) {
        self.message = format!("the template makes a value {TOO_LARGE}");
        self.hint = Some("look for a text that is repeated, indented or appended to itself".to_owned());
    }

    pub(super) fn of_mismatch(TypeMismatch { message, hint }: TypeMismatch) -> Self {
        Self { message, line: None, span: None, hint: Some(hint) }
    }

    pub(super) fn undefined_value(name: &str, context: &Context) -> Self {
        Self { message: format!("`{name}` is undefined"), line: None, span: None, hint: hint(name, context) }
    }

    fn with_location(error: &minijinja::Error, source: &str, insertions: &Insertions) -> Self {
        let message = match (error.detail(), error.kind()) {
            (Some(detail), ErrorKind::UndefinedError) => detail.to_owned(),
            (Some(detail), kind) => format!("{kind}: {detail}"),
            (None, kind) => kind.to_string(),
        };
        let span = error.range().map(|span| insertions.original(span.start)..insertions.original(span.end));
        let span = span.filter(|span| span.end <= source.len() && span.start <= span.end);
        // minijinja counts an unexpected character as one byte.
        let span = span.map(|span| source.floor_char_boundary(span.start)..source.ceil_char_boundary(span.end));
        Self { message, line: error.line(), span, hint: None }
    }
}

/// The statements, for "did you mean …?".
const STATEMENTS: [&str; 12] =
    ["for", "if", "elif", "else", "set", "with", "macro", "call", "filter", "raw", "endfor", "endif"];

/// The advice on a syntax error, by minijinja's words.
fn syntax_hint(detail: &str, source: &str, span: Option<&Range<usize>>) -> Option<String> {
    let rest = span.and_then(|span| source.get(span.start..)).unwrap_or_default();
    if rest.starts_with('=') && !rest.starts_with("==") {
        return Some("compare with `==`".to_owned());
    }
    if rest.starts_with("&&") || rest.starts_with("||") || rest.starts_with('!') && !rest.starts_with("!=") {
        return Some("write `and`, `or` and `not`".to_owned());
    }
    let end = "unexpected end of input, expected end of ";
    match detail.strip_prefix(end) {
        Some("variable block") => return Some("close `{{` with `}}`".to_owned()),
        Some("block") => return Some("close `{%` with `%}`".to_owned()),
        _ => {}
    }
    let near = nearest(detail.strip_prefix("unknown statement ")?, STATEMENTS)?;
    Some(format!("did you mean `{near}`?"))
}

/// The name in minijinja's "`sample.titel` is undefined".
fn undefined_name(detail: &str) -> Option<&str> {
    let (before, _) = detail.split_once("` is undefined")?;
    before.rsplit_once('`').map(|(_, name)| name)
}

/// The nearest known name to a dotted one that cannot be found.
fn hint(name: &str, context: &Context) -> Option<String> {
    let mut parts = name.split('.');
    let first = parts.next()?;
    let Some(mut place) = context.get(first).cloned() else {
        let known: Vec<&str> = context.names();
        return Some(match nearest(first, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known names are {}", known.join(", ")),
        });
    };
    let mut walked = first.to_owned();
    for part in parts {
        let next = place.get_attr(part).ok().filter(|value| !value.is_undefined());
        let Some(next) = next else {
            if place.kind() != ValueKind::Map {
                return Some(format!("`{walked}` is a {}, it has no members", place.kind()));
            }
            let known: Vec<String> = place.try_iter().ok()?.map(|key| key.to_string()).collect();
            let near = nearest(part, known.iter().map(String::as_str))?;
            return Some(format!("did you mean `{walked}.{near}`?"));
        };
        walked = format!("{walked}.{part}");
        place = next;
    }
    None
}

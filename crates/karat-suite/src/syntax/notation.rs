//! The three notations inside a suite: templates, expressions and paths, compiled in place.

use std::ops::Range;

use karat_text::path::Path;
use karat_text::template::{Expression, Template, TemplateError};

use crate::diagnostics::Problems;
use crate::syntax::node::{Node, Place};

/// Compiles the template of a node; a syntax error becomes a problem.
pub(crate) fn template(node: &Node, problems: &mut Problems) -> Option<Template> {
    let text = node.text()?;
    Template::compile(text).map_err(|error| report(&error, "template", text, &node.place, problems)).ok()
}

/// Compiles the expression of a node; a syntax error becomes a problem.
pub(crate) fn expression(node: &Node, problems: &mut Problems) -> Option<Expression> {
    let text = node.text()?;
    if text.trim_start().starts_with("{{") {
        problems
            .error(&node.place, "this is an expression: write it without braces")
            .hint("write what you would put inside `{{ }}`");
        return None;
    }
    Expression::compile(text).map_err(|error| report(&error, "expression", text, &node.place, problems)).ok()
}

/// Parses the path of a node; a syntax error becomes a problem.
pub(crate) fn path(node: &Node, problems: &mut Problems) -> Option<Path> {
    let text = node.text()?;
    if let Some((_, rest)) = text.split_once("{{") {
        let inner = rest.split("}}").next().unwrap_or_default().trim();
        let (root, path) = inner.split_once('.').unwrap_or((inner, ""));
        let written = match root {
            "output" => ["$", path].join(if path.is_empty() { "" } else { "." }),
            "sample" => path.to_owned(),
            _ => inner.to_owned(),
        };
        let is_path = Path::parse(&written).is_ok() && !written.is_empty();
        let hint = if is_path {
            format!("write `{written}`")
        } else {
            "write paths like `a.b[0]` or `$.items[*].name`".to_owned()
        };
        problems.error(&node.place, format!("`{text}` is a template, and this key takes a path")).hint(hint);
        return None;
    }
    match Path::parse(text) {
        Ok(path) => Some(path),
        Err(error) => {
            let place = span_within(&node.place, text, &(error.at..error.at + 1), problems);
            problems
                .error(&place, format!("`{text}` is not a path: {}", error.problem))
                .hint("write paths like `a.b[0]` or `$.items[*].name`");
            None
        }
    }
}

/// Records a template error at its own place within the text.
pub(crate) fn report(error: &TemplateError, what: &str, text: &str, place: &Place, problems: &mut Problems) {
    let place = error.span.as_ref().map_or_else(|| place.clone(), |span| span_within(place, text, span, problems));
    problems.error(&place, format!("invalid {what}: {}", error.message)).maybe_hint(error.hint.clone());
}

/// The place of a part of a text: exact if the file contains the text unchanged, else the place of the whole text.
pub(crate) fn span_within(place: &Place, text: &str, span: &Range<usize>, problems: &Problems) -> Place {
    let source = problems.text(place.file);
    let shown = source.get(place.span.clone()).unwrap_or_default();
    match shown.find(text) {
        Some(offset) if span.end <= text.len() => {
            let start = place.span.start + offset;
            Place { file: place.file, span: start + span.start..start + span.end }
        }
        _ => place.clone(),
    }
}

/// The place of a dotted name within a template or expression.
pub(crate) fn name_within(place: &Place, text: &str, name: &str, problems: &Problems) -> Place {
    match text.find(name) {
        Some(at) => span_within(place, text, &(at..at + name.len()), problems),
        None => place.clone(),
    }
}

//! Describes an answer of an unexpected shape: which path is missing or of another type, and what is there instead.

use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use karat_text::path::Path;
use serde_json::Value;

/// Maximum of member names in a message.
const NAMED: usize = 6;

/// Maximum of characters of a text in a message.
const SHOWN: usize = 40;

/// Describes a schema violation: `` `$.answer` is missing; there are `reply` and `sources` ``.
pub(super) fn violation(error: &ValidationError<'_>) -> String {
    let place = place(error.instance_path().as_str());
    let found = error.instance();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("`{place}.{name}` is missing; there {}", inside(found))
        }
        ValidationErrorKind::Type { kind } => format!("`{place}` is {}, not {}", kind_of(found), type_name(kind)),
        _ => format!("{error} (at `{place}`)"),
    }
}

/// Describes a document in which none of the paths leads anywhere; `None` if one does, or if there are no paths.
pub(super) fn nothing_at<'a>(paths: impl Iterator<Item = &'a String>, document: &Value) -> Option<String> {
    let mut missing = Vec::new();
    for path in paths {
        if Path::parse(path).is_ok_and(|path| path.first(document).is_some()) {
            return None;
        }
        missing.push(format!("`{path}`"));
    }
    let is_are = if missing.len() == 1 { "is" } else { "are" };
    let named = list_names(&missing);
    (!missing.is_empty()).then(|| format!("{named} {is_are} missing; there {}", inside(document)))
}

/// A JSON pointer as a path.
fn place(pointer: &str) -> String {
    let mut place = "$".to_owned();
    for part in pointer.split('/').skip(1) {
        // Writing to a String cannot fail.
        let _ = match part.bytes().all(|byte| byte.is_ascii_digit()) {
            true => write!(place, "[{part}]"),
            false => write!(place, ".{}", part.replace("~1", "/").replace("~0", "~")),
        };
    }
    place
}

/// Describes what a value holds.
fn inside(found: &Value) -> String {
    match found {
        Value::Object(members) if members.is_empty() => "is an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<String> = members.keys().map(|name| format!("`{}`", cut(name))).collect();
            format!("{} {}", if names.len() == 1 { "is" } else { "are" }, list_names(&names))
        }
        other => format!("is {}", kind_of(other)),
    }
}

/// The first few names.
fn list_names(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>();
    match (names.len().saturating_sub(NAMED), shown.as_slice()) {
        (0, [all @ .., last]) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        (0, _) => shown.join(", "),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("{value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", cut(text)),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn type_name(kind: &TypeKind) -> String {
    let word = |name: &str| match name {
        "array" => "a list",
        "object" => "an object",
        "string" => "a text",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        _ => "null",
    };
    match kind {
        TypeKind::Single(one) => word(one.as_str()).to_owned(),
        TypeKind::Multiple(set) => {
            let words: Vec<&str> = set.into_iter().map(|one| word(one.as_str())).collect();
            words.join(" or ")
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violated(schema: &Value, document: &Value) -> String {
        let validator = jsonschema::validator_for(schema).unwrap();
        violation(&validator.validate(document).unwrap_err())
    }

    /// RG-03, RG-09: a missing value is named by its path, with what is there instead.
    #[test]
    fn violations_name_paths_and_what_is_there() {
        let schema = json!({
            "type": "object", "required": ["answer"],
            "properties": {
                "answer": {"type": ["string", "null"]},
                "citations": {"type": "array", "items": {"type": "object", "properties": {"page": {"minimum": 1}}}}
            }
        });
        for (document, expected) in [
            (json!({"reply": "x", "sources": []}), "`$.answer` is missing; there are `reply` and `sources`"),
            (json!({}), "`$.answer` is missing; there is an empty object"),
            (json!([1, 2]), "`$` is a list of 2, not an object"),
            (json!("x"), "`$` is the text \"x\", not an object"),
            (json!({"answer": 7}), "`$.answer` is the number 7, not null or a text"),
            (json!({"answer": "x", "citations": [{}, "p. 2"]}), "`$.citations[1]` is the text \"p. 2\", not an object"),
            (
                json!({"answer": "x", "citations": [{"page": 0}]}),
                "0 is less than the minimum of 1 (at `$.citations[0].page`)",
            ),
        ] {
            assert_eq!(violated(&schema, &document), expected);
        }
        let long = json!({"answer": ["x".repeat(900)], "citations": "y".repeat(900)});
        assert!(violated(&schema, &long).len() < 200);
    }

    /// RG-03: some parts may be missing, but not all.
    #[test]
    fn an_answer_without_any_path_is_refused() {
        let paths = ["$.answer".to_owned(), "$.citations".to_owned()];
        let said = |document: Value| nothing_at(paths.iter(), &document);
        assert_eq!(said(json!({"citations": null})), None);
        assert_eq!(said(json!({"reply": "x"})).unwrap(), "`$.answer` and `$.citations` are missing; there is `reply`");
        let many: serde_json::Map<_, _> = (0..9).map(|at| (format!("m{at}"), json!(1))).collect();
        assert!(said(many.into()).unwrap().ends_with("`m5` and 3 more"));
        assert_eq!(nothing_at([].iter(), &json!([])), None);
    }
}

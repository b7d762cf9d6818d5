//! JSON: its members are the columns, or chosen parts of it. Where `body_text` is chosen the file is a document, and
//! has the columns of one: what is not chosen is found in the text, which is read as Markdown.

use karat_text::path::Path;
use serde_json::{Map, Value};

use super::{ReadError, ReaderRules, links, markdown};
use crate::files::jsonl;

/// The column with the words of a document.
const BODY: &str = "body_text";
/// The column with the links of a document.
const SOURCES: &str = "source_urls";

/// The columns of a JSON document.
pub(super) fn columns(text: &str, rules: &ReaderRules) -> Result<Map<String, Value>, ReadError> {
    let document = jsonl::parse_strict(text).map_err(ReadError::Syntax)?;
    if rules.columns.is_empty() {
        return match document {
            Value::Object(members) => Ok(members),
            _ => Err(ReadError::Form(
                "it is not a JSON object, so it has no columns; choose parts with `columns`".to_owned(),
            )),
        };
    }
    let chosen: Map<String, Value> =
        rules.columns.iter().map(|(name, path)| (name.clone(), part(&document, path))).collect();
    match rules.columns.iter().find(|(name, _)| name == BODY) {
        None => Ok(chosen),
        Some((_, path)) => of_document(chosen, path, rules),
    }
}

fn part(document: &Value, path: &Path) -> Value {
    match path.is_plural() {
        true => Value::Array(path.all(document).into_iter().cloned().collect()),
        false => path.first(document).cloned().unwrap_or_default(),
    }
}

/// The columns of a document, those that were chosen before those that are found.
fn of_document(
    mut chosen: Map<String, Value>,
    path: &Path,
    rules: &ReaderRules,
) -> Result<Map<String, Value>, ReadError> {
    let texts = chosen.get(BODY).map(texts).unwrap_or_default();
    if texts.iter().all(|text| text.trim().is_empty()) {
        return Err(ReadError::Form(format!("`{BODY}` ({path}) is not text, so there is nothing to judge")));
    }
    let body = texts.join("\n");
    if let Some(sources) = chosen.get_mut(SOURCES) {
        *sources = links::sources(self::texts(sources).into_iter(), &rules.own_hosts).into();
    }
    let columns_of_body = super::columns(&markdown::document(&body), rules);
    chosen.insert(BODY.to_owned(), body.into());
    for (name, value) in columns_of_body {
        chosen.entry(name).or_insert(value);
    }
    Ok(chosen)
}

/// The texts in a value: itself, or the members of a list.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

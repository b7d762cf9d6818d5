//! JSON: its members are the columns, or chosen parts of it.

use serde_json::{Map, Value};

use super::{ReadError, Rules};
use crate::jsonl;

/// The columns of a JSON document.
pub(super) fn columns(text: &str, rules: &Rules) -> Result<Map<String, Value>, ReadError> {
    let document = jsonl::strict(text).map_err(ReadError::Syntax)?;
    if rules.columns.is_empty() {
        return match document {
            Value::Object(members) => Ok(members),
            _ => Err(ReadError::Form(
                "it is no JSON object, so it has no columns; choose parts with `columns`".to_owned(),
            )),
        };
    }
    let part = |path: &karat_text::path::Path| match path.is_plural() {
        true => Value::Array(path.all(&document).into_iter().cloned().collect()),
        false => path.first(&document).cloned().unwrap_or_default(),
    };
    Ok(rules.columns.iter().map(|(name, path)| (name.clone(), part(path))).collect())
}

//! Scalars of a row as text.

use serde_json::Value;

/// A scalar as text, without the quotes of JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

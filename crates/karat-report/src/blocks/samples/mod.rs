//! Parts of the dataset and the content of outputs as blocks: `slices`, `balance` and `corpus` for parts of the dataset,
//! `diagnostics` and `missing_items` for items of outputs, `failures`, `errors` and `notes` for what went wrong.

pub(super) mod balance;
pub(super) mod corpus;
pub(super) mod diagnostics;
pub(crate) mod errors;
pub(super) mod failures;
pub(super) mod missing_items;
pub(crate) mod notes;
pub(super) mod slices;

use serde_json::Value;

use crate::shared::visible::excerpt;

/// Returns a value of a column as a name.
pub(super) fn label(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        Value::String(text) => excerpt(text, 80),
        other => excerpt(&other.to_string(), 80),
    }
}

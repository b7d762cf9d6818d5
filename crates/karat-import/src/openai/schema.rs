//! The schema of an item, as that of a row.

use serde_json::{Value, json};

use super::objects::Objects;
use super::rows::Rows;
use crate::draft::Draft;
use crate::error::ImportError;

/// The schema of an item; Python writes the key as `schema_`.
pub(super) fn of_item(objects: &Objects) -> Option<Value> {
    let config = objects.eval.as_ref()?.get("data_source_config")?;
    let schema = config.get("schema").or_else(|| config.get("schema_"))?;
    schema.pointer("/properties/item").filter(|item| item.is_object()).cloned()
}

/// Writes the schema of a row, if there are rows and the eval has one.
pub(super) fn add(objects: &Objects, rows: &Rows, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let Some(mut schema) = of_item(objects).filter(|_| rows.len() > 0) else { return Ok(()) };
    let columns = rows.columns;
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        *properties = columns.properties(std::mem::take(properties));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for name in required.iter_mut() {
            *name = json!(columns.name(name.as_str().unwrap_or_default()));
        }
    }
    // Rows have an id beside the item's members.
    if schema.get("additionalProperties") == Some(&json!(false)) {
        schema.as_object_mut().map(|schema| schema.remove("additionalProperties"));
    }
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| ImportError::new("schemas/item.json", format!("cannot be made: {error}")))?;
    draft.write("schemas/item.json", &format!("{text}\n"))?;
    draft.suite.dataset.insert("row_schema".to_owned(), json!("schemas/item.json"));
    Ok(())
}

//! The body of a request: a JSON object whose fields are known. No body is an empty object.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::query::check_name;
use crate::problem::Problem;

/// Reads a body that has no fields.
///
/// # Errors
/// It is no JSON object, or has a field.
pub(crate) fn read_nothing(body: &Bytes) -> Result<(), Problem> {
    read::<Map<String, Value>>(body, &[]).map(drop)
}

/// Reads a body that may have these fields.
///
/// # Errors
/// It is no JSON object, or has an unknown field or a value of another kind.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes, fields: &[&str]) -> Result<T, Problem> {
    let object: Map<String, Value> = match body.trim_ascii() {
        [] => Map::new(),
        text => serde_json::from_slice(text)
            .map_err(|error| Problem::bad_request(format!("the body is not a JSON object: {error}")))?,
    };
    object.keys().try_for_each(|field| check_name(field, fields, "field"))?;
    serde_json::from_value(Value::Object(object)).map_err(|error| Problem::bad_request(format!("the body: {error}")))
}

//! The body of a request: a JSON object with the fields of a type's schema. No body is an empty object.

use bytes::Bytes;
use karat_app::{RequestError, read_request};
use karat_types::json;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::route::query::check_name;

/// A body without fields.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Reads a body.
///
/// # Errors
/// It is not a JSON object, has an unknown field or a value of another kind, or lacks a field.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(body: &Bytes) -> Result<T, Problem> {
    let object = match body.trim_ascii() {
        [] => Map::new(),
        text => match json::parse_slice(text) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return Err(Problem::bad_request("the body is not a JSON object")),
            Err(error) => return Err(Problem::bad_request(format!("the body is not a JSON object: {error}"))),
        },
    };
    read_request(object).map_err(|error| match error {
        RequestError::Unknown { name, names } => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            check_name(&name, &names, "field").err().unwrap_or_else(Problem::internal)
        }
        error => Problem::bad_request(format!("the body: {error}")),
    })
}

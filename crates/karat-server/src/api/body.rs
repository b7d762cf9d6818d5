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
    let mut object: Map<String, Value> = match body.trim_ascii() {
        [] => Map::new(),
        text => serde_json::from_slice(text)
            .map_err(|error| Problem::bad_request(format!("the body is not a JSON object: {error}")))?,
    };
    object.keys().try_for_each(|field| check_name(field, fields, "field"))?;
    object.values_mut().for_each(make_whole);
    serde_json::from_value(Value::Object(object)).map_err(|error| Problem::bad_request(format!("the body: {error}")))
}

/// In JSON, `2.0` is a whole number as good as `2`.
fn make_whole(value: &mut Value) {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if let Value::Number(number) = value
        && let Some(float) =
            number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() <= MOST)
    {
        *value = Value::from(float as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-02: a whole number may be written with a fraction of zero; the values inside of an object stay as they are.
    #[test]
    fn a_whole_number_may_have_a_point() {
        let read = |text: &'static str| read::<Map<String, Value>>(&Bytes::from_static(text.as_bytes()), &["a", "b"]);
        let object = read(r#"{"a": 763723652.0, "b": {"c": 1.0}}"#).unwrap();
        assert_eq!(Value::Object(object), serde_json::json!({ "a": 763_723_652, "b": { "c": 1.0 } }));
        assert_eq!(read(r#"{"a": 0.5}"#).unwrap()["a"], 0.5);
    }
}

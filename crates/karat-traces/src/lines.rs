//! Rows that a program writes itself: a JSON object a line.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::row::{Metadata, Row, Usage};

/// The keys of a row that may be written. Only `input` and `output` must be.
const KEYS: [&str; 11] =
    ["id", "trace_id", "span_id", "time", "input", "output", "messages", "contexts", "metadata", "usage", "latency_ms"];

/// A line that is not a row.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LineError {
    /// Not JSON.
    #[error("no JSON: {0}")]
    Json(String),
    /// JSON, but no object.
    #[error("a row is an object, such as {{\"input\":\"…\",\"output\":\"…\"}}")]
    NotAnObject,
    /// A key that has no meaning.
    #[error("unknown key `{0}`; keys are {keys}", keys = KEYS.join(", "))]
    UnknownKey(String),
    /// Nothing was asked.
    #[error("`input` is missing")]
    NoInput,
    /// Nothing was answered, and no error says why.
    #[error("`output` is missing; a call that failed has `metadata.error`")]
    NoOutput,
    /// An id that is not hexadecimal digits.
    #[error("`{0}` is not {1} hexadecimal digits")]
    BadId(&'static str, usize),
    /// A time that is none.
    #[error("`time` is `{0}`; write it as 2026-01-31T12:00:00Z")]
    BadTime(String),
    /// A part of another shape.
    #[error("`{key}`: {message}")]
    BadPart {
        /// The part.
        key: &'static str,
        /// The difference.
        message: String,
    },
}

/// Reads a row. An id that is absent is made of the line, so that a line that is sent again replaces itself; a time that is
/// absent is `now`.
///
/// # Errors
/// Where the line is not a row.
pub fn row_of_line(line: &str, now: Timestamp) -> Result<Row, LineError> {
    let value: Value = serde_json::from_str(line).map_err(|error| LineError::Json(error.to_string()))?;
    let Value::Object(mut fields) = value else { return Err(LineError::NotAnObject) };
    if let Some(unknown) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(LineError::UnknownKey(unknown.chars().take(64).collect()));
    }
    let metadata: Metadata = part(&mut fields, "metadata")?;
    let input = fields.remove("input").filter(|value| !value.is_null()).ok_or(LineError::NoInput)?;
    let output = fields.remove("output").unwrap_or_default();
    if output.is_null() && metadata.error.is_none() {
        return Err(LineError::NoOutput);
    }
    let hash = blake3::hash(line.as_bytes()).to_hex();
    let trace_id = id(&fields, "trace_id", 32)?.unwrap_or_else(|| hash[..32].to_owned());
    let span_id = id(&fields, "span_id", 16)?.unwrap_or_else(|| hash[32..48].to_owned());
    let time = match fields.get("time") {
        None | Some(Value::Null) => now,
        Some(Value::String(text)) => text.parse().map_err(|_| LineError::BadTime(text.chars().take(64).collect()))?,
        Some(other) => return Err(LineError::BadTime(other.to_string().chars().take(64).collect())),
    };
    Ok(Row {
        id: match fields.get("id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            _ => format!("{trace_id}/{span_id}"),
        },
        trace_id,
        span_id,
        time: format!("{time:.3}"),
        input,
        output,
        messages: part(&mut fields, "messages")?,
        contexts: part(&mut fields, "contexts")?,
        metadata,
        usage: part::<Usage>(&mut fields, "usage")?,
        latency_ms: part(&mut fields, "latency_ms")?,
        p: 1.0,
    })
}

fn part<T: serde::de::DeserializeOwned + Default>(
    fields: &mut Map<String, Value>,
    key: &'static str,
) -> Result<T, LineError> {
    match fields.remove(key) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => {
            serde_json::from_value(value).map_err(|error| LineError::BadPart { key, message: error.to_string() })
        }
    }
}

fn id(fields: &Map<String, Value>, key: &'static str, digits: usize) -> Result<Option<String>, LineError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(Some(text.to_ascii_lowercase()))
        }
        Some(_) => Err(LineError::BadId(key, digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: &str) -> Result<Row, LineError> {
        row_of_line(line, "2026-03-01T10:00:00Z".parse().unwrap())
    }

    /// SV-21: a line needs an input and an output; the rest has defaults, and the same line has the same id.
    #[test]
    fn a_line_needs_an_input_and_an_output() {
        let row_of = row(r#"{"input":"hi","output":"hello"}"#).unwrap();
        assert_eq!(row_of.time, "2026-03-01T10:00:00.000Z");
        assert_eq!(row_of.id, format!("{}/{}", row_of.trace_id, row_of.span_id));
        assert_eq!(row(r#"{"input":"hi","output":"hello"}"#).unwrap().id, row_of.id);
        assert_eq!(row(r#"{"output":"hello"}"#), Err(LineError::NoInput));
        assert_eq!(row(r#"{"input":"hi","output":null}"#), Err(LineError::NoOutput));
        assert!(row(r#"{"input":"hi","output":null,"metadata":{"error":"429"}}"#).is_ok());
    }

    /// SV-21: a line that is not a row says why.
    #[test]
    fn a_line_that_is_no_row_says_why() {
        let reason = |line: &str| row(line).unwrap_err().to_string();
        assert!(reason("{").starts_with("no JSON"));
        assert_eq!(reason("[]"), r#"a row is an object, such as {"input":"…","output":"…"}"#);
        assert!(
            reason(r#"{"input":1,"output":2,"inptu":3}"#).starts_with("unknown key `inptu`; keys are id, trace_id")
        );
        assert_eq!(reason(r#"{"input":1,"output":2,"trace_id":"xyz"}"#), "`trace_id` is not 32 hexadecimal digits");
        assert!(reason(r#"{"input":1,"output":2,"time":"soon"}"#).contains("2026-01-31T12:00:00Z"));
        assert!(
            reason(r#"{"input":1,"output":2,"usage":{"input_tokens":"many"}}"#).starts_with("`usage`: invalid type")
        );
    }
}

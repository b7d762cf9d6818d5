//! Bodies of answers as JSON, and the reason why one contains no reply.

use std::borrow::Cow;
use std::collections::BTreeMap;

use karat_text::half_characters;
use karat_types::CallErrorCode;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::excerpt::{SHOWN, quote};

/// A body of JSON with U+FFFD in place of half characters and of bytes that are not text.
pub(crate) fn mended_body(body: &[u8]) -> Cow<'_, [u8]> {
    let whole = half_characters::mend(body);
    match std::str::from_utf8(&whole) {
        Ok(_) => whole,
        Err(_) => Cow::Owned(String::from_utf8_lossy(&whole).into_owned().into_bytes()),
    }
}

/// A member of a JSON object as raw text, whatever else the object holds.
pub(crate) fn raw_member<'a>(body: &'a [u8], name: &str) -> Option<&'a RawValue> {
    raw_members(body)?.remove(name)
}

/// The members of a JSON object as raw text.
pub(crate) fn raw_members(body: &[u8]) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_slice(without_bom(body)).ok()
}

/// Deserializes a body.
///
/// # Errors
/// The body is not the expected JSON.
pub(crate) fn parse_json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, UnreadableReply> {
    serde_json::from_slice(without_bom(body)).map_err(|error| UnreadableReply::json(&error, body))
}

/// The text without a leading byte order mark, which some servers send.
pub(crate) fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// The reason why a body contains no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableReply {
    /// The error code.
    pub code: CallErrorCode,
    /// The problem, as the end of a sentence that begins with the model and its address.
    pub what: String,
    /// Largest number of further attempts, if that is fewer than the run allows.
    pub most_retries: u32,
    /// The words of a reply that the provider broke off: they are paid.
    pub words: Option<String>,
}

/// Number of bytes of a body that tell what it is.
const START: usize = 64;

impl UnreadableReply {
    /// A body that violates the protocol.
    pub fn invalid_body(what: impl Into<String>) -> Self {
        Self { code: CallErrorCode::Malformed, what: what.into(), most_retries: u32::MAX, words: None }
    }

    /// JSON without the part that has the reply. The message quotes its beginning, which tells whose answer it is.
    pub(crate) fn lacks(part: &str, body: &[u8]) -> Self {
        Self::invalid_body(format!("answered with JSON that has no `{part}`; it begins {}", quote(body, SHOWN)))
    }

    /// A body that is not the expected JSON. The message quotes its beginning, since it is often an HTML page or a
    /// sentence.
    pub(crate) fn json(error: &serde_json::Error, body: &[u8]) -> Self {
        if body.trim_ascii().is_empty() {
            return Self::invalid_body("answered with an empty body");
        }
        let begin = quote(body, SHOWN);
        let start = String::from_utf8_lossy(body.get(..START).unwrap_or(body)).trim_start().to_ascii_lowercase();
        let what = match start.as_str() {
            page if page.starts_with("<!doctype html") || page.starts_with("<html") => "a web page (HTML)".to_owned(),
            stream if stream.starts_with("data:") || stream.starts_with("event:") => {
                "an event stream, which was not asked for".to_owned()
            }
            _ if error.is_data() => "JSON of another form than this protocol has".to_owned(),
            json if json.starts_with(['{', '[']) => {
                format!("JSON that is broken at line {}, column {}", error.line(), error.column())
            }
            _ => "a text that is not JSON".to_owned(),
        };
        Self::invalid_body(format!("answered with {what}; it begins {begin}"))
    }
}

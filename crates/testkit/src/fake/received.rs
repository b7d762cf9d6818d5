//! A request as it arrived.

use bytes::Bytes;
use serde_json::Value;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The number of requests before it.
    pub number: usize,
    /// The number of earlier requests with the same path and body.
    pub attempt: usize,
    /// Path and query.
    pub path: String,
    /// Header names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl ReceivedRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null for anything else.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

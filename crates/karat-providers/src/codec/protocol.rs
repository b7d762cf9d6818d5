//! The contract of wire protocols.

use karat_types::{CallErrorCode, ChatRequest, ModelSpec, Reply, Usage};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use serde::{Deserialize, Serialize};

use crate::attempt::excerpt::{SHOWN, quote};

/// A wire protocol: requests to bytes and bytes to replies, without I/O.
///
/// Contract: all methods are pure. `body` writes neither key nor address. `parse` reads what `body`'s server sends with
/// a 2xx status, and nothing else: a stored body gives the same reply as a live one.
pub trait Codec: Send + Sync {
    /// Where chat requests to the model of this name go, below the API root.
    fn url(&self, base: &Url, model: &str) -> Url;

    /// The headers of every request. Values that carry the key are marked sensitive.
    ///
    /// # Errors
    /// When the key holds characters that no header may hold.
    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue>;

    /// The body of a request to a server of this host name. Settings that the protocol does not have are left out.
    ///
    /// # Errors
    /// When a value cannot be written as JSON.
    fn body(&self, model: &ModelSpec, host: &str, request: &ChatRequest) -> serde_json::Result<Vec<u8>>;

    /// The reply in a body that came with a 2xx status.
    ///
    /// # Errors
    /// When there is none in it.
    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply>;

    /// The tokens that a body without a reply was billed for, where it says so.
    fn usage(&self, body: &[u8]) -> Option<Usage>;
}

/// The headers of a request with a JSON body, and the one that carries the key.
pub(crate) fn json_headers(name: HeaderName, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(key) = key {
        let mut value = HeaderValue::from_str(key)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Room in a body for what is not the content of a message.
const ENVELOPE: usize = 256;

/// The body of a chat request as JSON, in one piece of memory where the messages need few escapes.
pub(crate) fn write_body(body: &impl Serialize, request: &ChatRequest) -> serde_json::Result<Vec<u8>> {
    let content: usize = request.messages.iter().map(|message| message.content.len()).sum();
    let mut bytes = Vec::with_capacity(content + content / 16 + ENVELOPE);
    serde_json::to_writer(&mut bytes, body)?;
    Ok(bytes)
}

/// A body as JSON.
///
/// # Errors
/// It is no such JSON.
pub(crate) fn parse_json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, UnreadableReply> {
    serde_json::from_slice(without_bom(body)).map_err(|error| UnreadableReply::json(&error, body))
}

/// A text without the mark of its byte order, which some servers write before it and which is no part of it.
pub(crate) fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// Why a body holds no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableReply {
    /// What kind of failure.
    pub code: CallErrorCode,
    /// What is wrong, as the end of a sentence that begins with the model and its address.
    pub what: String,
}

impl UnreadableReply {
    /// A body that is not what the protocol says.
    pub fn malformed(what: impl Into<String>) -> Self {
        Self { code: CallErrorCode::Malformed, what: what.into() }
    }

    /// A body that is no such JSON. Says how it begins, since it is often an HTML page or a sentence.
    pub(crate) fn json(error: &serde_json::Error, body: &[u8]) -> Self {
        if body.trim_ascii().is_empty() {
            return Self::malformed("answered with an empty body");
        }
        let begin = quote(body, SHOWN);
        Self::malformed(format!("answered with something that is no reply ({error}); it begins {begin}"))
    }
}

//! The `Codec` trait, and the helpers that codecs share.

use std::borrow::Cow;
use std::collections::BTreeMap;

use karat_text::half_characters;
use karat_types::{CallErrorCode, ChatRequest, Content, ModelSpec, Reply, ToolCall};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::attempt::excerpt::{SHOWN, quote};
use crate::codec::billing::Bill;
use crate::codec::media::MediaForm;

/// A wire protocol: requests to bytes and bytes to replies, without I/O.
///
/// Contract: all methods are pure. `body` contains neither key nor address. `parse` reads exactly what a server sends
/// with a 2xx status, so a stored body gives the same reply as a live one.
pub trait Codec: Send + Sync {
    /// Returns the address of chat requests to a model, below the API root.
    fn url(&self, base: &Url, model: &str) -> Url;

    /// Returns the headers of every request. Values that hold the key are marked sensitive.
    ///
    /// # Errors
    /// The key contains characters that a header may not contain.
    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue>;

    /// Returns the body of a request to a server with this host name, images and files in this form. Settings that the
    /// protocol lacks are omitted.
    ///
    /// # Errors
    /// A value cannot be serialized, or an image or file is given in a way that the protocol does not know.
    fn write(
        &self,
        model: &ModelSpec,
        host: &str,
        request: &ChatRequest,
        media: MediaForm,
    ) -> serde_json::Result<Vec<u8>>;

    /// Returns the body of a request as it is sent.
    ///
    /// # Errors
    /// As [`Codec::write`].
    fn body(&self, model: &ModelSpec, host: &str, request: &ChatRequest) -> serde_json::Result<Vec<u8>> {
        self.write(model, host, request, MediaForm::Sent)
    }

    /// Parses the body of an answer with a 2xx status.
    ///
    /// # Errors
    /// The body contains no reply.
    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply>;

    /// Returns the tokens that a body without a reply reports as billed, and what else it says of its bill.
    fn bill(&self, body: &[u8]) -> Bill;
}

/// A body of JSON with U+FFFD in place of half characters and of bytes that are no text.
pub(crate) fn mended_body(body: &[u8]) -> Cow<'_, [u8]> {
    let whole = half_characters::mend(body);
    match std::str::from_utf8(&whole) {
        Ok(_) => whole,
        Err(_) => Cow::Owned(String::from_utf8_lossy(&whole).into_owned().into_bytes()),
    }
}

/// A call whose arguments are JSON as text.
pub(crate) fn call_of_text(id: String, name: String, text: &str) -> ToolCall {
    match half_characters::parse::<serde_json::Value>(text) {
        Ok(read) if read.was_mended => ToolCall::from_value(id, name, read.value),
        _ => ToolCall::from_text(id, name, text),
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

/// The headers of a request with a JSON body, including the one with the key.
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

/// The headers of a request whose key is a bearer token.
pub(crate) fn bearer_headers(key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
    json_headers(AUTHORIZATION, key.map(|key| format!("Bearer {key}")).as_deref())
}

/// The address of a path below an API root, which may be written with the path.
pub(crate) fn url_below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let root = base.path().trim_end_matches('/');
    url.set_path(&format!("{}{path}", root.strip_suffix(path).unwrap_or(root)));
    url
}

/// Bytes reserved in a body for everything but message contents.
const ENVELOPE: usize = 256;

/// Serializes the body of a chat request, with one allocation if the messages need few escapes.
pub(crate) fn write_body(body: &impl Serialize, request: &ChatRequest, form: MediaForm) -> serde_json::Result<Vec<u8>> {
    let contents = request.messages.iter().map(|message| &message.content);
    let mut content: usize = contents.clone().flat_map(Content::texts).map(str::len).sum();
    if form == MediaForm::Sent {
        // Base64 takes four bytes for three.
        content += contents.flat_map(Content::media).map(|media| media.size() / 3 * 4 + 8).sum::<usize>();
    }
    let mut bytes = Vec::with_capacity(content + content / 16 + ENVELOPE);
    serde_json::to_writer(&mut bytes, body)?;
    Ok(bytes)
}

/// The answer of several: the one of index 0, wherever it stands; the first where no index is 0.
pub(crate) fn answer_of<T>(answers: impl IntoIterator<Item = T>, index: impl Fn(&T) -> Option<u64>) -> Option<T> {
    let mut answers: Vec<T> = answers.into_iter().collect();
    let at = answers.iter().position(|answer| index(answer) == Some(0)).unwrap_or(0);
    (at < answers.len()).then(|| answers.swap_remove(at))
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
            _ => format!("a body that is not a valid reply ({error})"),
        };
        Self::invalid_body(format!("answered with {what}; it begins {begin}"))
    }
}

//! The `Codec` trait, and the helpers that codecs share.

use karat_text::half_characters;
use karat_types::{ChatRequest, Content, ModelSpec, Reply, ToolCall};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use serde::Serialize;

use crate::answer::billing::Bill;
use crate::answer::json::UnreadableReply;
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

/// A call whose arguments are JSON as text.
pub(crate) fn call_of_text(id: String, name: String, text: &str) -> ToolCall {
    match half_characters::parse::<serde_json::Value>(text) {
        Ok(read) if read.was_mended => ToolCall::from_value(id, name, read.value),
        _ => ToolCall::from_text(id, name, text),
    }
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

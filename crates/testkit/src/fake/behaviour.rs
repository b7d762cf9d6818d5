//! The behaviours of the fake provider.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

/// A condition that an answer waits for.
#[derive(Clone)]
pub struct Condition(Arc<dyn Fn() -> bool + Send + Sync>);

impl Condition {
    /// Holds as soon as this is true.
    pub fn new(is_met: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_met))
    }

    /// Returns true as soon as it holds.
    pub fn is_met(&self) -> bool {
        (self.0)()
    }
}

impl std::fmt::Debug for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Condition")
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Behaviour {
    /// A correct reply with this text.
    Ok(String),
    /// The inner behaviour after a delay.
    Slow(Duration, Box<Behaviour>),
    /// The inner behaviour once the condition holds: what a test must wait for takes longer on a busy machine.
    Held(Condition, Box<Behaviour>),
    /// A correct reply whose `usage` is this; `None` leaves it out.
    Usage(String, Option<Value>),
    /// A correct reply under a content type that does not fit.
    ContentType(String, &'static str),
    /// Any status, headers and body.
    Raw {
        /// HTTP status.
        status: u16,
        /// Headers beside `content-type: application/json`, which they may replace.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: Bytes,
    },
    /// No answer at all; the connection stays open.
    Hang,
    /// The connection is closed before any answer.
    Drop,
    /// Half of a correct body, then the connection breaks.
    Cut(String),
    /// A body of this many bytes, sent as a stream.
    Huge(u64),
    /// A body that announces more bytes than it sends, then hangs.
    Stall {
        /// The `content-length`.
        announced: u64,
        /// The part that is sent.
        body: Bytes,
    },
    /// A body that never ends, in small pieces.
    Endless,
    /// A correct reply whose text quotes the header that carries the key.
    EchoKey,
}

impl Behaviour {
    /// A correct reply with this text.
    pub fn ok(text: impl Into<String>) -> Self {
        Self::Ok(text.into())
    }

    /// A correct reply with this text after so many milliseconds.
    pub fn slow(milliseconds: u64, text: impl Into<String>) -> Self {
        Self::Slow(Duration::from_millis(milliseconds), Box::new(Self::ok(text)))
    }

    /// An error in the form that both protocols share.
    pub fn status(status: u16, message: &str) -> Self {
        Self::raw(status, serde_json::json!({ "error": { "message": message, "type": "error" } }).to_string())
    }

    /// Any status with a body of your own.
    pub fn raw(status: u16, body: impl Into<String>) -> Self {
        Self::Raw { status, headers: Vec::new(), body: Bytes::from(body.into()) }
    }

    /// Any status with a body of bytes.
    pub fn bytes(status: u16, body: &'static [u8]) -> Self {
        Self::Raw { status, headers: Vec::new(), body: Bytes::from_static(body) }
    }

    /// 429 with this `Retry-After`, in seconds or as an HTTP date.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::status(429, "Rate limit reached").with_header("retry-after", retry_after)
    }

    /// 500.
    pub fn server_error() -> Self {
        Self::status(500, "The server had an error")
    }

    /// 529, Anthropic's status for overload.
    pub fn overload() -> Self {
        Self::status(529, "Overloaded")
    }

    /// 200 with JSON that stops in the middle.
    pub fn invalid_body() -> Self {
        Self::raw(200, r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content": oops"#)
    }

    /// 200 with a sentence instead of JSON.
    pub fn prose() -> Self {
        Self::raw(200, "The service is under maintenance.").with_header("content-type", "text/plain")
    }

    /// 200 with a correct body but for a `NaN`, which JSON does not know.
    pub fn nan() -> Self {
        Self::raw(
            200,
            r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop","logprob":NaN}],"content":[{"type":"text","text":"hi"}],"score":NaN}"#,
        )
    }

    /// 302 to another address.
    pub fn redirect(to: &str) -> Self {
        Self::raw(302, "").with_header("location", to)
    }

    /// Adds a header to [`Behaviour::Raw`]; no effect on others.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Raw { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    /// Returns true if the answer has the form of a provider's protocol.
    pub(super) fn follows_protocol(&self) -> bool {
        match self {
            Self::Slow(_, then) | Self::Held(_, then) => then.follows_protocol(),
            Self::Raw { .. } | Self::Hang | Self::Drop | Self::Huge(_) | Self::Stall { .. } | Self::Endless => false,
            _ => true,
        }
    }

    /// Returns true if a client gets a complete, correct reply.
    pub fn is_complete_reply(&self) -> bool {
        match self {
            Self::Ok(_) | Self::Usage(..) | Self::ContentType(..) | Self::EchoKey => true,
            Self::Slow(_, then) | Self::Held(_, then) => then.is_complete_reply(),
            _ => false,
        }
    }
}

//! Answers as replies: of a live call, and the same from stored bytes.

use std::borrow::Cow;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, ChatRequest, ModelSpec, Reply};

use crate::answer::billing::CostReport;
use crate::answer::failure::Failure;
use crate::answer::json::{UnreadableReply, mended_body};
use crate::answer::secrets::Secrets;
use crate::codec::finish::stated_error;
use crate::codec::openai::OPENAI;
use crate::codec::openai::embeddings::Embeddings;
use crate::codec::protocol::Codec;
use crate::options;
use crate::process::command_model;
use crate::registry::hosts;

/// Reads the answers of a server: its protocol, and how it states costs.
#[derive(Clone, Copy)]
pub(crate) struct AnswerReader<'a> {
    pub codec: &'a dyn Codec,
    pub cost_report: &'a CostReport,
}

impl AnswerReader<'_> {
    /// The reply in a 2xx answer. `header` is the value of the header that states its cost.
    ///
    /// # Errors
    /// It holds none. What it says of its bill is part of the failure.
    pub fn read(self, secrets: &Secrets, status: u16, body: &[u8], header: Option<&str>) -> Result<Reply, Failure> {
        let Self { codec, cost_report } = self;
        match secrets.read_redacted(body, |body| read_reply(codec, body)) {
            Ok(reply) => {
                let billing = cost_report.add_to(reply.billing, body, header);
                Ok(Reply { billing, ..reply })
            }
            Err(unreadable) => {
                let (usage, billing) = codec.bill(&mended_body(body));
                Err(Failure::of_body(status, unreadable, (usage, cost_report.add_to(billing, body, header))))
            }
        }
    }
}

/// Parses the body of an answer with a 2xx status. Half characters and bytes that are not text become U+FFFD: the answer is
/// paid, and another attempt would bring the same.
///
/// # Errors
/// The body contains no reply.
fn read_reply(codec: &dyn Codec, body: &[u8]) -> Result<Reply, UnreadableReply> {
    let unreadable = match codec.parse(body) {
        Err(unreadable) if unreadable.code == CallErrorCode::Malformed => unreadable,
        read => return read,
    };
    let whole = mended_body(body);
    let read = match &whole {
        Cow::Borrowed(_) => Err(unreadable),
        Cow::Owned(whole) => codec.parse(whole).map(|reply| Reply { was_mended: true, ..reply }),
    };
    read.map_err(|unreadable| stated_error(&whole).unwrap_or(unreadable))
}

/// Parses captured response bytes as the live call did; used by resume and replay.
///
/// # Errors
/// The provider is unknown, or the bytes contain no reply.
pub fn parse(model: &ModelSpec, body: &Bytes) -> Result<Reply, CallError> {
    if model.provider == options::COMMAND {
        return command_model::parse_reply(body).map_err(|unreadable| error(model, unreadable));
    }
    let codec = codec(&model.provider).ok_or_else(|| CallError {
        code: CallErrorCode::Unsupported,
        message: format!("model {}: nothing can read the replies of provider `{}`", model.id, model.provider),
        status: None,
    })?;
    read_stored(codec, model, body)
}

/// Parses captured response bytes as the answer to this request.
///
/// # Errors
/// As [`parse`].
pub fn parse_answer(model: &ModelSpec, request: &ChatRequest, body: &Bytes) -> Result<Reply, CallError> {
    if request.wants_vectors() {
        return read_stored(&Embeddings, model, body);
    }
    parse(model, body)
}

fn read_stored(codec: &dyn Codec, model: &ModelSpec, body: &[u8]) -> Result<Reply, CallError> {
    let reply = read_reply(codec, body).map_err(|unreadable| error(model, unreadable))?;
    let billing = CostReport::of_stored(model).add_to(reply.billing, body, None);
    Ok(Reply { billing, ..reply })
}

fn error(model: &ModelSpec, unreadable: UnreadableReply) -> CallError {
    let message = format!("model {}: {}", model.id, unreadable.what);
    CallError { code: unreadable.code, message, status: None }
}

/// The codec of a provider's stored bytes. Offline models write OpenAI's form.
fn codec(provider: &str) -> Option<&'static dyn Codec> {
    match hosts::host(provider) {
        Some(host) => Some(host.codec),
        None if options::OFFLINE.contains(&provider) => Some(&OPENAI),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// RE-37: an error inside a 200 keeps its kind and words, wherever the server writes it.
    #[test]
    fn errors_are_found_wherever_they_stand() {
        use CallErrorCode::{Malformed, RateLimited, ServerError};
        for (body, code) in [
            (json!({"object": "error", "message": "soon", "code": 503}), ServerError),
            (json!({"choices": null, "error": {"message": "soon", "code": 429}}), RateLimited),
            (json!({"errors": [{"message": "soon", "type": "overloaded_error"}]}), ServerError),
            (json!({"detail": "soon"}), Malformed),
        ] {
            let unreadable = read_reply(&OPENAI, body.to_string().as_bytes()).unwrap_err();
            assert!(unreadable.code == code && unreadable.what.contains("inside, \"soon\""), "{unreadable:?}");
        }
    }
}

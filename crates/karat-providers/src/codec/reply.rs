//! Parsing stored bytes: the same reply as in the live call.

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, ChatRequest, ModelSpec, Reply};

use crate::codec::openai::OPENAI;
use crate::codec::openai::embeddings::Embeddings;
use crate::codec::protocol::{Codec, UnreadableReply};
use crate::process::command_model;
use crate::registry::hosts;

/// Parses captured response bytes as the live call did; used by resume and replay.
///
/// # Errors
/// The provider is unknown, or the bytes contain no reply.
pub fn parse(model: &ModelSpec, body: &Bytes) -> Result<Reply, CallError> {
    if model.provider == hosts::COMMAND {
        return command_model::parse_reply(body).map_err(|unreadable| error(model, unreadable));
    }
    let codec = codec(&model.provider).ok_or_else(|| CallError {
        code: CallErrorCode::Unsupported,
        message: format!("model {}: nothing can read the replies of provider `{}`", model.id, model.provider),
        status: None,
    })?;
    codec.parse(body).map_err(|unreadable| error(model, unreadable))
}

/// Parses captured response bytes as the answer to this request.
///
/// # Errors
/// As [`parse`].
pub fn parse_answer(model: &ModelSpec, request: &ChatRequest, body: &Bytes) -> Result<Reply, CallError> {
    if request.wants_vectors() {
        return Embeddings.parse(body).map_err(|unreadable| error(model, unreadable));
    }
    parse(model, body)
}

fn error(model: &ModelSpec, unreadable: UnreadableReply) -> CallError {
    let message = format!("model {}: {}", model.id, unreadable.what);
    CallError { code: unreadable.code, message, status: None }
}

/// The codec of a provider's stored bytes. Offline models write OpenAI's form.
fn codec(provider: &str) -> Option<&'static dyn Codec> {
    match hosts::host(provider) {
        Some(host) => Some(host.codec),
        None if hosts::OFFLINE.contains(&provider) => Some(&OPENAI),
        None => None,
    }
}

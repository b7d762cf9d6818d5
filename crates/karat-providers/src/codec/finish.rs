//! The ends of replies: one table of all providers' words, and what follows from them.
//!
//! A codec reads the text and the calls of a reply, and the word for its end; [`end_reply`] says what that makes of it. Errors
//! that stand in place of a reply are read here as well, whatever the protocol.

use karat_types::{CallErrorCode, FinishReason, Reply};
use serde_json::Value;

use crate::answer::excerpt::{SHOWN, quote};
use crate::answer::failure::code_of;
use crate::answer::json::{UnreadableReply, without_bom};

/// The meaning of a provider's word for the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stop,
    Length,
    Refusal,
    Call,
    MalformedCall,
    /// The provider broke the reply off. Another attempt may help.
    Broken,
    /// The provider broke the reply off, and would do so again.
    Failed(CallErrorCode),
    Unknown,
}

/// The words. Capital letters make no difference, but for [`EXACT`].
const WORDS: [(End, &[&str]); 8] = [
    (End::Stop, &["stop", "end_turn", "stop_sequence", "completed", "eos"]),
    (End::Length, &["length", "max_tokens", "model_length", "model_context_window_exceeded", "max_output_tokens"]),
    (
        End::Refusal,
        &[
            "content_filter",
            "refusal",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "language",
            "model_armor",
            "blockreason",
            "guardrail_intervened",
            "content_filtered",
        ],
    ),
    (End::Call, &["tool_calls", "tool_use", "function_call"]),
    (End::MalformedCall, &["malformed_function_call", "unexpected_tool_call", "malformed_tool_use"]),
    (
        End::Broken,
        &[
            "error",
            "abort",
            "insufficient_system_resource",
            "OTHER",
            "malformed_response",
            "finish_reason_unspecified",
            "no_image",
            "malformed_model_output",
            "load",
            "unload",
            "failed",
        ],
    ),
    (End::Failed(CallErrorCode::BadRequest), &["missing_thought_signature"]),
    (End::Failed(CallErrorCode::Unsupported), &["too_many_tool_calls", "pause_turn"]),
];

/// A word that means something in capital letters only: in small ones it says nothing.
const EXACT: &str = "OTHER";

/// The beginning of words for images that could not be made.
const IMAGE: &str = "image_";

/// Attempts after the first one to get a reply that the provider does not break off. All of them are paid.
const BROKEN_RETRIES: u32 = 2;

impl End {
    fn of(word: &str) -> Self {
        let is_same = |known: &str| word == known || known != EXACT && word.eq_ignore_ascii_case(known);
        let found = WORDS.iter().find(|(_, words)| words.iter().any(|known| is_same(known)));
        let is_of_image = word.get(..IMAGE.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(IMAGE));
        found.map_or(if is_of_image { Self::Broken } else { Self::Unknown }, |(end, _)| *end)
    }
}

/// The word for a request whose answer was held back.
pub(crate) const BLOCKED: &str = "blockReason";

/// The reply with its end. A turn that calls tools and was not cut off ends for its calls, whatever the provider says.
///
/// # Errors
/// The provider broke it off.
pub(crate) fn end_reply(reply: Reply, word: Option<&str>) -> Result<Reply, UnreadableReply> {
    let word = word.filter(|word| !word.is_empty());
    let has_calls = !reply.tool_calls.is_empty();
    let unknown = |word: Option<&str>| (FinishReason::Other, Some(word.unwrap_or_default().to_owned()));
    let (finish, unknown_end) = match word.map_or(End::Unknown, End::of) {
        End::Stop | End::Unknown | End::Call if has_calls => (FinishReason::ToolCalls, None),
        End::Stop => (FinishReason::Stop, None),
        // Without a call and without words it is a reply without content.
        End::Call if reply.is_empty() => (FinishReason::Stop, None),
        End::Call | End::Unknown => unknown(word),
        End::Length => (FinishReason::Length, None),
        End::Refusal => (FinishReason::Refusal, None),
        End::MalformedCall => (FinishReason::MalformedCall, None),
        End::Broken => return Err(broken_reply(&reply, word, CallErrorCode::ServerError, BROKEN_RETRIES)),
        End::Failed(code) => return Err(broken_reply(&reply, word, code, 0)),
    };
    Ok(Reply { finish, unknown_end, ..reply })
}

fn broken_reply(reply: &Reply, word: Option<&str>, code: CallErrorCode, most_retries: u32) -> UnreadableReply {
    let begun = match reply.text.trim().is_empty() {
        true => String::new(),
        false => format!(", after {}", quote(reply.text.as_bytes(), SHOWN)),
    };
    UnreadableReply {
        code,
        what: format!("ended the reply with `{}`{begun}", word.unwrap_or_default()),
        most_retries,
        words: Some(reply.text.clone()),
    }
}

/// Words for the kind of an error, as they stand in its `type`, `code` or `status`.
const ERRORS: [(CallErrorCode, &[&str]); 4] = [
    (
        CallErrorCode::RateLimited,
        &["rate_limit_error", "rate_limit_exceeded", "rate_limited", "resource_exhausted", "too_many_requests"],
    ),
    (
        CallErrorCode::ServerError,
        &[
            "overloaded_error",
            "overloaded",
            "engine_overloaded",
            "api_error",
            "server_error",
            "internal_error",
            "internal_server_error",
            "internal",
            "unavailable",
            "service_unavailable",
            "timeout_error",
            "deadline_exceeded",
            "aborted",
        ],
    ),
    (
        CallErrorCode::Auth,
        &[
            "authentication_error",
            "permission_error",
            "billing_error",
            "insufficient_quota",
            "invalid_api_key",
            "unauthenticated",
            "permission_denied",
        ],
    ),
    (
        CallErrorCode::BadRequest,
        &[
            "invalid_request_error",
            "invalid_request",
            "not_found_error",
            "request_too_large",
            "context_length_exceeded",
            "model_not_found",
            "invalid_argument",
            "failed_precondition",
            "out_of_range",
            "not_found",
            "unimplemented",
        ],
    ),
];

/// An error inside an answer with status 200, as gateways send it: its kind and its words.
pub(crate) fn embedded_error(error: &Value) -> UnreadableReply {
    let number = |value: &Value| match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64().and_then(|number| u16::try_from(number).ok()),
    };
    let status = ["code", "status", "http_status"].into_iter().find_map(|name| number(&error[name]));
    let kind = |word: &str| {
        let found = ERRORS.iter().find(|(_, words)| words.iter().any(|known| word.eq_ignore_ascii_case(known)));
        found.map(|(code, _)| *code)
    };
    let named = ["code", "type", "status"].into_iter().find_map(|name| kind(error[name].as_str()?));
    let code = status.filter(|status| *status >= 300).map(code_of).or(named).unwrap_or(CallErrorCode::Malformed);
    let words = [&error["message"], &error["detail"], error]
        .into_iter()
        .find_map(Value::as_str)
        .map_or_else(|| error.to_string(), str::to_owned);
    UnreadableReply {
        code,
        what: format!("answered 200 with an error inside, {}", quote(words.as_bytes(), SHOWN)),
        ..UnreadableReply::invalid_body("")
    }
}

/// The error in a body that is not a reply, in any of the places where servers write one.
pub(crate) fn stated_error(body: &[u8]) -> Option<UnreadableReply> {
    let body: Value = serde_json::from_slice(without_bom(body)).ok()?;
    let named = [&body["error"], &body["errors"][0]].into_iter().find(|error| !error.is_null());
    let is_error = named.is_some() || body["message"].is_string() || body["detail"].is_string();
    is_error.then(|| embedded_error(named.unwrap_or(&body)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codec::anthropic::Anthropic;
    use crate::codec::gemini::Gemini;
    use crate::codec::openai::OPENAI;
    use crate::codec::openai::responses::Responses;
    use crate::codec::protocol::Codec;

    /// A reply with this text and this word for its end, in every protocol.
    fn replies(text: &str, word: &str) -> Vec<Result<Reply, UnreadableReply>> {
        let status = if ["completed", "failed"].contains(&word) { word } else { "incomplete" };
        let bodies: [(&dyn Codec, Value); 4] = [
            (&OPENAI, json!({"choices": [{"message": {"content": text}, "finish_reason": word}]})),
            (&Anthropic, json!({"content": [{"type": "text", "text": text}], "stop_reason": word})),
            (&Gemini, json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": word}]})),
            (
                &Responses,
                json!({"status": status, "incomplete_details": {"reason": word},
                       "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]}),
            ),
        ];
        bodies.into_iter().map(|(codec, body)| codec.parse(body.to_string().as_bytes())).collect()
    }

    /// RE-37: each word of the table means the same in every protocol, whatever its letters.
    #[test]
    fn every_word_means_the_same_in_every_protocol() {
        for (end, words) in WORDS.into_iter().chain([(End::Broken, &["IMAGE_SAFETY", "image_other"][..])]) {
            let spellings = words.iter().flat_map(|word| [(*word).to_owned(), word.to_uppercase()]);
            for (word, reply) in
                spellings.flat_map(|word| replies("Paris", &word).into_iter().map(move |it| (word.clone(), it)))
            {
                match (end, reply) {
                    (End::Stop, Ok(reply)) => {
                        assert_eq!((reply.finish, reply.unknown_end), (FinishReason::Stop, None), "{word}")
                    }
                    (End::Length, Ok(reply)) => assert_eq!(reply.finish, FinishReason::Length, "{word}"),
                    (End::Refusal, Ok(reply)) => assert_eq!(reply.finish, FinishReason::Refusal, "{word}"),
                    (End::MalformedCall, Ok(reply)) => assert_eq!(reply.finish, FinishReason::MalformedCall, "{word}"),
                    (End::Call, Ok(reply)) => {
                        assert_eq!((reply.finish, reply.unknown_end), (FinishReason::Other, Some(word)))
                    }
                    (End::Broken, Err(error)) => {
                        assert_eq!((error.code, error.most_retries), (CallErrorCode::ServerError, 2), "{word}");
                        assert!(error.what.contains(&word) && error.what.contains("Paris"), "{error:?}");
                        assert_eq!(error.words.as_deref(), Some("Paris"));
                    }
                    (End::Failed(code), Err(error)) => {
                        assert_eq!((error.code, error.most_retries), (code, 0), "{word}")
                    }
                    (end, reply) => panic!("{word} means {end:?}: {reply:?}"),
                }
            }
        }
    }

    /// RE-37: an unknown word, or none, is an output that says so.
    #[test]
    fn unknown_words_are_kept() {
        for word in ["other", "vanished", "stop!"] {
            for reply in replies("Paris", word) {
                let reply = reply.unwrap();
                assert_eq!((reply.finish, reply.unknown_end.as_deref()), (FinishReason::Other, Some(word)));
            }
        }
        let silent = OPENAI.parse(br#"{"choices":[{"message":{"content":"a"}}]}"#).unwrap();
        assert_eq!((silent.finish, silent.unknown_end.as_deref()), (FinishReason::Other, Some("")));
    }

    /// RE-37: without content, only a natural end is worth another attempt.
    #[test]
    fn replies_without_content_are_known() {
        for (word, finish) in [
            ("stop", FinishReason::Stop),
            ("tool_calls", FinishReason::Stop),
            ("length", FinishReason::Length),
            ("vanished", FinishReason::Other),
        ] {
            for reply in replies("", word) {
                let reply = reply.unwrap();
                assert!(reply.is_empty() && reply.finish == finish, "{word}: {reply:?}");
            }
        }
        let thoughts = br#"{"choices":[{"message":{"content":null,"reasoning_content":"hm"},"finish_reason":"stop"}]}"#;
        assert!(OPENAI.parse(thoughts).unwrap().is_empty());
    }

    /// F58, RE-37: an error inside a 200 keeps its kind and its words in every protocol.
    #[test]
    fn errors_inside_a_good_status_keep_kind_and_words() {
        use CallErrorCode::{Auth, BadRequest, Malformed, RateLimited, ServerError};
        for (error, code, words) in [
            (json!({"code": 429, "message": "slow down"}), RateLimited, "slow down"),
            (json!({"code": "503", "message": "soon"}), ServerError, "soon"),
            (
                json!({"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}),
                ServerError,
                "overloaded",
            ),
            (json!({"type": "overloaded_error", "message": "Overloaded"}), ServerError, "Overloaded"),
            (json!({"type": "rate_limit_error", "message": "later"}), RateLimited, "later"),
            (json!({"status": "RESOURCE_EXHAUSTED", "message": "quota"}), RateLimited, "quota"),
            (json!({"type": "authentication_error", "message": "key"}), Auth, "key"),
            (json!({"code": "context_length_exceeded", "message": "long"}), BadRequest, "long"),
            (json!("no"), Malformed, "no"),
            (json!({"message": "what"}), Malformed, "what"),
        ] {
            let body = json!({"type": "error", "error": error}).to_string();
            let codecs: [&dyn Codec; 4] = [&OPENAI, &Anthropic, &Gemini, &Responses];
            for codec in codecs {
                let unreadable = codec.parse(body.as_bytes()).unwrap_err();
                assert_eq!(unreadable.code, code, "{body}");
                assert!(unreadable.what.contains(words), "{unreadable:?}");
            }
        }
        let within = br#"{"choices":[{"error":{"code":503}}]}"#;
        assert_eq!(OPENAI.parse(within).unwrap_err().code, ServerError);
    }
}

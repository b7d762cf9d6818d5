//! The two shapes of a correct answer.

use serde_json::{Value, json};

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// `POST …/chat/completions`.
    OpenAi,
    /// `POST …/messages`.
    Anthropic,
}

impl Protocol {
    pub(super) fn from_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/chat/completions") {
            Some(Self::OpenAi)
        } else if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else {
            None
        }
    }

    /// The name of the header that carries the key.
    pub(super) fn key_header(self) -> &'static str {
        match self {
            Self::OpenAi => "authorization",
            Self::Anthropic => "x-api-key",
        }
    }

    /// The reported usage: four bytes a token.
    pub(super) fn usage(self, request: &[u8], text: &str) -> Value {
        let (input, output) = (request.len() / 4 + 1, text.len() / 4 + 1);
        match self {
            Self::OpenAi => {
                json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
            }
            Self::Anthropic => json!({ "input_tokens": input, "output_tokens": output }),
        }
    }

    /// A correct body. Its id depends on the request alone, so equal requests get equal bytes.
    pub(super) fn body(self, request: &[u8], text: &str, usage: Option<Value>) -> Vec<u8> {
        let id = &blake3::hash(request).to_hex()[..16];
        let asked: Value = serde_json::from_slice(request).unwrap_or_default();
        let model = asked["model"].as_str().unwrap_or("fake");
        let mut body = match self {
            Self::OpenAi => json!({
                "id": format!("chatcmpl-{id}"),
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": model,
                "choices": [{
                    "index": 0,
                    "message": { "role": "assistant", "content": text, "refusal": null },
                    "finish_reason": "stop",
                }],
            }),
            Self::Anthropic => json!({
                "id": format!("msg_{id}"),
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [{ "type": "text", "text": text }],
                "stop_reason": "end_turn",
                "stop_sequence": null,
            }),
        };
        if let Some(usage) = usage {
            body["usage"] = usage;
        }
        body.to_string().into_bytes()
    }
}

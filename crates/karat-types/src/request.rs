//! What a step or a judge asks for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The asker.
    User,
    /// The model, in an earlier turn.
    Assistant,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

/// Call settings that change what a model answers, so they are part of identity. Absent ones are the provider's own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Parameters {
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Upper bound on the reply's tokens. The engine fills in the model's `max_output` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Sampling seed, where the provider has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts that end the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Anything else, passed to the provider as it stands.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Parameters {
    /// These settings, with gaps filled from `base`.
    #[must_use]
    pub fn or(&self, base: &Self) -> Self {
        let mut extra = base.extra.clone();
        extra.extend(self.extra.clone());
        Self {
            temperature: self.temperature.or(base.temperature),
            max_tokens: self.max_tokens.or(base.max_tokens),
            top_p: self.top_p.or(base.top_p),
            seed: self.seed.or(base.seed),
            stop: if self.stop.is_empty() { base.stop.clone() } else { self.stop.clone() },
            extra,
        }
    }
}

/// What form the reply must have. A provider that cannot force it sends the request without, and the parser copes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON object.
    Json,
    /// JSON after a schema.
    Schema {
        /// Name of the schema, `[a-zA-Z0-9_-]{1,64}`.
        name: String,
        /// JSON Schema.
        schema: Arc<Value>,
    },
}

/// One chat request, still without provider, model name or key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// System messages first, then the conversation.
    pub messages: Vec<Message>,
    /// Call settings.
    pub parameters: Parameters,
    /// Wanted form of the reply.
    #[serde(default)]
    pub format: ReplyFormat,
}

/// One thing a machine may ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A call of the cell's model, of the step's own model, or of the judge: who answers is the engine's affair.
    Chat(ChatRequest),
    /// The text of a file, or of one row of it; answered without a provider. An absent file or row is
    /// [`NotFound`](crate::CallErrorCode::NotFound).
    File {
        /// The path, as resolved by the suite.
        path: String,
        /// The `id` of the wanted row in a JSONL file or JSON list; `None` = the whole file.
        row: Option<String>,
    },
}

//! A row of a dataset of traces.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call of a model, as it is stored and as a suite reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `TRACE/SPAN`: a row with the same id replaces this one.
    pub id: String,
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// Beginning of the call, RFC 3339, UTC, milliseconds.
    pub time: String,
    /// The last message of the user as a text, or the input as it was given.
    pub input: Value,
    /// The text of the reply; with calls of tools an object `{ text, tool_calls }`; null if the call failed.
    pub output: Value,
    /// The whole conversation before the reply, in the form of OpenAI's messages; empty if the input was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Value>,
    /// Documents that the trace retrieved before the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Context>,
    /// Facts about the call.
    #[serde(default)]
    pub metadata: Metadata,
    /// Tokens and price.
    #[serde(default)]
    pub usage: Usage,
    /// Milliseconds from beginning to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// Probability with which this row was kept, in (0, 1].
    #[serde(default = "whole")]
    pub p: f64,
}

fn whole() -> f64 {
    1.0
}

/// A document that was retrieved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The retriever's measure of the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// Facts about a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The model that answered, else the one that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The service that runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The program that called (`service.name`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The conversation or session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// chat, text_completion or generate_content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Why the call failed; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The person, as the program names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Marks of the trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Other facts that the program states of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<Value>,
}

/// Tokens and price of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the input, those of a cache included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens of the input that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// US dollars, as the program reckons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

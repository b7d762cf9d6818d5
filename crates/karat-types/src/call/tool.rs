//! Tools as a request offers them to a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// Its name, `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// The purpose of the tool and when to use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// JSON Schema of its arguments, an object schema.
    pub input: Arc<Value>,
}

/// The tools that a model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Any or none: the model decides.
    Auto,
    /// None.
    None,
    /// At least one.
    Any,
    /// This one.
    Tool(String),
}

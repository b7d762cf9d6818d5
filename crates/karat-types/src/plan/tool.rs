//! Tools of a suite: how a model sees them, and what answers their calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CommandSpec, ToolDefinition};

/// A tool of the suite, files read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its key under `tools`, and its name for models.
    pub id: String,
    /// The purpose of the tool and when to use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// JSON Schema of its arguments, an object schema.
    pub input: Arc<Value>,
    /// Declared version of what answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The executor of its calls. Without one a call ends the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<ToolExecutor>,
}

impl ToolSpec {
    /// The tool as a model sees it.
    pub fn definition(&self) -> ToolDefinition {
        ToolDefinition { name: self.id.clone(), about: self.about.clone(), input: self.input.clone() }
    }
}

/// The executor of a tool's calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExecutor {
    /// A template over `arguments`, `sample` and `calls`, the earlier calls of the conversation.
    Result(String),
    /// Written replies; the first that fits answers.
    Replies(Arc<Vec<ToolReply>>),
    /// A program. Its `stdin` is not used: it reads the call.
    Command(CommandSpec),
    /// A service that calls are posted to.
    Http {
        /// Template of the address; `${NAME}` stands for variables of the environment.
        url: String,
        /// Templates by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

/// A written reply of a tool: it answers calls whose arguments contain these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolReply {
    /// The tool, where several share the replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A subset of the call's arguments.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The error in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

//! `agent`: a model that calls tools until it is done, and the user that it talks to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CommandSpec, Money, PromptTurn, ToolDefinition};

/// A loop of model and tools, files read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The turns before the model's first. Without one of the user, the simulated user speaks first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<PromptTurn>,
    /// The tools that the model is offered, and what answers their calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The limits of the loop.
    #[serde(default)]
    pub limits: AgentLimits,
    /// A tool that the model does not see; its result at the end is the `state` of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ToolSpec>,
    /// The user that answers the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserSpec>,
}

/// The limits of a loop. Reaching one ends the loop with an output, not with an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLimits {
    /// Maximum number of the model's turns.
    pub turns: u32,
    /// Maximum number of calls of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Tokens of requests and replies from which no further turn is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost from which no further turn is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Time in milliseconds, of calls and tools together, from which no further turn is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl AgentLimits {
    /// The number of turns of a loop that sets no limit.
    pub const TURNS: u32 = 20;
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { turns: Self::TURNS, calls: None, tokens: None, cost: None, time_ms: None }
    }
}

/// A user that speaks after every reply without calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserSpec {
    /// A model that plays the user.
    Model {
        /// Registry id of the model.
        model: String,
        /// Template of the person, the goal and what the user knows.
        text: String,
        /// Template of the first message; absent = the model writes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<String>,
        /// The text by which the user ends the conversation.
        stop: String,
        /// Maximum number of the user's messages.
        turns: u32,
    },
    /// Written messages, in order: templates, or a lone `{{ }}` that gives a list of texts.
    Script(Vec<String>),
}

impl UserSpec {
    /// The text by which a simulated user ends the conversation, unless the suite sets another.
    pub const STOP: &str = "###STOP###";
    /// The number of messages of a simulated user, unless the suite sets another.
    pub const TURNS: u32 = 20;

    /// The model that plays the user, if one does.
    pub fn model(&self) -> Option<&str> {
        if let Self::Model { model, .. } = self { Some(model) } else { None }
    }
}

impl AgentSpec {
    /// The tools as the model sees them.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(ToolSpec::definition).collect()
    }

    /// The offered tools and the one that reads the state.
    pub fn all_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().chain(&self.state)
    }

    /// Returns true if each program and service behind its tools has a declared version.
    pub fn has_versions(&self) -> bool {
        self.all_tools().all(|tool| tool.version.is_some() || !tool.is_external())
    }

    /// Removes folders and paths, which are not part of identity.
    pub fn clear_folders(&mut self) {
        self.messages.iter_mut().for_each(PromptTurn::clear_folders);
        for tool in self.tools.iter_mut().chain(&mut self.state) {
            if let Some(ToolExecutor::Command(CommandSpec { folder, .. })) = &mut tool.executor {
                folder.clear();
            }
        }
    }
}

impl ToolSpec {
    /// Returns true if a program or service answers its calls.
    pub fn is_external(&self) -> bool {
        matches!(self.executor, Some(ToolExecutor::Command(_) | ToolExecutor::Http { .. }))
    }
}

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

//! The options in a registry entry's `with`, by provider.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::billing::CostPlace;

/// The provider of models that are local programs.
pub(crate) const COMMAND: &str = "command";
/// The provider of models whose replies the suite writes.
pub(crate) const SCRIPTED: &str = "scripted";
/// The provider of the stub, which gives a valid reply without meaning.
pub(crate) const STUB: &str = "stub";
/// Providers without a network connection.
pub(crate) const OFFLINE: [&str; 3] = [COMMAND, SCRIPTED, STUB];

/// Options of every provider with an HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpOptions {
    /// Additional headers of every request, by name. A value with `${NAME}` counts as a secret.
    pub headers: BTreeMap<String, String>,
    /// Where an answer states what it cost in US dollars: `{ body: $.usage.cost }` or `{ header: x-litellm-response-cost }`.
    /// That amount is booked in place of the price. Those of OpenRouter and xAI are known.
    pub cost: Option<CostPlace>,
}

/// Options of a model that is a local program.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CommandOptions {
    /// The program and its arguments. `{{ model }}` stands for the model's name, `{{ prompt }}` for the prompt; a prompt
    /// above 100,000 bytes goes to standard input and its argument is left out.
    pub command: Vec<String>,
    /// Additional arguments before the prompt, such as a preset's or a user's own flags.
    pub args: Vec<String>,
    /// Additional variables to remove from its environment, beside Claude Code's session variables.
    pub env_remove: Vec<String>,
}

/// Options of a scripted model: either `reply` or `replies`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScriptedOptions {
    /// Template of the reply. It sees the request and `vars`, nothing else.
    pub reply: Option<String>,
    /// The value of `vars` in the template.
    pub vars: Map<String, Value>,
    /// Rows `{match, turn, reply, tool_calls}` as JSON Lines, a JSON array, or inline. The first row whose `match` occurs
    /// in the request, and whose `turn` (1 = the first message of the model's side in the conversation) is the current
    /// one, answers. A row has `match`, `turn` or both, and `reply`, `tool_calls` (a list of `{name, arguments}`) or both.
    #[schemars(schema_with = "text_or_list")]
    pub replies: Option<Replies>,
    /// Name of a prompt section: `match` must equal its whole content, so that recorded replies are found by an id.
    pub by: Option<String>,
}

/// Written replies.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Replies {
    /// A file's content.
    Text(String),
    /// In place.
    Rows(Vec<WrittenReply>),
}

/// One written reply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenReply {
    /// Text that must occur in the request; with `by`, the whole content of that section.
    #[serde(rename = "match", default)]
    pub needle: Option<String>,
    /// The turn of the model that it is for, from 1.
    #[serde(default)]
    pub turn: Option<u32>,
    /// The reply: a text, or JSON that becomes one.
    #[serde(default)]
    pub reply: Option<Value>,
    /// The tools that it calls.
    #[serde(default)]
    pub tool_calls: Vec<WrittenCall>,
    /// A recorded failure with its message.
    #[serde(default)]
    pub error: Option<String>,
}

/// A written call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenCall {
    /// The tool.
    pub name: String,
    /// The arguments: mostly an object. A text is sent as it is.
    #[serde(default)]
    pub arguments: Value,
}

/// Options of the stub: none.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StubOptions {}

fn text_or_list(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "array", "null"] })
}

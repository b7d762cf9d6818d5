//! The options in a registry entry's `with`, by provider.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Options of every provider with an HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpOptions {
    /// Additional headers of every request, by name. A value with `${NAME}` counts as a secret.
    pub headers: BTreeMap<String, String>,
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
    /// Rows `{match, reply}` as JSON Lines, a JSON array, or inline. The first row whose `match` occurs in the request
    /// answers.
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
pub(crate) struct WrittenReply {
    /// Text that must occur in the request; with `by`, the whole content of that section.
    #[serde(rename = "match")]
    pub needle: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: WrittenAnswer,
}

/// A written answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WrittenAnswer {
    /// A reply: a text, or JSON that becomes one.
    Reply(Value),
    /// A recorded failure with its message.
    Error(String),
}

/// Options of the stub: none.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StubOptions {}

fn text_or_list(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "array", "null"] })
}

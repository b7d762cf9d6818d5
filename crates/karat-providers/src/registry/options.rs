//! What a registry entry's `with` may hold, by provider.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Options of every provider that is reached over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpOptions {
    /// More headers of every request, by name. A value may hold `${NAME}`, and is a secret then.
    pub headers: BTreeMap<String, String>,
}

/// Options of a model behind a program.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CommandOptions {
    /// The program and its arguments. `{{ model }}` stands for the model's name, `{{ prompt }}` for the prompt; a prompt
    /// above 100,000 bytes goes to standard input and its argument is left out.
    pub command: Vec<String>,
    /// More arguments, before the prompt: a preset's or a user's own flags.
    pub args: Vec<String>,
    /// More variables that are taken out of its environment, beside the marks of a session of Claude Code.
    pub env_remove: Vec<String>,
}

/// Options of a scripted model: `reply` or `replies`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScriptedOptions {
    /// Template of the reply. It sees the request and `vars`, nothing else.
    pub reply: Option<String>,
    /// What the template finds under `vars`.
    pub vars: Map<String, Value>,
    /// Rows `{match, reply}` as JSON Lines, a JSON array, or in place: the first whose `match` stands in the request.
    #[schemars(schema_with = "text_or_list")]
    pub replies: Option<Replies>,
    /// Name of a shown value: `match` must be all of it, so that recorded replies are found by an id.
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
    /// A text that must stand in the request; with `by`, the whole shown value of that name.
    #[serde(rename = "match")]
    pub needle: String,
    /// What comes back.
    #[serde(flatten)]
    pub answer: WrittenAnswer,
}

/// What a written reply is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WrittenAnswer {
    /// A reply: a text, or JSON that becomes one.
    Reply(Value),
    /// A failure that was recorded, in its own words.
    Error(String),
}

/// Options of the stub: none.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StubOptions {}

fn text_or_list(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "array", "null"] })
}

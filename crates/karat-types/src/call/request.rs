//! Requests of steps and judges.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{FilePath, Message, Role, ToolChoice, ToolDefinition};

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

/// The required form of the reply. For a provider that cannot enforce it, the request is sent without it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyFormat {
    /// Free text.
    #[default]
    Text,
    /// Any JSON object.
    Json,
    /// A vector for each message: embeddings of texts.
    Vectors {
        /// The wanted length of a vector; the model's own without it.
        dimensions: Option<u32>,
    },
    /// JSON after a schema.
    Schema {
        /// Name of the schema, `[a-zA-Z0-9_-]{1,64}`.
        name: String,
        /// JSON Schema.
        schema: Arc<Value>,
    },
}

/// One chat request, still without provider, model name or key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChatRequest {
    /// System messages first, then the conversation.
    pub messages: Vec<Message>,
    /// Call settings.
    pub parameters: Parameters,
    /// Wanted form of the reply.
    #[serde(default)]
    pub format: ReplyFormat,
    /// The tools that the model is offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// The tools that it may or must call; absent = the provider's own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

impl ChatRequest {
    /// A request for the vectors of texts, in their order.
    pub fn of_texts(texts: impl IntoIterator<Item = impl Into<String>>, dimensions: Option<u32>) -> Self {
        let message = |text| Message::new(Role::User, Into::<String>::into(text).as_str());
        let format = ReplyFormat::Vectors { dimensions };
        Self { messages: texts.into_iter().map(message).collect(), format, ..Self::default() }
    }

    /// Returns true if it asks for the vectors of texts.
    pub fn wants_vectors(&self) -> bool {
        matches!(self.format, ReplyFormat::Vectors { .. })
    }

    /// Returns true if it holds images or files.
    pub fn has_media(&self) -> bool {
        self.messages.iter().any(|message| message.content.media().next().is_some())
    }
}

/// The protocol of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// One process a cell: what it prints is the output.
    #[default]
    Once,
    /// One process for all cells: a line of JSON in, a line of JSON out.
    Jsonl,
}

/// Begins the name of a program that is a function of the process which has Karat as a library: `host:tone`.
const HOST: &str = "host:";

/// The host function that a command line names, if it names one.
pub fn host_function(run: &[String]) -> Option<&str> {
    run.first()?.strip_prefix(HOST)
}

impl Protocol {
    /// The protocol of a program whose suite names none: a host function answers line by line.
    pub fn of(run: &[String]) -> Self {
        if host_function(run).is_some() { Self::Jsonl } else { Self::default() }
    }
}

/// The name of a row in a file of many rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileRow {
    /// Its `id`.
    pub id: String,
    /// The trial, where the file has a row for each.
    pub trial: Option<FileTrial>,
}

/// The trial that a row of a file belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileTrial {
    /// Path of the trial's number within a row.
    pub path: String,
    /// The number; files count from 1.
    pub number: u32,
}

impl FileTrial {
    /// The row of a trial of a cell, which plans count from 0.
    pub fn of_cell(path: impl Into<String>, trial: u32) -> Self {
        Self { path: path.into(), number: trial.saturating_add(1) }
    }
}

impl fmt::Display for FileRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {:?}", self.id)?;
        self.trial.iter().try_for_each(|trial| write!(f, ", trial {}", trial.number))
    }
}

/// One thing a machine may ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A call of the cell's model, of the step's own model, or of the judge: who answers is the engine's affair.
    Chat(ChatRequest),
    /// The text of a file, or of one row of it; answered without a provider. An absent file or row is
    /// [`NotFound`](crate::CallErrorCode::NotFound).
    File {
        /// The file.
        path: FilePath,
        /// The wanted row of a JSONL file or JSON list; `None` = the whole file.
        row: Option<FileRow>,
    },
    /// A request to a service; the reply's text is the body of a 2xx answer.
    Http(HttpRequest),
    /// A program; the reply's text is what it prints.
    Command(CommandRequest),
    /// A message of the simulated user, from the model that plays it.
    SimulatedUser(ChatRequest),
    /// A call of a tool whose program keeps state by conversation. It is asked again when a run is resumed, because
    /// only then the program knows what was done. The reply's text is its answer, `{"result": …}` or `{"error": …}`.
    Tool(ToolRequest),
}

/// A call of a tool that a running program answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// The program; its `input` is not used.
    pub command: CommandRequest,
    /// The tool.
    pub tool: String,
    /// The conversation that the call belongs to, one per cell and trial.
    pub conversation: String,
    /// True if it is the conversation's first call of this program.
    pub begin: bool,
    /// The arguments, an object.
    pub arguments: Value,
    /// Id of the row.
    pub sample: String,
}

/// A text with gaps that only the environment fills, at the last moment: the values never stand in a plan or a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct EnvTemplate(pub Vec<EnvTemplatePart>);

/// A part of a [`EnvTemplate`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EnvTemplatePart {
    /// As it is.
    Text(String),
    /// The value of a variable of the environment.
    Variable {
        /// Its name.
        name: String,
        /// The default for an unset variable.
        default: Option<String>,
    },
}

impl EnvTemplate {
    /// Names of the variables in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            EnvTemplatePart::Text(_) => None,
            EnvTemplatePart::Variable { name, .. } => Some(name.as_str()),
        })
    }

    /// The text without values: gaps stand as `${NAME}`. For messages and captured requests.
    pub fn with_placeholders(&self) -> String {
        let part = |part: &EnvTemplatePart| match part {
            EnvTemplatePart::Text(text) => text.clone(),
            EnvTemplatePart::Variable { name, .. } => format!("${{{name}}}"),
        };
        self.0.iter().map(part).collect()
    }
}

/// One request to a service.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// `GET`, `POST`, ….
    pub method: String,
    /// The address.
    pub url: EnvTemplate,
    /// Headers by name.
    pub headers: Vec<(String, EnvTemplate)>,
    /// The body: a text is sent as it is, anything else as JSON; null = none.
    pub body: Value,
}

/// One run of a program, or one line to a program that is running.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRequest {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// Its input: with [`Protocol::Once`] a text as it is and anything else as JSON (null = nothing), with
    /// [`Protocol::Jsonl`] the `input` of its line.
    pub input: Value,
    /// Variables of its environment, beside the few that every program needs.
    pub env: Vec<(String, EnvTemplate)>,
    /// The protocol.
    pub protocol: Protocol,
    /// The folder it runs in; empty = the working directory.
    pub folder: String,
}

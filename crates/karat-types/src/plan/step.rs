//! Steps of a variant, resolved: files read, `use` inlined, defaults filled in.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentSpec, CommandSpec, JsonMode, MeterSpec, ModelSpec, Parameters, PromptSpec, PromptTurn, Tier};

/// A named pipeline under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantSpec {
    /// Its id.
    pub id: String,
    /// The steps in order; each step's output is the next one's `output`.
    pub steps: Vec<StepSpec>,
}

impl VariantSpec {
    /// Returns true if any step calls the matrix's model or passes its name to a service. Otherwise the variant has no model axis.
    pub fn calls_matrix_model(&self) -> bool {
        let calls = |step: &StepSpec| step.model.is_none() && step.action.calls_model();
        let tells = |step: &StepSpec| step.reads.iter().any(|name| name == "model" || name.starts_with("model."));
        self.steps.iter().any(|step| calls(step) || tells(step))
    }

    /// Returns true if one trial is enough: nothing in it makes a call, and its recordings hold one output a sample.
    pub fn has_one_trial(&self) -> bool {
        self.steps.iter().all(|step| matches!(&step.action, Action::Recorded(recorded) if recorded.trial().is_none()))
    }
}

/// A part that a step takes of its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TakeSpec {
    /// The value at a path, or the list of all values when the path has several.
    Path(String),
    /// An object under other names, or a list of such.
    Renamed {
        /// The list whose members are renamed; the value itself without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        each: Option<String>,
        /// Name to path within the member, or the value.
        r#as: BTreeMap<String, String>,
    },
}

impl TakeSpec {
    /// The paths into the value.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        let (one, several) = match self {
            Self::Path(path) | Self::Renamed { each: Some(path), .. } => (Some(path), None),
            Self::Renamed { each: None, r#as } => (None, Some(r#as.values())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

/// One step: one action, one output in, one output out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSpec {
    /// Its address in the variant; given, or the position.
    pub id: String,
    /// Declared version, part of identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The action.
    pub action: Action,
    /// Map over pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ChunkSpec>,
    /// Text to value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parse: Option<ParseSpec>,
    /// Value to smaller object, by name; an absent part is null.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub take: BTreeMap<String, TakeSpec>,
    /// Pieces to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeSpec>,
    /// Facts that are read from the answer or the row: time, tokens, money, version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<MeterSpec>,
    /// Conditions for the cell to be planned.
    #[serde(default, skip_serializing_if = "Requires::is_empty")]
    pub requires: Requires,
    /// A fixed model (registry id) instead of the matrix's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Call settings.
    #[serde(default)]
    pub parameters: Parameters,
    /// Timeout of one attempt in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Attempts after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The names that its templates and expressions read: `sample.title`, `input`, `output`, `chunk.text`, …
    #[serde(default)]
    pub reads: Vec<String>,
    /// The names that only paths of images and files read. The content of the files is part of identity, not these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_reads: Vec<String>,
}

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Renders messages and calls a model.
    Prompt(PromptSpec),
    /// Calls a service.
    Http(HttpSpec),
    /// Runs a program.
    Command(CommandSpec),
    /// Lets a model call tools until it is done.
    Agent(Box<AgentSpec>),
    /// Takes an output that exists already.
    Recorded(RecordedSpec),
}

impl Action {
    /// Returns true if it calls a model.
    pub fn calls_model(&self) -> bool {
        matches!(self, Self::Prompt(_) | Self::Agent(_))
    }

    /// The agent, if it is one.
    pub fn as_agent(&self) -> Option<&AgentSpec> {
        if let Self::Agent(agent) = self { Some(agent) } else { None }
    }

    /// Returns true if it calls a service or program. Other runs reuse the results of such a step only with a declared
    /// version, because nothing else says what answered.
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Command(_))
    }
}

/// The request of an http step. In `url` and `headers`, `${NAME}` and `${NAME:-default}` stand for variables of the
/// environment, whose values no plan ever holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Template of the address.
    pub url: String,
    /// Templates by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body; every text in it is a template, and one that is a lone `{{ }}` keeps its type. A text as a whole is
    /// sent as text, anything else as JSON. Null = no body.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

impl StepSpec {
    /// Returns true if it calls a service or program whose answers report their cost.
    pub fn meters_cost(&self) -> bool {
        self.action.is_outside() && self.meter.as_ref().is_some_and(MeterSpec::has_cost)
    }

    /// Returns true if other runs may reuse its output. False for a program or service without a declared version, because
    /// nothing says what answered.
    pub fn is_reusable(&self, model: Option<&ModelSpec>) -> bool {
        let is_outside = self.action.is_outside() || model.is_some_and(ModelSpec::is_program);
        (!is_outside || self.version.is_some()) && self.action.as_agent().is_none_or(AgentSpec::has_versions)
    }

    /// Returns true if it offers tools, so that its output is an object with calls.
    pub fn offers_tools(&self) -> bool {
        let has_own = self.parameters.extra.get("tools").is_some_and(|tools| !tools.is_null());
        match &self.action {
            Action::Prompt(prompt) => has_own || !prompt.tools.is_empty(),
            Action::Agent(_) => true,
            Action::Http(_) | Action::Command(_) | Action::Recorded(_) => false,
        }
    }

    /// Returns whether its output is the text of a reply, which nothing turns into a value.
    pub fn is_unparsed_text(&self) -> bool {
        let makes_text = matches!(&self.action, Action::Prompt(_)) && !self.offers_tools();
        let parses = self.parse.as_ref().is_some_and(|parse| parse.form != ParseAs::Text || parse.into.is_some());
        let asks_json = self.parameters.extra.contains_key("response_format");
        makes_text && !parses && !asks_json && self.take.is_empty() && self.chunk.is_none() && self.merge.is_none()
    }

    /// Ids of the models that it names: its own, and the one that plays the user.
    pub fn named_models(&self) -> impl Iterator<Item = &str> {
        let user = self.action.as_agent().and_then(|agent| agent.user.as_ref()?.model());
        self.model.as_deref().into_iter().chain(user)
    }

    /// Returns true if its requests may hold images or files.
    pub fn may_have_media(&self) -> bool {
        match &self.action {
            Action::Prompt(prompt) => prompt.may_have_media(),
            Action::Agent(agent) => agent.messages.iter().any(PromptTurn::may_have_media),
            Action::Http(_) | Action::Command(_) | Action::Recorded(_) => false,
        }
    }

    /// The step without what cannot change its output: times it may take, prices, folders.
    #[must_use]
    pub fn bare(&self) -> Self {
        let mut bare = Self { timeout_ms: None, retries: None, ..self.clone() };
        if let Some(meter) = &mut bare.meter {
            meter.prices.clear();
        }
        match &mut bare.action {
            Action::Command(command) => command.folder.clear(),
            Action::Agent(agent) => agent.clear_folders(),
            Action::Prompt(prompt) => prompt.messages.iter_mut().for_each(PromptTurn::clear_folders),
            Action::Http(_) | Action::Recorded(_) => {}
        }
        bare
    }
}

/// The place of a recorded output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedSpec {
    /// A path into the row.
    Column {
        /// The path.
        column: String,
        /// The meaning of an absent value.
        missing: MissingOutput,
        /// The meaning of an unreadable value.
        #[serde(default, skip_serializing_if = "UnreadableOutput::is_error")]
        broken: UnreadableOutput,
        /// Path within the row of the error that stands there in place of an output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A file a sample (template of its path), or one JSONL/JSON file whose rows are found by `by`.
    File {
        /// Template of the path, already relative to the working directory or absolute.
        from: String,
        /// Template of the row's id in a file of many rows; `None` = the whole file is the output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Path to the output within such a row; the whole row without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        column: Option<String>,
        /// The meaning of an absent file or row.
        missing: MissingOutput,
        /// The meaning of an unreadable file or row.
        #[serde(default, skip_serializing_if = "UnreadableOutput::is_error")]
        broken: UnreadableOutput,
        /// Path within such a row of the error that stands there in place of an output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Path within such a row of the number of its trial, where the file has a row for each trial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trial: Option<String>,
    },
}

impl RecordedSpec {
    /// The meaning of an absent output.
    pub fn missing(&self) -> MissingOutput {
        match self {
            Self::Column { missing, .. } | Self::File { missing, .. } => *missing,
        }
    }

    /// Path of the error that may stand in place of an output.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Column { error, .. } | Self::File { error, .. } => error.as_deref(),
        }
    }

    /// Path of the number of a row's trial, where the recording has an output for each trial.
    pub fn trial(&self) -> Option<&str> {
        match self {
            Self::Column { .. } => None,
            Self::File { trial, .. } => trial.as_deref(),
        }
    }

    /// The meaning of an unreadable output.
    pub fn unreadable_meaning(&self) -> UnreadableOutput {
        match self {
            Self::Column { broken, .. } | Self::File { broken, .. } => *broken,
        }
    }
}

/// The meaning of an absent recorded output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingOutput {
    /// The cell is an error.
    #[default]
    Error,
    /// The output is empty text.
    Empty,
    /// The cell is not planned.
    Skip,
}

/// The meaning of an unreadable recorded output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreadableOutput {
    /// The cell is an error.
    #[default]
    Error,
    /// Its text is the output, for which scorers give their lowest.
    Text,
}

impl UnreadableOutput {
    fn is_error(&self) -> bool {
        *self == Self::Error
    }
}

/// The chunking of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkSpec {
    /// Expression of what is cut: a text, or a list.
    pub of: String,
    /// Size of a piece; `None` = what fits the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ChunkSize>,
    /// The overlap of neighbouring pieces, in the size's unit.
    #[serde(default)]
    pub overlap: u32,
    /// At most so many pieces; further ones are dropped, and the drop is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// Size of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkSize {
    /// Tokens of the plan's tokenizer.
    Tokens(u32),
    /// List items.
    Items(u32),
}

/// The parsing of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParseSpec {
    /// Form of the text.
    #[serde(rename = "as")]
    pub form: ParseAs,
    /// Heading of the Markdown section that is read; the whole text where it has none of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// JSON Schema that the value must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Arc<Value>>,
    /// Wrap the value in an object under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// The number of re-asks with the validation error.
    pub reask: u32,
}

/// Form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParseAs {
    /// JSON, found through the ladder.
    #[default]
    Json,
    /// The text as it is.
    Text,
    /// A list of its non-empty lines.
    Lines,
    /// A list of `{text}` objects from a Markdown list.
    Bullets,
    /// YAML.
    Yaml,
    /// CSV with a header row: a list of objects.
    Csv,
}

/// The merging of pieces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergeSpec {
    /// The rule.
    pub how: MergeHow,
    /// Path of the list within each piece (`union`); the piece itself without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Path of what makes two items equal; the whole item without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Similarity in (0, 1] from which a text that only adds words to another one is its duplicate; without it, only texts
    /// that are equal after case, white space and punctuation are folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<f64>,
}

/// A merge rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeHow {
    /// Lists one after the other, equal items once.
    Union,
    /// Lists one after the other.
    Concat,
    /// The first piece.
    First,
    /// The last piece.
    Last,
    /// The value that most pieces have; ties by first seen.
    Vote,
    /// Texts joined by blank lines.
    Text,
}

/// Conditions under which a cell is planned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requires {
    /// The whole prompt and the reply's budget fit the model's context window.
    #[serde(default)]
    pub fits: bool,
    /// The model's JSON mode is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_mode: Option<JsonMode>,
    /// The model's context window is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The model's tier is this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// The model is one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

impl Requires {
    /// Returns true if nothing is required.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

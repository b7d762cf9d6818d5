//! The actions of a step, each a sans-IO machine. A new action is one file here and one arm in [`machine`].

mod agent;
mod meter;
mod outside;
mod parse;
mod pieces;
mod prompt;
mod recorded;
mod shape;
mod take;
mod turns;

use std::sync::Arc;

use karat_suite::MediaKind;
use karat_text::path::PathError;
use karat_text::template::{Context, TemplateError};
use karat_types::{Action, CellError, Machine, Media, ModelSpec, Money, Note, Sample, StepSpec};
use serde_json::Value;

use agent::{AgentMachine, CompiledAgent};
use outside::{CompiledOutside, OutsideMachine};
use prompt::{CompiledPrompt, PromptMachine};
use recorded::{CompiledRecorded, RecordedMachine};

pub(crate) use meter::{Metered, UnknownCost};
pub(crate) use prompt::{DEFAULT_MAX_TOKENS, parameters};
use take::take;

/// The end of a step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepEnd {
    /// An output, with notes for the report.
    Output {
        /// The output.
        output: Value,
        /// Truncations, dropped chunks, lenient readings.
        notes: Vec<Note>,
        /// Figures that the answer or the row reports about itself.
        metered: Box<Metered>,
    },
    /// No output: the step failed.
    Failed(CellError),
    /// No output: the recording says that the recorded step failed.
    RecordedFailure {
        /// The recorded error.
        error: CellError,
        /// Figures that the row reports about itself.
        metered: Box<Metered>,
    },
    /// A condition of the step does not hold for this cell.
    Skipped(String),
}

impl StepEnd {
    /// The reason of a failure.
    pub fn failure(&self) -> Option<&CellError> {
        match self {
            Self::Failed(error) | Self::RecordedFailure { error, .. } => Some(error),
            Self::Output { .. } | Self::Skipped(_) => None,
        }
    }
}

/// The reason for a missing output.
#[derive(Debug, Clone)]
pub(crate) enum Reason {
    Failed(CellError),
    Skipped(String),
    /// The row is for other systems only.
    LeftOut,
}

/// A step that cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum StepError {
    /// A template or expression is invalid.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A path is invalid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A JSON Schema is invalid.
    #[error("the schema of `parse` cannot be used: {0}")]
    Schema(String),
    /// The schema of a tool's arguments is invalid.
    #[error("the `input` of tool `{0}` cannot be used: {1}")]
    ToolSchema(String, String),
}

/// A step with compiled templates and schema: compiled once per run, used for every cell.
pub(crate) struct CompiledStep {
    /// The step.
    pub spec: Arc<StepSpec>,
    action: CompiledAction,
}

enum CompiledAction {
    Prompt(Arc<CompiledPrompt>),
    Agent(Arc<CompiledAgent>),
    Outside(Arc<CompiledOutside>),
    Recorded(Arc<CompiledRecorded>),
}

/// The input of a machine from its cell.
#[derive(Clone)]
pub(crate) struct StepInput {
    /// Names of the templates: `sample`, `input`, `reference`, `params`, `output`, `variant`, `model`.
    pub context: Context,
    /// The row itself.
    pub sample: Arc<Sample>,
    /// The model that answers; `None` for steps that call none.
    pub model: Option<Arc<ModelSpec>>,
    /// Name of the conversation, by which programs keep their state.
    pub conversation: Arc<str>,
    /// The trial, from 0. Only recordings of several trials read it.
    pub trial: u32,
}

impl CompiledStep {
    /// Compiles a step of the plan.
    pub fn new(spec: &StepSpec) -> Result<Self, StepError> {
        let action = match &spec.action {
            Action::Prompt(prompt) => CompiledAction::Prompt(Arc::new(CompiledPrompt::new(spec, prompt)?)),
            Action::Agent(agent) => CompiledAction::Agent(Arc::new(CompiledAgent::new(agent)?)),
            Action::Http(http) => CompiledAction::Outside(Arc::new(CompiledOutside::http(spec, http)?)),
            Action::Command(command) => CompiledAction::Outside(Arc::new(CompiledOutside::command(spec, command)?)),
            Action::Recorded(recorded) => CompiledAction::Recorded(Arc::new(CompiledRecorded::new(spec, recorded)?)),
        };
        Ok(Self { spec: Arc::new(spec.clone()), action })
    }

    /// Returns whether the step calls a model.
    pub fn calls_model(&self) -> bool {
        self.spec.action.calls_model()
    }

    /// The images and files that it shows of a row; `None` if it can show none.
    pub fn media(&self, context: &Context) -> Option<Vec<(MediaKind, Result<Media, String>)>> {
        match (&self.action, &self.spec.action) {
            (CompiledAction::Agent(compiled), _) if self.spec.may_have_media() => {
                Some(compiled.turns.media(context)).filter(|media| !media.is_empty())
            }
            (CompiledAction::Prompt(compiled), Action::Prompt(prompt)) if prompt.may_have_media() => {
                Some(compiled.media(context)).filter(|media| !media.is_empty())
            }
            _ => None,
        }
    }

    /// Returns whether its answers report their cost.
    pub fn meters_cost(&self) -> bool {
        self.spec.meters_cost()
    }

    /// Returns whether its answers state their cost in dollars.
    pub fn states_cost(&self) -> bool {
        self.spec.meter.as_ref().is_some_and(|meter| meter.cost_usd.is_some())
    }

    /// The cost that an answer reports; zero if the step does not meter it.
    ///
    /// # Errors
    /// The cost is unknown: the known part of it.
    pub fn cost_of(&self, answer: &str) -> Result<Money, UnknownCost> {
        match &self.action {
            CompiledAction::Outside(action) => action.cost_of(answer),
            CompiledAction::Prompt(_) | CompiledAction::Agent(_) | CompiledAction::Recorded(_) => Ok(Money::ZERO),
        }
    }

    /// Returns whether its output is recorded.
    pub fn is_recorded(&self) -> bool {
        matches!(self.action, CompiledAction::Recorded(_))
    }

    /// The step as a machine for one cell.
    pub fn machine(&self, input: StepInput) -> Box<dyn Machine<Done = StepEnd>> {
        let spec = self.spec.clone();
        match &self.action {
            CompiledAction::Prompt(action) => Box::new(PromptMachine::new(spec, action.clone(), input)),
            CompiledAction::Agent(action) => Box::new(AgentMachine::new(spec, action.clone(), input)),
            CompiledAction::Outside(action) => Box::new(OutsideMachine::new(spec, action.clone(), input)),
            CompiledAction::Recorded(action) => Box::new(RecordedMachine::new(spec, action.clone(), input)),
        }
    }
}

/// The error of a template that fails in a cell, with the template's own message.
fn template_error(step: &StepSpec, error: &TemplateError) -> CellError {
    template_error_text(step, &error.to_string())
}

/// The error of a template or of its value, with its own message.
fn template_error_text(step: &StepSpec, problem: &str) -> CellError {
    CellError::new("template", format!("rendering step `{}`: {problem}", step.id))
}

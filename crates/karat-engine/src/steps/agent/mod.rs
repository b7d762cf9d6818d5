//! `agent`: a model calls tools until it is done, with a simulated user if the suite has one.
//!
//! - here: the step with templates and schemas compiled
//! - `machine.rs` is the loop; `tools.rs` answers calls or turns them into requests; `user.rs` speaks for the user
//!
//! Ids of requests: `t0` is the model's first turn, `t0/c1` the second call of it, `u0` the user's first message, `end`
//! the call that reads the state. Programs that keep state may answer differently when a run is resumed. If the agent has
//! one, a turn's id also holds a digest of the conversation before it, so that a paid reply answers only the same request.

mod machine;
mod tools;
mod user;

use karat_types::{AgentLimits, AgentSpec, Message, StepSpec, ToolDefinition};

use super::turns::CompiledTurns;
use super::{StepEnd, StepError, StepInput};

pub(super) use machine::AgentMachine;
use tools::CompiledTool;
use user::CompiledUser;

/// An agent with templates and schemas compiled.
pub(crate) struct CompiledAgent {
    pub(super) turns: CompiledTurns,
    tools: Vec<CompiledTool>,
    definitions: Vec<ToolDefinition>,
    state: Option<CompiledTool>,
    user: Option<CompiledUser>,
    limits: AgentLimits,
    /// True if a program keeps state by conversation.
    is_stateful: bool,
}

impl CompiledAgent {
    pub(super) fn new(agent: &AgentSpec) -> Result<Self, StepError> {
        let tools = agent.tools.iter().map(CompiledTool::new).collect::<Result<Vec<_>, StepError>>()?;
        let state = agent.state.as_ref().map(CompiledTool::new).transpose()?;
        let is_stateful = tools.iter().chain(&state).any(CompiledTool::is_stateful);
        Ok(Self {
            turns: CompiledTurns::new(&agent.messages)?,
            tools,
            definitions: agent.definitions(),
            state,
            user: agent.user.as_ref().map(CompiledUser::new).transpose()?,
            limits: agent.limits.clone(),
            is_stateful,
        })
    }

    /// The turns before the model's first.
    fn first_messages(&self, step: &StepSpec, input: &StepInput) -> Result<Vec<Message>, StepEnd> {
        self.turns.render(&step.id, &input.context).map_err(StepEnd::Failed)
    }
}

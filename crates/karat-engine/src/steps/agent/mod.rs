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

use karat_text::template::Template;
use karat_types::{AgentLimits, AgentSpec, Message, PromptContent, PromptTurn, Role, StepSpec, ToolDefinition};

use super::{StepEnd, StepError, StepInput, template_error};

pub(super) use machine::AgentMachine;
use tools::CompiledTool;
use user::CompiledUser;

/// An agent with templates and schemas compiled.
pub(crate) struct CompiledAgent {
    turns: Vec<(Role, Template)>,
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
        let turns = agent.messages.iter().filter_map(|turn| match turn {
            PromptTurn::Written { role, content: PromptContent::Text(text) } => Some((*role, text)),
            _ => None,
        });
        let turns = turns.map(|(role, text)| Ok((role, Template::compile(text)?))).collect::<Result<_, StepError>>()?;
        let tools = agent.tools.iter().map(CompiledTool::new).collect::<Result<Vec<_>, StepError>>()?;
        let state = agent.state.as_ref().map(CompiledTool::new).transpose()?;
        let is_stateful = tools.iter().chain(&state).any(CompiledTool::is_stateful);
        Ok(Self {
            turns,
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
        let templates = self.turns.iter().map(|(_, template)| template);
        let texts = Template::render_together(templates, &input.context)
            .map_err(|error| StepEnd::Failed(template_error(step, &error)))?;
        let roles = self.turns.iter().map(|(role, _)| *role);
        Ok(roles.zip(texts).map(|(role, text)| Message::new(role, text)).collect())
    }
}

//! The recipient of a call: its name, its limits, and how to read its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{AgentLimits, CallError, CallErrorCode, ModelSpec, Money, Reply, Request, ServedName};

use crate::control::deadline::CellDeadline;
use crate::steps::CompiledStep;

/// The recipient of a machine's calls.
#[derive(Clone)]
pub(crate) struct Target {
    /// Name of the step or scorer, for messages.
    pub who: Arc<str>,
    /// The model, if one is called.
    pub model: Option<Arc<ModelSpec>>,
    /// The step, if its answers report what they cost.
    pub meter: Option<Arc<CompiledStep>>,
    pub timeout: Duration,
    pub retries: u32,
    /// The deadline of the cell.
    pub time: Option<Arc<CellDeadline>>,
    /// The other recipients of an agent; `None` for any other step.
    pub agent: Option<Arc<AgentTargets>>,
    /// True if calls are made live, even if the run uses batch APIs.
    pub is_live: bool,
    /// True if a demonstration answers beside others that are billed.
    pub is_demo: bool,
}

/// The recipients of an agent beside its model, and the limits that the engine watches.
pub(crate) struct AgentTargets {
    /// Programs and services behind tools.
    pub tools: Target,
    /// The model that plays the user.
    pub user: Option<Target>,
    pub limits: AgentLimits,
}

impl Target {
    /// Returns whether nobody bills its calls: a script or a demonstration answers.
    pub fn is_simulated(&self) -> bool {
        self.is_demo || self.model.as_ref().is_some_and(|model| model.is_scripted())
    }

    /// The recipient of a request.
    pub fn recipient(&self, request: &Request) -> &Self {
        let Some(agent) = &self.agent else { return self };
        match request {
            Request::SimulatedUser(_) => agent.user.as_ref().unwrap_or(self),
            Request::Tool(_) | Request::Command(_) | Request::Http(_) => &agent.tools,
            Request::Chat(_) | Request::File { .. } => self,
        }
    }

    /// The code of the limit of an agent that is reached, if a model would be asked.
    pub fn reached_limit(&self, request: &Request, cost: Money, latency_ms: f64) -> Option<CallErrorCode> {
        let limits = &self.agent.as_ref()?.limits;
        if !matches!(request, Request::Chat(_) | Request::SimulatedUser(_)) {
            return None;
        }
        if limits.cost.is_some_and(|limit| cost >= limit) {
            return Some(CallErrorCode::CostLimit);
        }
        limits.time_ms.is_some_and(|limit| latency_ms >= limit as f64).then_some(CallErrorCode::TimeLimit)
    }

    /// The recipient's name in the ledger.
    pub fn name(&self, request: &Request) -> &str {
        match (request, &self.model) {
            (Request::Chat(_), Some(model)) => &model.id,
            (Request::Command(_) | Request::Tool(_), _) => "command",
            _ => "http",
        }
    }

    /// Parses the bytes of an answer.
    pub fn read_reply(&self, request: &Request, response: &Bytes) -> Result<Reply, CallError> {
        match (request, &self.model) {
            (Request::Chat(request), Some(model)) => karat_providers::parse_answer(model, request, response),
            (request, _) => karat_providers::parse_external_reply(request, response).map_err(|message| CallError {
                code: CallErrorCode::Malformed,
                message,
                status: None,
            }),
        }
    }

    /// The model that answered, if the provider names it.
    pub fn answering_model(&self, outcome: &Result<Arc<Reply>, CallError>) -> Option<ServedName> {
        let reply = outcome.as_ref().ok()?;
        ServedName::from_reply(&self.model.as_ref()?.model, reply.model.as_deref()?)
    }
}

/// The meaning of a call's end for its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallFate {
    /// The call's own outcome stands.
    Stands,
    /// No further attempt is made, so the error of the last one is the outcome.
    Failed,
    /// The recipient is not called any more: the cell is left.
    Left,
}

impl CallFate {
    pub fn is_left(self) -> bool {
        self == Self::Left
    }
}

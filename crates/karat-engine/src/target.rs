//! Who answers a call, how long it may take, and how what comes is read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, ModelSpec, Money, Reply, Request, ServedName, Usage};

use crate::cell_time::CellTime;
use crate::steps::{CompiledStep, UnknownCost};

/// Who answers the calls of a machine, and how long it may take.
#[derive(Clone)]
pub(crate) struct Target {
    /// The step or scorer, for messages.
    pub who: Arc<str>,
    /// The model, where one is called.
    pub model: Option<Arc<ModelSpec>>,
    /// The step, where its answers say what they cost.
    pub meter: Option<Arc<CompiledStep>>,
    pub timeout: Duration,
    pub retries: u32,
    /// What the cell has left.
    pub time: Option<Arc<CellTime>>,
}

impl Target {
    /// Who answers a request, as the ledger calls it.
    pub fn name(&self, request: &Request) -> &str {
        match (request, &self.model) {
            (Request::Chat(_), Some(model)) => &model.id,
            (Request::Command(_), _) => "command",
            _ => "http",
        }
    }

    /// What an answer's bytes say.
    pub fn read(&self, request: &Request, response: &Bytes) -> Result<Reply, CallError> {
        match (request, &self.model) {
            (Request::Chat(_), Some(model)) => karat_providers::parse(model, response),
            (request, _) => karat_providers::parse_external_reply(request, response).map_err(|message| CallError {
                code: CallErrorCode::Malformed,
                message,
                status: None,
            }),
        }
    }

    /// What a call cost: by a model's price, or as the answer says it; what is known of it when nobody knows.
    pub fn cost_of(&self, outcome: &Result<Reply, CallError>, usage: &Usage) -> Result<Money, UnknownCost> {
        match (&self.model, &self.meter, outcome) {
            (Some(model), _, _) => model.price.cost(usage).ok_or_else(UnknownCost::default),
            (None, Some(step), Ok(reply)) => step.cost_of(&reply.text),
            _ => Ok(Money::ZERO),
        }
    }

    /// The model that answered, where its provider says so.
    pub fn answered(&self, outcome: &Result<Arc<Reply>, CallError>) -> Option<ServedName> {
        let reply = outcome.as_ref().ok()?;
        ServedName::from_reply(&self.model.as_ref()?.model, reply.model.as_deref()?)
    }
}

//! Agents: calls of programs that keep state by conversation, and limits of cost and time.
//!
//! Calls of such a program are not recorded: when a run is resumed they are asked again in order, because only then the
//! program knows what was done. Their results are in the next request to the model, which is recorded.

use karat_providers::Providers;
use karat_types::{Answer, Ask, CallError, CallErrorCode, Key, Request, ToolRequest};
use tokio::time::Instant;

use crate::call::settlement::SettledCall;
use crate::call::tally::Tally;
use crate::control::stop::{GRACE, Stop};
use crate::control::target::Target;

/// The conversations of a machine that programs know of.
#[derive(Default)]
pub(super) struct Conversations(Vec<ToolRequest>);

impl Conversations {
    /// Notes the conversations that begin with these requests.
    pub fn note(&mut self, asks: &[Ask]) {
        self.0.extend(asks.iter().filter_map(|ask| match &ask.request {
            Request::Tool(tool) if tool.begin => Some(tool.clone()),
            _ => None,
        }));
    }

    /// Tells the programs that the conversations are over.
    pub async fn end(self, providers: &Providers) {
        for conversation in self.0 {
            providers.end_conversation(&conversation).await;
        }
    }
}

/// The answers to requests that a limit of the agent does not allow.
pub(super) fn limit_answers(asks: &[Ask], target: Option<&Target>, tally: &Tally) -> Option<Vec<Answer>> {
    let first = asks.first()?;
    let code = target?.reached_limit(&first.request, tally.cost, tally.latency_ms)?;
    let refuse = |ask: &Ask| {
        let message = "a limit of the agent is reached".to_owned();
        let error = CallError { code, message, status: None };
        Answer { id: ask.id.clone(), outcome: Err(error) }
    };
    Some(asks.iter().map(refuse).collect())
}

/// Calls a tool whose program keeps state.
pub(super) async fn call_program_with_state(
    (providers, stop): (&Providers, &Stop),
    key: Key,
    tool: &ToolRequest,
    target: &Target,
) -> SettledCall {
    if stop.is_set() {
        let message = "the run was stopped before this call";
        return SettledCall::refusal(key, CallErrorCode::Cancelled, message.to_owned());
    }
    let out_of_time = async {
        let Some(time) = &target.time else { return std::future::pending().await };
        time.expire(std::future::ready(())).await;
    };
    let stopped = async {
        stop.wait().await;
        tokio::time::sleep(GRACE).await;
    };
    let start = Instant::now();
    let call = providers.call_tool(&target.who, tool, target.timeout);
    let outcome = tokio::select! {
        biased;
        outcome = call => outcome,
        () = out_of_time => {
            let message = format!("the cell's time was used up while the tool `{}` was running. Raise `run.cell_timeout`", tool.tool);
            Err(CallError { code: CallErrorCode::CellTimeout, message, status: None })
        }
        () = stopped => {
            let message = "the run was stopped while this call was under way".to_owned();
            Err(CallError { code: CallErrorCode::Cancelled, message, status: None })
        }
    };
    let latency_ms = start.elapsed().as_secs_f64() * 1e3;
    let unmade = SettledCall::refusal(key, CallErrorCode::Cancelled, String::new());
    SettledCall { outcome: outcome.map(std::sync::Arc::new), latency_ms, ..unmade }
}

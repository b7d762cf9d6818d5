//! `POST /eval/plan`, `/eval/run`, `…/resume` and `…/retry`: what the command line does with the same flags.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use http::StatusCode;
use karat_app::{
    App, ErrorKind, Invocation, KeptAnswer, OrderAction, Plan, QueueOrder, Queueing, RunRequest, RunState,
    estimate_document,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::api::body;
use crate::api::run_object::RunObject;
use crate::layers::repeats::{IsKept, Repeatable};
use crate::problem::Problem;
use crate::settings::Purpose;
use crate::state::State;

/// The limits of a run that is continued.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Maximum spending in US dollars, earlier parts included.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    budget_usd: Option<f64>,
    /// Maximum number of requests, retries and earlier parts included.
    #[schemars(range(min = 0, max = u32::MAX))]
    max_calls: Option<u64>,
}

/// `POST /eval/plan`.
pub(super) async fn plan(state: State, body: Bytes) -> Result<Json<Value>, Problem> {
    let allow_commands = may_start(&state)?;
    let invocation = body::read::<RunRequest>(&body)?.remote_invocation("api", allow_commands);
    let planned = state.read(move |app| {
        let plan = load(app, &invocation)?;
        let (estimate, reasons) = (app.runs().estimate(&plan)?, app.runs().reasons(&plan)?);
        let options = app.runs().options(&plan)?;
        Ok::<_, Problem>(estimate_document(&plan, &estimate, &reasons, &options))
    });
    planned.await.map(Json)
}

/// `POST /eval/run`.
pub(super) async fn run(
    state: State,
    repeatable: Option<Extension<Repeatable>>,
    body: Bytes,
) -> Result<Response, Problem> {
    let allow_commands = may_start(&state)?;
    let request: RunRequest = body::read(&body)?;
    let given = request.run_id.clone();
    let invocation = request.remote_invocation("api", allow_commands);
    let (order, plan) = state
        .read(move |app| {
            let plan = load(app, &invocation)?;
            Ok::<_, Problem>((app.service().start_order(&plan, &invocation, given)?, plan))
        })
        .await?;
    enqueue(state, order, Some(plan), repeatable).await
}

/// `POST /eval/runs/{id}/resume`.
pub(super) async fn resume(
    state: State,
    path: Path<String>,
    repeatable: Option<Extension<Repeatable>>,
    body: Bytes,
) -> Result<Response, Problem> {
    continue_run(state, path, repeatable, body, OrderAction::Resume).await
}

/// `POST /eval/runs/{id}/retry`.
pub(super) async fn retry(
    state: State,
    path: Path<String>,
    repeatable: Option<Extension<Repeatable>>,
    body: Bytes,
) -> Result<Response, Problem> {
    continue_run(state, path, repeatable, body, OrderAction::Retry).await
}

async fn continue_run(
    state: State,
    Path(run): Path<String>,
    repeatable: Option<Extension<Repeatable>>,
    body: Bytes,
    action: OrderAction,
) -> Result<Response, Problem> {
    may_start(&state)?;
    let Limits { budget_usd, max_calls } = body::read(&body)?;
    let mut later = Invocation::default();
    (later.overrides.budget_usd, later.overrides.max_calls) = (budget_usd, max_calls);
    let order = state
        .read(move |app| {
            let state = app.service().run_state(&run)?;
            if matches!(state.status, "queued" | "running") {
                return Err(in_use());
            }
            Ok(app.service().continuation_order(&state.run_id, action, &later)?)
        })
        .await?;
    enqueue(state, order, None, repeatable).await
}

/// Puts a run into the queue. Its answer is kept in the same commit, so a request that is repeated starts nothing.
async fn enqueue(
    state: State,
    order: QueueOrder,
    plan: Option<Plan>,
    repeatable: Option<Extension<Repeatable>>,
) -> Result<Response, Problem> {
    let own = state.clone();
    let most = state.settings().queue.max_waiting;
    let kept = repeatable.as_ref().map(|it| it.0.clone());
    let (queueing, run) = state
        .read(move |app| {
            let run = match order.action {
                OrderAction::Start => app.service().state_of_order(&order),
                OrderAction::Resume | OrderAction::Retry => {
                    let state = app.service().run_state(&order.run)?;
                    let budget_usd = order.budget_usd;
                    RunState {
                        status: "queued",
                        verdict: None,
                        exit_code: None,
                        completed_at: None,
                        budget_usd,
                        ..state
                    }
                }
            };
            let run = RunObject::new(&own, RunState { problem: None, ..run });
            let answer = kept.map(|Repeatable { key, fingerprint }| KeptAnswer {
                key,
                fingerprint,
                status: StatusCode::ACCEPTED.as_u16(),
                body: serde_json::to_string(&run).unwrap_or_default(),
                location: Some(run.address().to_owned()),
                at: own.now(),
            });
            app.service().enqueue(&order, plan, answer.as_ref(), most).map(|queueing| (queueing, run))
        })
        .await?;
    match queueing {
        Queueing::Added => {
            state.wake_dispatcher();
            let mut response = run.accept();
            response.extensions_mut().insert(IsKept);
            Ok(response)
        }
        Queueing::Answered(known) => {
            Ok(repeatable.map_or_else(|| Problem::internal().into_response(), |it| it.0.replay(known)))
        }
        Queueing::Taken => {
            let problem = Problem::new(StatusCode::CONFLICT, "run-exists", "The id of the run is taken");
            Err(problem.with_hint("choose another `run_id`, or resume the run"))
        }
        Queueing::Busy => Err(in_use()),
        Queueing::Full => {
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "queue-full", "Too many runs wait");
            Err(Problem { retry_after_s: Some(30), ..problem })
        }
    }
}

fn in_use() -> Problem {
    Problem::new(StatusCode::CONFLICT, "run-in-use", "The run waits or is running")
}

/// Loads a suite. A problem that is there only because programs are not allowed is one of the server.
fn load(app: &App, invocation: &Invocation) -> Result<Plan, Problem> {
    let error = match app.runs().load(invocation) {
        Ok(plan) => return Ok(plan),
        Err(error) => error,
    };
    let is_safe = invocation.overrides.safe && error.kind() == ErrorKind::SuiteInvalid;
    let mut trusted = invocation.clone();
    trusted.overrides.safe = false;
    if is_safe && app.runs().load(&trusted).is_ok() {
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "commands-off", "The suite runs programs");
        return Err(Problem { detail: Some(error.to_string()), ..problem }
            .with_hint("`karat serve --allow-commands` allows it"));
    }
    Err(error.into())
}

/// Returns whether suites may run programs.
///
/// # Errors
/// The server starts no runs.
fn may_start(state: &State) -> Result<bool, Problem> {
    match state.settings().purpose {
        Purpose::View { .. } => {
            let problem = Problem::forbidden("`karat view` starts no runs");
            Err(problem.with_hint("`karat serve` does; or run the suite with `karat run`"))
        }
        Purpose::Serve { allow_commands, .. } => Ok(allow_commands),
    }
}

//! `POST /eval/plan`, `/eval/run`, `…/resume` and `…/retry`: what the command line does with the same flags.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use http::{StatusCode, Uri};
use karat_app::{
    App, ErrorKind, GateFlags, Invocation, KeptAnswer, LoadedSuite, OrderAction, Overrides, QueueOrder, Queueing,
    RunState, estimate_document,
};
use karat_types::{MOST_CONCURRENCY, MOST_TRIALS};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::body;
use crate::api::query::Query;
use crate::api::run_object::RunObject;
use crate::layers::repeats::{IsKept, Repeatable};
use crate::problem::Problem;
use crate::settings::Purpose;
use crate::state::State;

/// The fields of a run that is asked for.
const FIELDS: [&str; 15] = [
    "suite",
    "params",
    "models",
    "judges",
    "variants",
    "samples",
    "limit",
    "trials",
    "as_of",
    "budget_usd",
    "max_calls",
    "max_concurrency",
    "baseline",
    "gate",
    "run_id",
];

/// A run that is asked for: the flags of `karat run`.
#[derive(Debug, Deserialize)]
struct Wanted {
    suite: String,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    judges: Vec<String>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default)]
    samples: Vec<String>,
    limit: Option<u64>,
    trials: Option<u32>,
    as_of: Option<String>,
    budget_usd: Option<f64>,
    max_calls: Option<u64>,
    max_concurrency: Option<u32>,
    baseline: Option<String>,
    gate: Option<bool>,
    run_id: Option<String>,
}

/// The limits of a run that is continued.
#[derive(Debug, Default, Deserialize)]
struct Limits {
    budget_usd: Option<f64>,
    max_calls: Option<u64>,
}

impl Wanted {
    fn read(body: &Bytes) -> Result<Self, Problem> {
        let wanted: Self = body::read(body, &FIELDS)?;
        let is_wrong = |amount: f64| !amount.is_finite() || amount < 0.0;
        let is_outside = |number: Option<u32>, most| number.is_some_and(|number| !(1..=most).contains(&number));
        if wanted.budget_usd.is_some_and(is_wrong)
            || is_outside(wanted.trials, MOST_TRIALS)
            || is_outside(wanted.max_concurrency, MOST_CONCURRENCY)
        {
            return Err(Problem::bad_request(format!(
                "`budget_usd` must be 0 or more, `trials` 1 to {MOST_TRIALS} and `max_concurrency` 1 to {MOST_CONCURRENCY}"
            )));
        }
        Ok(wanted)
    }

    fn invocation(self, allow_commands: bool) -> Invocation {
        // As on the command line: text as it is, everything else as JSON, which is YAML.
        let param = |(name, value): (String, Value)| match value {
            Value::String(text) => (name, text),
            other => (name, other.to_string()),
        };
        let overrides = Overrides {
            params: self.params.into_iter().map(param).collect(),
            models: self.models,
            judges: self.judges,
            variants: self.variants,
            samples: self.samples,
            limit: self.limit,
            trials: self.trials,
            as_of: self.as_of,
            budget_usd: self.budget_usd,
            max_calls: self.max_calls,
            max_concurrency: self.max_concurrency,
            safe: !allow_commands,
            plain_params: true,
            ..Overrides::default()
        };
        let gates = GateFlags { baseline: self.baseline, binds: self.gate, ..GateFlags::default() };
        Invocation { overrides, gates, trigger: "api".to_owned(), ..Invocation::of(self.suite) }
    }
}

/// `POST /eval/plan`.
pub(super) async fn plan(state: State, uri: Uri, body: Bytes) -> Result<Json<Value>, Problem> {
    Query::read(&uri, &[])?;
    let allow_commands = may_start(&state)?;
    let invocation = Wanted::read(&body)?.invocation(allow_commands);
    let planned = state.read(move |app| {
        let plan = load(app, &invocation)?.plan;
        let (estimate, reasons) = (app.estimate(&plan)?, app.reasons(&plan)?);
        let options = app.plan_options(&plan)?;
        Ok::<_, Problem>(estimate_document(&plan, &estimate, &reasons, &options))
    });
    planned.await.map(Json)
}

/// `POST /eval/run`.
pub(super) async fn run(
    state: State,
    repeatable: Option<Extension<Repeatable>>,
    uri: Uri,
    body: Bytes,
) -> Result<Response, Problem> {
    Query::read(&uri, &[])?;
    let allow_commands = may_start(&state)?;
    let wanted = Wanted::read(&body)?;
    let given = wanted.run_id.clone();
    let invocation = wanted.invocation(allow_commands);
    let order = state
        .read(move |app| {
            let plan = load(app, &invocation)?.plan;
            Ok::<_, Problem>(app.start_order(&plan, &invocation, given)?)
        })
        .await?;
    enqueue(state, order, repeatable).await
}

/// `POST /eval/runs/{id}/resume`.
pub(super) async fn resume(
    state: State,
    path: Path<String>,
    repeatable: Option<Extension<Repeatable>>,
    uri: Uri,
    body: Bytes,
) -> Result<Response, Problem> {
    continue_run(state, path, repeatable, uri, body, OrderAction::Resume).await
}

/// `POST /eval/runs/{id}/retry`.
pub(super) async fn retry(
    state: State,
    path: Path<String>,
    repeatable: Option<Extension<Repeatable>>,
    uri: Uri,
    body: Bytes,
) -> Result<Response, Problem> {
    continue_run(state, path, repeatable, uri, body, OrderAction::Retry).await
}

async fn continue_run(
    state: State,
    Path(run): Path<String>,
    repeatable: Option<Extension<Repeatable>>,
    uri: Uri,
    body: Bytes,
    action: OrderAction,
) -> Result<Response, Problem> {
    Query::read(&uri, &[])?;
    may_start(&state)?;
    let Limits { budget_usd, max_calls } = body::read(&body, &["budget_usd", "max_calls"])?;
    let later =
        Invocation { overrides: Overrides { budget_usd, max_calls, ..Overrides::default() }, ..Invocation::default() };
    let order = state
        .read(move |app| {
            let state = app.run_state(&run)?;
            if matches!(state.status, "queued" | "running") {
                return Err(in_use());
            }
            Ok(app.continuation_order(&state.run_id, action, &later)?)
        })
        .await?;
    enqueue(state, order, repeatable).await
}

/// Puts a run into the queue. Its answer is kept in the same commit, so a request that is repeated starts nothing.
async fn enqueue(
    state: State,
    order: QueueOrder,
    repeatable: Option<Extension<Repeatable>>,
) -> Result<Response, Problem> {
    let own = state.clone();
    let most = state.settings().queue.max_waiting;
    let kept = repeatable.as_ref().map(|it| it.0.clone());
    let (queueing, run) = state
        .read(move |app| {
            let is_new = order.action == OrderAction::Start;
            let run = match is_new {
                true => app.state_of_order(&order),
                false => {
                    let state = app.run_state(&order.run)?;
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
            app.enqueue(&order, is_new, answer.as_ref(), most).map(|queueing| (queueing, run))
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
fn load(app: &App, invocation: &Invocation) -> Result<LoadedSuite, Problem> {
    let error = match app.load(invocation) {
        Ok(loaded) => return Ok(loaded),
        Err(error) => error,
    };
    let overrides = Overrides { safe: false, ..invocation.overrides.clone() };
    let is_safe = invocation.overrides.safe && error.kind() == ErrorKind::SuiteInvalid;
    if is_safe && app.load(&Invocation { overrides, ..invocation.clone() }).is_ok() {
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

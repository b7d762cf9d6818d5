//! `POST /eval/plan`, `/eval/run`, `…/resume` and `…/retry`: what the command line does with the same flags.

use axum::Json;
use axum::extract::Path;
use axum::response::Response;
use bytes::Bytes;
use http::{StatusCode, Uri};
use karat_app::{App, ErrorKind, GateFlags, Invocation, LoadedSuite, Overrides, estimate_document};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::active_runs::Job;
use crate::api::body;
use crate::api::query::Query;
use crate::api::run_object::RunObject;
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
        if wanted.budget_usd.is_some_and(is_wrong) || wanted.trials == Some(0) || wanted.max_concurrency == Some(0) {
            return Err(Problem::bad_request(
                "`budget_usd` must be 0 or more, `trials` and `max_concurrency` 1 or more",
            ));
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
        Ok::<_, Problem>(estimate_document(&plan.header, &estimate, &reasons))
    });
    planned.await.map(Json)
}

/// `POST /eval/run`.
pub(super) async fn run(state: State, uri: Uri, body: Bytes) -> Result<Response, Problem> {
    Query::read(&uri, &[])?;
    let allow_commands = may_start(&state)?;
    let wanted = Wanted::read(&body)?;
    let given = wanted.run_id.clone();
    let invocation = wanted.invocation(allow_commands);
    let (plan, invocation, id) = state
        .read(move |app| {
            let plan = load(app, &invocation)?.plan;
            let id = given.unwrap_or_else(|| app.new_id(&plan.header));
            Ok::<_, Problem>((plan, invocation, id))
        })
        .await?;
    let job: Job = Box::new(move |app, execution| app.run(plan, &invocation, execution));
    state.start_run(&id, Some(id.clone()), job).await?;
    Ok(RunObject::read(&state, id).await?.accept())
}

/// `POST /eval/runs/{id}/resume`.
pub(super) async fn resume(state: State, path: Path<String>, uri: Uri, body: Bytes) -> Result<Response, Problem> {
    carry_on(state, path, uri, body, App::resume).await
}

/// `POST /eval/runs/{id}/retry`.
pub(super) async fn retry(state: State, path: Path<String>, uri: Uri, body: Bytes) -> Result<Response, Problem> {
    carry_on(state, path, uri, body, App::retry).await
}

type Continuation = fn(&App, &str, &Invocation, karat_app::Execution) -> Result<karat_app::RunEnd, karat_app::AppError>;

async fn carry_on(
    state: State,
    Path(run): Path<String>,
    uri: Uri,
    body: Bytes,
    how: Continuation,
) -> Result<Response, Problem> {
    Query::read(&uri, &[])?;
    may_start(&state)?;
    let Limits { budget_usd, max_calls } = body::read(&body, &["budget_usd", "max_calls"])?;
    let later =
        Invocation { overrides: Overrides { budget_usd, max_calls, ..Overrides::default() }, ..Invocation::default() };
    let id = state.read(move |app| app.run_id(&run)).await?;
    let own = id.clone();
    let job: Job = Box::new(move |app, execution| how(app, &own, &later, execution));
    state.start_run(&id, None, job).await?;
    Ok(RunObject::read(&state, id).await?.accept())
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

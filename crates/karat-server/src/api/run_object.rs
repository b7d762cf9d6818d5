//! A run as the API answers it, and the endpoints that answer one.

use axum::Json;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use karat_app::RunState;
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;
use crate::state::State;
use crate::target::encode;

/// A run, with what this server knows of it and where to go from it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(crate) struct RunObject {
    #[serde(flatten)]
    pub state: RunState,
    links: Links,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Links {
    #[serde(rename = "self")]
    run: String,
    events: String,
    report: String,
    page: String,
}

impl RunObject {
    pub fn new(state: &State, run: RunState) -> Self {
        let run = state.runs().complete(run);
        let id = encode(&run.run_id);
        let at = |rest: &str| format!("/eval/runs/{id}{rest}");
        let links = Links { run: at(""), events: at("/events"), report: at("/report"), page: format!("/runs/{id}") };
        Self { state: run, links }
    }

    /// The failure that ended it.
    pub fn problem(&self) -> Option<&str> {
        self.state.problem.as_deref()
    }

    /// Reads a run by its id, the beginning of one, or `latest`.
    ///
    /// # Errors
    /// There is no such run, or it cannot be read.
    pub async fn read(state: &State, run: String) -> Result<Self, Problem> {
        let run = state.read(move |app| app.service().run_state(&run)).await?;
        Ok(Self::new(state, run))
    }

    /// The address of the run.
    pub fn address(&self) -> &str {
        &self.links.run
    }

    /// The answer to a request that has started something.
    pub fn accept(self) -> Response {
        let mut headers = HeaderMap::new();
        headers.extend(HeaderValue::try_from(&self.links.run).ok().map(|to| (header::LOCATION, to)));
        (StatusCode::ACCEPTED, headers, Json(self)).into_response()
    }
}

/// `GET /eval/runs/{id}`.
pub(super) async fn one(state: State, Path(run): Path<String>) -> Result<Json<RunObject>, Problem> {
    RunObject::read(&state, run).await.map(Json)
}

/// `POST /eval/runs/{id}/cancel`: no new call; those in flight are waited for, and their results kept. A run that waits has
/// ended at once.
pub(super) async fn cancel(state: State, Path(run): Path<String>) -> Result<Response, Problem> {
    let run = RunObject::read(&state, run).await?;
    if state.runs().cancel(&run.state.run_id) {
        return Ok(RunObject::read(&state, run.state.run_id).await?.accept());
    }
    let id = run.state.run_id.clone();
    if state.due().remove(&id) {
        let due = id.clone();
        state.read(move |app| app.service().cancel_due_run(&due)).await?;
    }
    if state.read(move |app| app.service().cancel_queued(&id)).await? {
        return Ok(Json(RunObject::read(&state, run.state.run_id).await?).into_response());
    }
    if run.state.status == "running" {
        let problem = Problem::new(StatusCode::CONFLICT, "run-in-use", "Another process runs it");
        return Err(problem.with_hint("press Ctrl-C where it was started, or stop that process"));
    }
    Ok(Json(run).into_response())
}

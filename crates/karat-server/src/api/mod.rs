//! The HTTP API: JSON for programs, in the words of `karat run --json` and `report.json` (SV-02).
//!
//! - `query`, `body`: what a request says; unknown names are errors.
//! - `run_object`: a run as it is answered, and its cancellation; `run_list`: pages of runs.
//! - `start`: plans, starts and continues runs.
//! - `suites`: the suites that can be run. `health`: whether the server works.
//! - `metrics`: figures for Prometheus. `openapi/`: the description of the API.
//! - `traces`: calls of models that applications report.
//! - `report`: reports in every format. `events`: what happens in a run, as it happens.

mod body;
mod events;
mod health;
mod metrics;
pub(crate) mod openapi;
mod query;
mod report;
mod run_list;
mod run_object;
mod start;
mod suites;
pub(crate) mod traces;

use axum::Router;
use axum::routing::{get, post};

pub(crate) use run_object::RunObject;

use crate::state::State;

/// The routes of the API.
pub(crate) fn router() -> Router<State> {
    Router::new()
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/livez", get(health::livez))
        .route("/healthz", get(health::healthz))
        .route("/suites", get(suites::suites))
        .route("/eval/plan", post(start::plan))
        .route("/eval/run", post(start::run))
        .route("/eval/runs", get(run_list::list))
        .route("/eval/runs/{run}", get(run_object::one))
        .route("/eval/runs/{run}/events", get(events::events))
        .route("/eval/runs/{run}/report", get(report::report))
        .route("/eval/runs/{run}/cancel", post(run_object::cancel))
        .route("/eval/runs/{run}/resume", post(start::resume))
        .route("/eval/runs/{run}/retry", post(start::retry))
}

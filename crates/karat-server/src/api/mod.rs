//! The HTTP API: JSON for programs, in the words of `karat run --json` and `report.json` (SV-02).
//!
//! - `query`, `body`: what a request says; unknown names are errors.
//! - `run_object`: a run as it is answered, and its cancellation; `run_list`: pages of runs.
//! - `start`: plans, starts and continues runs.
//! - `suites`: the suites that can be run. `health`: whether the server works.
//! - `metrics`: figures for Prometheus. `openapi/`: the description of the API.
//! - `service/`: schedules, incidents and messages. `traces`: calls of models that applications report.
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
mod service;
mod start;
mod suites;
pub(crate) mod traces;

use axum::Router;
use axum::routing::{MethodRouter, get, post};

pub(crate) use run_object::RunObject;

use crate::state::State;

/// Paths and their handlers, so that a test can hold the description to them.
pub(crate) type Routes = Vec<(&'static str, MethodRouter<State>)>;

/// The routes of the API, without those of traces.
pub(crate) fn router() -> Router<State> {
    routes().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
}

fn routes() -> Routes {
    let mut routes = vec![
        ("/metrics", get(metrics::metrics)),
        ("/openapi.json", get(openapi::document)),
        ("/livez", get(health::livez)),
        ("/healthz", get(health::healthz)),
        ("/suites", get(suites::suites)),
        ("/eval/plan", post(start::plan)),
        ("/eval/run", post(start::run)),
        ("/eval/runs", get(run_list::list)),
        ("/eval/runs/{run}", get(run_object::one)),
        ("/eval/runs/{run}/events", get(events::events)),
        ("/eval/runs/{run}/report", get(report::report)),
        ("/eval/runs/{run}/cancel", post(run_object::cancel)),
        ("/eval/runs/{run}/resume", post(start::resume)),
        ("/eval/runs/{run}/retry", post(start::retry)),
    ];
    routes.extend(service::routes());
    routes
}

//! `GET /metrics`: the counters of this process, and what is read at the time of the question (SV-25).

use axum::response::{IntoResponse, Response};
use http::{Uri, header};

use crate::api::query::Query;
use crate::problem::Problem;
use crate::state::State;

pub(super) async fn metrics(state: State, uri: Uri) -> Result<Response, Problem> {
    Query::read(&uri, &[])?;
    let (waiting, bytes) =
        state.look_up(|app| app.queue_depth().map(|(waiting, _)| (waiting, app.store_bytes()))).await?;
    let metrics = &state.telemetry().metrics;
    metrics.set("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    metrics.set("runs_active", &[], state.runs().count() as f64);
    metrics.set("queue_depth", &[], waiting as f64);
    metrics.set("event_streams", &[], state.open_streams() as f64);
    metrics.set("store_bytes", &[], bytes as f64);
    if let Some(pulse) = state.pulse() {
        metrics.set("dispatcher_tick_age_seconds", &[], pulse.age().as_secs_f64());
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, metrics.text()).into_response())
}

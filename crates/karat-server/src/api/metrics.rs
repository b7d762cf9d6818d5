//! `GET /metrics`: the counters of this process, and what is read at the time of the question.

use axum::response::{IntoResponse, Response};
use http::header;
use karat_app::{AlertCounts, AppError, ScheduleLine};

use crate::problem::Problem;
use crate::state::State;
use crate::telemetry::metrics::Metrics;

/// Sets the figures of schedules, incidents and messages.
fn set_service(metrics: &Metrics, counts: &AlertCounts, schedules: &[ScheduleLine]) {
    metrics.clear("incidents_open");
    for (suite, event, number) in &counts.open_incidents {
        metrics.set("incidents_open", &[("suite", suite), ("event", event)], *number as f64);
    }
    metrics.set("outbox_pending", &[], counts.pending as f64);
    metrics.set("outbox_dead", &[], counts.dead as f64);
    metrics.clear("schedule_next_timestamp_seconds");
    metrics.clear("schedule_last_success_timestamp_seconds");
    for line in schedules {
        let labels = [("suite", line.suite.as_str()), ("schedule", line.schedule.as_str())];
        let times = [
            ("schedule_next_timestamp_seconds", &line.next),
            ("schedule_last_success_timestamp_seconds", &line.last_done),
        ];
        for (name, time) in times {
            let time = time.as_ref().and_then(|time| time.parse::<jiff::Timestamp>().ok());
            if let Some(time) = time {
                metrics.set(name, &labels, time.as_second() as f64);
            }
        }
    }
}

pub(super) async fn metrics(state: State) -> Result<Response, Problem> {
    let (waiting, bytes) = state
        .look_up(|app| app.service().queue_depth().map(|(waiting, _)| (waiting, app.service().store_bytes())))
        .await?;
    let metrics = &state.telemetry().metrics;
    metrics.set("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    metrics.set("runs_active", &[], state.runs().count() as f64);
    metrics.set("queue_depth", &[], waiting as f64 + state.due().len() as f64);
    let suites = state.suites().clone();
    let (counts, schedules) =
        state.look_up(move |app| Ok::<_, AppError>((app.service().alert_counts()?, suites.schedules()?))).await?;
    set_service(metrics, &counts, &schedules);
    metrics.set("event_streams", &[], state.open_streams() as f64);
    metrics.set("store_bytes", &[], bytes as f64);
    if let Some(pulse) = state.pulse() {
        metrics.set("dispatcher_tick_age_seconds", &[], pulse.age().as_secs_f64());
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, metrics.text()).into_response())
}

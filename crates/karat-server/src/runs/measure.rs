//! Figures of the runs that a server executes (SV-25).

use std::time::Duration;

use karat_app::{App, GateRequest, RunEnd};
use karat_types::{CellStatus, Event, Observer, OutputOrigin};
use serde_json::Value;

use crate::telemetry::Telemetry;
use crate::telemetry::metrics::Metrics;

/// Counts the cells and retries of a run while it runs.
pub(crate) struct RunMetrics(Metrics);

impl RunMetrics {
    pub fn new(metrics: Metrics) -> Self {
        Self(metrics)
    }
}

impl Observer for RunMetrics {
    fn on_event(&self, event: &Event<'_>) {
        match event {
            Event::CellFinished(cell) => {
                let status = match cell.status {
                    CellStatus::Ok if cell.unscored => "unscored",
                    CellStatus::Ok => "ok",
                    CellStatus::Error => "error",
                    CellStatus::Skipped => "skipped",
                };
                let reuse = if cell.reuse == OutputOrigin::Reused { "cached" } else { "fresh" };
                self.0.add("cells_total", &[("status", status), ("reuse", reuse)], 1.0);
            }
            Event::Retrying { model, .. } => self.0.add("call_retries_total", &[("model", model)], 1.0),
            _ => {}
        }
    }
}

/// Counts the calls and the money of a part of a run.
pub(crate) fn count_end(metrics: &Metrics, end: &RunEnd) {
    metrics.add("calls_total", &[], end.calls as f64);
    metrics.add("call_requests_total", &[], end.requests as f64);
    // Scripted models cost nothing.
    metrics.add("spend_usd_total", &[], if end.simulated { 0.0 } else { end.spent.usd() });
}

/// Counts a run that has ended, and sets the figures of its suite.
pub(crate) fn measure_run(app: &App, telemetry: &Telemetry, run: &str, time: Duration) {
    let Telemetry { metrics, log } = telemetry;
    let state = match app.run_state(run) {
        Ok(state) => state,
        Err(error) => return log.failure("reading a run that has ended", &error.to_string()),
    };
    log.run(run, state.status, state.problem.as_deref());
    let suite = state.suite.as_str();
    metrics.add("runs_total", &[("suite", suite), ("status", state.status), ("trigger", &state.trigger)], 1.0);
    metrics.observe("run_duration_seconds", &[("suite", suite)], time.as_secs_f64());
    if state.status != "completed" {
        return;
    }
    metrics.set("run_last_success_timestamp_seconds", &[("suite", suite)], app.clock.now().0 as f64 / 1000.0);
    metrics.remove("metric_value", ("suite", suite));
    if let Ok(figures) = app.run_figures(run)
        && let Some(headline) = figures.headline
        && let Some(value) = headline.value
    {
        metrics.set("metric_value", &[("suite", suite), ("metric", &headline.metric)], value);
    }
    metrics.remove("gate_state", ("suite", suite));
    // A suite without gates has no verdicts.
    let gates = app.gate(run, &GateRequest::default()).and_then(|report| report.json());
    let gates = gates.ok().and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    for gate in gates["gates"].as_array().into_iter().flatten() {
        let text = |name: &str| gate[name].as_str().unwrap_or_default().to_owned();
        // A gate of one sample would make the id of the sample a label.
        if gate["sample"].is_null() {
            let (id, system, state) = (text("id"), text("system"), text("verdict"));
            let labels = [("suite", suite), ("gate", &id), ("system", &system), ("state", &state)];
            metrics.set("gate_state", &labels, 1.0);
        }
    }
}

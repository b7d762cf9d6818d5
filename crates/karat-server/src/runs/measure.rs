//! Figures of the runs that a server executes.

use std::time::Duration;

use karat_app::{App, GateRequest, RunEnd};
use karat_types::{CallSummary, CellStatus, Event, Observer, OutputOrigin};
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

impl RunMetrics {
    fn count_call(&self, call: &CallSummary<'_>) {
        let (provider, model) = (("provider", call.provider), ("model", call.model));
        let outcome = call.error.map_or("ok", |code| code.as_str());
        self.0.add("calls_total", &[provider, model, ("outcome", outcome)], 1.0);
        self.0.add("call_requests_total", &[provider, model], f64::from(call.requests));
        if let Some(latency_ms) = call.latency_ms {
            self.0.observe("call_duration_seconds", &[provider, model], latency_ms / 1000.0);
        }
        let usage = &call.usage;
        let fresh = usage.input_tokens.saturating_sub(usage.cached_input_tokens);
        for (kind, tokens) in
            [("input", fresh), ("cached_input", usage.cached_input_tokens), ("output", usage.output_tokens)]
        {
            if tokens > 0 {
                self.0.add("tokens_total", &[provider, model, ("kind", kind)], tokens as f64);
            }
        }
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
            Event::CallEnded(call) => self.count_call(call),
            Event::Retrying { model, .. } => self.0.add("call_retries_total", &[("model", model)], 1.0),
            _ => {}
        }
    }
}

/// Counts the money of a part of a run.
pub(crate) fn count_end(metrics: &Metrics, end: &RunEnd) {
    // Scripted models cost nothing.
    metrics.add("spend_usd_total", &[], if end.simulated { 0.0 } else { end.spent.usd() });
}

/// Counts a run that has ended, and sets the figures of its suite.
pub(crate) fn measure_run(app: &App, telemetry: &Telemetry, run: &str, time: Duration) {
    let Telemetry { metrics, log } = telemetry;
    let state = match app.service().run_state(run) {
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
    if let Ok(figures) = app.analysis().run_figures(run)
        && let Some(headline) = figures.headline
        && let Some(value) = headline.value
    {
        metrics.set("metric_value", &[("suite", suite), ("metric", &headline.metric)], value);
    }
    metrics.remove("gate_state", ("suite", suite));
    // A suite without gates has no verdicts.
    let gates = app.analysis().gate(run, &GateRequest::default()).and_then(|report| report.json());
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

#[cfg(test)]
mod tests {
    use karat_types::{CallErrorCode, Usage};

    use super::*;

    /// SV-25: calls are counted by provider, model and outcome, tokens by kind; a batch answer has no duration.
    #[test]
    fn calls_are_counted_by_outcome() {
        let metrics = Metrics::default();
        let observer = RunMetrics::new(metrics.clone());
        let usage = Usage { input_tokens: 100, cached_input_tokens: 60, output_tokens: 7, ..Usage::default() };
        let answered = CallSummary {
            provider: "openai",
            model: "small",
            error: None,
            requests: 3,
            latency_ms: Some(700.0),
            usage,
        };
        let failed = CallSummary {
            error: Some(CallErrorCode::Timeout),
            requests: 1,
            latency_ms: None,
            usage: Usage::default(),
            ..answered
        };
        observer.on_event(&Event::CallEnded(answered));
        observer.on_event(&Event::CallEnded(failed));
        let text = metrics.text();
        for line in [
            r#"karat_calls_total{provider="openai",model="small",outcome="ok"} 1"#,
            r#"karat_calls_total{provider="openai",model="small",outcome="timeout"} 1"#,
            r#"karat_call_requests_total{provider="openai",model="small"} 4"#,
            r#"karat_call_duration_seconds_bucket{provider="openai",model="small",le="1"} 1"#,
            r#"karat_call_duration_seconds_count{provider="openai",model="small"} 1"#,
            r#"karat_tokens_total{provider="openai",model="small",kind="input"} 40"#,
            r#"karat_tokens_total{provider="openai",model="small",kind="cached_input"} 60"#,
            r#"karat_tokens_total{provider="openai",model="small",kind="output"} 7"#,
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
    }
}

//! Names, kinds and meanings of all figures. No label is an id: each has few values.

/// The kind of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    /// With the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

/// Seconds of requests.
const REQUESTS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Seconds of calls: a reasoning model takes minutes.
const CALLS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Seconds of runs.
const RUNS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 10_800.0, 43_200.0];

/// All figures: name without `karat_`, kind, meaning.
pub(crate) const FAMILIES: [(&str, Kind, &str); 28] = [
    ("build_info", Kind::Gauge, "The version of this program"),
    ("runs_total", Kind::Counter, "Runs that this server executed to an end"),
    ("runs_active", Kind::Gauge, "Runs that this server executes now"),
    ("queue_depth", Kind::Gauge, "Runs that wait for their turn"),
    ("run_duration_seconds", Kind::Histogram(RUNS), "Time of runs from start to end"),
    ("cells_total", Kind::Counter, "Cells that were finished"),
    ("calls_total", Kind::Counter, "Calls of models, services and programs that runs made"),
    ("call_duration_seconds", Kind::Histogram(CALLS), "Time of the last attempt of a call"),
    ("call_requests_total", Kind::Counter, "Requests of calls, retries included"),
    ("call_retries_total", Kind::Counter, "Failed attempts of calls that were followed by another"),
    ("tokens_total", Kind::Counter, "Tokens of calls; those read from a cache are counted by themselves"),
    ("spend_usd_total", Kind::Counter, "Dollars that runs paid, as far as prices are known"),
    ("metric_value", Kind::Gauge, "Value of the headline metric in the last completed run of a suite"),
    ("gate_state", Kind::Gauge, "1 for the verdict of a gate in the last completed run of a suite"),
    ("run_last_success_timestamp_seconds", Kind::Gauge, "End of the last completed run of a suite"),
    ("incidents_open", Kind::Gauge, "Incidents that are not closed"),
    ("alert_deliveries_total", Kind::Counter, "Attempts to send a message of an alert"),
    ("outbox_pending", Kind::Gauge, "Messages that are to be sent"),
    ("outbox_dead", Kind::Gauge, "Messages that were given up"),
    ("schedule_last_success_timestamp_seconds", Kind::Gauge, "Last due time of a schedule whose run ended"),
    ("schedule_next_timestamp_seconds", Kind::Gauge, "Next due time of a schedule"),
    ("schedule_skipped_total", Kind::Counter, "Due times that were skipped"),
    ("traces_total", Kind::Counter, "Rows of traces that applications have sent"),
    ("http_requests_total", Kind::Counter, "Requests that were answered"),
    ("http_request_duration_seconds", Kind::Histogram(REQUESTS), "Time until the head of an answer"),
    ("event_streams", Kind::Gauge, "Open streams of events"),
    ("dispatcher_tick_age_seconds", Kind::Gauge, "Time since the dispatcher looked at the queue"),
    ("store_bytes", Kind::Gauge, "Size of the store and its log"),
];

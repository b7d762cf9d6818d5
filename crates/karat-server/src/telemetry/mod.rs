//! The server's facts about itself: figures for Prometheus, and lines of a log.
//!
//! - `metrics`: counters and histograms of this process; `api::metrics` adds what is read at the time of the question.
//! - `families`: names, kinds and meanings of all figures.
//! - `log`: a JSON object for each request and each change of a run.

pub(crate) mod families;
pub(crate) mod log;
pub(crate) mod metrics;

use crate::telemetry::log::ServerLog;
use crate::telemetry::metrics::Metrics;

/// The figures and the log of a server. Clones share them.
#[derive(Clone)]
pub(crate) struct Telemetry {
    pub metrics: Metrics,
    pub log: ServerLog,
}

//! Lines of the log: a JSON object each, without bodies and secrets.

use std::sync::Arc;

use karat_types::Clock;
use serde_json::{Value, json};

use crate::settings::Log;

/// The log of a server.
#[derive(Clone)]
pub(crate) struct ServerLog {
    pub out: Option<Log>,
    /// Lines for the operator, where there is no log.
    pub notes: Option<Log>,
    pub clock: Arc<dyn Clock>,
}

/// A request that was answered.
pub(crate) struct RequestLine<'a> {
    pub id: &'a str,
    pub token: Option<&'a str>,
    pub method: &'a str,
    pub route: &'a str,
    pub status: u16,
    pub ms: f64,
    pub traceparent: Option<&'a str>,
}

impl ServerLog {
    /// Writes the line of a request.
    pub fn request(&self, line: &RequestLine<'_>) {
        let RequestLine { id, token, method, route, status, ms, traceparent } = line;
        let ms = (ms * 1000.0).round() / 1000.0;
        self.write(json!({
            "event": "request", "id": id, "token": token, "method": method, "route": route, "status": status, "ms": ms,
            "traceparent": traceparent,
        }));
    }

    /// Writes the line of a change of a run.
    pub fn run(&self, run: &str, status: &str, problem: Option<&str>) {
        self.write(json!({ "event": "run", "run": run, "status": status, "problem": problem }));
    }

    /// Writes the line of a failure of the server.
    pub fn failure(&self, doing: &str, problem: &str) {
        self.write(json!({ "event": "failure", "doing": doing, "problem": problem }));
    }

    /// Writes a line for the operator.
    pub fn note(&self, text: &str) {
        match (&self.out, &self.notes) {
            (Some(_), _) => self.write(json!({ "event": "note", "text": text })),
            (None, Some(notes)) => (notes.0)(text),
            (None, None) => {}
        }
    }

    fn write(&self, mut line: Value) {
        if let Some(out) = &self.out {
            line["time"] = karat_app::rfc3339(self.clock.now()).into();
            (out.0)(&line.to_string());
        }
    }
}

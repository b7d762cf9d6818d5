//! A run as OpenTelemetry: an event for each score, and a span for each output that no trace holds yet.
//!
//! Conventions: the event `gen_ai.evaluation.result`, and spans of `gen_ai.*`. Requests are OTLP in JSON, of at most
//! [`RECORDS`] records each; a file has one a line. `otel_post` sends them.

use std::io::Write;
use std::time::Duration;

use karat_analysis::CellScores;
use karat_types::{CellRow, CellStatus, MetricSpec, PlanHeader, RunRows, Score, Usage};
use serde_json::{Value, json};

use crate::AppError;
use crate::error::ServiceError;
use crate::project::threads::runtime;
use crate::reports::Reports;
use crate::reports::export::{choice, expected_text, for_each_cell, input_text};
use crate::stored::messages::JudgeWords;

/// Records of a request, at most.
const RECORDS: usize = 512;

/// Severity *info*.
const INFO: u8 = 9;

/// Kind of a span that calls another service.
const CLIENT: u8 = 3;

/// Inputs and outputs in the spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanContent {
    /// Only names, tokens and scores.
    LeftOut,
    /// The texts as well.
    Included,
}

/// Where a request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Logs,
}

impl Reports<'_> {
    /// Writes a run as requests of OTLP in JSON, one a line. Returns the number of scores.
    ///
    /// # Errors
    /// The run cannot be read, the lines cannot be written.
    pub fn export_otel(&self, run: &str, content: SpanContent, out: &mut dyn Write) -> Result<u64, AppError> {
        self.otel_requests(run, content, &mut |_, request| writeln!(out, "{request}").map_err(AppError::printing))
    }

    /// Calls `send` with each request of a run. Returns the number of scores.
    pub(super) fn otel_requests(
        &self,
        run: &str,
        content: SpanContent,
        send: &mut dyn FnMut(Signal, Value) -> Result<(), AppError>,
    ) -> Result<u64, AppError> {
        let stored = self.app.stored().run(run)?;
        let header = stored.header();
        let plan = &header.plan;
        let started = header.started_at.0;
        let mut batch = Batch { spans: Vec::new(), logs: Vec::new(), send };
        let mut scores = 0;
        for_each_cell(&stored, |row| {
            if row.cell.status == CellStatus::Skipped {
                return Ok(());
            }
            let (input, expected) = match content {
                // A span without an input is not read as a call: an empty one is an empty message.
                SpanContent::Included => (Some(input_text(row.sample).unwrap_or_default()), expected_text(row.sample)),
                SpanContent::LeftOut => (None, None),
            };
            let cell = CellSpan::of(&header.id, plan, row, (started, expected));
            if !cell.is_known {
                let output = match content {
                    SpanContent::Included if row.cell.status == CellStatus::Ok => stored.output(row.cell.ordinal)?,
                    _ => None,
                };
                batch.push(Signal::Traces, cell.span(plan, row, input, output))?;
            }
            let judges: Vec<JudgeWords> = row.judgments.iter().map(|judgment| JudgeWords::of(plan, judgment)).collect();
            let given = CellScores::of(plan, row);
            for (metric, score) in plan.metrics.iter().zip(&given.scores) {
                let Some(record) = score.as_ref().and_then(|score| cell.event(plan, row, metric, score, &judges))
                else {
                    continue;
                };
                scores += 1;
                batch.push(Signal::Logs, record)?;
            }
            Ok(())
        })?;
        batch.flush(Signal::Traces)?;
        batch.flush(Signal::Logs)?;
        Ok(scores)
    }
}

/// Records that wait for their request.
struct Batch<'s> {
    spans: Vec<Value>,
    logs: Vec<Value>,
    send: &'s mut dyn FnMut(Signal, Value) -> Result<(), AppError>,
}

impl Batch<'_> {
    fn push(&mut self, signal: Signal, record: Value) -> Result<(), AppError> {
        let records = self.records(signal);
        records.push(record);
        if records.len() >= RECORDS { self.flush(signal) } else { Ok(()) }
    }

    fn records(&mut self, signal: Signal) -> &mut Vec<Value> {
        match signal {
            Signal::Traces => &mut self.spans,
            Signal::Logs => &mut self.logs,
        }
    }

    fn flush(&mut self, signal: Signal) -> Result<(), AppError> {
        let records = std::mem::take(self.records(signal));
        if records.is_empty() {
            return Ok(());
        }
        let resource = json!({ "attributes": [text("service.name", "karat")] });
        let scope = json!({ "name": "karat", "version": env!("CARGO_PKG_VERSION") });
        let request = match signal {
            Signal::Traces => {
                json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": records }] }] })
            }
            Signal::Logs => {
                json!({ "resourceLogs": [{ "resource": resource, "scopeLogs": [{ "scope": scope, "logRecords": records }] }] })
            }
        };
        (self.send)(signal, request)
    }
}

/// The span of a cell: the one that an application reported, or one that is made from the run and the cell.
struct CellSpan<'r> {
    run: &'r str,
    trace: String,
    span: String,
    /// True if an application reported it, so that it stands in a trace already.
    is_known: bool,
    /// The text that the output is compared with, if texts are written.
    expected: Option<String>,
    start: i128,
    end: i128,
}

impl<'r> CellSpan<'r> {
    fn of(run: &'r str, plan: &PlanHeader, row: &CellRow<'_>, (started_ms, expected): (i64, Option<String>)) -> Self {
        let start = i128::from(started_ms) * 1_000_000;
        let end = start + (row.cell.latency_ms.max(0.0) * 1e6) as i128;
        // Rows of traces are named by their ids.
        if let Some((trace, span)) =
            row.sample.id.split_once('/').filter(|(trace, span)| is_id(trace, 32) && is_id(span, 16))
        {
            let (trace, span) = (trace.to_owned(), span.to_owned());
            return Self { run, trace, span, is_known: true, expected, start, end };
        }
        let mut hasher = blake3::Hasher::new();
        let trial = row.trial.to_string();
        let system = plan.systems.get(row.system).and(Some(row.system)).unwrap_or_default().to_string();
        for part in [run, &row.sample.id, &system, &trial] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let id = hasher.finalize().to_hex();
        let (trace, span) = (id[..32].to_owned(), id[32..48].to_owned());
        Self { run, trace, span, is_known: false, expected, start, end }
    }

    fn span(&self, plan: &PlanHeader, row: &CellRow<'_>, input: Option<String>, output: Option<Value>) -> Value {
        let model = plan.system_model(row.system);
        let name =
            model.map_or_else(|| plan.system_variant(row.system).to_owned(), |model| format!("chat {}", model.model));
        let mut attributes = self.identity(plan, row);
        if let Some(model) = model {
            attributes.push(text("gen_ai.operation.name", "chat"));
            attributes.push(text("gen_ai.provider.name", &model.provider));
            attributes.push(text("gen_ai.request.model", &model.model));
        }
        let used = row.cell.cost.usage;
        if used != Usage::default() {
            attributes.push(count("gen_ai.usage.input_tokens", used.input_tokens));
            attributes.push(count("gen_ai.usage.output_tokens", used.output_tokens));
        }
        let message = |role: &str, content: &str| {
            json!([{ "role": role, "parts": [{ "type": "text", "content": content }] }]).to_string()
        };
        attributes.extend(input.map(|input| text("gen_ai.input.messages", &message("user", &input))));
        let output = output.map(|output| output.as_str().map_or_else(|| output.to_string(), str::to_owned));
        attributes.extend(output.map(|output| text("gen_ai.output.messages", &message("assistant", &output))));
        let error = row.cell.error.as_ref();
        attributes.extend(error.map(|error| text("error.type", &error.code)));
        let status = error.map_or_else(|| json!({}), |error| json!({ "code": 2, "message": error.message }));
        json!({
            "traceId": self.trace,
            "spanId": self.span,
            "name": name,
            "kind": CLIENT,
            "startTimeUnixNano": self.start.to_string(),
            "endTimeUnixNano": self.end.to_string(),
            "attributes": attributes,
            "status": status,
        })
    }

    /// The event of a score; `None` where the metric does not apply.
    fn event(
        &self,
        plan: &PlanHeader,
        row: &CellRow<'_>,
        metric: &MetricSpec,
        score: &Score,
        judges: &[JudgeWords],
    ) -> Option<Value> {
        let scorer = plan.scorers.get(metric.scorer);
        let of_scorer: Vec<&JudgeWords> =
            judges.iter().filter(|words| scorer.is_some_and(|scorer| scorer.id == words.scorer)).collect();
        let mut attributes = vec![text("gen_ai.evaluation.name", &metric.name)];
        let mut explanation = None;
        match score {
            Score::Value { value, reason, verdict } => {
                attributes.push(json!({ "key": "gen_ai.evaluation.score.value", "value": { "doubleValue": value } }));
                let label = match (metric.binary || *verdict, scorer) {
                    (true, _) => Some(if *value >= 1.0 { "pass" } else { "fail" }),
                    (false, Some(scorer)) => choice(scorer, &metric.name, *value),
                    (false, None) => None,
                };
                attributes.extend(label.map(|label| text("gen_ai.evaluation.score.label", label)));
                explanation.clone_from(reason);
            }
            Score::Unscored { unscored } => {
                attributes.push(text("gen_ai.evaluation.score.label", "unscored"));
                attributes.push(text("error.type", "unscored"));
                explanation = Some(unscored.clone());
            }
            Score::NotApplicable { .. } => return None,
        }
        let said: Vec<&str> = of_scorer.iter().map(|it| it.reasoning.as_str()).filter(|it| !it.is_empty()).collect();
        let explanation = explanation.or_else(|| (!said.is_empty()).then(|| said.join("\n\n")));
        attributes.extend(explanation.map(|it| text("gen_ai.evaluation.explanation", &it)));
        attributes.extend(self.identity(plan, row));
        let names: Vec<&str> = of_scorer.iter().map(|it| it.judge.as_str()).collect();
        if !names.is_empty() {
            attributes.push(text("karat.judge", &names.join(", ")));
        }
        Some(json!({
            "timeUnixNano": self.end.to_string(),
            "observedTimeUnixNano": self.end.to_string(),
            "severityNumber": INFO,
            "eventName": "gen_ai.evaluation.result",
            "traceId": self.trace,
            "spanId": self.span,
            "attributes": attributes,
        }))
    }

    fn identity(&self, plan: &PlanHeader, row: &CellRow<'_>) -> Vec<Value> {
        let mut attributes = vec![
            text("karat.run", self.run),
            text("karat.suite", &plan.suite),
            text("karat.sample", &row.sample.id),
            text("karat.variant", plan.system_variant(row.system)),
        ];
        attributes.extend(self.expected.as_ref().map(|expected| text("karat.expected", expected)));
        attributes
    }
}

fn is_id(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Integers of 64 bits are texts in OTLP's JSON.
fn count(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// Attempts for a request that the receiver cannot take now.
const ATTEMPTS: u32 = 6;

/// Longest wait before another attempt, in seconds.
const LONGEST_WAIT: u64 = 30;

/// Variable with headers for the receiver: `name=value,name=value`.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

impl Reports<'_> {
    /// Posts a run to `BASE/v1/traces` and `BASE/v1/logs`. Returns the number of scores.
    ///
    /// # Errors
    /// The run cannot be read; the receiver cannot be reached or refuses a request.
    pub fn send_otel(&self, run: &str, content: SpanContent, base: &str) -> Result<u64, AppError> {
        let (runtime, client) = (runtime()?, self.app.hook_client()?);
        let headers = self.otel_headers();
        let headers: Vec<(&str, String)> = headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let base = base.trim_end_matches('/');
        self.otel_requests(run, content, &mut |signal, request: Value| {
            let url = format!("{base}/v1/{}", if signal == Signal::Traces { "traces" } else { "logs" });
            let refused = |problem: String| ServiceError::NotReceived { address: url.clone(), problem };
            let body = request.to_string();
            for attempt in 1..=ATTEMPTS {
                let answer = runtime.block_on(client.post(&url, &headers, body.clone()));
                let answer = answer.map_err(|error| refused(error.to_string()))?;
                match answer.status {
                    200..=299 => return Ok(()),
                    429 | 503 if attempt < ATTEMPTS => {
                        let wait = answer.retry_after_s.unwrap_or(1 << attempt.min(5)).min(LONGEST_WAIT);
                        runtime.block_on(async { tokio::time::sleep(Duration::from_secs(wait)).await });
                    }
                    status => return Err(refused(format!("it answered {status}")).into()),
                }
            }
            Ok(())
        })
    }

    fn otel_headers(&self) -> Vec<(String, String)> {
        let listed = (self.app.lookup)(HEADERS).unwrap_or_default();
        let pair =
            |pair: &str| pair.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        listed.split(',').filter_map(pair).collect()
    }
}

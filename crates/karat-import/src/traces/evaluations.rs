//! Scores in logs of OTLP: events `gen_ai.evaluation.result`, each about a span.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{FileRows, TracedRow};

/// The event that holds a score.
const EVENT: &str = "gen_ai.evaluation.result";

/// A score of a span.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evaluation {
    trace_id: String,
    span_id: String,
    name: String,
    /// Null of what was not scored; none of a category or a text.
    value: Option<Value>,
    explanation: Option<String>,
}

/// The scores of a request of logs, and the number of its other records.
pub(super) fn read(document: &Value) -> (Vec<Evaluation>, usize) {
    let lists = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let scopes = lists(document, "resourceLogs").into_iter().flat_map(|resource| lists(&resource, "scopeLogs"));
    let records: Vec<Value> = scopes.flat_map(|scope| lists(&scope, "logRecords")).collect();
    let all = records.len();
    let found: Vec<Evaluation> = records.iter().filter_map(Evaluation::of).collect();
    let others = all - found.len();
    (found, others)
}

impl Evaluation {
    /// The score of a record; `None` of another event.
    fn of(record: &Value) -> Option<Self> {
        let attribute = |key: &str| {
            let mut attributes = record.get("attributes")?.as_array()?.iter();
            plain(attributes.find(|it| it.get("key").and_then(Value::as_str) == Some(key))?.get("value")?)
        };
        let name = |value: Value| value.as_str().map(str::to_owned);
        let is_event = record.get("eventName").and_then(Value::as_str) == Some(EVENT)
            || attribute("event.name") == Some(json!(EVENT));
        is_event.then_some(())?;
        let label = attribute("gen_ai.evaluation.score.label").and_then(name);
        let of_label = label.as_deref().and_then(|label| match label.to_lowercase().as_str() {
            "pass" | "passed" | "true" => Some(json!(true)),
            "fail" | "failed" | "false" => Some(json!(false)),
            "unscored" => Some(Value::Null),
            _ => None,
        });
        let id = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_lowercase();
        Some(Self {
            trace_id: id("traceId"),
            span_id: id("spanId"),
            name: attribute("gen_ai.evaluation.name").and_then(name).unwrap_or_else(|| "score".to_owned()),
            value: attribute("gen_ai.evaluation.score.value").filter(Value::is_number).or(of_label),
            explanation: attribute("gen_ai.evaluation.explanation").and_then(name),
        })
    }
}

/// The rows of spans and traces, by their ids.
struct Places<'r> {
    spans: HashMap<(&'r str, &'r str), usize>,
    /// The row of a trace; none where it has several.
    traces: HashMap<&'r str, Option<usize>>,
}

impl<'r> Places<'r> {
    fn of(rows: &'r [TracedRow]) -> Self {
        let mut places = Self { spans: HashMap::new(), traces: HashMap::new() };
        for (at, TracedRow { row, .. }) in rows.iter().enumerate() {
            // A later row of the same span replaces an earlier one.
            let known = places.spans.insert((&row.trace_id, &row.span_id), at);
            let single = places.traces.entry(&row.trace_id).or_insert(Some(at));
            *single = single.filter(|only| *only == at || known == Some(*only)).map(|_| at);
        }
        places
    }

    fn find(&self, evaluation: &Evaluation) -> Option<usize> {
        let (trace, span) = (evaluation.trace_id.as_str(), evaluation.span_id.as_str());
        self.spans.get(&(trace, span)).copied().or_else(|| *self.traces.get(trace)?)
    }
}

/// Gives scores to the rows of their spans, or of their traces where these are rows. Those of no row are listed as lost.
pub(super) fn add(evaluations: Vec<Evaluation>, rows: &mut FileRows) {
    let found: Vec<Option<usize>> = {
        let places = Places::of(&rows.rows);
        evaluations.iter().map(|evaluation| places.find(evaluation)).collect()
    };
    for (evaluation, at) in evaluations.into_iter().zip(found) {
        let construct = format!("evaluation {}", evaluation.name);
        if let Err(why) = give(evaluation, at.and_then(|at| rows.rows.get_mut(at))) {
            rows.lost.push((construct, why.to_owned()));
        }
    }
}

/// Gives a score to a row. The error says why it is lost.
fn give(evaluation: Evaluation, row: Option<&mut TracedRow>) -> Result<(), &'static str> {
    let Evaluation { name, value, explanation, .. } = evaluation;
    let value = value.ok_or("is a category or a text, and metrics are numbers")?;
    let row = row.ok_or("its span is not a row of the file")?;
    if row.scores.iter().any(|(known, _)| *known == name) {
        return Err("another score of this name was given to the same row");
    }
    row.scores.push((name.clone(), value));
    row.reasons.extend(explanation.map(|said| (name, said)));
    Ok(())
}

/// A value of OTLP in plain JSON; 64 bit integers may be texts there.
fn plain(value: &Value) -> Option<Value> {
    let (kind, value) = value.as_object()?.iter().next()?;
    match (kind.as_str(), value) {
        ("intValue", Value::String(digits)) => digits.parse::<i64>().ok().map(|number| json!(number)),
        ("stringValue" | "intValue" | "doubleValue" | "boolValue", value) => Some(value.clone()),
        _ => None,
    }
}

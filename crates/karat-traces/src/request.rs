//! Rows of a request: one for each span that is a call of a model.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::attributes::Attributes;
use crate::dialect::{self, Fields, SpanFacts, TraceFacts};
use crate::messages::last_input;
use crate::otlp::{Span, TraceRequest};
use crate::row::{Metadata, Row};

/// Attributes of the program that sent a request.
const SERVICE: &str = "service.name";

/// The rows of a request.
#[derive(Debug, Default)]
pub struct SpanRows {
    /// Calls of models in the order of their spans, each with the `service.name` of its program.
    pub rows: Vec<(Option<String>, Row)>,
    /// Calls of models that cannot be rows.
    pub rejected: Vec<Rejected>,
    /// Spans that are not calls of models: they say nothing that a dataset needs, or what they say is in the rows.
    pub others: usize,
}

/// A span that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// `TRACE/SPAN`, as far as it can be shown.
    pub id: String,
    /// Why, and what to do.
    pub reason: &'static str,
}

pub(crate) const NO_CONTENT: &str = "no message content: turn content capture on in the SDK";
const NO_INPUT: &str = "no input: an output is there, but no message that it answers";
const NO_OUTPUT: &str = "no output: a message is there, but neither a reply nor an error";
const BAD_TRACE_ID: &str = "the trace id is not 32 hexadecimal digits";
const BAD_SPAN_ID: &str = "the span id is not 16 hexadecimal digits";
const BAD_TIME: &str = "the start time is absent or outside of the years 1971 to 9999";

/// A span and what it says.
pub(crate) struct ReadSpan {
    pub trace_id: Vec<u8>,
    pub span_id: Vec<u8>,
    pub parent: Vec<u8>,
    pub start: u64,
    pub end: u64,
    pub error: Option<String>,
    pub service: Option<String>,
    pub facts: SpanFacts,
}

/// Reads the rows of a request. Documents and facts of a trace are those of its spans in the same request.
pub fn rows_of_request(request: TraceRequest) -> SpanRows {
    let spans = read_spans(request);
    let mut traces: HashMap<Vec<u8>, TraceFacts> = HashMap::new();
    for span in &spans {
        dialect::note_trace(traces.entry(span.trace_id.clone()).or_default(), &span.facts);
    }
    let mut out = SpanRows::default();
    for span in spans {
        let fields = dialect::fields(&span.facts);
        if !fields.is_call {
            out.others += 1;
            continue;
        }
        let trace = traces.get(&span.trace_id).cloned().unwrap_or_default();
        let id = id_of(&span);
        let service = span.service.clone();
        match row(span, fields, trace, &id) {
            Ok(row) => out.rows.push((service, row)),
            Err(reason) => out.rejected.push(Rejected { id, reason }),
        }
    }
    out
}

/// The spans of a request, in its order. One that was sent again replaces itself.
pub(crate) fn read_spans(request: TraceRequest) -> Vec<ReadSpan> {
    let mut spans: Vec<ReadSpan> = Vec::new();
    let mut places: HashMap<(Vec<u8>, Vec<u8>), usize> = HashMap::new();
    for resource in request.resource_spans {
        let service = Attributes::new(resource.resource.unwrap_or_default().attributes).text(&[SERVICE]);
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let span = read_span(span, service.clone());
            let place = *places.entry((span.trace_id.clone(), span.span_id.clone())).or_insert(spans.len());
            match spans.get_mut(place).filter(|known| !known.span_id.is_empty()) {
                Some(known) => *known = span,
                None => spans.push(span),
            }
        }
    }
    spans
}

fn read_span(span: Span, service: Option<String>) -> ReadSpan {
    let attributes = Attributes::new(span.attributes);
    let status = span.status.unwrap_or_default();
    let message = Some(status.message).filter(|message| !message.is_empty());
    let error = attributes.text(&["error.type"]);
    let error = match status.code {
        2 => Some(message.or(error).unwrap_or_else(|| "error".to_owned())),
        _ => error,
    };
    let events = span.events.into_iter().map(|event| (event.name, Attributes::new(event.attributes)));
    ReadSpan {
        trace_id: span.trace_id,
        span_id: span.span_id,
        parent: span.parent_span_id,
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        error,
        service,
        facts: SpanFacts { attributes, events: events.collect() },
    }
}

/// The row of a span; the error says why it can be none.
pub(crate) fn row(span: ReadSpan, fields: Fields, trace: TraceFacts, id: &str) -> Result<Row, &'static str> {
    if span.trace_id.len() != 16 || span.trace_id.iter().all(|byte| *byte == 0) {
        return Err(BAD_TRACE_ID);
    }
    if span.span_id.len() != 8 || span.span_id.iter().all(|byte| *byte == 0) {
        return Err(BAD_SPAN_ID);
    }
    let time = time_of(span.start).ok_or(BAD_TIME)?;
    let input = fields.input.or_else(|| last_input(&fields.messages).map(Value::String));
    let input = input.ok_or(if fields.output.is_some() { NO_INPUT } else { NO_CONTENT })?;
    let output = match (fields.output, &span.error) {
        (Some(output), _) => output,
        (None, Some(_)) => Value::Null,
        (None, None) => return Err(NO_OUTPUT),
    };
    let latency_ms = (span.end >= span.start).then(|| (span.end - span.start) as f64 / 1e6);
    Ok(Row {
        id: id.to_owned(),
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        time,
        input,
        output,
        messages: fields.messages,
        contexts: trace.contexts,
        metadata: Metadata {
            model: fields.model,
            provider: fields.provider,
            service: span.service,
            conversation: trace.conversation,
            operation: fields.operation,
            error: span.error,
            user: trace.user,
            tags: trace.tags,
            more: trace.more,
        },
        usage: fields.usage,
        latency_ms,
        p: 1.0,
    })
}

/// `TRACE/SPAN`, as far as it can be shown.
pub(crate) fn id_of(span: &ReadSpan) -> String {
    format!("{}/{}", hex(&span.trace_id), hex(&span.span_id))
}

/// RFC 3339 of nanoseconds since 1970. A year of zeros is a clock that was never set.
fn time_of(nanoseconds: u64) -> Option<String> {
    let time = Timestamp::from_nanosecond(i128::from(nanoseconds)).ok()?;
    (time.as_second() > 365 * 24 * 3600).then(|| format!("{time:.3}"))
}

/// Ids of JSON that could not be decoded are still the text that was sent.
fn hex(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() != 16 && bytes.len() != 8 => text.chars().take(64).collect(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

//! Rows of whole traces: what the first span was asked, and what it answered.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::dialect::{self, TraceFacts};
use crate::otlp::TraceRequest;
use crate::request::{NO_CONTENT, ReadSpan, Rejected, SpanRows, id_of, read_spans, row};
use crate::row::{Row, Usage};

/// Reads a row for each trace: input and output of its root, or of its first and last call where the root has none; tokens
/// and price of all of its calls. A trace without a call is none of a model.
pub fn rows_of_traces(request: TraceRequest) -> SpanRows {
    let mut traces: BTreeMap<Vec<u8>, Vec<ReadSpan>> = BTreeMap::new();
    for span in read_spans(request) {
        traces.entry(span.trace_id.clone()).or_default().push(span);
    }
    let mut out = SpanRows::default();
    let mut rows: Vec<(u64, Option<String>, Row)> = Vec::new();
    for (_, mut spans) in traces {
        spans.sort_by_key(|span| span.start);
        let calls = spans.iter().filter(|span| dialect::fields(&span.facts).is_call).count();
        out.others += spans.len() - calls;
        if calls == 0 {
            continue;
        }
        let start = spans.first().map_or(0, |span| span.start);
        match trace_row(spans) {
            Ok((service, row)) => rows.push((start, service, row)),
            Err(rejected) => out.rejected.push(rejected),
        }
    }
    rows.sort_by_key(|(start, ..)| *start);
    out.rows = rows.into_iter().map(|(_, service, row)| (service, row)).collect();
    out
}

/// The row of a trace whose spans are in the order of their beginnings.
fn trace_row(spans: Vec<ReadSpan>) -> Result<(Option<String>, Row), Rejected> {
    let mut facts = TraceFacts::default();
    spans.iter().for_each(|span| dialect::note_trace(&mut facts, &span.facts));
    let mut usage = Usage::default();
    let (mut input, mut output, mut messages) = (None, None, Vec::new());
    let mut models: Vec<String> = Vec::new();
    for call in spans.iter().map(|span| dialect::fields(&span.facts)).filter(|fields| fields.is_call) {
        if messages.is_empty() && input.is_none() {
            (messages, input) = (call.messages, call.input);
        }
        output = call.output.or(output);
        usage = sum(usage, call.usage);
        models.extend(call.model.filter(|model| !models.contains(model)));
    }
    let known: Vec<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
    let root = spans.iter().position(|span| !known.contains(&span.parent.as_slice())).unwrap_or(0);
    let (asked, answered) = spans.get(root).map(|span| dialect::whole(&span.facts)).unwrap_or_default();
    if asked.is_some() {
        (messages, input) = (Vec::new(), asked);
    }
    let Some(root) = spans.into_iter().nth(root) else {
        return Err(Rejected { id: String::new(), reason: NO_CONTENT });
    };
    let id = id_of(&root);
    let fields = dialect::Fields {
        is_call: true,
        model: (models.len() == 1).then(|| models.remove(0)),
        messages,
        input,
        output: answered.or(output).or_else(|| root.error.as_ref().map(|_| Value::Null)),
        usage,
        ..dialect::Fields::default()
    };
    let service = root.service.clone();
    row(root, fields, facts, &id).map(|row| (service, row)).map_err(|reason| Rejected { id, reason })
}

fn sum(one: Usage, other: Usage) -> Usage {
    let add = |one: Option<u64>, other: Option<u64>| one.map_or(other, |one| Some(one + other.unwrap_or_default()));
    Usage {
        input_tokens: add(one.input_tokens, other.input_tokens),
        output_tokens: add(one.output_tokens, other.output_tokens),
        cached_tokens: add(one.cached_tokens, other.cached_tokens),
        cost_usd: one.cost_usd.map_or(other.cost_usd, |one| Some(one + other.cost_usd.unwrap_or_default())),
    }
}

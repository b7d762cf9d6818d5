//! Calls that applications reported: files of OpenTelemetry, and exports of Langfuse.
//!
//! - `read` tells the forms apart: OTLP as JSON, a request a line or protobuf, Langfuse's traces; each may be gzip.
//! - `langfuse` reads an exported trace, `evaluations` scores of spans in logs of OTLP.
//!
//! Spans become rows in `karat-traces`, as they do where a server takes them. Read this file, then `read`.

mod evaluations;
mod langfuse;
mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use karat_traces::Row;
use serde_json::{Map, Value, json};

use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Output, Recording, Sample, TokenUse};
use crate::report::Dropped;
use crate::source::Source;
use crate::text::names::valid_id;

/// The variant of the reported outputs.
const RECORDED: &str = "recorded";

/// A row of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceRows {
    /// A call of a model.
    #[default]
    Calls,
    /// A whole trace: input and output of its root.
    Traces,
}

/// A row and the scores that the source gave it.
#[derive(Debug)]
struct TracedRow {
    row: Row,
    scores: Vec<(String, Value)>,
    reasons: Vec<(String, String)>,
}

/// Rows of a file, and spans that are none.
#[derive(Debug, Default)]
struct FileRows {
    rows: Vec<TracedRow>,
    /// Spans that cannot be rows: their ids and why.
    rejected: Vec<(String, String)>,
    /// Spans that are not calls of models.
    others: usize,
    /// Parts that no row has, and why.
    lost: Vec<(String, String)>,
    /// Remarks on the file.
    notes: Vec<String>,
}

pub(crate) fn import(source: &Source, per: TraceRows, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let file = read::rows_of_file(source, per)?;
    for (id, why) in &file.rejected {
        draft.report.drop(Dropped {
            path: format!("span {id}"),
            line: None,
            construct: "span".to_owned(),
            why: why.clone(),
            instead: None,
            samples: 1,
        });
    }
    for (construct, why) in &file.lost {
        draft.report.drop(Dropped {
            path: source.name(),
            line: None,
            construct: construct.clone(),
            why: why.clone(),
            instead: None,
            samples: 1,
        });
    }
    if file.rows.is_empty() {
        let first = file.rejected.first().map(|(id, why)| format!("; the first is {id}: {why}"));
        let told = format!("{} spans that cannot be rows{}", file.rejected.len(), first.unwrap_or_default());
        return Err(ImportError::new(source.path().display(), format!("holds no call of a model: {told}, {} other spans", file.others))
            .with_hint("a call has `gen_ai.operation.name`, `openinference.span.kind` = LLM or Langfuse's type `generation`, and its messages"));
    }
    file.notes.iter().for_each(|note| draft.report.note(source.name(), note.as_str()));
    if file.others > 0 {
        draft.report.note(source.name(), format!("{} spans are not calls of models", file.others));
    }
    draft.suite.name = valid_id(&source.stem(), "traces");
    draft.suite.about = format!("Calls that applications reported, {}", crate::text::escape::literal(&source.name()));
    let has = |fact: fn(&Row) -> bool| file.rows.iter().any(|traced| fact(&traced.row));
    for (metric, is_known) in
        [("latency", has(|row| row.latency_ms.is_some())), ("cost", has(|row| row.usage.cost_usd.is_some()))]
    {
        if is_known {
            draft.suite.scorers.insert(metric.to_owned(), json!({ "metric": metric }));
        }
    }
    let mut recording = Recording::open(draft)?;
    let variant = recording.add_variant(draft, RECORDED)?;
    for (id, traced) in latest(file.rows) {
        let (sample, output) = parts(id, traced);
        recording.add_sample(sample)?;
        recording.add_output(variant, &output)?;
    }
    recording.close(draft)?;
    draft.suite.dataset.insert("date".to_owned(), json!("time"));
    draft.suite.dataset.insert("cluster".to_owned(), json!("trace_id"));
    Ok(())
}

/// Each id once, with its last row, in the order in which ids came first.
fn latest(rows: Vec<TracedRow>) -> Vec<(String, TracedRow)> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(String, TracedRow)> = Vec::new();
    for traced in rows {
        let id = traced.row.id.clone();
        match places.get(&id).and_then(|at| kept.get_mut(*at)) {
            Some(place) => place.1 = traced,
            None => {
                places.insert(id.clone(), kept.len());
                kept.push((id, traced));
            }
        }
    }
    kept
}

fn parts(id: String, traced: TracedRow) -> (Sample, Output) {
    let TracedRow { row, scores, reasons } = traced;
    let mut columns = Map::new();
    columns.insert("time".to_owned(), json!(row.time));
    columns.insert("trace_id".to_owned(), json!(row.trace_id));
    columns.insert("span_id".to_owned(), json!(row.span_id));
    if !row.messages.is_empty() {
        columns.insert("messages".to_owned(), json!(row.messages));
    }
    if !row.contexts.is_empty() {
        columns.insert("contexts".to_owned(), json!(row.contexts));
    }
    let metadata = match serde_json::to_value(&row.metadata) {
        Ok(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let tokens = TokenUse {
        model: row.metadata.model.unwrap_or_default(),
        input: row.usage.input_tokens,
        output: row.usage.output_tokens,
        cached: row.usage.cached_tokens,
    };
    let has_tokens = tokens.input.is_some() || tokens.output.is_some();
    let output = Output {
        sample: id.clone(),
        trial: 1,
        output: row.output,
        error: row.metadata.error,
        latency_ms: row.latency_ms,
        usage: if has_tokens { vec![tokens] } else { Vec::new() },
        cost_usd: row.usage.cost_usd,
        scores,
        reasons,
        ..Output::default()
    };
    (Sample { id, input: Some(row.input), columns, metadata, ..Sample::default() }, output)
}

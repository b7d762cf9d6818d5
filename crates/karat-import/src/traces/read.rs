//! The forms of a file of traces.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use karat_traces::otlp::TraceRequest;
use karat_traces::{Encoding, SpanRows, rows_of_request, rows_of_traces};
use karat_types::json::Parsed;
use serde_json::Value;

use super::evaluations::{self, Evaluation};
use super::langfuse;
use super::{FileRows, TraceRows, TracedRow};
use crate::error::ImportError;
use crate::source::Source;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// Maximum size of an unpacked file, in bytes.
const MAX_UNPACKED: u64 = 512 << 20;

/// The rows of a file, or of all files of a folder.
pub(super) fn rows_of_file(source: &Source, per: TraceRows) -> Result<FileRows, ImportError> {
    let mut found = Found::default();
    for path in source.files()? {
        let bytes = unpack(&path, source.bytes(&path)?)?;
        found.add(&path, &bytes)?;
    }
    let mut rows = FileRows::default();
    if found.has_base64 {
        rows.notes.push("ids are written in base64, and not in hexadecimal as OTLP says; they were read".to_owned());
    }
    // Facts of a trace may lie in another request than its calls.
    let spans = match per {
        TraceRows::Calls => rows_of_request(found.request),
        TraceRows::Traces => rows_of_traces(found.request),
    };
    rows.add(spans);
    for trace in &found.langfuse.all {
        langfuse::add_rows(trace, per, &mut rows);
    }
    evaluations::add(found.evaluations, &mut rows);
    if found.logs > 0 {
        rows.notes.push(format!("{} records of logs are not scores of spans, and are left out", found.logs));
    }
    if found.metrics > 0 {
        rows.notes.push(format!("{} requests of metrics are left out", found.metrics));
    }
    Ok(rows)
}

impl FileRows {
    fn add(&mut self, spans: SpanRows) {
        let traced = |row| TracedRow { row, scores: Vec::new(), reasons: Vec::new() };
        self.rows.extend(spans.rows.into_iter().map(|(_, row)| traced(row)));
        self.rejected.extend(spans.rejected.into_iter().map(|rejected| (rejected.id, rejected.reason.to_owned())));
        self.others += spans.others;
    }
}

fn unpack(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, ImportError> {
    if !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let mut unpacked = MultiGzDecoder::new(bytes.as_slice()).take(MAX_UNPACKED + 1);
    unpacked.read_to_end(&mut plain).map_err(|error| ImportError::reading(path, &error))?;
    if plain.len() as u64 > MAX_UNPACKED {
        return Err(ImportError::new(path.display(), "is larger than 512 MiB when it is unpacked"));
    }
    Ok(plain)
}

/// Spans and traces of all files.
#[derive(Default)]
struct Found {
    request: TraceRequest,
    langfuse: langfuse::Traces,
    evaluations: Vec<Evaluation>,
    /// Records of logs that hold no score, and requests of metrics.
    logs: usize,
    metrics: usize,
    has_base64: bool,
}

impl Found {
    fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), ImportError> {
        let text = bytes.trim_ascii_start();
        if text.is_empty() {
            return Err(ImportError::new(path.display(), "is empty; expected OTLP or traces of Langfuse"));
        }
        if !text.starts_with(b"{") && !text.starts_with(b"[") {
            return self.add_protobuf(path, bytes);
        }
        // One document, or one a line.
        let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Parsed>();
        while let Some(document) = documents.next() {
            let at = documents.byte_offset();
            let line = || bytes.get(..at).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count() + 1;
            let document = document.map_err(|error| crate::source::invalid_json(path, &error))?;
            self.add_document(document.value)
                .map_err(|problem| ImportError::new(path.display(), problem).at_line(line()))?;
        }
        Ok(())
    }

    fn add_protobuf(&mut self, path: &Path, bytes: &[u8]) -> Result<(), ImportError> {
        let request = TraceRequest::read(bytes, Encoding::Protobuf).map_err(|error| {
            ImportError::new(path.display(), format!("is neither JSON nor OTLP protobuf: {error}"))
                .at_byte(0)
                .with_hint("a request of OTLP holds `resourceSpans`; files of several requests in protobuf have no standard form")
        })?;
        self.request.resource_spans.extend(request.resource_spans);
        Ok(())
    }

    fn add_document(&mut self, document: Value) -> Result<(), String> {
        match document {
            Value::Array(list) => list.into_iter().try_for_each(|inner| self.add_document(inner)),
            Value::Object(ref fields) if fields.contains_key("resourceSpans") => {
                self.has_base64 |= has_base64_id(&document);
                let request: TraceRequest =
                    serde_json::from_value(document).map_err(|error| format!("is not OTLP: {error}"))?;
                self.request.resource_spans.extend(request.resource_spans);
                Ok(())
            }
            Value::Object(ref fields) if fields.contains_key("resourceLogs") => {
                let (found, others) = evaluations::read(&document);
                self.evaluations.extend(found);
                self.logs += others;
                Ok(())
            }
            Value::Object(fields) if fields.contains_key("resourceMetrics") => {
                self.metrics += 1;
                Ok(())
            }
            Value::Object(fields) if fields.get("trace").is_some_and(Value::is_object) => {
                self.langfuse.push(langfuse::unwrap_download(fields));
                Ok(())
            }
            Value::Object(mut fields) if fields.get("data").is_some_and(Value::is_array) => {
                self.add_document(fields.shift_remove("data").unwrap_or_default())
            }
            Value::Object(ref fields) if langfuse::is_trace(fields) => {
                self.langfuse.push(document);
                Ok(())
            }
            Value::Object(fields) if langfuse::is_observation(&fields) => {
                self.langfuse.add_observation(Value::Object(fields));
                Ok(())
            }
            Value::Object(fields) => {
                let keys = fields.keys().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
                Err(format!("has {keys}; expected `resourceSpans` of OTLP or `observations` of a trace of Langfuse"))
            }
            other => Err(format!("has {other}; expected an object with `resourceSpans` or `observations`")),
        }
    }
}

/// Returns whether the first trace id is as long as base64 makes it.
fn has_base64_id(request: &Value) -> bool {
    let spans = request.pointer("/resourceSpans/0/scopeSpans/0/spans/0/traceId").and_then(Value::as_str);
    spans.is_some_and(|id| id.len() == 24)
}

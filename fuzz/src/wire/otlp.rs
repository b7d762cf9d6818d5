//! OpenTelemetry: spans in JSON and protobuf, and lines of rows.

use jiff::Timestamp;
use karat_traces::folder::{is_name, name_of_service};
use karat_traces::otlp::TraceRequest;
use karat_traces::{Encoding, Row, SpanRows, row_of_line, rows_of_request, rows_of_traces, share_of};
use prost::Message;

use crate::text::lossy;

/// The first byte chooses the form; the rest is the body.
pub fn run(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    match choice % 3 {
        0 => check_request(body, Encoding::Json),
        1 => check_request(body, Encoding::Protobuf),
        _ => lossy(body).lines().for_each(check_line),
    }
}

fn check_request(body: &[u8], encoding: Encoding) {
    let Ok(request) = TraceRequest::read(body, encoding) else { return };
    let binary = request.encode_to_vec();
    let read = TraceRequest::read(&binary, Encoding::Protobuf).unwrap_or_else(|error| panic!("{error}"));
    // NaN differs from itself, so the bytes are compared.
    assert_eq!(read.encode_to_vec(), binary, "a request survives being written");
    let spans: usize = request.resource_spans.iter().flat_map(|it| &it.scope_spans).map(|it| it.spans.len()).sum();
    check_rows(&rows_of_request(request.clone()), spans);
    check_rows(&rows_of_traces(request), spans);
}

fn check_rows(found: &SpanRows, spans: usize) {
    assert!(found.rows.len() + found.rejected.len() <= spans, "{} rows of {spans} spans", found.rows.len());
    for (service, row) in &found.rows {
        let name = name_of_service(service.as_deref().unwrap_or_default());
        assert!(is_name(&name), "{name:?} of {service:?} is not a name of a dataset");
        check_row(row);
    }
}

fn check_row(row: &Row) {
    let written = serde_json::to_string(row).unwrap_or_else(|error| panic!("{error}"));
    let read: Row = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_string(&read).ok(), Some(written), "a row survives being written");
    assert!((0.0..1.0).contains(&share_of(&row.trace_id)));
}

fn check_line(line: &str) {
    if let Ok(row) = row_of_line(line, Timestamp::UNIX_EPOCH) {
        check_row(&row);
    }
}

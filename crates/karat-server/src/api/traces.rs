//! `POST /traces`, `POST /v1/traces` and `GET /traces`: calls of models that applications report.
//!
//! `/v1/traces` is the address of OpenTelemetry's exporters: it answers in the encoding of the request, errors too.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Json, Router};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use karat_traces::folder::{AddedRows, WriteError, is_name, name_of_service};
use karat_traces::otlp::{self, PartialSuccess, RpcStatus, TraceRequest, TraceResponse};
use karat_traces::{Encoding, Limits, Row, holds_more_values, row_of_line, rows_of_request};
use schemars::JsonSchema;
use serde::Serialize;
use tower_http::decompression::RequestDecompressionLayer;
use tower_http::timeout::TimeoutLayer;

use crate::api::listing::List;
use crate::problem::{IsAnswer, Problem};
use crate::route::accepts_page;
use crate::route::query::Query;
use crate::settings::Purpose;
use crate::state::State;

/// The largest body, as it is sent and as it is after decompression.
const MAX_BODY: usize = 20 << 20;

/// Time until a body has arrived and its rows are on the disk.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The header that names the dataset of a request of OpenTelemetry.
const DATASET: &str = "x-karat-dataset";

/// Limits of a request of OpenTelemetry: in memory a span is much larger than in the request.
const LIMITS: Limits = Limits { spans: 10_000, values: 2_000_000 };

/// Rows that a request of lines may have.
const MAX_LINES: usize = 50_000;

/// Rejected lines that are listed; the others are counted.
const LISTED_LINES: usize = 20;

/// Reasons that a partial success names.
const MAX_REASONS: usize = 3;

/// The start time of a span that the clock of this machine has not reached.
const FUTURE: &str = "the call begins in the future: check the clock of the sender";

/// Routes whose bodies may be larger than those of others.
pub(crate) fn with_large_bodies(routes: Router<State>) -> Router<State> {
    routes
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(RequestDecompressionLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, TIMEOUT))
}

/// The answer to lines of rows.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AddedTraces")]
pub(super) struct Added {
    accepted: u64,
    duplicates: u64,
    sampled_out: u64,
    /// Lines that are not rows.
    rejected_lines: u64,
    /// The first of them, with their reasons.
    rejected: Vec<RejectedLine>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct RejectedLine {
    line: usize,
    reason: String,
}

/// The page that a browser gets instead of the list.
pub(crate) const PAGE: &str = "/service/traces";

pub(super) async fn list(state: State, headers: HeaderMap) -> Result<Response, Problem> {
    let varies = [(header::VARY, HeaderValue::from_static("accept"))];
    if accepts_page(&headers) {
        return Ok((varies, Redirect::to(PAGE)).into_response());
    }
    let datasets = state.read(|app| app.imports().trace_datasets()).await?;
    Ok((varies, Json(List { items: datasets })).into_response())
}

/// Adds rows, a line of JSON each. A line that is not a row is rejected, and the others are kept.
pub(super) async fn add_lines(
    state: State,
    Extension(query): Extension<Query>,
    body: Bytes,
) -> Result<Response, Problem> {
    let dataset = query.get("dataset").ok_or_else(|| {
        Problem::bad_request("the dataset is missing").with_hint("name it in the address: /traces?dataset=NAME")
    })?;
    let dataset = checked_name(dataset)?.to_owned();
    let now = Timestamp::from_millisecond(state.now().0).unwrap_or(Timestamp::UNIX_EPOCH);
    let ReadLines { rows, lines, mut rejected_lines, mut rejected } =
        state.read_body(move || read_lines(&body, now)).await?;
    let traces = add(&state, dataset, rows).await?;
    rejected_lines += traces.in_the_future.len() as u64;
    let early = traces.in_the_future.iter().filter_map(|at| lines.get(*at));
    rejected.extend(early.map(|line| RejectedLine { line: *line, reason: FUTURE.to_owned() }));
    rejected.sort_by_key(|rejected| rejected.line);
    rejected.truncate(LISTED_LINES);
    let AddedRows { new: accepted, replaced: duplicates, sampled_out } = traces.added;
    Ok(Json(Added { accepted, duplicates, sampled_out, rejected_lines, rejected }).into_response())
}

/// The lines of a request.
#[derive(Default)]
struct ReadLines {
    rows: Vec<Row>,
    /// The number of the line of each row.
    lines: Vec<usize>,
    rejected_lines: u64,
    /// The first of them.
    rejected: Vec<RejectedLine>,
}

fn read_lines(body: &[u8], now: Timestamp) -> Result<ReadLines, Problem> {
    let text = std::str::from_utf8(body).map_err(|_| Problem::bad_request("the body is not UTF-8 text"))?;
    if holds_more_values(body, LIMITS.values) {
        return Err(too_large(&format!("the body holds more than {} values", LIMITS.values)));
    }
    let mut read = ReadLines::default();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match row_of_line(line, now) {
            Ok(_) if read.rows.len() == MAX_LINES => {
                return Err(too_large(&format!("the body has more than {MAX_LINES} rows")));
            }
            Ok(row) => {
                read.rows.push(row);
                read.lines.push(at + 1);
            }
            Err(error) => {
                read.rejected_lines += 1;
                if read.rejected.len() < LISTED_LINES {
                    read.rejected.push(RejectedLine { line: at + 1, reason: error.to_string() });
                }
            }
        }
    }
    Ok(read)
}

fn too_large(reason: &str) -> Problem {
    Problem::of_status(StatusCode::PAYLOAD_TOO_LARGE, "")
        .with_detail(format!("{reason}: send the rows in several requests"))
}

/// Adds the calls of a request of OpenTelemetry.
pub(super) async fn add_spans(state: State, headers: HeaderMap, body: Bytes) -> Response {
    let Some(encoding) = encoding_of(&headers) else {
        let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "The body must be OTLP");
        let detail = "send it with `Content-Type: application/json` or `application/x-protobuf`";
        return problem.with_detail(detail).into_response();
    };
    match spans(&state, &headers, body, encoding).await {
        Ok(response) => answer(StatusCode::OK, &response, encoding, None),
        Err(problem) => {
            // The codes of gRPC: 3 invalid argument, 14 unavailable.
            let code = if problem.status.is_client_error() && problem.retry_after_s.is_none() { 3 } else { 14 };
            let message = problem.detail.unwrap_or(problem.title);
            answer(problem.status, &RpcStatus { code, message }, encoding, problem.retry_after_s)
        }
    }
}

async fn spans(state: &State, headers: &HeaderMap, body: Bytes, encoding: Encoding) -> Result<TraceResponse, Problem> {
    let dataset = match headers.get(DATASET) {
        Some(name) => Some(checked_name(name.to_str().unwrap_or_default())?.to_owned()),
        None => None,
    };
    let read = move || match TraceRequest::read_within(&body, encoding, LIMITS) {
        Ok(request) => Ok(rows_of_request(request)),
        Err(error) if error.is_too_large() => {
            Err(Problem::of_status(StatusCode::PAYLOAD_TOO_LARGE, "").with_detail(error.to_string()))
        }
        Err(error) => Err(Problem::bad_request(error.to_string())),
    };
    let read = state.read_body(read).await?;
    let mut rejected = read.rejected.len();
    let mut reasons: Vec<String> = Vec::new();
    let mut add_reason = |reason: &str| {
        if !reasons.iter().any(|known| known == reason) && reasons.len() < MAX_REASONS {
            reasons.push(reason.to_owned());
        }
    };
    read.rejected.iter().for_each(|rejected| add_reason(rejected.reason));
    let mut datasets: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for (service, row) in read.rows {
        let name = || name_of_service(service.as_deref().unwrap_or_default());
        datasets.entry(dataset.clone().unwrap_or_else(name)).or_default().push(row);
    }
    for (dataset, rows) in datasets {
        let traces = add(state, dataset, rows).await?;
        rejected += traces.in_the_future.len();
        if !traces.in_the_future.is_empty() {
            add_reason(FUTURE);
        }
    }
    let partial = PartialSuccess {
        rejected_spans: i64::try_from(rejected).unwrap_or(i64::MAX),
        error_message: reasons.join("; "),
    };
    Ok(TraceResponse { partial_success: (rejected > 0).then_some(partial) })
}

async fn add(state: &State, dataset: String, rows: Vec<Row>) -> Result<karat_app::AddedTraces, Problem> {
    if state.stop().is_set() {
        return Err(Problem::shutting_down());
    }
    if matches!(state.settings().purpose, Purpose::View { .. }) {
        return Err(Problem::forbidden("`karat view` takes no traces").with_hint("`karat serve` does"));
    }
    let name = dataset.clone();
    let adding = move |app: &karat_app::App| app.imports().add_traces(&name, rows).map_err(TracesProblem);
    let traces = state.look_up(adding).await?;
    let added = &traces.added;
    let counts = [
        ("accepted", added.new),
        ("duplicate", added.replaced),
        ("sampled_out", added.sampled_out),
        ("rejected", traces.in_the_future.len() as u64),
    ];
    for (outcome, rows) in counts.into_iter().filter(|(_, rows)| *rows > 0) {
        let labels = [("dataset", dataset.as_str()), ("outcome", outcome)];
        state.telemetry().metrics.add("traces_total", &labels, rows as f64);
    }
    Ok(traces)
}

/// The problem of rows that were not written.
struct TracesProblem(WriteError);

impl From<TracesProblem> for Problem {
    fn from(TracesProblem(error): TracesProblem) -> Self {
        match error {
            WriteError::Busy => Self::too_many(error.to_string()),
            WriteError::Stopped => Self::shutting_down(),
            WriteError::TooManyDays(_) => {
                Self::of_status(StatusCode::PAYLOAD_TOO_LARGE, "").with_detail(error.to_string())
            }
            WriteError::TooManyDatasets => Self::forbidden(error.to_string()),
            WriteError::Disk(_) => {
                let title = "The traces cannot be written";
                let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", title);
                Self { retry_after_s: Some(30), ..problem.with_detail(error.to_string()) }
            }
        }
    }
}

fn checked_name(name: &str) -> Result<&str, Problem> {
    is_name(name).then_some(name).ok_or_else(|| {
        Problem::bad_request(format!("`{}` cannot be the name of a dataset", name.escape_debug()))
            .with_hint("names are letters, digits, `.`, `_` and `-`, at most 64, and do not begin with a dot")
    })
}

fn encoding_of(headers: &HeaderMap) -> Option<Encoding> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim();
    match kind {
        kind if kind.eq_ignore_ascii_case("application/json") => Some(Encoding::Json),
        kind if kind.eq_ignore_ascii_case("application/x-protobuf") => Some(Encoding::Protobuf),
        _ => None,
    }
}

/// An answer in the encoding of its request. It is final: it does not become a problem of this API.
fn answer<M: prost::Message + Serialize>(
    status: StatusCode,
    message: &M,
    encoding: Encoding,
    retry_after_s: Option<u32>,
) -> Response {
    let kind = match encoding {
        Encoding::Json => "application/json",
        Encoding::Protobuf => "application/x-protobuf",
    };
    let mut response = (status, otlp::answer(message, encoding)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(seconds) = retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response.extensions_mut().insert(IsAnswer);
    response
}

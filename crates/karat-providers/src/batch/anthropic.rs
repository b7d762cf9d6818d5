//! Anthropic's message batches: lines at creation, results at the batch itself.
//!
//! A batch has no metadata, so one that a killed process may have created is recognized by its number of requests, and
//! proved by the ids of its results.

use bytes::Bytes;
use jiff::Timestamp;
use karat_types::Moment;
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    BatchApi, BatchError, BatchLine, BatchResult, BatchStatus, RemoteBatch, json_lines, line_number, unreadable,
};

/// The provider's clock may be behind ours by this many milliseconds.
const CLOCK_SKEW: i64 = 10 * 60 * 1000;

#[derive(Deserialize)]
struct Batch {
    id: String,
    #[serde(default)]
    processing_status: String,
    created_at: Option<String>,
    #[serde(default)]
    request_counts: Counts,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Counts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Batch>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct ResultLine<'a> {
    custom_id: String,
    #[serde(borrow)]
    result: LineResult<'a>,
}

#[derive(Deserialize)]
struct LineResult<'a> {
    r#type: String,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorKind,
}

#[derive(Deserialize)]
struct ErrorKind {
    r#type: String,
}

impl Batch {
    fn requests(&self) -> u64 {
        let Counts { processing, succeeded, errored, canceled, expired } = self.request_counts;
        processing + succeeded + errored + canceled + expired
    }

    fn has_ended(&self) -> bool {
        self.processing_status == "ended"
    }
}

impl BatchApi<'_> {
    pub(super) async fn create_anthropic(&self, key: &str, lines: &[BatchLine]) -> Result<String, BatchError> {
        let mut body = b"{\"requests\":[".to_vec();
        for (at, BatchLine { number, body: params }) in lines.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            body.extend_from_slice(format!("{comma}{{\"custom_id\":\"{key}-{number}\",\"params\":").as_bytes());
            body.extend_from_slice(params);
            body.push(b'}');
        }
        body.extend_from_slice(b"]}");
        let body = Some(("application/json", Bytes::from(body)));
        let batch: Batch = self.ask("creating a batch", Method::POST, "messages/batches", body).await?;
        Ok(batch.id)
    }

    pub(super) async fn find_anthropic(
        &self,
        key: &str,
        lines: u32,
        since: Moment,
        known: &[String],
    ) -> Result<Option<String>, BatchError> {
        let mut path = "messages/batches?limit=100".to_owned();
        loop {
            let page: Page = self.ask("looking for a batch", Method::GET, &path, None).await?;
            for batch in &page.data {
                let created = batch.created_at.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
                let is_later = created.is_none_or(|at| at.as_millisecond() >= since.0 - CLOCK_SKEW);
                if !is_later || batch.requests() != u64::from(lines) || known.contains(&batch.id) {
                    continue;
                }
                if !batch.has_ended() {
                    let message = format!("batch {} may be ours and has not ended yet", batch.id);
                    return Err(BatchError { message, is_uncertain: true, ..BatchError::default() });
                }
                if !self.results_anthropic(key, &batch.id).await?.is_empty() {
                    return Ok(Some(batch.id.clone()));
                }
            }
            match page.data.last().filter(|_| page.has_more) {
                Some(last) => path = format!("messages/batches?limit=100&after_id={}", last.id),
                None => return Ok(None),
            }
        }
    }

    pub(super) async fn status_anthropic(&self, id: &str) -> Result<RemoteBatch, BatchError> {
        let path = format!("messages/batches/{id}");
        let batch: Batch = self.ask("asking for a batch", Method::GET, &path, None).await?;
        let status = if batch.has_ended() { BatchStatus::Ended(Vec::new()) } else { BatchStatus::Running };
        Ok(RemoteBatch { id: batch.id, status, state: batch.processing_status })
    }

    pub(super) async fn results_anthropic(&self, key: &str, id: &str) -> Result<Vec<(u32, BatchResult)>, BatchError> {
        // Not `results_url`: keys go to the configured server only.
        let path = format!("messages/batches/{id}/results");
        let content = self.send("reading results", Method::GET, &path, None).await?;
        let lines: Vec<ResultLine<'_>> = json_lines(&content).map_err(unreadable)?;
        let result = |line: &ResultLine<'_>| Some((line_number(key, &line.custom_id)?, read_result(&line.result)));
        Ok(lines.iter().filter_map(result).collect())
    }
}

fn read_result(result: &LineResult<'_>) -> BatchResult {
    match (result.r#type.as_str(), result.message, result.error) {
        ("succeeded", Some(message), _) => BatchResult::Answered(200, Bytes::from(message.get().to_owned())),
        ("errored", _, Some(error)) => {
            let kind = serde_json::from_str(error.get()).map(|body: ErrorBody| body.error.r#type).unwrap_or_default();
            match status_of(&kind) {
                Some(status) => BatchResult::Answered(status, Bytes::from(error.get().to_owned())),
                None => BatchResult::Again("the batch answered it with a server's error".to_owned()),
            }
        }
        (kind, ..) => {
            BatchResult::Again(format!("the batch did not answer it ({})", kind.chars().take(60).collect::<String>()))
        }
    }
}

/// The status of a live call with this error, if another attempt would not help.
fn status_of(kind: &str) -> Option<u16> {
    match kind {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        _ => None,
    }
}

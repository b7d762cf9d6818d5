//! OpenAI's batch API: a file of lines, a batch over it, files of results and errors.

use bytes::Bytes;
use karat_text::half_characters;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{
    BatchApi, BatchError, BatchLine, BatchResult, BatchStatus, RemoteBatch, is_passing, json_lines, line_number,
    unreadable,
};

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
struct Batch {
    id: String,
    #[serde(default)]
    status: String,
    output_file_id: Option<String>,
    error_file_id: Option<String>,
    errors: Option<serde_json::Value>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    karat: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Batch>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct OutputLine<'a> {
    custom_id: String,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Deserialize)]
struct LineError {
    code: Option<String>,
    message: Option<String>,
}

impl BatchApi<'_> {
    pub(super) async fn upload_openai(&self, key: &str, lines: &[BatchLine]) -> Result<String, BatchError> {
        let boundary = format!("karat-{key}");
        let kind = format!("multipart/form-data; boundary={boundary}");
        let file: Named =
            self.ask("uploading a batch", Method::POST, "files", Some((&kind, form(&boundary, key, lines)))).await?;
        Ok(file.id)
    }

    pub(super) async fn create_openai(&self, key: &str, file: &str) -> Result<String, BatchError> {
        let body = json!({
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": { "karat": key },
        });
        let body = Some(("application/json", Bytes::from(body.to_string())));
        let batch: Named = self.ask("creating a batch", Method::POST, "batches", body).await?;
        Ok(batch.id)
    }

    pub(super) async fn find_openai(&self, key: &str) -> Result<Option<String>, BatchError> {
        let mut path = "batches?limit=100".to_owned();
        loop {
            let page: Page = self.ask("looking for a batch", Method::GET, &path, None).await?;
            let is_ours =
                |batch: &&Batch| batch.metadata.as_ref().and_then(|metadata| metadata.karat.as_deref()) == Some(key);
            if let Some(batch) = page.data.iter().find(is_ours) {
                return Ok(Some(batch.id.clone()));
            }
            match page.data.last().filter(|_| page.has_more) {
                Some(last) => path = format!("batches?limit=100&after={}", last.id),
                None => return Ok(None),
            }
        }
    }

    pub(super) async fn status_openai(&self, id: &str) -> Result<RemoteBatch, BatchError> {
        let batch: Batch = self.ask("asking for a batch", Method::GET, &format!("batches/{id}"), None).await?;
        let status = match batch.status.as_str() {
            "completed" | "expired" | "cancelled" => {
                BatchStatus::Ended(batch.output_file_id.into_iter().chain(batch.error_file_id).collect())
            }
            "failed" => BatchStatus::Failed(batch.errors.as_ref().map(failure_text).unwrap_or_default()),
            _ => BatchStatus::Running,
        };
        Ok(RemoteBatch { id: batch.id, status, state: batch.status })
    }

    pub(super) async fn results_openai(
        &self,
        key: &str,
        files: &[String],
    ) -> Result<Vec<(u32, BatchResult)>, BatchError> {
        let mut results = Vec::new();
        for file in files {
            let content = self.send("reading results", Method::GET, &format!("files/{file}/content"), None).await?;
            results.extend(read_results(key, &content).map_err(unreadable)?);
        }
        Ok(results)
    }
}

/// The first error of a refused batch, with its code, and the number of the others.
fn failure_text(errors: &serde_json::Value) -> String {
    let list = errors["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(first) = list.first() else { return "it gave no reason".to_owned() };
    let word = |name: &str| first[name].as_str().map(|text| text.chars().take(200).collect::<String>());
    let text = match (word("message"), word("code")) {
        (Some(message), Some(code)) => format!("{message} ({code})"),
        (message, code) => message.or(code).unwrap_or_else(|| "it gave no reason".to_owned()),
    };
    let line = first["line"].as_u64().map_or_else(String::new, |line| format!(", line {line}"));
    let others = if list.len() > 1 { format!(", and {} more errors", list.len() - 1) } else { String::new() };
    format!("{text}{line}{others}")
}

/// The upload as a form: its purpose, and the lines as a file.
fn form(boundary: &str, key: &str, lines: &[BatchLine]) -> Bytes {
    let mut form = Vec::new();
    form.extend_from_slice(
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"karat-{key}.jsonl\"\r\n\
             Content-Type: application/jsonl\r\n\r\n"
        )
        .as_bytes(),
    );
    for BatchLine { number, body } in lines {
        let head = format!(r#"{{"custom_id":"{key}-{number}","method":"POST","url":"/v1/chat/completions","body":"#);
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(body);
        form.extend_from_slice(b"}\n");
    }
    form.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    form.into()
}

/// The results in a file.
///
/// # Errors
/// A line cannot be read: it may have been billed, so it must not be submitted again.
fn read_results(key: &str, content: &[u8]) -> serde_json::Result<Vec<(u32, BatchResult)>> {
    let lines = json_lines::<OutputLine<'_>>(content)?.into_iter();
    let results = lines
        .filter_map(|line| {
            let result = match (line.response, line.error) {
                (Some(response), _) if is_passing(response.status_code) => {
                    BatchResult::Again(format!("the batch answered it with status {}", response.status_code))
                }
                (Some(Response { status_code, body }), _) => {
                    BatchResult::Answered(status_code, Bytes::from(body.get().to_owned()))
                }
                (None, error) => {
                    let error =
                        error.and_then(|error| half_characters::parse::<Option<LineError>>(error.get()).ok()?.value);
                    let LineError { code, message } = error.unwrap_or(LineError { code: None, message: None });
                    let code = code.or(message).unwrap_or_else(|| "no reason".to_owned());
                    BatchResult::Again(format!(
                        "the batch did not answer it ({})",
                        code.chars().take(60).collect::<String>()
                    ))
                }
            };
            Some((line_number(key, &line.custom_id)?, result))
        })
        .collect();
    Ok(results)
}

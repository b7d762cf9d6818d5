//! Batch APIs: many calls in one upload, answered within a day at a lower price.
//!
//! `mod.rs` finds the API of a model, sends its requests and reads each line of a result as a live answer; `openai.rs` and
//! `anthropic.rs` form the requests and read the answers of their protocol. The caller is `run/batches` in `karat-app`:
//! it decides what is submitted and when, and commits every step.

mod anthropic;
mod openai;

use std::time::Duration;

use bytes::Bytes;
use karat_text::half_characters;
use karat_types::{CallError, CallErrorCode, ChatRequest, Moment};
use reqwest::{Method, Url};
use serde::de::DeserializeOwned;

use crate::answer::failure::Failure;
use crate::attempt::exchange::{Exchange, FailedAttempts, unsent_exchange};
use crate::codec::media::MediaForm;
use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::registry::connect::{Backend, ConnectedModel, Endpoint};
use crate::registry::providers::Providers;
use crate::registry::reply::AnswerReader;
use crate::registry::settings::Settings;

/// Timeout of one request: an upload of 200 MB may take a while.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum size of a file of results.
const MAX_RESULTS: usize = 1 << 30;

/// One call of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchLine {
    /// Its number within the batch.
    pub number: u32,
    /// The body of the request.
    pub body: Bytes,
}

/// The result of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchResult {
    /// The provider answered with this status and body.
    Answered(u16, Bytes),
    /// It was not billed and may be submitted again, for this reason.
    Again(String),
}

/// A batch as the provider describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteBatch {
    /// The provider's id.
    pub id: String,
    /// Its state.
    pub status: BatchStatus,
    /// The provider's word for its state.
    pub state: String,
}

/// The state of a batch at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchStatus {
    /// Not finished yet.
    Running,
    /// Finished, expired or cancelled; the results are in these files, or at the batch itself.
    Ended(Vec<String>),
    /// The provider refused the whole batch, for this reason.
    Failed(String),
}

/// A request about a batch failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BatchError {
    /// The failed request, the failure and its advice.
    pub message: String,
    /// HTTP status of the answer; `None` if none came.
    pub status: Option<u16>,
    /// True if the provider may have acted on the request, or a later one may succeed.
    pub is_uncertain: bool,
    /// True if the server has no batch API.
    pub is_missing: bool,
}

/// The batch API of a model.
pub struct BatchApi<'a> {
    providers: &'a Providers,
    model: &'a ConnectedModel,
    endpoint: &'a Endpoint,
    transport: Transport,
    protocol: Protocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    OpenAi,
    Anthropic,
}

impl Protocol {
    fn of(provider: &str) -> Option<Self> {
        match provider {
            "openai" => Some(Self::OpenAi),
            "anthropic" => Some(Self::Anthropic),
            _ => None,
        }
    }
}

/// Returns whether a provider has a batch API that Karat uses.
pub fn has_batch_api(provider: &str) -> bool {
    Protocol::of(provider).is_some()
}

impl Providers {
    /// Returns whether calls of a connected model can go by a batch API.
    pub fn has_batch_api(&self, model: &str) -> bool {
        self.models.get(model).is_some_and(|model| {
            matches!(model.backend, Backend::Http(_))
                && !model.spec.embeds
                && Protocol::of(&model.spec.provider).is_some()
        })
    }

    /// The batch API of a connected model, if it has one.
    ///
    /// # Errors
    /// The HTTP client cannot be built.
    pub fn batch_api(&self, model: &str) -> Result<Option<BatchApi<'_>>, BatchError> {
        let Some(model) = self.models.get(model) else { return Ok(None) };
        let (Backend::Http(endpoint), Some(protocol)) = (&model.backend, Protocol::of(&model.spec.provider)) else {
            return Ok(None);
        };
        let settings = Settings { max_response: MAX_RESULTS, max_in_memory: MAX_RESULTS, ..self.settings.clone() };
        let transport = Transport::new(&settings, endpoint.request.url().scheme() == "https")
            .map_err(|error| BatchError { message: error.to_string(), ..BatchError::default() })?;
        Ok(Some(BatchApi { providers: self, model, endpoint, transport, protocol }))
    }

    /// The body of a call that goes by a batch API.
    ///
    /// # Errors
    /// The exchange of a call that is not made: its body cannot be written, or holds a known key.
    pub fn batch_request(&self, model: &str, request: &ChatRequest) -> Result<Bytes, Box<Exchange>> {
        let unsent = |problem: String| Box::new(unsent_exchange(format!("model {model}: {problem}")));
        let connected = self.models.get(model).ok_or_else(|| unsent("it was never connected".to_owned()))?;
        let body = connected.body(request, MediaForm::Sent).map_err(|error| unsent(error.to_string()))?;
        self.dispatch.secrets.check_request(&format!("model {model}"), &body)?;
        Ok(body)
    }

    /// A line of a batch as a live exchange: its answer takes the same path.
    pub fn batch_exchange(&self, model: &str, request: Bytes, status: Option<u16>, response: Bytes) -> Exchange {
        let secrets = &self.dispatch.secrets;
        let Some(connected) = self.models.get(model) else {
            return unsent_exchange(format!("model {model}: it is not connected, because no call of it was planned"));
        };
        let Backend::Http(endpoint) = &connected.backend else {
            return unsent_exchange(format!("model {model}: it has no batch API; this is a bug in karat"));
        };
        let response = secrets.capture(response, true);
        let code = status.unwrap_or_default();
        let outcome = match code {
            200..=299 => {
                let reader = AnswerReader { codec: endpoint.codec, cost_report: &endpoint.cost_report };
                reader.read(secrets, code, &response, None)
            }
            _ => Err(Failure::of_status(code, None, &secrets.redact_for_message(&response))),
        };
        let mut failed_attempts = FailedAttempts::default();
        let outcome = outcome.map_err(|failure: Failure| {
            failed_attempts.add(&failure);
            failure.error(connected.call_target(), 1, secrets)
        });
        let placeholder = CallError { code: CallErrorCode::Unsupported, message: String::new(), status: None };
        let unanswered = Exchange::without_attempt(placeholder);
        Exchange { request, response, status, attempts: 1, failed_attempts, outcome, ..unanswered }
    }
}

impl BatchApi<'_> {
    /// The most lines and bytes of one batch.
    pub fn bounds(&self) -> (usize, usize) {
        match self.protocol {
            Protocol::OpenAi => (50_000, 200_000_000),
            Protocol::Anthropic => (100_000, 256_000_000),
        }
    }

    /// Uploads the lines of a batch; returns the id of the file. `None` if the API takes them at creation.
    ///
    /// # Errors
    /// The provider refused the file, or did not answer.
    pub async fn upload(&self, key: &str, lines: &[BatchLine]) -> Result<Option<String>, BatchError> {
        match self.protocol {
            Protocol::OpenAi => self.upload_openai(key, lines).await.map(Some).map_err(|error| self.or_missing(error)),
            Protocol::Anthropic => Ok(None),
        }
    }

    /// Creates a batch; returns the provider's id.
    ///
    /// # Errors
    /// The provider refused the batch, or did not answer.
    pub async fn create(&self, key: &str, file: Option<&str>, lines: &[BatchLine]) -> Result<String, BatchError> {
        match self.protocol {
            Protocol::OpenAi => self.create_openai(key, file.unwrap_or_default()).await,
            Protocol::Anthropic => self.create_anthropic(key, lines).await.map_err(|error| self.or_missing(error)),
        }
    }

    /// The error of a first request; a server that does not know its address has no batch API.
    fn or_missing(&self, error: BatchError) -> BatchError {
        if !matches!(error.status, Some(404 | 405 | 501)) {
            return error;
        }
        let (id, place) = (&self.model.spec.id, self.url(""));
        let message = format!(
            "model {id}: the server has no batch API at {place} (it answered {})",
            error.status.unwrap_or_default()
        );
        BatchError { message, is_missing: true, ..error }
    }

    /// Looks for a batch that a killed process may have created. `known` are ids of other batches.
    ///
    /// # Errors
    /// The provider did not answer, or a batch that may be the one has not ended (then `is_uncertain`).
    pub async fn find(
        &self,
        key: &str,
        lines: u32,
        since: Moment,
        known: &[String],
    ) -> Result<Option<String>, BatchError> {
        match self.protocol {
            Protocol::OpenAi => self.find_openai(key).await,
            Protocol::Anthropic => self.find_anthropic(key, lines, since, known).await,
        }
    }

    /// The state of a batch.
    ///
    /// # Errors
    /// The provider did not answer.
    pub async fn status(&self, id: &str) -> Result<RemoteBatch, BatchError> {
        match self.protocol {
            Protocol::OpenAi => self.status_openai(id).await,
            Protocol::Anthropic => self.status_anthropic(id).await,
        }
    }

    /// The results of an ended batch by line number; lines of other batches are ignored.
    ///
    /// # Errors
    /// The provider did not answer, or the results are gone.
    pub async fn results(&self, key: &str, id: &str, files: &[String]) -> Result<Vec<(u32, BatchResult)>, BatchError> {
        match self.protocol {
            Protocol::OpenAi => self.results_openai(key, files).await,
            Protocol::Anthropic => self.results_anthropic(key, id).await,
        }
    }

    /// Cancels a batch. What is done by then is kept and billed.
    ///
    /// # Errors
    /// The provider did not answer.
    pub async fn cancel(&self, id: &str) -> Result<(), BatchError> {
        self.send("cancelling the batch", Method::POST, &format!("{}/{id}/cancel", self.batches_path()), None)
            .await
            .map(drop)
    }

    fn batches_path(&self) -> &'static str {
        match self.protocol {
            Protocol::OpenAi => "batches",
            Protocol::Anthropic => "messages/batches",
        }
    }

    /// The address of a path beside that of calls, such as `batches/ID?limit=100`.
    fn url(&self, path: &str) -> Url {
        let mut url = self.endpoint.request.url().clone();
        let calls = match self.protocol {
            Protocol::OpenAi => "/chat/completions",
            Protocol::Anthropic => "/messages",
        };
        let root = url.path().strip_suffix(calls).unwrap_or_default().to_owned();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("{root}/{path}"));
        if query.is_some() {
            url.set_query(query);
        }
        url
    }

    /// Sends one request and returns the body of its answer.
    async fn send(
        &self,
        doing: &str,
        method: Method,
        path: &str,
        body: Option<(&str, Bytes)>,
    ) -> Result<Bytes, BatchError> {
        let Self { providers, model, endpoint, transport, .. } = self;
        let fail = |failure: &Failure| BatchError {
            message: format!("{doing}: {}", failure.error(model.call_target(), 1, &providers.dispatch.secrets)),
            status: failure.status,
            is_uncertain: failure.retry,
            is_missing: false,
        };
        let prepared = endpoint.request.to_address(method, &self.url(path), body);
        let mut prepared: PreparedRequest = prepared
            .map_err(|problem| BatchError { message: format!("{doing}: {problem}"), ..BatchError::default() })?;
        if let Some(command) = &endpoint.key_command {
            let kind = prepared.request().headers().get(reqwest::header::CONTENT_TYPE).cloned();
            let authorized =
                command.authorize(&prepared, endpoint.codec, &providers.settings, &providers.dispatch.secrets).await;
            prepared = authorized.map_err(|failure| fail(&failure))?.0;
            let kind = kind.map(|kind| (reqwest::header::CONTENT_TYPE, kind));
            prepared = prepared.with_headers(kind.into_iter().collect());
        }
        let (received, end) = providers.dispatch.send(transport, &prepared, TIMEOUT).await;
        match end {
            Ok(_) => Ok(received.body),
            Err(failure) => Err(fail(&failure)),
        }
    }

    /// As [`Self::send`], and reads the JSON of the answer.
    async fn ask<T: DeserializeOwned>(
        &self,
        doing: &str,
        method: Method,
        path: &str,
        body: Option<(&str, Bytes)>,
    ) -> Result<T, BatchError> {
        let body = self.send(doing, method, path, body).await?;
        half_characters::parse_slice(&body).map(|read| read.value).map_err(|error| BatchError {
            message: format!("{doing}: model {}: the answer is not as documented ({error})", self.model.spec.id),
            status: Some(200),
            is_uncertain: true,
            is_missing: false,
        })
    }
}

/// The number of a line from its `custom_id`, `KEY-n`; `None` for a line of another batch.
fn line_number(key: &str, custom_id: &str) -> Option<u32> {
    custom_id.strip_prefix(key)?.strip_prefix('-')?.parse().ok()
}

/// The lines of a file of JSON values; blank ones are skipped.
fn json_lines<'a, T: serde::Deserialize<'a>>(content: &'a [u8]) -> serde_json::Result<Vec<T>> {
    let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.map(serde_json::from_slice).collect()
}

fn unreadable(error: serde_json::Error) -> BatchError {
    let message = format!("reading results: a line is not as documented ({error}); nothing of the batch was used");
    BatchError { message, status: Some(200), ..BatchError::default() }
}

/// Returns whether a line with this status may be submitted again: it was not billed.
fn is_passing(status: u16) -> bool {
    status == 429 || status >= 500
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-60: a line belongs to a batch only if its id begins with the key of the batch.
    #[test]
    fn lines_of_other_batches_are_ignored() {
        assert_eq!(line_number("ab", "ab-7"), Some(7));
        for other in ["abc-7", "ab7", "ab-", "ab-x", "7", "cd-7"] {
            assert_eq!(line_number("ab", other), None, "{other}");
        }
    }
}

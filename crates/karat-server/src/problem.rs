//! Problems: every refusal and every failure as a value (RFC 9457). `answer` writes it as JSON, or as a page.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use karat_app::{AppError, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

/// A problem. Handlers return it as an error.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// The name behind `urn:karat:problem:`.
    pub kind: &'static str,
    /// The problem in a few words.
    pub title: String,
    /// The problem in full.
    pub detail: Option<String>,
    /// The next step for the user.
    pub hint: Option<String>,
    /// Problems of a suite, each with its place.
    pub diagnostics: Vec<ProblemPlace>,
    /// Seconds after which to try again.
    pub retry_after_s: Option<u32>,
}

/// The document of a problem (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemDocument<'a> {
    #[schemars(regex(pattern = "^urn:karat:problem:[a-z-]+$"))]
    r#type: String,
    title: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    detail: Option<&'a str>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    hint: Option<&'a str>,
    /// The request, as in `X-Request-Id`.
    instance: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    diagnostics: &'a [ProblemPlace],
}

/// A problem of a suite with its place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ProblemPlace {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with this status, name and title.
    pub fn new(status: StatusCode, kind: &'static str, title: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            title: title.into(),
            detail: None,
            hint: None,
            diagnostics: Vec::new(),
            retry_after_s: None,
        }
    }

    /// The same problem with the whole story.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// The same problem with the next step for the user.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A request that says something wrong.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request is not valid").with_detail(detail)
    }

    /// Something that is not there.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is nothing here").with_detail(detail)
    }

    /// A request that this server does not allow.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "The request is not allowed").with_detail(detail)
    }

    /// A failure of the server. The reason stays inside: it may contain what the caller must not see.
    pub fn internal() -> Self {
        let title = "The server failed";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", title)
            .with_detail("this is a bug in karat: report it with the id of the request")
    }

    /// A request beyond a limit of this server.
    pub fn too_many(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", "There are too many requests");
        Self { retry_after_s: Some(5), ..problem.with_detail(detail) }
    }

    /// A server that is about to end.
    pub fn shutting_down() -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting-down", "The server is stopping");
        Self { retry_after_s: Some(5), ..problem }
    }

    /// The problem of a response that the framework made itself, by its status. `said` is the framework's text.
    pub fn of_status(status: StatusCode, said: &str) -> Self {
        let (kind, title) = match status {
            StatusCode::NOT_FOUND => return Self::not_found("no page and no endpoint has this address"),
            StatusCode::UNAUTHORIZED => ("unauthenticated", "A token is needed"),
            StatusCode::FORBIDDEN => ("forbidden", "The request is not allowed"),
            StatusCode::METHOD_NOT_ALLOWED => ("method", "This address does not take this method"),
            StatusCode::PAYLOAD_TOO_LARGE => ("too-large", "The request is too large"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => ("media-type", "The body must be JSON"),
            StatusCode::REQUEST_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE => ("timeout", "The request took too long"),
            status if status.is_client_error() => ("bad-request", "The request is not valid"),
            _ => return Self::internal(),
        };
        let problem = Self::new(status, kind, title);
        if said.is_empty() { problem } else { problem.with_detail(said) }
    }

    /// The headers that belong to the problem.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        headers
    }

    /// The document of RFC 9457. `request` is the id of the request.
    pub fn to_json(&self, request: &str) -> String {
        let written = ProblemDocument {
            r#type: format!("urn:karat:problem:{}", self.kind),
            title: &self.title,
            status: self.status.as_u16(),
            detail: self.detail.as_deref(),
            hint: self.hint.as_deref(),
            instance: format!("urn:karat:request:{request}"),
            diagnostics: &self.diagnostics,
        };
        serde_json::to_string(&written).unwrap_or_default()
    }
}

/// The problem goes along with the response; `answer` writes it once it knows who asked.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Marks a response that is the answer, whatever its status says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsAnswer;

impl From<AppError> for Problem {
    fn from(error: AppError) -> Self {
        let (status, kind, title) = match error.kind() {
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not-found", "There is nothing here"),
            ErrorKind::BadRequest => (StatusCode::BAD_REQUEST, "bad-request", "The request is not valid"),
            ErrorKind::NotAllowed => (StatusCode::FORBIDDEN, "forbidden", "The request is not allowed"),
            ErrorKind::TaskClosed => (StatusCode::CONFLICT, "task-closed", "The task is closed"),
            ErrorKind::SuiteInvalid => (StatusCode::UNPROCESSABLE_ENTITY, "suite-invalid", "The suite cannot be used"),
            ErrorKind::OutsideRoot => (StatusCode::FORBIDDEN, "outside-root", "The file is outside of the root"),
            ErrorKind::PlanChanged => (StatusCode::UNPROCESSABLE_ENTITY, "plan-changed", "The plan has changed"),
            ErrorKind::BudgetRefused => {
                (StatusCode::UNPROCESSABLE_ENTITY, "budget-refused", "The limits do not allow the run")
            }
            ErrorKind::RunExists => (StatusCode::CONFLICT, "run-exists", "The id of the run is taken"),
            ErrorKind::RunInUse => (StatusCode::CONFLICT, "run-in-use", "Another process writes the run"),
            ErrorKind::RunParked => (StatusCode::CONFLICT, "run-parked", "The run ends its process"),
            ErrorKind::RunFinished => (StatusCode::CONFLICT, "run-finished", "There is nothing left to do"),
            ErrorKind::AlreadySent => (StatusCode::CONFLICT, "already-sent", "The message was sent"),
            ErrorKind::NotFinished => (StatusCode::CONFLICT, "run-not-finished", "The run is not finished"),
            ErrorKind::StoreUnavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", "The store cannot be used")
            }
            ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "The server failed"),
        };
        let diagnostics: Vec<ProblemPlace> = error.places().into_iter().map(ProblemPlace::from).collect();
        let title = match diagnostics.len() {
            0 => title.to_owned(),
            1 => "The suite has 1 problem".to_owned(),
            count => format!("The suite has {count} problems"),
        };
        Self {
            status,
            kind,
            title,
            detail: Some(error.to_string()),
            hint: error.hint(),
            diagnostics,
            retry_after_s: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(5),
        }
    }
}

impl From<karat_app::ErrorPlace> for ProblemPlace {
    fn from(place: karat_app::ErrorPlace) -> Self {
        let karat_app::ErrorPlace { file, line, column, message, hint } = place;
        Self { file, line, column, message, hint }
    }
}

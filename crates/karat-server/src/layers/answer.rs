//! The last step of every answer: the id of the request, problems as JSON or as a page, and the headers of safety.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State as Extracted};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use karat_app::{Access, capitalize};
use karat_page::component::shell::NavLink;
use karat_page::component::state;
use karat_page::text::visible::Words;
use karat_page::{Document, Markup, html};
use tokio::time::Instant;

use crate::pages::assets;
use crate::problem::{IsAnswer, Problem};
use crate::route::{Routes, accepts_page};
use crate::state::State;
use crate::telemetry::Telemetry;
use crate::telemetry::log::RequestLine;

/// The policy of pages: they load their own files, and nothing is inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest text of the framework that is kept as the detail of a problem.
const MAX_DETAIL: usize = 4096;

/// Finishes an answer.
pub(crate) async fn finish(
    Extracted((state, routes)): Extracted<(State, Arc<Routes>)>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("none", |path| path.as_str()).to_owned();
    let traceparent = request.headers().get("traceparent").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let id = uuid::Uuid::now_v7().simple().to_string();
    // Programs, and all calls of the API, get JSON.
    let wants_page = !routes.is_api(request.uri().path()) && accepts_page(request.headers());
    let mut response = next.run(request).await;
    let access = response.extensions_mut().remove::<Access>();
    let mut response = match problem_of(response).await {
        Ok(response) => response,
        Err((problem, kept)) => write_problem(&problem, kept, &id, wants_page),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        // A report is one file with a policy of its own.
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::try_from(&id) {
        headers.insert(REQUEST_ID, id);
    }
    let (seconds, status) = (begun.elapsed().as_secs_f64(), response.status());
    let Telemetry { metrics, log } = state.telemetry();
    metrics.add("http_requests_total", &[("method", method), ("route", &route), ("status", status.as_str())], 1.0);
    metrics.observe("http_request_duration_seconds", &[("method", method), ("route", &route)], seconds);
    log.request(&RequestLine {
        id: &id,
        token: access.as_ref().map(|access| access.token.as_str()).filter(|id| !id.is_empty()),
        method,
        route: &route,
        status: status.as_u16(),
        ms: seconds * 1000.0,
        traceparent: traceparent.as_deref().filter(|parent| parent.len() <= 64),
    });
    response
}

/// The method as a label: callers can make up others.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Returns the response, or the problem that it is and the headers to keep. The framework's own refusals become
/// problems by their status.
async fn problem_of(mut response: Response) -> Result<Response, (Problem, HeaderMap)> {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        return Err((problem, HeaderMap::new()));
    }
    let status = response.status();
    if response.extensions().get::<IsAnswer>().is_some() {
        return Ok(response);
    }
    if !status.is_client_error() && !status.is_server_error() {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let said = to_bytes(body, MAX_DETAIL).await.unwrap_or_default();
    let mut kept = HeaderMap::new();
    kept.extend(head.headers.get(header::ALLOW).map(|allowed| (header::ALLOW, allowed.clone())));
    Err((Problem::of_status(status, &String::from_utf8_lossy(&said)), kept))
}

fn write_problem(problem: &Problem, kept: HeaderMap, request: &str, wants_page: bool) -> Response {
    let (kind, text) = match wants_page {
        true => ("text/html; charset=utf-8", error_page(problem, request)),
        false => ("application/problem+json", problem.to_json(request)),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = problem.status;
    response.headers_mut().extend(kept);
    response.headers_mut().extend(problem.headers());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The page of a problem: what went wrong, what to do, and the id of the request.
fn error_page(problem: &Problem, request: &str) -> String {
    let detail = problem.detail.as_deref().unwrap_or(&problem.title);
    let is_own_fault = problem.status == StatusCode::INTERNAL_SERVER_ERROR;
    let advice = problem.hint.as_deref().or((!is_own_fault).then_some("The list of runs shows what there is."));
    let body = match problem.status {
        StatusCode::UNAUTHORIZED => sign_in(detail, advice, request),
        _ => state::error(detail, advice, Some(request)),
    };
    let mut document = Document::new("page-error", &problem.title, body);
    document.breadcrumbs = vec![NavLink::new("Runs", "/")];
    document.to_live(assets::BASE)
}

/// The form that exchanges a token for a session, and where a token comes from. The form is sent to the start page, which
/// takes the token out of its address.
fn sign_in(detail: &str, advice: Option<&str>, request: &str) -> Markup {
    html! {
        div.stack {
            p { (Words(&format!("{}.", capitalize(detail)))) }
            form.filters method="get" action="/" data-testid="sign-in" {
                label.grow { span { "Token" } input type="password" name="token" autocomplete="off" autofocus required; }
                button type="submit" { "Sign in" }
            }
            p.soft { "Were you invited to label? Open the link that you were sent: it holds your token." }
            @if let Some(advice) = advice { p.soft { "Do you look after this server? " (Words(advice)) "." } }
            p.soft.small { "Request " code { (request) } }
        }
    }
}

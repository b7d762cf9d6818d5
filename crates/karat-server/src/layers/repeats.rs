//! Bodies of POST requests, and requests that are repeated: the same `Idempotency-Key` gets the same answer.
//!
//! Handlers that start a run keep their answer themselves, in the commit that queues it ([`Repeatable`]); all other answers
//! are kept here. Only successes are kept: a request that was refused had no effect and may be sent again.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Extracted};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use karat_app::{Access, KeptAnswer};
use serde_json::Value;

use crate::problem::Problem;
use crate::state::State;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The longest key.
const MAX_KEY: usize = 255;

/// The largest body of a request.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// Time for a whole body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A request that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeatable {
    pub key: String,
    pub fingerprint: [u8; 32],
}

/// Marks a response whose answer is kept already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsKept;

impl Repeatable {
    /// The answer to this request that was kept under its key.
    pub fn replay(&self, known: KeptAnswer) -> Response {
        if known.fingerprint != self.fingerprint {
            let problem =
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", "The key belongs to another request");
            let hint = "use a new `Idempotency-Key` for each request, and the same only to repeat it";
            return problem.with_hint(hint).into_response();
        }
        let mut response = Response::new(Body::from(known.body));
        *response.status_mut() = StatusCode::from_u16(known.status).unwrap_or(StatusCode::OK);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
        headers.extend(known.location.and_then(|to| HeaderValue::try_from(to).ok()).map(|to| (header::LOCATION, to)));
        response.extensions_mut().insert(IsKept);
        response
    }
}

/// Reads the body of a POST request, and answers it from what is kept if it is a repetition.
pub(crate) async fn answer(Extracted(state): Extracted<State>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (mut head, body) = request.into_parts();
    let outcome = async {
        if state.stop().is_set() {
            return Err(Problem::shutting_down());
        }
        let body = read_body(body).await?;
        let Some(key) = key_of(&head)? else { return Ok(next.run(Request::from_parts(head, Body::from(body))).await) };
        let repeatable = Repeatable { fingerprint: fingerprint(&head, &body), key };
        let Some(held) = state.keys().hold(&repeatable.key) else {
            let problem = Problem::new(StatusCode::CONFLICT, "key-in-progress", "A request with this key is under way");
            return Err(Problem { retry_after_s: Some(1), ..problem });
        };
        let key = repeatable.key.clone();
        if let Some(known) = state.look_up(move |app| app.service().kept_answer(&key)).await? {
            return Ok(repeatable.replay(known));
        }
        head.extensions.insert(repeatable.clone());
        let response = next.run(Request::from_parts(head, Body::from(body))).await;
        let response = keep(&state, &repeatable, response).await?;
        drop(held);
        Ok(response)
    };
    outcome.await.unwrap_or_else(Problem::into_response)
}

/// Keeps an answer that its handler has not kept.
async fn keep(state: &State, repeatable: &Repeatable, response: Response) -> Result<Response, Problem> {
    if !response.status().is_success() || response.extensions().get::<IsKept>().is_some() {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.map_err(|_| Problem::internal())?;
    let location = head.headers.get(header::LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
    let answer = KeptAnswer {
        key: repeatable.key.clone(),
        fingerprint: repeatable.fingerprint,
        status: head.status.as_u16(),
        body: String::from_utf8_lossy(&body).into_owned(),
        location,
        at: state.now(),
    };
    // Another server on the same store may have been faster.
    match state.look_up(move |app| app.service().keep_answer(&answer)).await? {
        Some(known) => Ok(repeatable.replay(known)),
        None => Ok(Response::from_parts(head, Body::from(body))),
    }
}

async fn read_body(body: Body) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(BODY_TIME, to_bytes(body, MAX_BODY)).await;
    let too_slow = || {
        Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "The request took too long")
            .with_detail("its body did not arrive within 30 s")
    };
    let error = match read.map_err(|_| too_slow())? {
        Ok(body) => return Ok(body),
        Err(error) => error,
    };
    let is_large = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
        .any(|error| error.to_string().contains("length limit exceeded"));
    Err(match is_large {
        true => Problem::of_status(StatusCode::PAYLOAD_TOO_LARGE, "a body may have 1 MiB"),
        false => Problem::bad_request("the body broke off"),
    })
}

/// The key of a request: 1 to 255 printable ASCII characters but spaces and quotes, bare or in quotes.
fn key_of(head: &Parts) -> Result<Option<String>, Problem> {
    let wrong =
        || Problem::bad_request("`Idempotency-Key` must have 1 to 255 letters, digits or signs, and be there once");
    let mut given = head.headers.get_all(KEY).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let text = value.to_str().map_err(|_| wrong())?.trim();
    let key = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let is_fine = (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    if !is_fine || given.next().is_some() {
        return Err(wrong());
    }
    Ok(Some(key.to_owned()))
}

/// Hash of a request: its route, its token, and its body without the order of its fields.
fn fingerprint(head: &Parts, body: &Bytes) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(head.uri.path_and_query().map_or("", |path| path.as_str()).as_bytes());
    part(head.extensions.get::<Access>().map_or("", |access| &access.token).as_bytes());
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => part(canonical(value).to_string().as_bytes()),
        Err(_) => part(body.trim_ascii()),
    }
    *hasher.finalize().as_bytes()
}

/// The same value with the fields of its objects in order.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().map(|(name, value)| (name, canonical(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(path: &str, key: &str) -> Parts {
        http::Request::post(path).header("Idempotency-Key", key).body(()).unwrap().into_parts().0
    }

    /// SV-04: a key is bare or in quotes, and limited.
    #[test]
    fn a_key_is_printable_and_short() {
        assert_eq!(key_of(&head("/x", "\"a-b\"")).unwrap().as_deref(), Some("a-b"));
        assert_eq!(key_of(&head("/x", &"k".repeat(255))).unwrap().unwrap().len(), 255);
        for wrong in ["", "\"\"", "a b", "a\"b", "\"a", "ä", &"k".repeat(256)] {
            assert!(key_of(&head("/x", wrong)).is_err(), "{wrong}");
        }
    }

    /// SV-04: the order of fields does not make another request; the route and the token do.
    #[test]
    fn a_fingerprint_is_of_route_token_and_content() {
        let of = |path: &str, body: &'static str| fingerprint(&head(path, "k"), &Bytes::from_static(body.as_bytes()));
        let one = of("/x", r#"{"a": 1, "b": {"c": 2, "d": 3}}"#);
        assert_eq!(one, of("/x", r#"{"b":{"d":3,"c":2},"a":1}"#));
        assert!(one != of("/y", r#"{"a": 1, "b": {"c": 2, "d": 3}}"#) && one != of("/x", r#"{"a": 1}"#));
        let mut other = head("/x", "k");
        other.extensions.insert(Access { token: "t".to_owned(), role: karat_app::Role::Run });
        assert_ne!(fingerprint(&other, &Bytes::new()), of("/x", ""));
    }
}

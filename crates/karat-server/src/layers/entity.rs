//! The entity tag of every answer that has one: a hash of its bytes, and 304 for a caller that has them.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};

use crate::guard::answers::is_stream;
use crate::problem::Problem;

/// The cache rule of everything that has none: only the caller keeps it, and asks before it uses it.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Adds the tag. It is of the bytes as they are sent, so answers with another encoding have another tag.
pub(crate) async fn tag(request: Request, next: Next) -> Response {
    let is_get = request.method() == Method::GET;
    let mut response = next.run(request).await;
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(PRIVATE);
    if !is_get || response.status() != StatusCode::OK || is_stream(&response) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else { return Problem::internal().into_response() };
    let tag = format!("\"{}\"", blake3::hash(&bytes).to_hex());
    head.headers.extend(HeaderValue::try_from(tag).ok().map(|tag| (header::ETAG, tag)));
    head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    Response::from_parts(head, Body::from(bytes))
}

/// Answers 304 if the caller has the answer already.
pub(crate) async fn compare_tag(request: Request, next: Next) -> Response {
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    let Some(known) = known.as_ref().and_then(|known| known.to_str().ok()) else { return response };
    let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
    if response.status() != StatusCode::OK || !tag.is_some_and(|tag| lists(known, tag)) {
        return response;
    }
    let (mut head, _) = response.into_parts();
    head.status = StatusCode::NOT_MODIFIED;
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.remove(header::CONTENT_ENCODING);
    head.headers.remove(header::CONTENT_TYPE);
    Response::from_parts(head, Body::empty())
}

/// Returns whether a list of tags, as `If-None-Match` has it, contains a tag. Weak tags compare like strong ones here.
fn lists(known: &str, tag: &str) -> bool {
    known.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
}

#[cfg(test)]
mod tests {
    use super::lists;

    #[test]
    fn a_tag_is_found_in_a_list() {
        assert!(lists("\"a\", W/\"b\"", "\"b\"") && lists("*", "\"b\""));
        assert!(!lists("\"a\"", "\"b\"") && !lists("", "\"b\""));
    }
}

//! The site that asks: pages of other sites may link here, and may do nothing else. Bodies are JSON, which a form cannot
//! send.

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};

use crate::problem::Problem;

/// The kinds of a body of traces; the first is that of every other body. A form can send none of them.
const INGESTED: [&str; 3] = ["application/json", "application/x-ndjson", "application/x-protobuf"];

/// Checks a request against the host that it asks.
///
/// # Errors
/// The request comes from a page of another site, or has a body that is not JSON.
pub(crate) fn check(head: &Parts, host: &str) -> Result<(), Problem> {
    let headers = &head.headers;
    if text(headers, "origin").is_some_and(|origin| !is_own(origin, host)) {
        return Err(foreign("Origin"));
    }
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&head.method);
    // A link from another site opens a page at top level, and its script learns nothing of it.
    let is_link = is_safe
        && text(headers, "sec-fetch-mode") == Some("navigate")
        && text(headers, "sec-fetch-dest") == Some("document");
    // Another port of this machine is another site here, though not for browsers.
    let is_foreign = text(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none");
    if is_foreign && !is_link {
        return Err(foreign("Sec-Fetch-Site"));
    }
    let is_ingest = matches!(head.uri.path(), "/traces" | "/v1/traces");
    let kinds: &[&str] = if is_ingest { &INGESTED } else { &INGESTED[..1] };
    if !is_safe && has_body(headers) && !is_one_of(headers, kinds) {
        let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "The body must be JSON");
        return Err(problem.with_detail("send it with `Content-Type: application/json`"));
    }
    Ok(())
}

fn foreign(header: &str) -> Problem {
    Problem::forbidden(format!("the request comes from a page of another site (`{header}`)"))
}

/// Returns whether an origin is the host itself. A proxy may speak https to the browser.
fn is_own(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

fn has_body(headers: &HeaderMap) -> bool {
    let is_empty = text(headers, "content-length").is_none_or(|length| length == "0");
    !is_empty || headers.contains_key(header::TRANSFER_ENCODING) || headers.contains_key(header::CONTENT_TYPE)
}

fn is_one_of(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let kind = text(headers, "content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kinds.iter().any(|known| kind.eq_ignore_ascii_case(known))
}

/// The text of a header; one that is not text is present and equals nothing.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

//! Requests, ready to be sent as often as needed.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri};
use reqwest::Url;

/// What every request says of its sender.
const AGENT: &str = concat!("karat/", env!("CARGO_PKG_VERSION"));

/// A request.
#[derive(Debug)]
pub(crate) struct Letter {
    head: Arc<Head>,
    body: Option<Bytes>,
}

#[derive(Debug)]
struct Head {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    plain: Option<PlainPlace>,
}

/// Where a plain address is, in the two parts that servers are told.
#[derive(Debug)]
pub(crate) struct PlainPlace {
    /// Host, and port where it does not go without saying.
    pub host: Box<str>,
    /// Path and query.
    pub path: Uri,
}

impl Letter {
    /// A request with these headers and those that all have.
    ///
    /// # Errors
    /// Why this is no address that a request can be sent to.
    pub fn new(method: Method, url: &Url, mut headers: HeaderMap, body: Option<Bytes>) -> Result<Self, String> {
        let uri = Uri::try_from(url.as_str()).map_err(|error| error.to_string())?;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        if method == Method::POST {
            headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from_static("0"));
        }
        let plain = if url.scheme() == "http" { PlainPlace::of(url, &uri) } else { None };
        if let Some(PlainPlace { host, .. }) = &plain {
            headers.entry(HOST).or_insert(HeaderValue::from_str(host).map_err(|error| error.to_string())?);
        }
        // The length has its place, and one more is free, which hyper asks for: so the headers of no request have to grow.
        headers.reserve(1);
        Ok(Self { head: Arc::new(Head { method, uri, headers, plain }), body })
    }

    /// The same with this body.
    pub fn with(&self, body: Bytes) -> Self {
        Self { head: self.head.clone(), body: Some(body) }
    }

    /// The whole address.
    pub fn uri(&self) -> &Uri {
        &self.head.uri
    }

    /// Where it goes, if that is a plain address.
    pub fn plain(&self) -> Option<&PlainPlace> {
        self.head.plain.as_ref()
    }

    /// The request, to the whole address or to its path.
    pub fn request<B: From<Bytes>>(&self, uri: &Uri) -> Request<B> {
        let body = self.body.clone().unwrap_or_default();
        let mut headers = self.head.headers.clone();
        if let Some(length) = headers.get_mut(CONTENT_LENGTH) {
            *length = body.len().into();
        }
        let mut request = Request::new(body.into());
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers;
        request
    }
}

impl PlainPlace {
    fn of(url: &Url, uri: &Uri) -> Option<Self> {
        let host = url.host_str()?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Some(Self { host: host.into(), path: uri.path_and_query()?.clone().into() })
    }
}

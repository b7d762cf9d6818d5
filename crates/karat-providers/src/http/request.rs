//! Requests that are built once and sent as often as needed.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use reqwest::{Method, Request, Url};

use crate::http::link_local::{REFUSED, names_link_local};

/// The sender that every request names.
const AGENT: &str = concat!("karat/", env!("CARGO_PKG_VERSION"));

/// An HTTP request without the body of a particular call.
#[derive(Debug, Clone)]
pub(crate) struct PreparedRequest {
    head: Arc<RequestHead>,
    body: Option<Bytes>,
    /// The header of the answer that is read beside its body.
    read_header: Option<HeaderName>,
}

#[derive(Debug)]
struct RequestHead {
    method: Method,
    url: Url,
    headers: HeaderMap,
}

impl PreparedRequest {
    /// A request with these headers and those that all requests have.
    ///
    /// # Errors
    /// The reason why no request can be sent to this address.
    pub fn new(method: Method, url: &Url, mut headers: HeaderMap, body: Option<Bytes>) -> Result<Self, String> {
        // The client would find out only when it sends.
        ::http::Uri::try_from(url.as_str()).map_err(|error| error.to_string())?;
        if names_link_local(url) {
            return Err(format!("it {REFUSED}"));
        }
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        Ok(Self { head: Arc::new(RequestHead { method, url: url.clone(), headers }), body, read_header: None })
    }

    /// The same request, of whose answer this header is read, too.
    #[must_use]
    pub fn reading_header(self, name: Option<HeaderName>) -> Self {
        Self { read_header: name, ..self }
    }

    /// The header of the answer that is read beside its body.
    pub fn read_header(&self) -> Option<&HeaderName> {
        self.read_header.as_ref()
    }

    /// Its body; empty if it has none.
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    /// The same request with this body.
    pub fn with_body(&self, body: Bytes) -> Self {
        Self { body: Some(body), ..self.clone() }
    }

    /// The same request with these headers in place of its own of the same names.
    pub fn with_headers(&self, headers: HeaderMap) -> Self {
        let RequestHead { method, url, headers: own } = &*self.head;
        let mut all = own.clone();
        all.extend(headers);
        Self { head: Arc::new(RequestHead { method: method.clone(), url: url.clone(), headers: all }), ..self.clone() }
    }

    /// A request to another address of the same server, with the same headers except for the type of its body.
    ///
    /// # Errors
    /// The reason why no request can be sent to this address.
    pub fn to_address(&self, method: Method, url: &Url, body: Option<(&str, Bytes)>) -> Result<Self, String> {
        let mut headers = self.head.headers.clone();
        headers.remove(CONTENT_TYPE);
        let (kind, body) = body.unzip();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).map_err(|error| error.to_string())?);
        }
        Self::new(method, url, headers, body)
    }

    /// The whole address.
    pub fn url(&self) -> &Url {
        &self.head.url
    }

    /// The request in the client's form.
    pub fn request(&self) -> Request {
        let RequestHead { method, url, headers } = &*self.head;
        let mut request = Request::new(method.clone(), url.clone());
        *request.headers_mut() = headers.clone();
        match self.body.clone().filter(|body| !body.is_empty()) {
            Some(body) => *request.body_mut() = Some(body.into()),
            // Without a length some servers wait for a body.
            None if method == Method::POST => {
                request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            None => {}
        }
        request
    }
}

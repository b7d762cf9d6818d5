//! Who sends requests: hyper itself where nothing stands between this machine and the address, reqwest elsewhere.
//!
//! What reqwest adds (redirects, of which none is followed, proxies, TLS, retries) costs a tenth of the CPU of a run whose
//! model is as near as a server of one's own ([0017](../../../docs/design/0017-plain-addresses.md)).

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqwest::{NoProxy, Proxy, Url, redirect};

use crate::settings::Settings;

/// Making a connection may take this long; the attempt's timeout bounds it too.
const CONNECT: Duration = Duration::from_secs(15);

/// A connection is asked so often whether it is still alive, and given up after so many questions, or so long.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;
const UNHEARD: Duration = Duration::from_secs(30);

/// Connections that nobody used for so long are closed.
const IDLE: Duration = Duration::from_secs(90);

/// Hosts that are never reached through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// What every request says of its sender.
const AGENT: &str = concat!("karat/", env!("CARGO_PKG_VERSION"));

/// A request, ready to be sent as often as needed.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
}

impl Letter {
    /// A request with these headers and those that all have.
    ///
    /// # Errors
    /// Why this is no address that a request can be sent to.
    pub fn new(method: Method, url: &Url, mut headers: HeaderMap, body: Option<Bytes>) -> Result<Self, String> {
        let uri = Uri::try_from(url.as_str()).map_err(|error| error.to_string())?;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        Ok(Self { method, uri, headers, body })
    }

    fn request<B>(&self, body: B) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// What sends. It follows no redirect, since keys would follow, reads no environment, and reuses connections.
pub(crate) struct Client {
    /// For plain addresses, where no proxy is named for them.
    plain: Option<legacy::Client<HttpConnector, Full<Bytes>>>,
    other: reqwest::Client,
}

/// An answer whose body has not been read.
pub(crate) enum Answered {
    Plain(Response<Incoming>),
    Other(Response<reqwest::Body>),
}

/// Why there is no answer, or no whole one.
pub(crate) struct Trouble {
    /// Whether nobody was reached, so that nothing was sent.
    pub is_unreached: bool,
    /// The innermost cause, which is the one that says something; never with the address, which stands in the message.
    pub cause: String,
}

impl Client {
    /// Builds the client. Without `tls` it trusts nobody's certificate: reading those of the system takes longer than a
    /// run of one sample, and whoever calls plain addresses alone needs none.
    ///
    /// # Errors
    /// When a proxy's address is wrong or the system's certificates cannot be used.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .tcp_keepalive_interval(KEEPALIVE)
            .tcp_keepalive_retries(KEEPALIVE_RETRIES)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(settings.max_connections);
        let proxies = Proxies::of(settings)?;
        let plain = (!proxies.plain).then(|| plain(settings.max_connections));
        let builder = if tls || !proxies.all.is_empty() { builder } else { builder.tls_certs_only([]) };
        let builder = proxies.all.into_iter().fold(builder, reqwest::ClientBuilder::proxy);
        Ok(Self { plain, other: builder.build()? })
    }

    /// Sends a request and waits for the head of its answer.
    pub async fn send(&self, letter: &Letter) -> Result<Answered, Trouble> {
        match &self.plain {
            Some(plain) if letter.uri.scheme() == Some(&Scheme::HTTP) => {
                let body = Full::new(letter.body.clone().unwrap_or_default());
                let sent = plain.request(letter.request(body)).await;
                sent.map(Answered::Plain).map_err(|error| Trouble::new(error.is_connect(), &error))
            }
            // Boxed: the futures of all plain calls would be as large.
            _ => Box::pin(self.send_otherwise(letter)).await.map(Answered::Other),
        }
    }

    async fn send_otherwise(&self, letter: &Letter) -> Result<Response<reqwest::Body>, Trouble> {
        let trouble = |error: reqwest::Error| Trouble::new(error.is_connect(), &error.without_url());
        let body = letter.body.clone().map(reqwest::Body::from).unwrap_or_default();
        let request = reqwest::Request::try_from(letter.request(body)).map_err(trouble)?;
        self.other.execute(request).await.map(Response::from).map_err(trouble)
    }
}

fn plain(max_connections: usize) -> legacy::Client<HttpConnector, Full<Bytes>> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT));
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE));
    connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(UNHEARD));
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(max_connections)
        .build(connector)
}

impl Answered {
    pub fn head(&self) -> (u16, &HeaderMap) {
        match self {
            Self::Plain(response) => (response.status().as_u16(), response.headers()),
            Self::Other(response) => (response.status().as_u16(), response.headers()),
        }
    }

    /// How many bytes the body has, where the answer says so.
    pub fn announced(&self) -> Option<u64> {
        match self {
            Self::Plain(response) => response.body().size_hint().exact(),
            Self::Other(response) => response.body().size_hint().exact(),
        }
    }

    /// The next piece of the body; `None` at its end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Trouble> {
        match self {
            Self::Plain(response) => piece(response.body_mut()).await,
            Self::Other(response) => piece(response.body_mut()).await,
        }
    }
}

/// The next piece of a body; what follows it (trailers) is no piece.
async fn piece<B>(body: &mut B) -> Result<Option<Bytes>, Trouble>
where
    B: Body<Data = Bytes, Error: Error + 'static> + Unpin,
{
    loop {
        let Some(frame) = body.frame().await else { return Ok(None) };
        if let Ok(data) = frame.map_err(|error| Trouble::new(false, &error))?.into_data() {
            return Ok(Some(data));
        }
    }
}

impl Trouble {
    fn new(is_unreached: bool, error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Self { is_unreached, cause: cause.to_string() }
    }
}

/// The proxies that the settings name, in the variables that every tool knows.
struct Proxies {
    all: Vec<Proxy>,
    /// Whether one is named for plain addresses.
    plain: bool,
}

impl Proxies {
    fn of(settings: &Settings) -> reqwest::Result<Self> {
        let value = |upper: &str| settings.lookup(upper).or_else(|| settings.lookup(&upper.to_ascii_lowercase()));
        let except = value("NO_PROXY").map_or(LOOPBACK.to_owned(), |hosts| format!("{hosts},{LOOPBACK}"));
        let (secure, plain) = (value("HTTPS_PROXY"), value("HTTP_PROXY"));
        let is_plain = plain.is_some();
        let named = [secure.map(Proxy::https), plain.map(Proxy::http)].into_iter().flatten();
        let all = named.map(|proxy| Ok(proxy?.no_proxy(NoProxy::from_string(&except))));
        Ok(Self { all: all.collect::<reqwest::Result<_>>()?, plain: is_plain })
    }
}

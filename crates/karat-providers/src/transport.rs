//! The one HTTP client: what it refuses to do, and how bodies are read.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use karat_types::{CallErrorCode, Clock};
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Body, Client, Method, NoProxy, Proxy, Request, Url, redirect};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;
use crate::limiter::exhausted;
use crate::retry::retry_after;
use crate::settings::Settings;

/// Making a connection may take this long; the attempt's timeout bounds it too.
const CONNECT: Duration = Duration::from_secs(15);

/// Answers up to this size need no room of their own: all calls in flight together take little.
const SMALL: usize = 64 * KIB;

const KIB: usize = 1024;

/// Hosts that are never reached through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// One HTTP client for all models. It follows no redirect, since keys would follow, reads no environment, and reuses
/// connections.
pub(crate) struct Transport {
    client: Client,
    max_response: usize,
    /// Room for the answers that are larger than [`SMALL`], in KiB.
    room: Arc<Semaphore>,
    clock: Option<Arc<dyn Clock>>,
}

/// A request, ready to be sent as often as needed.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
}

/// What came back of one attempt, complete or not.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub status: Option<u16>,
    pub location: Option<String>,
    pub retry_after: Option<Duration>,
    /// How long nothing is left of the provider's limits.
    pub exhausted: Option<Duration>,
    pub body: Bytes,
    /// What a large body takes of the memory for answers; given back when it is dropped.
    pub room: Option<OwnedSemaphorePermit>,
}

impl Transport {
    /// Builds the client. Without `tls` it trusts nobody's certificate: reading those of the system takes longer than a
    /// run of one sample, and whoever calls plain addresses alone needs none.
    ///
    /// # Errors
    /// When a proxy's address is wrong or the system's certificates cannot be used.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(settings.max_connections)
            .user_agent(concat!("karat/", env!("CARGO_PKG_VERSION")));
        let proxies = proxies(settings)?;
        let builder = if tls || !proxies.is_empty() { builder } else { builder.tls_certs_only([]) };
        let builder = proxies.into_iter().fold(builder, reqwest::ClientBuilder::proxy);
        let room = Arc::new(Semaphore::new(settings.max_in_memory.max(settings.max_response).div_ceil(KIB)));
        let clock = settings.clock.clone();
        Ok(Self { client: builder.build()?, max_response: settings.max_response, room, clock })
    }

    /// Sends a request. The time runs until the last byte has come; what came before it ran out is kept.
    pub async fn send(&self, letter: &Letter, timeout: Duration) -> (Received, Result<(), Failure>) {
        let mut request = Request::new(letter.method.clone(), letter.url.clone());
        *request.headers_mut() = letter.headers.clone();
        *request.body_mut() = letter.body.clone().map(Body::from);
        let mut received = Received::default();
        let mut pieces = Pieces::default();
        let exchange = tokio::time::timeout(timeout, pin!(self.exchange(request, &mut received, &mut pieces))).await;
        let end = exchange.unwrap_or_else(|_| {
            Err(Failure::new(CallErrorCode::Timeout, format!("gave no complete answer within {timeout:?}")))
        });
        received.body = pieces.into_bytes();
        (received, end)
    }

    async fn exchange(&self, request: Request, received: &mut Received, pieces: &mut Pieces) -> Result<(), Failure> {
        let mut response = self.client.execute(request).await.map_err(unsent)?;
        let header = |name| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        received.status = Some(response.status().as_u16());
        received.location = header(LOCATION);
        received.retry_after = retry_after(response.headers(), || self.now());
        received.exhausted = exhausted(response.headers());
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if announced > self.max_response {
            return Err(self.too_large());
        }
        while let Some(piece) = response.chunk().await.map_err(cut)? {
            let size = pieces.len() + piece.len();
            if size > self.max_response {
                return Err(self.too_large());
            }
            if size > SMALL && received.room.is_none() {
                received.room = self.make_room(announced).await;
            }
            pieces.push(&piece, announced);
        }
        Ok(())
    }

    /// Waits for room for a whole answer at once: those that hold some of it never wait for more, so somebody can always
    /// go on. An answer that does not say its size may become as large as any.
    async fn make_room(&self, announced: usize) -> Option<OwnedSemaphorePermit> {
        let size = if announced == 0 { self.max_response } else { announced };
        // A closed semaphore bounds nothing; this one is never closed.
        let kib = u32::try_from(size.div_ceil(KIB)).unwrap_or(u32::MAX);
        self.room.clone().acquire_many_owned(kib).await.ok()
    }

    fn now(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.clock.as_ref()?.now().0).ok()
    }

    fn too_large(&self) -> Failure {
        let most = self.max_response;
        Failure::new(CallErrorCode::TooLarge, format!("answered with more than the {most} bytes that a reply may have"))
    }
}

/// A body as it comes in. Its pieces are copied: kept, each would keep the whole buffer that the connection read it into,
/// which it then has to allocate anew.
#[derive(Default)]
struct Pieces(Vec<u8>);

impl Pieces {
    fn push(&mut self, piece: &[u8], announced: usize) {
        if self.len() == 0 {
            // What is announced may be a lie: large bodies grow as they come.
            self.0.reserve_exact(announced.min(SMALL).max(piece.len()));
        }
        self.0.extend_from_slice(piece);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn into_bytes(self) -> Bytes {
        self.0.into()
    }
}

fn unsent(error: reqwest::Error) -> Failure {
    if error.is_connect() {
        Failure::new(CallErrorCode::Connect, format!("cannot be reached ({})", cause(error)))
    } else {
        cut(error)
    }
}

fn cut(error: reqwest::Error) -> Failure {
    Failure::new(CallErrorCode::Cut, format!("broke off the answer ({})", cause(error)))
}

/// The innermost cause, which is the one that says something; never with the address, which stands in the message.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The proxies that the settings name, in the variables that every tool knows.
fn proxies(settings: &Settings) -> reqwest::Result<Vec<Proxy>> {
    let value = |upper: &str| settings.lookup(upper).or_else(|| settings.lookup(&upper.to_ascii_lowercase()));
    let except = value("NO_PROXY").map_or(LOOPBACK.to_owned(), |hosts| format!("{hosts},{LOOPBACK}"));
    let mut proxies = Vec::new();
    if let Some(address) = value("HTTPS_PROXY") {
        proxies.push(Proxy::https(address)?);
    }
    if let Some(address) = value("HTTP_PROXY") {
        proxies.push(Proxy::http(address)?);
    }
    Ok(proxies.into_iter().map(|proxy| proxy.no_proxy(NoProxy::from_string(&except))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_in_order() {
        let mut pieces = Pieces::default();
        for piece in ["", "ab", "", "c", "de"] {
            pieces.push(piece.as_bytes(), 0);
        }
        assert_eq!(pieces.len(), 5);
        assert_eq!(pieces.into_bytes(), "abcde");
    }
}

//! One exchange with a server over HTTP: how long it may take, how large it may become, and how bodies are read.
//!
//! It also tells what an attempt that failed may have cost: no connection, nothing billed
//! ([0017](../../../docs/design/0017-one-http-client.md)).

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use karat_types::{CallErrorCode, Clock};
use reqwest::header::LOCATION;
use reqwest::{Client, redirect};
use tokio::time::Instant;

use crate::answer::failure::Failure;
use crate::answer::named_wait::retry_after;
use crate::http::compressed::named_compression;
use crate::http::descriptors;
use crate::http::link_local::{REFUSED, Resolver, is_link_local_error};
use crate::http::proxies::{NamedProxy, ProxyRules};
use crate::http::request::PreparedRequest;
use crate::limiter::exhausted_for;
use crate::limiter::response_memory::{MemoryGrant, ResponseMemory, SMALL};
use crate::registry::settings::Settings;

/// Interval of TCP keep-alive probes, and the number of unanswered ones after which a connection is closed.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;

/// Idle connections are closed after this time.
const IDLE: Duration = Duration::from_secs(90);

/// The HTTP client of all models and services. It follows no redirect, because keys would follow, reads no environment,
/// and reuses connections.
pub(crate) struct Transport {
    client: Client,
    proxies: ProxyRules,
    connect_timeout: Duration,
    max_response: usize,
    /// Memory for answers larger than [`SMALL`].
    response_memory: ResponseMemory,
    clock: Option<Arc<dyn Clock>>,
}

/// The answer to one attempt, complete or not.
#[derive(Debug, Default)]
pub(crate) struct ReceivedResponse {
    pub status: Option<u16>,
    pub location: Option<String>,
    /// The compression that the answer's headers name.
    pub compression: Option<&'static str>,
    pub retry_after: Option<Duration>,
    /// The time for which the provider's limits are exhausted.
    pub exhausted: Option<Duration>,
    /// The value of the header that the request says to read.
    pub header: Option<String>,
    pub body: Bytes,
    /// The memory granted to a large body.
    pub memory: Option<MemoryGrant>,
    /// Its duration, without waits for that memory.
    pub took: Duration,
}

/// The remaining time of an exchange. It runs while this process waits for the server, and not while it waits for
/// memory.
struct TimeLimit {
    left: Duration,
}

impl Transport {
    /// Builds the client. Without `tls` it trusts no certificate: reading those of the system takes longer than a run of
    /// one sample.
    ///
    /// # Errors
    /// A proxy's address is wrong, or the system's certificates cannot be read.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let &Settings { max_response, max_in_memory, max_connections, connect_timeout, .. } = settings;
        // An error means that one is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .tcp_keepalive_interval(KEEPALIVE)
            .tcp_keepalive_retries(KEEPALIVE_RETRIES)
            .connect_timeout(connect_timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(max_connections)
            .dns_resolver(Arc::new(Resolver));
        let builder = if tls { builder } else { builder.tls_certs_only([]) };
        let proxies = ProxyRules::of(settings)?;
        let client = proxies.apply(builder).build()?;
        let memory = ResponseMemory::new(max_in_memory, max_response);
        Ok(Self {
            client,
            proxies,
            connect_timeout,
            max_response,
            response_memory: memory,
            clock: settings.clock.clone(),
        })
    }

    /// Sends a request and reads its answer. The timeout ends with the last byte; what came before it expired is kept.
    pub async fn send(&self, prepared: &PreparedRequest, timeout: Duration) -> (ReceivedResponse, Result<(), Failure>) {
        let mut received = ReceivedResponse::default();
        let mut buffer = BodyBuffer::default();
        let mut time_limit = TimeLimit { left: timeout };
        let end = self.run_exchange(prepared, &mut time_limit, &mut received, &mut buffer).await;
        let end = end.unwrap_or_else(|| {
            let what = format!("did not answer completely within {timeout:?}");
            Err(Failure::new(CallErrorCode::Timeout, what))
        });
        received.took = timeout - time_limit.left;
        received.body = buffer.into_bytes();
        if let Some(grant) = &mut received.memory {
            self.response_memory.begin_storing(grant, received.body.len()).await;
        }
        (received, end)
    }

    /// `None` if the time ran out.
    async fn run_exchange(
        &self,
        prepared: &PreparedRequest,
        time_limit: &mut TimeLimit,
        received: &mut ReceivedResponse,
        buffer: &mut BodyBuffer,
    ) -> Option<Result<(), Failure>> {
        let mut response = match time_limit.run(self.client.execute(prepared.request())).await? {
            Ok(response) => response,
            Err(error) => return Some(Err(self.send_failure(error, prepared))),
        };
        let headers = response.headers();
        received.status = Some(response.status().as_u16());
        received.location = headers.get(LOCATION).and_then(|value| Some(value.to_str().ok()?.to_owned()));
        received.compression = named_compression(headers);
        received.retry_after = retry_after(headers, || self.now());
        received.exhausted = exhausted_for(headers);
        let wanted = prepared.read_header().and_then(|name| headers.get(name));
        received.header = wanted.and_then(|value| Some(value.to_str().ok()?.to_owned()));
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if announced > self.max_response {
            return Some(Err(self.too_large()));
        }
        buffer.reserve(announced.min(SMALL));
        loop {
            let chunk = match time_limit.run(pin!(response.chunk())).await? {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Some(Ok(())),
                Err(error) => return Some(Err(cut_failure(&innermost(&error.without_url())))),
            };
            let size = buffer.len() + chunk.len();
            if size > self.max_response {
                return Some(Err(self.too_large()));
            }
            if size > SMALL {
                let grant = received.memory.get_or_insert_default();
                buffer.reserve(self.response_memory.grow(grant, size, announced).await);
            }
            buffer.push(&chunk);
        }
    }

    /// The proxy between this machine and the address of a request.
    pub fn proxy(&self, prepared: &PreparedRequest) -> Option<&NamedProxy> {
        self.proxies.before(prepared.url())
    }

    /// The failure of a request without the head of an answer. If the connection failed, nothing was sent.
    fn send_failure(&self, error: reqwest::Error, prepared: &PreparedRequest) -> Failure {
        let error = error.without_url();
        let cause = innermost(&error);
        if !error.is_connect() {
            return if cause == TOO_MANY_HEADERS { head_too_large() } else { cut_failure(&cause) };
        }
        if is_link_local_error(&error) {
            return Failure::new(CallErrorCode::BadRequest, REFUSED.to_owned());
        }
        if causes(&error).any(|cause| cause.downcast_ref().is_some_and(descriptors::is_out_of_descriptors)) {
            return Failure::without_descriptor("cannot be reached");
        }
        if let Some(fault) = causes(&error).find_map(tls_error) {
            let TlsFault { what, remedy } = TlsFault::of(fault);
            let failure = Failure::new(CallErrorCode::Connect, format!("cannot be reached: {what}"));
            return Failure { retry: false, is_unreachable: true, remedy: Some(remedy), ..failure };
        }
        let is_unreachable = is_unreachable(&error);
        let cause = if error.is_timeout() { format!("no connection within {:?}", self.connect_timeout) } else { cause };
        let failure = match self.proxy(prepared) {
            Some(proxy) => proxy.connect_failure(&cause),
            None => Failure::new(CallErrorCode::Connect, format!("cannot be reached ({cause})")),
        };
        Failure { is_unreachable, ..failure }
    }

    fn now(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.clock.as_ref()?.now().0).ok()
    }

    fn too_large(&self) -> Failure {
        let most = self.max_response;
        Failure::new(CallErrorCode::TooLarge, format!("answered with more than the {most} bytes that a reply may have"))
    }
}

impl TimeLimit {
    /// Runs `work` within the remaining time; `None` if that does not suffice.
    async fn run<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let started = Instant::now();
        let done = tokio::time::timeout(self.left, work).await.ok();
        self.left = self.left.saturating_sub(started.elapsed());
        done
    }
}

/// A body as it arrives. Chunks are copied: kept, each would keep the whole read buffer of its connection alive, and
/// the connection would have to allocate a new one.
#[derive(Default)]
struct BodyBuffer(Vec<u8>);

impl BodyBuffer {
    /// Reserves capacity for this number of bytes in total.
    fn reserve(&mut self, bytes: usize) {
        self.0.reserve_exact(bytes.saturating_sub(self.0.len()));
    }

    fn push(&mut self, chunk: &[u8]) {
        self.0.extend_from_slice(chunk);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn into_bytes(self) -> Bytes {
        self.0.into()
    }
}

/// hyper's words for an answer whose head is larger than it reads; its error type does not say so to clients.
const TOO_MANY_HEADERS: &str = "message head is too large";

fn head_too_large() -> Failure {
    Failure::of_gateway("with more headers than can be read (100 lines, 64 KiB)")
}

fn cut_failure(cause: &str) -> Failure {
    Failure::new(CallErrorCode::Cut, format!("broke off the answer ({cause})"))
}

/// The beginning of the message of an unknown host; hyper's connector gives it no type of its own.
const UNKNOWN_HOST: &str = "failed to lookup address information";

/// Returns whether nothing listens at an address, or its host is unknown.
fn is_unreachable(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| match cause.downcast_ref::<std::io::Error>() {
        Some(error) => {
            error.kind() == std::io::ErrorKind::ConnectionRefused || error.to_string().starts_with(UNKNOWN_HOST)
        }
        None => false,
    })
}

/// An error and its causes, the innermost last.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let outermost: &(dyn Error + 'static) = error;
    std::iter::successors(Some(outermost), |error: &&(dyn Error + 'static)| (*error).source())
}

/// The error of TLS that a cause wraps, in one error of the system or in several.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut cause = cause;
    loop {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        cause = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    }
}

/// A connection that TLS refuses, which no further attempt changes: what is wrong, and what helps.
struct TlsFault {
    what: String,
    remedy: String,
}

impl TlsFault {
    fn of(error: &rustls::Error) -> Self {
        use rustls::CertificateError::{
            Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext, Revoked,
        };
        let (what, remedy) = match error {
            rustls::Error::InvalidMessage(_) => {
                ("the server does not speak https", "write `http://` in its address, or check the port")
            }
            rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }) => {
                ("the server's certificate has expired", "renew it, and check the clock of this machine")
            }
            rustls::Error::InvalidCertificate(NotValidYet | NotValidYetContext { .. }) => {
                ("the server's certificate is not valid yet", "check the clock of this machine")
            }
            rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => (
                "the server's certificate is for another host",
                "write the host in its address as the certificate names it",
            ),
            rustls::Error::InvalidCertificate(Revoked) => {
                ("the server's certificate was revoked", "ask whoever runs the server for another one")
            }
            rustls::Error::InvalidCertificate(_) => (
                "the server's certificate is not signed by an authority that this machine trusts",
                "set SSL_CERT_FILE to a PEM file with the authority's certificate, or with the server's own if it signed itself",
            ),
            rustls::Error::AlertReceived(_) => (
                "the server refused the TLS connection",
                "check the host and port of its address, and whether it asks for a certificate of the client",
            ),
            _ => ("no TLS connection can be made", "check the host and port of its address"),
        };
        Self { what: what.to_owned(), remedy: remedy.to_owned() }
    }
}

/// The innermost cause, which is the one that explains something.
fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use reqwest::header::HeaderMap;
    use reqwest::{Method, Url};
    use testkit::{Behaviour, FakeProvider};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(60);

    fn prepared(url: &str) -> PreparedRequest {
        PreparedRequest::new(Method::GET, &Url::parse(url).unwrap(), HeaderMap::new(), None).unwrap()
    }

    fn transport(max_response: usize, max_in_memory: usize) -> Transport {
        let settings = Settings { max_response, max_in_memory, ..Settings::new(|_| None) };
        Transport::new(&settings, false).unwrap()
    }

    /// BY-09, PE-27: a large answer waits until the one before it is on disk. That wait does not count as the server's:
    /// the answer would be paid and given up.
    #[tokio::test]
    async fn a_wait_for_memory_does_not_count_as_the_servers() {
        let server = FakeProvider::start(Behaviour::raw(200, "x".repeat(2 * SMALL))).unwrap();
        let (transport, prepared) = (transport(2 * SMALL, 0), prepared(&server.url()));
        let (first, _) = transport.send(&prepared, LONG).await;
        let written = async {
            while !transport.response_memory.has_waiters() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::pause();
            tokio::time::advance(2 * LONG).await;
            tokio::time::resume();
            drop(first);
        };
        let ((second, end), ()) = tokio::join!(transport.send(&prepared, LONG), written);
        assert!(end.is_ok() && second.body.len() == 2 * SMALL);
        assert!(second.took < LONG, "{:?}", second.took);
    }

    /// F58: faults of TLS are told in own words with the remedy, and are not tried again.
    #[tokio::test]
    async fn faults_of_tls_have_a_remedy() {
        use rustls::{CertificateError, Error};
        let server = FakeProvider::start(Behaviour::ok("plain http")).unwrap();
        let prepared = prepared(&server.url().replace("http://", "https://"));
        let (_, end) = transport(SMALL, 0).send(&prepared, LONG).await;
        let failure = end.unwrap_err();
        assert!(!failure.retry && failure.is_unreachable, "{failure:?}");
        assert_eq!(failure.what, "cannot be reached: the server does not speak https");
        assert!(failure.remedy.is_some_and(|remedy| remedy.contains("`http://`")));
        for (error, what, remedy) in [
            (CertificateError::Expired, "has expired", "clock"),
            (CertificateError::NotValidForName, "another host", "names it"),
            (CertificateError::UnknownIssuer, "is not signed by", "SSL_CERT_FILE"),
            (CertificateError::BadEncoding, "is not signed by", "SSL_CERT_FILE"),
            (CertificateError::NotValidYet, "not valid yet", "clock"),
        ] {
            let fault = TlsFault::of(&Error::InvalidCertificate(error));
            assert!(fault.what.contains(what) && fault.remedy.contains(remedy), "{} {}", fault.what, fault.remedy);
        }
    }

    /// BY-09: announced bytes take no memory before they arrive; arrived bytes do, rounded up to the granted step.
    #[tokio::test]
    async fn announced_bytes_take_no_memory_before_they_come() {
        const MOST: usize = 8 << 20;
        let stalled = |bytes| Behaviour::Stall { announced: MOST as u64, body: vec![b'x'; bytes].into() };
        for (come, most) in [(1, SMALL), (SMALL + 1, 1 << 20)] {
            let server = FakeProvider::start(stalled(come)).unwrap();
            let (transport, prepared) = (transport(MOST, 512 << 20), prepared(&server.url()));
            let taken = join_all((0..100).map(async |_| {
                let (mut received, mut buffer) = (ReceivedResponse::default(), BodyBuffer::default());
                let mut time_limit = TimeLimit { left: Duration::from_millis(500) };
                let end = transport.run_exchange(&prepared, &mut time_limit, &mut received, &mut buffer).await;
                assert!(end.is_none(), "it hangs");
                buffer.0.capacity()
            }));
            let taken = taken.await;
            assert!(taken.iter().all(|taken| *taken <= most), "{taken:?}");
        }
    }

    /// PE-27: an announced length is only a claim: if less comes, the answer broke off; bytes beyond it are not part of
    /// the answer.
    #[tokio::test]
    async fn a_wrong_content_length_does_no_harm() {
        const LARGE: usize = 2 << 20;
        for announced in [10, SMALL, LARGE - 1, LARGE, LARGE + 1, 2 * LARGE] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let answering = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await.unwrap();
                let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {announced}\r\n\r\n").into_bytes();
                answer.resize(answer.len() + LARGE, b'x');
                // A client that has all announced bytes reads no further.
                let _ = stream.write_all(&answer).await;
            };
            let (transport, prepared) = (transport(4 * LARGE, 64 * LARGE), prepared(&url));
            let ((received, end), ()) = tokio::join!(transport.send(&prepared, LONG), answering);
            assert_eq!(received.body.len(), announced.min(LARGE));
            assert_eq!(end.err().map(|failure| failure.code), (announced > LARGE).then_some(CallErrorCode::Cut));
        }
    }

    /// Serves connections one after the other, each with these answers, one for each request, and closes each after its
    /// last answer. Returns the address, and the number of requests of each connection.
    async fn server(connections: Vec<Vec<String>>) -> (PreparedRequest, tokio::task::JoinHandle<Vec<usize>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let prepared = prepared(&format!("http://{}/v1?q=1", listener.local_addr().unwrap()));
        let served = tokio::spawn(async move {
            let mut requests = Vec::new();
            for answers in connections {
                let (mut stream, _) = listener.accept().await.unwrap();
                requests.push(0);
                for answer in answers {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    assert!(head.starts_with(b"GET /v1?q=1 HTTP/1.1\r\n"), "{}", head.escape_ascii());
                    *requests.last_mut().unwrap() += 1;
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
            requests
        });
        (prepared, served)
    }

    fn sized(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    async fn read(transport: &Transport, prepared: &PreparedRequest) -> Result<String, CallErrorCode> {
        let (received, end) = transport.send(prepared, LONG).await;
        // The connection returns to the pool, or is found closed, in the background.
        tokio::time::sleep(Duration::from_millis(20)).await;
        end.map(|()| String::from_utf8(received.body.into()).unwrap()).map_err(|failure| failure.code)
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        let long = "long ".repeat(200_000);
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_owned();
        let empty = "HTTP/1.1 204 No Content\r\n\r\n".to_owned();
        let (prepared, served) = server(vec![vec![sized("one"), chunked, sized(&long), empty, sized("")]]).await;
        let transport = transport(8 << 20, 64 << 20);
        for expected in ["one", "abcde", &long, "", ""] {
            assert_eq!(read(&transport, &prepared).await.unwrap(), expected);
        }
        assert_eq!(served.await.unwrap(), [5]);
    }

    /// A connection that the server has closed between two exchanges costs no attempt.
    #[tokio::test]
    async fn a_closed_connection_is_replaced() {
        let until_end = "HTTP/1.1 200 OK\r\n\r\nto the end".to_owned();
        let (prepared, served) = server(vec![vec![sized("one")], vec![until_end], vec![sized("three")]]).await;
        let transport = transport(8 << 20, 64 << 20);
        for expected in ["one", "to the end", "three"] {
            assert_eq!(read(&transport, &prepared).await.unwrap(), expected);
        }
        assert_eq!(served.await.unwrap(), [1, 1, 1]);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
        let (prepared, served) = server(vec![vec![cut], vec![String::new()], vec![sized("whole")]]).await;
        let transport = transport(8 << 20, 64 << 20);
        assert_eq!(read(&transport, &prepared).await, Err(CallErrorCode::Cut));
        assert_eq!(read(&transport, &prepared).await, Err(CallErrorCode::Cut));
        assert_eq!(read(&transport, &prepared).await.unwrap(), "whole");
        assert_eq!(served.await.unwrap(), [1, 1, 1]);
    }

    #[test]
    fn pieces_are_joined_in_order() {
        let mut buffer = BodyBuffer::default();
        for chunk in ["", "ab", "", "c", "de"] {
            buffer.push(chunk.as_bytes());
        }
        assert_eq!(buffer.len(), 5);
        assert_eq!(buffer.into_bytes(), "abcde");
    }
}

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

use crate::compressed::named;
use crate::descriptors;
use crate::failure::Failure;
use crate::letter::Letter;
use crate::limiter::exhausted;
use crate::proxies::{NamedProxy, ProxyRules};
use crate::retry::retry_after;
use crate::room::{Room, Rooms, SMALL};
use crate::settings::Settings;

/// A silent connection is asked so often whether it is still alive, and given up after so many questions.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;

/// Connections that are unused for so long are closed.
const IDLE: Duration = Duration::from_secs(90);

/// The HTTP client of all models and services. It follows no redirect, since keys would follow, reads no environment, and
/// reuses connections.
pub(crate) struct Transport {
    client: Client,
    proxies: ProxyRules,
    connect_timeout: Duration,
    max_response: usize,
    /// Room for the answers that are larger than [`SMALL`].
    rooms: Rooms,
    clock: Option<Arc<dyn Clock>>,
}

/// What came back of one attempt, complete or not.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub status: Option<u16>,
    pub location: Option<String>,
    /// How the answer says that it is compressed.
    pub compression: Option<&'static str>,
    pub retry_after: Option<Duration>,
    /// How long nothing is left of the provider's limits.
    pub exhausted: Option<Duration>,
    pub body: Bytes,
    /// What a large body takes of the memory for answers.
    pub room: Option<Room>,
    /// How long it took. Waits for that memory are not in it.
    pub took: Duration,
}

/// The time that an exchange may take. It runs while the server is waited for, and not while this machine is.
struct Allowance {
    left: Duration,
}

impl Transport {
    /// Builds the client. Without `tls` it trusts no certificate: reading those of the system takes longer than a run of
    /// one sample.
    ///
    /// # Errors
    /// When a proxy's address is wrong or the system's certificates cannot be used.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let &Settings { max_response, max_in_memory, max_connections, connect_timeout, .. } = settings;
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .tcp_keepalive_interval(KEEPALIVE)
            .tcp_keepalive_retries(KEEPALIVE_RETRIES)
            .connect_timeout(connect_timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(max_connections);
        let builder = if tls { builder } else { builder.tls_certs_only([]) };
        let proxies = ProxyRules::of(settings)?;
        let client = proxies.apply(builder).build()?;
        let rooms = Rooms::new(max_in_memory, max_response);
        Ok(Self { client, proxies, connect_timeout, max_response, rooms, clock: settings.clock.clone() })
    }

    /// Sends a request. The time runs until the last byte has come; what came before it ran out is kept.
    pub async fn send(&self, letter: &Letter, timeout: Duration) -> (Received, Result<(), Failure>) {
        let mut received = Received::default();
        let mut pieces = Pieces::default();
        let mut allowance = Allowance { left: timeout };
        let end = self.exchange(letter, &mut allowance, &mut received, &mut pieces).await;
        let end = end.unwrap_or_else(|| {
            let what = format!("gave no complete answer within {timeout:?}");
            Err(Failure::new(CallErrorCode::Timeout, what))
        });
        received.took = timeout - allowance.left;
        received.body = pieces.into_bytes();
        if let Some(room) = &mut received.room {
            self.rooms.go_on(room, received.body.len()).await;
        }
        (received, end)
    }

    /// `None` when the time ran out.
    async fn exchange(
        &self,
        letter: &Letter,
        allowance: &mut Allowance,
        received: &mut Received,
        pieces: &mut Pieces,
    ) -> Option<Result<(), Failure>> {
        let mut response = match allowance.within(self.client.execute(letter.request())).await? {
            Ok(response) => response,
            Err(error) => return Some(Err(self.unanswered(error, letter))),
        };
        let headers = response.headers();
        received.status = Some(response.status().as_u16());
        received.location = headers.get(LOCATION).and_then(|value| Some(value.to_str().ok()?.to_owned()));
        received.compression = named(headers);
        received.retry_after = retry_after(headers, || self.now());
        received.exhausted = exhausted(headers);
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if announced > self.max_response {
            return Some(Err(self.too_large()));
        }
        pieces.reserve(announced.min(SMALL));
        loop {
            let piece = match allowance.within(pin!(response.chunk())).await? {
                Ok(Some(piece)) => piece,
                Ok(None) => return Some(Ok(())),
                Err(error) => return Some(Err(cut(&innermost(&error.without_url())))),
            };
            let size = pieces.len() + piece.len();
            if size > self.max_response {
                return Some(Err(self.too_large()));
            }
            if size > SMALL {
                let room = received.room.get_or_insert_default();
                pieces.reserve(self.rooms.grow(room, size, announced).await);
            }
            pieces.push(&piece);
        }
    }

    /// The proxy between this machine and the address of a letter.
    pub fn proxy(&self, letter: &Letter) -> Option<&NamedProxy> {
        self.proxies.before(letter.url())
    }

    /// No head of an answer came. A connection that failed has sent nothing.
    fn unanswered(&self, error: reqwest::Error, letter: &Letter) -> Failure {
        let error = error.without_url();
        let cause = innermost(&error);
        if !error.is_connect() {
            return if cause == TOO_MANY_HEADERS { overlong() } else { cut(&cause) };
        }
        if causes(&error).any(|cause| cause.downcast_ref().is_some_and(descriptors::are_missing)) {
            return Failure::starved("cannot be reached");
        }
        let cause = if error.is_timeout() { format!("no connection within {:?}", self.connect_timeout) } else { cause };
        match self.proxy(letter) {
            Some(proxy) => proxy.unreached(&cause),
            None => Failure::new(CallErrorCode::Connect, format!("cannot be reached ({cause})")),
        }
    }

    fn now(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.clock.as_ref()?.now().0).ok()
    }

    fn too_large(&self) -> Failure {
        let most = self.max_response;
        Failure::new(CallErrorCode::TooLarge, format!("answered with more than the {most} bytes that a reply may have"))
    }
}

impl Allowance {
    /// Does something with what is left of the time; `None` when that does not suffice.
    async fn within<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let begun = Instant::now();
        let done = tokio::time::timeout(self.left, work).await.ok();
        self.left = self.left.saturating_sub(begun.elapsed());
        done
    }
}

/// A body as it comes in. Its pieces are copied: kept, each would keep the whole buffer that the connection read it into,
/// which it then has to allocate anew.
#[derive(Default)]
struct Pieces(Vec<u8>);

impl Pieces {
    /// Makes place for so many bytes in all.
    fn reserve(&mut self, bytes: usize) {
        self.0.reserve_exact(bytes.saturating_sub(self.0.len()));
    }

    fn push(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
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

fn overlong() -> Failure {
    Failure::of_gateway("with more headers than can be read (100 lines, 64 KiB)")
}

fn cut(cause: &str) -> Failure {
    Failure::new(CallErrorCode::Cut, format!("broke off the answer ({cause})"))
}

/// An error and its causes, the innermost last.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let outermost: &(dyn Error + 'static) = error;
    std::iter::successors(Some(outermost), |error: &&(dyn Error + 'static)| (*error).source())
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

    fn letter(url: &str) -> Letter {
        Letter::new(Method::GET, &Url::parse(url).unwrap(), HeaderMap::new(), None).unwrap()
    }

    fn transport(max_response: usize, max_in_memory: usize) -> Transport {
        let settings = Settings { max_response, max_in_memory, ..Settings::new(|_| None) };
        Transport::new(&settings, false).unwrap()
    }

    /// BY-09, PE-27: a large answer waits until the one before it is on disk. That wait is none of the server's time: the
    /// answer would be paid and given up.
    #[tokio::test]
    async fn a_wait_for_memory_is_none_for_the_server() {
        let server = FakeProvider::start(Behaviour::raw(200, "x".repeat(2 * SMALL))).unwrap();
        let (transport, letter) = (transport(2 * SMALL, 0), letter(&server.url()));
        let (first, _) = transport.send(&letter, LONG).await;
        let written = async {
            while !transport.rooms.are_waited_for() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::pause();
            tokio::time::advance(2 * LONG).await;
            tokio::time::resume();
            drop(first);
        };
        let ((second, end), ()) = tokio::join!(transport.send(&letter, LONG), written);
        assert!(end.is_ok() && second.body.len() == 2 * SMALL);
        assert!(second.took < LONG, "{:?}", second.took);
    }

    /// BY-09: what an answer announces takes no memory; what has come of it does, and the step that was granted for it.
    #[tokio::test]
    async fn announced_bytes_take_no_memory_before_they_come() {
        const MOST: usize = 8 << 20;
        let stalled = |bytes| Behaviour::Stall { announced: MOST as u64, body: vec![b'x'; bytes].into() };
        for (come, most) in [(1, SMALL), (SMALL + 1, 1 << 20)] {
            let server = FakeProvider::start(stalled(come)).unwrap();
            let (transport, letter) = (transport(MOST, 512 << 20), letter(&server.url()));
            let taken = join_all((0..100).map(async |_| {
                let (mut received, mut pieces) = (Received::default(), Pieces::default());
                let mut allowance = Allowance { left: Duration::from_millis(500) };
                let end = transport.exchange(&letter, &mut allowance, &mut received, &mut pieces).await;
                assert!(end.is_none(), "it hangs");
                pieces.0.capacity()
            }));
            let taken = taken.await;
            assert!(taken.iter().all(|taken| *taken <= most), "{taken:?}");
        }
    }

    /// PE-27: what an answer announces is no more than a word: more than comes is an answer that broke off, and what comes
    /// beyond it is no part of the answer.
    #[tokio::test]
    async fn lies_about_the_size_do_no_harm() {
        const LARGE: usize = 2 << 20;
        for announced in [10, SMALL, LARGE - 1, LARGE, LARGE + 1, 2 * LARGE] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let answering = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await.unwrap();
                let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {announced}\r\n\r\n").into_bytes();
                answer.resize(answer.len() + LARGE, b'x');
                // Who has all that was announced reads no further.
                let _ = stream.write_all(&answer).await;
            };
            let (transport, letter) = (transport(4 * LARGE, 64 * LARGE), letter(&url));
            let ((received, end), ()) = tokio::join!(transport.send(&letter, LONG), answering);
            assert_eq!(received.body.len(), announced.min(LARGE));
            assert_eq!(end.err().map(|failure| failure.code), (announced > LARGE).then_some(CallErrorCode::Cut));
        }
    }

    /// Serves one connection after the other, each with these answers, one a request; a connection is closed behind its
    /// last. Returns the address, and how many requests came over each connection.
    async fn server(connections: Vec<Vec<String>>) -> (Letter, tokio::task::JoinHandle<Vec<usize>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let letter = letter(&format!("http://{}/v1?q=1", listener.local_addr().unwrap()));
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
        (letter, served)
    }

    fn sized(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    async fn read(transport: &Transport, letter: &Letter) -> Result<String, CallErrorCode> {
        let (received, end) = transport.send(letter, LONG).await;
        // The connection goes back to the pool, or is found closed, by itself.
        tokio::time::sleep(Duration::from_millis(20)).await;
        end.map(|()| String::from_utf8(received.body.into()).unwrap()).map_err(|failure| failure.code)
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        let long = "long ".repeat(200_000);
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_owned();
        let empty = "HTTP/1.1 204 No Content\r\n\r\n".to_owned();
        let (letter, served) = server(vec![vec![sized("one"), chunked, sized(&long), empty, sized("")]]).await;
        let transport = transport(8 << 20, 64 << 20);
        for expected in ["one", "abcde", &long, "", ""] {
            assert_eq!(read(&transport, &letter).await.unwrap(), expected);
        }
        assert_eq!(served.await.unwrap(), [5]);
    }

    /// A connection that the server has closed between two exchanges costs no attempt.
    #[tokio::test]
    async fn a_closed_connection_is_replaced() {
        let until_end = "HTTP/1.1 200 OK\r\n\r\nto the end".to_owned();
        let (letter, served) = server(vec![vec![sized("one")], vec![until_end], vec![sized("three")]]).await;
        let transport = transport(8 << 20, 64 << 20);
        for expected in ["one", "to the end", "three"] {
            assert_eq!(read(&transport, &letter).await.unwrap(), expected);
        }
        assert_eq!(served.await.unwrap(), [1, 1, 1]);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
        let (letter, served) = server(vec![vec![cut], vec![String::new()], vec![sized("whole")]]).await;
        let transport = transport(8 << 20, 64 << 20);
        assert_eq!(read(&transport, &letter).await, Err(CallErrorCode::Cut));
        assert_eq!(read(&transport, &letter).await, Err(CallErrorCode::Cut));
        assert_eq!(read(&transport, &letter).await.unwrap(), "whole");
        assert_eq!(served.await.unwrap(), [1, 1, 1]);
    }

    #[test]
    fn pieces_are_joined_in_order() {
        let mut pieces = Pieces::default();
        for piece in ["", "ab", "", "c", "de"] {
            pieces.push(piece.as_bytes());
        }
        assert_eq!(pieces.len(), 5);
        assert_eq!(pieces.into_bytes(), "abcde");
    }
}

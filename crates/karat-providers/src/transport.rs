//! One exchange with a server: how long it may take, how large it may become, and how bodies are read.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::LOCATION;
use jiff::Timestamp;
use karat_types::{CallErrorCode, Clock};
use tokio::time::Instant;

use crate::client::Client;
use crate::compressed::named;
use crate::failure::Failure;
use crate::letter::Letter;
use crate::limiter::exhausted;
use crate::plain::{Trouble, TroubleKind};
use crate::proxies::NamedProxy;
use crate::retry::retry_after;
use crate::room::{Room, Rooms, SMALL};
use crate::settings::Settings;

/// The one way to servers, for all models.
pub(crate) struct Transport {
    client: Client,
    max_response: usize,
    /// Room for the answers that are larger than [`SMALL`].
    rooms: Rooms,
    clock: Option<Arc<dyn Clock>>,
}

/// What came back of one attempt, complete or not.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Whether something may have been sent.
    pub is_reached: bool,
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
    /// Without `tls` it trusts nobody's certificate ([`Client::new`]).
    ///
    /// # Errors
    /// When a proxy's address is wrong or the system's certificates cannot be used.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let client = Client::new(settings, tls)?;
        let rooms = Rooms::new(settings.max_in_memory, settings.max_response);
        Ok(Self { client, max_response: settings.max_response, rooms, clock: settings.clock.clone() })
    }

    /// Sends a request. The time runs until the last byte has come; what came before it ran out is kept.
    pub async fn send(&self, letter: &Letter, timeout: Duration) -> (Received, Result<(), Failure>) {
        let mut received = Received::default();
        let mut pieces = Pieces::default();
        let mut allowance = Allowance { left: timeout };
        let end = self.exchange(letter, &mut allowance, &mut received, &mut pieces).await;
        let end = end.unwrap_or_else(|| Err(self.late(letter, received.is_reached, timeout)));
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
        let answered = allowance.within(pin!(self.client.send(letter, &mut received.is_reached))).await?;
        let mut answered = match answered {
            Ok(answered) => answered,
            Err(trouble) => return Some(Err(self.unsent(trouble, letter))),
        };
        let (status, headers) = answered.head();
        received.status = Some(status);
        received.location = headers.get(LOCATION).and_then(|value| Some(value.to_str().ok()?.to_owned()));
        received.compression = named(headers);
        received.retry_after = retry_after(headers, || self.now());
        received.exhausted = exhausted(headers);
        let announced = answered.announced().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if announced > self.max_response {
            return Some(Err(self.too_large()));
        }
        pieces.reserve(announced.min(SMALL));
        loop {
            let piece = match allowance.within(pin!(answered.piece())).await? {
                Ok(Some(piece)) => piece,
                Ok(None) => return Some(Ok(())),
                Err(trouble) => return Some(Err(cut(trouble))),
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

    /// The proxy that stands before whom a letter goes to.
    pub fn proxy(&self, letter: &Letter) -> Option<&NamedProxy> {
        self.client.proxy(letter.uri())
    }

    fn unsent(&self, trouble: Trouble, letter: &Letter) -> Failure {
        match trouble.kind {
            TroubleKind::Starved => Failure::starved("cannot be reached"),
            TroubleKind::Unreached => self.unreached(letter, &trouble.cause),
            TroubleKind::Overlong => Failure::of_gateway("with more headers than can be read (100 lines, 64 KiB)"),
            TroubleKind::Cut => cut(trouble),
        }
    }

    /// The time ran out. Without a connection nothing was sent, so nothing can have been billed.
    fn late(&self, letter: &Letter, is_reached: bool, timeout: Duration) -> Failure {
        match is_reached {
            true => Failure::new(CallErrorCode::Timeout, format!("gave no complete answer within {timeout:?}")),
            false => self.unreached(letter, &format!("no connection within {timeout:?}")),
        }
    }

    fn unreached(&self, letter: &Letter, cause: &str) -> Failure {
        match self.proxy(letter) {
            Some(proxy) => proxy.unreached(cause),
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

fn cut(trouble: Trouble) -> Failure {
    Failure::new(CallErrorCode::Cut, format!("broke off the answer ({})", trouble.cause))
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use hyper::Method;
    use hyper::header::HeaderMap;
    use reqwest::Url;
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

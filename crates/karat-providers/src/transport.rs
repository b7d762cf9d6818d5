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
        let end = end.unwrap_or_else(|| Err(late(received.is_reached, timeout)));
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
        pieces.reserve(announced);
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
                self.rooms.grow(received.room.get_or_insert_default(), size, announced).await;
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
            TroubleKind::Unreached => match self.proxy(letter) {
                Some(proxy) => proxy.unreached(&trouble.cause),
                None => Failure::new(CallErrorCode::Connect, format!("cannot be reached ({})", trouble.cause)),
            },
            TroubleKind::Overlong => Failure::of_gateway("with more headers than can be read (100 lines, 64 KiB)"),
            TroubleKind::Cut => cut(trouble),
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
    fn reserve(&mut self, announced: usize) {
        self.0.reserve_exact(announced);
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

/// The time ran out. Without a connection nothing was sent, so nothing can have been billed.
fn late(is_reached: bool, timeout: Duration) -> Failure {
    match is_reached {
        true => Failure::new(CallErrorCode::Timeout, format!("gave no complete answer within {timeout:?}")),
        false => Failure::new(CallErrorCode::Connect, format!("cannot be reached (no connection within {timeout:?})")),
    }
}

fn cut(trouble: Trouble) -> Failure {
    Failure::new(CallErrorCode::Cut, format!("broke off the answer ({})", trouble.cause))
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use hyper::header::HeaderMap;
    use reqwest::Url;
    use testkit::{Behaviour, FakeProvider};

    use super::*;

    /// BY-09, PE-27: a large answer waits until the one before it is on disk. That wait is none of the server's time: the
    /// answer would be paid and given up.
    #[tokio::test]
    async fn a_wait_for_memory_is_none_for_the_server() {
        let server = FakeProvider::start(Behaviour::raw(200, "x".repeat(2 * SMALL))).unwrap();
        let mut settings = Settings::new(|_| None);
        (settings.max_response, settings.max_in_memory) = (2 * SMALL, 0);
        let transport = Transport::new(&settings, false).unwrap();
        let url = Url::parse(&server.url()).unwrap();
        let letter = Letter::new(Method::GET, &url, HeaderMap::new(), None).unwrap();
        let (limit, writing) = (Duration::from_secs(2), Duration::from_secs(3));
        let (first, _) = transport.send(&letter, limit).await;
        let written = async {
            tokio::time::sleep(writing).await;
            drop(first);
        };
        let begun = Instant::now();
        let ((second, end), ()) = tokio::join!(transport.send(&letter, limit), written);
        assert!(end.is_ok() && second.body.len() == 2 * SMALL);
        assert!(begun.elapsed() >= writing && second.took < limit, "{:?}", second.took);
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

//! One exchange with a server: how long it may take, how large it may become, and how bodies are read.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::LOCATION;
use jiff::Timestamp;
use karat_types::{CallErrorCode, Clock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::client::Client;
use crate::compressed::named;
use crate::failure::Failure;
use crate::letter::Letter;
use crate::limiter::exhausted;
use crate::plain::Trouble;
use crate::proxies::NamedProxy;
use crate::retry::retry_after;
use crate::settings::Settings;

/// Answers up to this size need no room of their own: all calls in flight together take little.
const SMALL: usize = 64 * KIB;

const KIB: usize = 1024;

/// The one way to servers, for all models.
pub(crate) struct Transport {
    client: Client,
    max_response: usize,
    /// Room for the answers that are larger than [`SMALL`], in KiB.
    room: Arc<Semaphore>,
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
    /// What a large body takes of the memory for answers; given back when it is dropped.
    pub room: Option<OwnedSemaphorePermit>,
}

impl Transport {
    /// Without `tls` it trusts nobody's certificate ([`Client::new`]).
    ///
    /// # Errors
    /// When a proxy's address is wrong or the system's certificates cannot be used.
    pub fn new(settings: &Settings, tls: bool) -> reqwest::Result<Self> {
        let client = Client::new(settings, tls)?;
        let room = Arc::new(Semaphore::new(settings.max_in_memory.max(settings.max_response).div_ceil(KIB)));
        let clock = settings.clock.clone();
        Ok(Self { client, max_response: settings.max_response, room, clock })
    }

    /// Sends a request. The time runs until the last byte has come; what came before it ran out is kept.
    pub async fn send(&self, letter: &Letter, timeout: Duration) -> (Received, Result<(), Failure>) {
        let mut received = Received::default();
        let mut pieces = Pieces::default();
        let exchange = tokio::time::timeout(timeout, pin!(self.exchange(letter, &mut received, &mut pieces))).await;
        let end = exchange.unwrap_or_else(|_| Err(late(received.is_reached, timeout)));
        received.body = pieces.into_bytes();
        (received, end)
    }

    async fn exchange(&self, letter: &Letter, received: &mut Received, pieces: &mut Pieces) -> Result<(), Failure> {
        let answered = self.client.send(letter, &mut received.is_reached).await;
        let mut answered = answered.map_err(|trouble| self.unsent(trouble, letter))?;
        let (status, headers) = answered.head();
        received.status = Some(status);
        received.location = headers.get(LOCATION).and_then(|value| Some(value.to_str().ok()?.to_owned()));
        received.compression = named(headers);
        received.retry_after = retry_after(headers, || self.now());
        received.exhausted = exhausted(headers);
        let announced = answered.announced().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if announced > self.max_response {
            return Err(self.too_large());
        }
        while let Some(piece) = answered.piece().await.map_err(cut)? {
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

    /// The proxy that stands before whom a letter goes to.
    pub fn proxy(&self, letter: &Letter) -> Option<&NamedProxy> {
        self.client.proxy(letter.uri())
    }

    fn unsent(&self, trouble: Trouble, letter: &Letter) -> Failure {
        if trouble.is_starved {
            return Failure::starved("cannot be reached");
        }
        if trouble.is_unreached {
            return match self.proxy(letter) {
                Some(proxy) => proxy.unreached(&trouble.cause),
                None => Failure::new(CallErrorCode::Connect, format!("cannot be reached ({})", trouble.cause)),
            };
        }
        if trouble.is_overlong {
            return Failure::of_gateway("with more headers than can be read (100 lines, 400 KiB)");
        }
        cut(trouble)
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

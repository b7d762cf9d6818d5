//! Plain addresses: connections that those who wait for an answer drive themselves.
//!
//! A connection of hyper's is a future that reads and writes. The usual client runs each as a task of its own, so every
//! request and every answer is handed from task to task. Here it belongs to the exchange as long as that lasts and lies in
//! a pool between two of them, where nobody moves it: that a server has closed one is noticed by the next exchange, which
//! takes another ([0018](../../../docs/design/0018-exchanges-drive-their-connections.md)).

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Response, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower_service::Service;

use crate::descriptors;
use crate::letter::{Letter, PlainPlace};

/// Making a connection may take this long; the attempt's timeout bounds it too.
pub(crate) const CONNECT: Duration = Duration::from_secs(15);

/// A connection is asked so often whether it is still alive, and given up after so many questions.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(15);
pub(crate) const KEEPALIVE_RETRIES: u32 = 3;

/// Connections that nobody used for so long are closed.
pub(crate) const IDLE: Duration = Duration::from_secs(90);

/// It is given up when what was sent is not acknowledged for so long, too.
#[cfg(target_os = "linux")]
const UNHEARD: Duration = Duration::from_secs(30);

/// What a connection reads ahead, and keeps between two exchanges: large answers would make it six times as much.
const AHEAD: usize = 64 * 1024;

/// Connections to plain addresses that are open and unused, by host and port.
pub(crate) struct Plain {
    connector: HttpConnector,
    idle: Mutex<HashMap<Box<str>, VecDeque<Idle>>>,
    most: usize,
}

struct Idle {
    line: Box<Line>,
    since: Instant,
}

type Connection = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// Why there is no answer, or no whole one.
pub(crate) struct Trouble {
    pub kind: TroubleKind,
    /// The innermost cause, which is the one that says something; never with the address, which stands in the message.
    pub cause: String,
}

/// What kind of trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    /// Nobody was reached, so that nothing was sent.
    Unreached,
    /// Nobody was reached, because this machine has no file descriptor for another connection.
    Starved,
    /// The answer has more headers than can be read.
    Overlong,
    /// What was begun broke off.
    Cut,
}

/// One connection, and the way to give it a request.
struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// Gone once it has ended: what it still owed anybody is an error then.
    connection: Option<Connection>,
}

/// An answer whose body has not been read, with the connection that it comes over.
pub(crate) struct PlainAnswer<'a> {
    pub response: Response<Incoming>,
    line: Option<Box<Line>>,
    pool: &'a Plain,
    host: &'a str,
}

impl Plain {
    /// Keeps so many unused connections for each server.
    pub fn new(most: usize) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_keepalive(Some(KEEPALIVE));
        connector.set_keepalive_interval(Some(KEEPALIVE));
        connector.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        #[cfg(target_os = "linux")]
        connector.set_tcp_user_timeout(Some(UNHEARD));
        Self { connector, idle: Mutex::default(), most }
    }

    /// Sends a request, and waits for the head of its answer. One that a connection closed meanwhile has not taken goes
    /// over another. Says as soon as there is a connection.
    pub async fn send<'a>(
        &'a self,
        letter: &Letter,
        place: &'a PlainPlace,
        is_reached: &mut bool,
    ) -> Result<PlainAnswer<'a>, Trouble> {
        let PlainPlace { host, path } = place;
        let mut request = letter.request(path);
        loop {
            let (mut line, is_used) = match self.take(host) {
                Some(line) => (line, true),
                None => (self.open(letter.uri()).await.inspect_err(|trouble| self.make_way(trouble))?, false),
            };
            *is_reached = true;
            let sent = line.sender.try_send_request(request);
            match line.drive(sent).await {
                Ok(response) => return Ok(PlainAnswer { response, line: Some(line), pool: self, host }),
                Err(mut refused) => match refused.take_message() {
                    Some(unsent) if is_used => request = unsent,
                    _ => return Err(Trouble::new(TroubleKind::Cut, refused.error())),
                },
            }
        }
    }

    async fn open(&self, uri: &Uri) -> Result<Box<Line>, Trouble> {
        let unreached = |error: &(dyn Error + 'static)| Trouble::new(TroubleKind::Unreached, error);
        let stream = self.connector.clone().call(uri.clone()).await.map_err(|error| unreached(&error))?;
        let handshake = http1::Builder::new().max_buf_size(AHEAD).handshake(stream);
        let (sender, connection) = handshake.await.map_err(|error| unreached(&error))?;
        Ok(Box::new(Line { sender, connection: Some(connection) }))
    }

    /// Gives up what is open and unused where no other connection can be opened any more.
    fn make_way(&self, trouble: &Trouble) {
        if trouble.kind == TroubleKind::Starved {
            let unused = std::mem::take(&mut *self.idle());
            drop(unused);
        }
    }

    fn take(&self, host: &str) -> Option<Box<Line>> {
        let Idle { line, since } = self.idle().get_mut(host)?.pop_back()?;
        // The last one that was used: those below it are older still, and go as soon as one is laid upon them.
        (since.elapsed() < IDLE).then_some(line)
    }

    fn keep(&self, host: &str, line: Box<Line>) {
        let since = Instant::now();
        let mut idle = self.idle();
        let lines = match idle.get_mut(host) {
            Some(lines) => lines,
            None => {
                // Whoever calls ever new servers does not keep what was open to the old ones.
                idle.retain(|_, lines| lines.back().is_some_and(|newest| since - newest.since < IDLE));
                idle.entry(host.into()).or_default()
            }
        };
        lines.push_back(Idle { line, since });
        let is_over = lines.len() > self.most || lines.front().is_some_and(|oldest| since - oldest.since >= IDLE);
        let oldest = if is_over { lines.pop_front() } else { None };
        drop(idle);
        drop(oldest);
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<Box<str>, VecDeque<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Moves the connection until `work`, which waits for nothing else, is done.
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| {
            // What would wake `work` happens while the connection is moved, just before it is looked at again.
            let mut quiet = Context::from_waker(Waker::noop());
            if let Poll::Ready(done) = work.as_mut().poll(&mut quiet) {
                return Poll::Ready(done);
            }
            if let Some(connection) = &mut self.connection
                && Pin::new(connection).poll(cx).is_ready()
            {
                self.connection = None;
            }
            work.as_mut().poll(&mut quiet)
        })
        .await
    }
}

impl PlainAnswer<'_> {
    /// The next piece of the body; `None` at its end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Trouble> {
        let next = piece(self.response.body_mut());
        let next = match &mut self.line {
            Some(line) => line.drive(next).await,
            None => next.await,
        }?;
        if next.is_none()
            && let Some(line) = self.line.take()
            && line.sender.is_ready()
        {
            self.pool.keep(self.host, line);
        }
        Ok(next)
    }
}

/// The next piece of a body; what follows it (trailers) is no piece.
pub(crate) async fn piece<B>(body: &mut B) -> Result<Option<Bytes>, Trouble>
where
    B: Body<Data = Bytes, Error: Error + 'static> + Unpin,
{
    loop {
        let Some(frame) = body.frame().await else { return Ok(None) };
        if let Ok(data) = frame.map_err(|error| Trouble::new(TroubleKind::Cut, &error))?.into_data() {
            return Ok(Some(data));
        }
    }
}

impl Trouble {
    /// Of this kind, as far as the error's causes know no better.
    pub fn new(mut kind: TroubleKind, error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        loop {
            kind = match kind {
                TroubleKind::Unreached if cause.downcast_ref().is_some_and(descriptors::are_missing) => {
                    TroubleKind::Starved
                }
                TroubleKind::Cut if cause.downcast_ref().is_some_and(hyper::Error::is_parse_too_large) => {
                    TroubleKind::Overlong
                }
                known => known,
            };
            match cause.source() {
                Some(inner) => cause = inner,
                None => return Self { kind, cause: cause.to_string() },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use hyper::header::HeaderMap;
    use reqwest::Url;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Serves one connection after the other, each with these answers, one a request; a connection is closed behind its
    /// last. Gives the address, and how many requests came over each connection.
    async fn server(connections: Vec<Vec<String>>) -> (Letter, tokio::task::JoinHandle<Vec<usize>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/v1?q=1", listener.local_addr().unwrap())).unwrap();
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
        (Letter::new(Method::GET, &url, HeaderMap::new(), None).unwrap(), served)
    }

    fn sized(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    async fn read(plain: &Plain, letter: &Letter) -> Result<String, String> {
        let mut answer =
            plain.send(letter, letter.plain().unwrap(), &mut false).await.map_err(|trouble| trouble.cause)?;
        let mut body = Vec::new();
        while let Some(piece) = answer.piece().await.map_err(|trouble| trouble.cause)? {
            body.extend_from_slice(&piece);
        }
        Ok(String::from_utf8(body).unwrap())
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        let long = "long ".repeat(200_000);
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_owned();
        let empty = "HTTP/1.1 204 No Content\r\n\r\n".to_owned();
        let (letter, served) = server(vec![vec![sized("one"), chunked, sized(&long), empty, sized("")]]).await;
        let plain = Plain::new(4);
        for expected in ["one", "abcde", &long, "", ""] {
            assert_eq!(read(&plain, &letter).await.unwrap(), expected);
        }
        assert_eq!(served.await.unwrap(), [5]);
    }

    /// What a server has closed between two exchanges costs no attempt.
    #[tokio::test]
    async fn a_closed_connection_is_left_for_another() {
        let until_end = "HTTP/1.1 200 OK\r\n\r\nto the end".to_owned();
        let (letter, served) = server(vec![vec![sized("one")], vec![until_end], vec![sized("three")]]).await;
        let plain = Plain::new(4);
        assert_eq!(read(&plain, &letter).await.unwrap(), "one");
        // The server's next answer waits for the next connection: by then this one is closed.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(read(&plain, &letter).await.unwrap(), "to the end");
        assert_eq!(read(&plain, &letter).await.unwrap(), "three");
        assert_eq!(served.await.unwrap(), [1, 1, 1]);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
        let (letter, served) = server(vec![vec![cut], vec![String::new()], vec![sized("whole")]]).await;
        let plain = Plain::new(4);
        assert!(read(&plain, &letter).await.is_err());
        assert!(read(&plain, &letter).await.is_err());
        assert_eq!(read(&plain, &letter).await.unwrap(), "whole");
        assert_eq!(served.await.unwrap(), [1, 1, 1]);
    }

    #[tokio::test]
    async fn what_nobody_uses_goes_once_another_server_is_called() {
        let plain = Plain::new(4);
        // Each server waits for one more request, and so keeps its connection open.
        let (letter, _one) = server(vec![vec![sized("one"), sized("")]]).await;
        read(&plain, &letter).await.unwrap();
        assert_eq!(plain.idle().len(), 1);
        tokio::time::pause();
        tokio::time::advance(IDLE).await;
        tokio::time::resume();
        let (letter, _two) = server(vec![vec![sized("two"), sized("")]]).await;
        read(&plain, &letter).await.unwrap();
        let hosts: Vec<_> = plain.idle().keys().cloned().collect();
        assert_eq!(hosts, [letter.plain().unwrap().host.clone()]);
    }

    #[tokio::test]
    async fn no_more_are_kept_than_asked_for() {
        let (letter, served) = server(vec![vec![sized("one")], vec![sized("two")]]).await;
        let plain = Plain::new(0);
        assert_eq!(read(&plain, &letter).await.unwrap(), "one");
        assert_eq!(read(&plain, &letter).await.unwrap(), "two");
        assert_eq!(served.await.unwrap(), [1, 1]);
    }
}

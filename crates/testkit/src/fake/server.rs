//! The server: one thread, loopback only.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::protocol::Protocol;
use super::{Behaviour, ReceivedRequest, Script};

type ResponseBody = UnsyncBoxBody<Bytes, io::Error>;

/// Bytes of one piece of a huge body.
const PIECE: usize = 64 * 1024;

/// A provider on loopback with a thread of its own; it ends when this is dropped.
///
/// It logs every request, so a test can check what was sent, how often, and what was paid twice.
pub struct FakeProvider {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The requests that a fake provider keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLog {
    /// Every request, for tests.
    Everything,
    /// Counts and hashes only, for soaks of millions of requests.
    Counts,
}

struct Log {
    memory: RequestLog,
    entries: Mutex<LogEntries>,
}

#[derive(Default)]
struct LogEntries {
    requests: usize,
    received: Vec<ReceivedRequest>,
    seen: HashMap<blake3::Hash, RequestState>,
    duplicates: usize,
    in_flight: usize,
    peak: usize,
}

#[derive(Default)]
struct RequestState {
    times: usize,
    answered: bool,
}

impl FakeProvider {
    /// Starts on a free port.
    ///
    /// # Errors
    /// When no loopback port can be bound or no thread started.
    pub fn start(script: impl Into<Script>) -> io::Result<Self> {
        Self::start_on(0, script, RequestLog::Everything)
    }

    /// Starts on this port; 0 is any free one.
    ///
    /// # Errors
    /// When the port cannot be bound or no thread started.
    pub fn start_on(port: u16, script: impl Into<Script>, memory: RequestLog) -> io::Result<Self> {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let log = Arc::new(Log { memory, entries: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (script, book) = (script.into(), Arc::clone(&log));
        let thread = std::thread::Builder::new().name("fake-provider".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(socket, script, book) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of the OpenAI side, `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The number of requests.
    pub fn requests(&self) -> usize {
        self.log.lock().requests
    }

    /// Everything that arrived, in order.
    pub fn received_requests(&self) -> Vec<ReceivedRequest> {
        self.log.lock().received.clone()
    }

    /// The bodies that arrived, in order.
    pub fn bodies(&self) -> Vec<Bytes> {
        self.log.lock().received.iter().map(|received| received.body.clone()).collect()
    }

    /// Requests that came again after a complete reply: paid twice by the client.
    pub fn duplicates(&self) -> usize {
        self.log.lock().duplicates
    }

    /// The most requests that were being answered at one time.
    pub fn peak(&self) -> usize {
        self.log.lock().peak
    }

    /// Serves until the process ends, for use from a shell.
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, LogEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a request with its number and attempt.
    fn record(&self, path: String, headers: Vec<(String, String)>, body: Bytes) -> ReceivedRequest {
        let mut entries = self.lock();
        let seen = entries.seen.entry(identity(&path, &body)).or_default();
        let (attempt, again) = (seen.times, seen.answered);
        seen.times += 1;
        let received = ReceivedRequest { number: entries.requests, attempt, path, headers, body };
        entries.requests += 1;
        entries.duplicates += usize::from(again);
        if self.memory == RequestLog::Everything {
            entries.received.push(received.clone());
        }
        received
    }

    fn mark_answered(&self, received: &ReceivedRequest) {
        self.lock().seen.entry(identity(&received.path, &received.body)).or_default().answered = true;
    }
}

/// A request that is being answered, until its answer is on the way or its client is gone.
struct InFlight(Arc<Log>);

impl InFlight {
    fn new(log: &Arc<Log>) -> Self {
        let mut entries = log.lock();
        entries.in_flight += 1;
        entries.peak = entries.peak.max(entries.in_flight);
        Self(Arc::clone(log))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.lock().in_flight -= 1;
    }
}

fn identity(path: &str, body: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(path.as_bytes()).update(&[0]).update(body).finalize()
}

async fn serve(socket: std::net::TcpListener, script: Script, log: Arc<Log>) {
    let Ok(listener) = TcpListener::from_std(socket) else {
        return;
    };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (script, log) = (script.clone(), Arc::clone(&log));
        tokio::spawn(async move {
            let service = service_fn(move |request| handle(request, script.clone(), Arc::clone(&log)));
            // An error here is a client that went away, or a cut that was asked for.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn handle(
    request: Request<Incoming>,
    script: Script,
    log: Arc<Log>,
) -> Result<Response<ResponseBody>, io::Error> {
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let Ok(body) = request.into_body().collect().await else {
        return Ok(answer(400, full(Bytes::new())));
    };
    let received = log.record(path, headers, body.to_bytes());
    let _in_flight = InFlight::new(&log);
    let behaviour = script.decide(&received);
    let protocol = match Protocol::from_path(&received.path) {
        Some(protocol) => protocol,
        // A service of its own: whatever needs no protocol is done on any path.
        None if !behaviour.follows_protocol() => Protocol::OpenAi,
        None => return Ok(answer(404, full(r#"{"error":{"message":"unknown path","type":"not_found_error"}}"#))),
    };
    let good = behaviour.is_complete_reply();
    let response = act(behaviour, protocol, &received).await;
    if good {
        log.mark_answered(&received);
    }
    response
}

async fn act(
    mut behaviour: Behaviour,
    protocol: Protocol,
    received: &ReceivedRequest,
) -> Result<Response<ResponseBody>, io::Error> {
    loop {
        match behaviour {
            Behaviour::Slow(time, then) => {
                tokio::time::sleep(time).await;
                behaviour = *then;
            }
            Behaviour::Held(condition, then) => {
                while !condition.is_met() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                behaviour = *then;
            }
            _ => break,
        }
    }
    let correct = |text: &str| {
        let usage = protocol.usage(&received.body, text);
        Bytes::from(protocol.body(&received.body, text, Some(usage)))
    };
    Ok(match behaviour {
        Behaviour::Ok(text) => answer(200, full(correct(&text))),
        Behaviour::Usage(text, usage) => answer(200, full(protocol.body(&received.body, &text, usage))),
        Behaviour::ContentType(text, kind) => {
            with_header(answer(200, full(correct(&text))), CONTENT_TYPE, HeaderValue::from_static(kind))
        }
        Behaviour::EchoKey => {
            let key = received.header(protocol.key_header()).unwrap_or_default();
            answer(200, full(correct(&format!("You sent {key}."))))
        }
        Behaviour::Raw { status, headers, body } => headers.into_iter().fold(
            answer(status, full(body)),
            |response, (name, value)| match HeaderValue::from_str(&value) {
                Ok(value) => with_header(response, HeaderName::from_static(name), value),
                Err(_) => response,
            },
        ),
        Behaviour::Cut(text) => cut(&correct(&text)),
        Behaviour::Huge(bytes) => {
            let response = answer(200, pieces(bytes));
            with_header(response, CONTENT_LENGTH, HeaderValue::from(bytes))
        }
        Behaviour::Stall { announced, body } => {
            let frames = stream::iter([Ok(Frame::data(body))]).chain(stream::pending());
            let response = answer(200, StreamBody::new(frames).boxed_unsync());
            with_header(response, CONTENT_LENGTH, HeaderValue::from(announced))
        }
        Behaviour::Endless => {
            let piece = Bytes::from_static(&[b' '; 1024]);
            let frames = stream::repeat_with(move || Ok(Frame::data(piece.clone()))).then(|frame| async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                frame
            });
            answer(200, StreamBody::new(frames).boxed_unsync())
        }
        Behaviour::Drop => return Err(io::ErrorKind::ConnectionAborted.into()),
        Behaviour::Hang | Behaviour::Slow(..) | Behaviour::Held(..) => std::future::pending().await,
    })
}

/// Promises the whole body, sends half of it, lets that arrive, then breaks the connection.
fn cut(body: &Bytes) -> Response<ResponseBody> {
    let half = body.slice(..body.len() / 2);
    let frames = stream::iter([Ok(Frame::data(half))]).chain(stream::once(async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Err(io::ErrorKind::ConnectionReset.into())
    }));
    let response = answer(200, StreamBody::new(frames).boxed_unsync());
    with_header(response, CONTENT_LENGTH, HeaderValue::from(body.len()))
}

fn pieces(bytes: u64) -> ResponseBody {
    let piece = Bytes::from_static(&[b' '; PIECE]);
    let frames = stream::unfold(bytes, move |left| {
        let piece = piece.clone();
        async move {
            let size = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            (size > 0).then(|| (Ok(Frame::data(piece.slice(..size))), left - size as u64))
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

fn full(body: impl Into<Bytes>) -> ResponseBody {
    Full::new(body.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn answer(status: u16, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_header(response, CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

fn with_header(mut response: Response<ResponseBody>, name: HeaderName, value: HeaderValue) -> Response<ResponseBody> {
    response.headers_mut().insert(name, value);
    response
}

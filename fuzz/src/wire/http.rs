//! Requests to the server: whatever a request says, the answer is well-formed, and is not a failure of the server's own.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode, header};
use karat_app::{App, CallRecording, Execution, Invocation, Role, Session, Stop, StoreUrl};
use karat_server::{Purpose, QueueLimits, Server, Settings};
use karat_types::{Clock, Moment, SilentObserver};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// Stands for a token that the server knows.
const TOKEN: &str = "@TOKEN@";

/// An element that no page has. A page that shows a request shows this as text.
const ELEMENT: &[u8] = b"<x9";

/// A suite whose model needs no network.
const SUITE: &str = "name: tides
dataset: { source: rows.jsonl, id: id, input: q, reference: a }
models: [ { id: s, provider: stub } ]
variants: { v1: [ { prompt: { text: \"{{ sample.q }}\" } } ] }
scorers: { hit: { metric: contains } }
";

/// A clock that goes on by a minute with each look, so that limits by time never end the fuzzing.
struct FastClock(AtomicI64);

impl Clock for FastClock {
    fn now(&self) -> Moment {
        Moment(self.0.fetch_add(60_000, Ordering::Relaxed))
    }
}

struct Site {
    /// Kept so that the folder lasts.
    _folder: TempDir,
    server: Server,
    token: Option<String>,
    runtime: Runtime,
}

/// A server without tokens, and one that wants one.
static SITES: LazyLock<[Site; 2]> = LazyLock::new(|| [None, Some(Role::Admin)].map(site));

fn site(role: Option<Role>) -> Site {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let path = folder.path().canonicalize().unwrap_or_else(|error| panic!("{error}"));
    let suite = path.join("karat.yaml");
    let written = std::fs::write(&suite, SUITE)
        .and_then(|()| std::fs::write(path.join("rows.jsonl"), "{\"id\":\"q1\",\"q\":\"Why?\",\"a\":\"moon\"}\n"));
    written.unwrap_or_else(|error| panic!("{error}"));
    let app = App {
        store: StoreUrl::in_folder(&path),
        home: path.clone(),
        lookup: Arc::new(|_| None),
        clock: Arc::new(FastClock(AtomicI64::new(1_780_315_200_000))),
        own_program: None,
        opened: Session::below(&path).unwrap_or_else(|error| panic!("{error}")),
    };
    let invocation = Invocation::of(suite.display().to_string());
    let plan = app.runs().load(&invocation).unwrap_or_else(|error| panic!("{error}")).plan;
    let execution = Execution {
        run_id: Some("r1".to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::new(),
        tape: CallRecording::None,
    };
    app.runs().run(plan, &invocation, execution).unwrap_or_else(|error| panic!("{error}"));
    let token =
        role.map(|role| app.service().create_token("fuzz", role, None).unwrap_or_else(|error| panic!("{error}")).text);
    let settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        hosts: Vec::new(),
        purpose: Purpose::Serve { allow_commands: false },
        // Nothing may wait, so no request starts a run.
        queue: QueueLimits { max_runs: 1, max_waiting: 0 },
        log: None,
        notes: None,
        schedules: Vec::new(),
        public_url: Some("https://karat.example/".to_owned()),
        metrics_open: false,
    };
    let server = Server::bind(app, settings).unwrap_or_else(|error| panic!("{error}"));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap_or_else(|error| panic!("{error}"));
    Site { _folder: folder, server, token, runtime }
}

/// The first byte chooses the server. The rest is a request: a line with method and target, lines of headers, an empty
/// line, the body.
pub fn run(data: &[u8]) {
    let Some((choice, request)) = data.split_first() else { return };
    let site = &SITES[usize::from(*choice) % SITES.len()];
    let Some((request, is_head)) = site.request(request) else { return };
    let (path, marked) = (request.uri().path().to_owned(), contains(request.uri().to_string().as_bytes(), ELEMENT));
    let (status, headers, body) = site.runtime.block_on(async {
        let response = site.server.router().oneshot(request).await.unwrap_or_else(|never| match never {});
        read(response).await
    });
    assert!(status != StatusCode::INTERNAL_SERVER_ERROR, "{path}: {}", String::from_utf8_lossy(&body));
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if headers.contains_key(header::CONTENT_ENCODING) || is_head {
        return;
    }
    if kind.contains("json") && !kind.contains("ndjson") {
        let value = serde_json::from_slice::<Value>(&body).unwrap_or_else(|error| panic!("{path}: {error}"));
        let is_problem = kind.starts_with("application/problem+json");
        assert!(!is_problem || value["status"] == status.as_u16(), "{path}: a problem states its status: {value}");
    }
    if kind.starts_with("text/html") {
        assert!(!contains(&body, ELEMENT), "{path} ({marked}): a page shows a request as an element");
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Status, headers and body; a stream of events never ends, so it has none here.
async fn read(response: Response) -> (StatusCode, HeaderMap, Vec<u8>) {
    let (head, body) = response.into_parts();
    let is_stream =
        head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let body = match is_stream {
        true => Vec::new(),
        false => to_bytes(body, usize::MAX).await.unwrap_or_else(|error| panic!("{error}")).to_vec(),
    };
    (head.status, head.headers, body)
}

impl Site {
    /// The request and whether its answer has no body; `None` if no HTTP library would pass it on.
    fn request(&self, data: &[u8]) -> Option<(Request, bool)> {
        let end = data.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = end.map_or((data, &[][..]), |at| (&data[..at], &data[at + 2..]));
        let head = String::from_utf8_lossy(head);
        let mut lines = head.lines();
        let (method, target) = lines.next()?.split_once(' ')?;
        let mut request = Request::builder().method(method).uri(target);
        let mut has_host = false;
        for line in lines {
            let (name, value) = line.split_once(':')?;
            has_host |= name.eq_ignore_ascii_case("host");
            let value = value.trim().replace(TOKEN, self.token.as_deref().unwrap_or_default());
            request = request.header(name, value);
        }
        if !has_host {
            request = request.header(header::HOST, "localhost");
        }
        if !body.is_empty() {
            request = request.header(header::CONTENT_LENGTH, body.len());
        }
        let request = request.body(Body::from(body.to_vec())).ok()?;
        let is_head = request.method() == Method::HEAD;
        Some((request, is_head))
    }
}

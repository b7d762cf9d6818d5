//! A server on a store in a folder of its own, and requests to it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use http::{HeaderMap, StatusCode};
use karat_app::{App, CallRecording, Execution, Invocation, RunEnd, Session, Stop, StoreUrl};
use karat_server::{Loopback, Purpose, QueueLimits, Server, Settings, Target};
use karat_types::{Clock, Moment, SilentObserver};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};
use tower::ServiceExt;

/// The clock of all tests: 2026-06-01T12:00:00Z.
pub struct Noon;

impl Clock for Noon {
    fn now(&self) -> Moment {
        Moment(1_780_315_200_000)
    }
}

/// A server and the folder of its store.
pub(crate) struct Place {
    pub folder: Arc<TempDir>,
    pub app: App,
    server: Server,
    /// Runs go on between requests.
    pub runtime: Runtime,
}

fn runtime() -> Runtime {
    runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Runs a suite to its end.
pub(crate) fn run(app: &App, suite: &str, id: &str, stop: Stop) -> RunEnd {
    let invocation = Invocation::of(suite);
    let plan = app.runs().load(&invocation).unwrap();
    let execution = Execution {
        run_id: Some(id.to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop,
        tape: CallRecording::None,
    };
    app.runs().run(plan, &invocation, execution).unwrap()
}

/// Questions whose answers the fake provider knows.
pub(crate) fn questions(n: usize) -> String {
    let line =
        |i| format!("{{\"id\":\"q{i}\",\"question\":\"Question {i}: [[answer {i}]]\",\"target\":\"answer {i}\"}}\n");
    (0..n).map(line).collect()
}

/// A suite against a provider, one call at a time.
pub(crate) fn suite(base_url: &str, data: &str) -> String {
    format!(
        r#"name: bench
dataset: {{ source: {data}, id: id, input: question, reference: target }}
models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{base_url}", api_key_env: MOCK_KEY, price: {{ input: 1.0, output: 2.0 }} }} ]
variants: {{ direct: [ {{ prompt: {{ text: "{{{{ sample.question }}}}" }} }} ] }}
scorers: {{ hit: {{ metric: contains }} }}
run: {{ max_concurrency: 1, budget_usd: 1000 }}
"#
    )
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Place {
    /// A server of `karat view` on an empty store.
    pub fn view() -> Self {
        Self::new(Purpose::View { style: true })
    }

    /// A server of `karat serve` on an empty store; suites lie in its folder.
    pub fn serve() -> Self {
        Self::new(Purpose::Serve { allow_commands: false })
    }

    /// Another server on the same store, as after a restart.
    pub fn restarted(&self) -> Server {
        Server::bind(self.fresh_app(), self.server.settings().clone()).unwrap()
    }

    /// An app as another process has it.
    pub fn fresh_app(&self) -> App {
        App { opened: Session::default(), ..self.app.clone() }
    }

    /// Runs a suite as another process does, to its end.
    pub fn run(&self, suite: &str, id: &str) -> RunEnd {
        run(&self.fresh_app(), suite, id, Stop::new())
    }

    /// Writes a file of a suite.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Asks for a run until it has a status.
    pub fn wait_for(&self, run: &str, status: &str) -> Value {
        for _ in 0..400 {
            let answer = self.get(&format!("/eval/runs/{run}"));
            if answer.status == StatusCode::OK && answer.json()["status"] == status {
                return answer.json();
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("run {run} is not {status}: {}", self.get(&format!("/eval/runs/{run}")).text);
    }

    pub fn new(purpose: Purpose) -> Self {
        Self::with(purpose, |_| {})
    }

    /// A server that starts after the store was prepared.
    pub fn with(purpose: Purpose, prepare: impl FnOnce(&App)) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let app = App {
            store: StoreUrl::in_folder(folder.path()),
            home: folder.path().to_owned(),
            lookup: Arc::new(|_| None),
            clock: Arc::new(Noon),
            own_program: None,
            opened: Session::below(folder.path()).unwrap(),
        };
        prepare(&app);
        Self::on(folder, app, purpose, QueueLimits::default())
    }

    fn on(folder: Arc<TempDir>, app: App, purpose: Purpose, queue: QueueLimits) -> Self {
        let listen = "127.0.0.1:0".parse().unwrap();
        let settings = Settings {
            listen,
            hosts: Vec::new(),
            purpose,
            queue,
            log: None,
            notes: None,
            schedules: Vec::new(),
            public_url: Some("https://karat.example/".to_owned()),
            metrics_open: false,
            // Requests of tests come without a connection.
            loopback: Loopback::Open,
        };
        let server = Server::bind(app.clone(), settings).unwrap();
        Self { folder, app, server, runtime: runtime() }
    }

    /// A place on the same store, as a process that starts now has it.
    pub fn reopened(&self) -> Self {
        self.again(Purpose::View { style: true }, QueueLimits::default())
    }

    /// A place on the same store, as another process has it.
    pub fn again(&self, purpose: Purpose, queue: QueueLimits) -> Self {
        let app = App { opened: Session::below(self.folder.path()).unwrap(), ..self.app.clone() };
        Self::on(Arc::clone(&self.folder), app, purpose, queue)
    }

    /// Its routes, for requests that [`Self::send`] cannot make.
    pub fn router(&self) -> axum::Router {
        self.server.router()
    }

    /// Sends a request; headers are `Name: value`. `Host` is `localhost` unless it is given.
    pub fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            request = request.header("Host", "localhost");
        }
        for header in headers {
            let (name, value) = header.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        if !body.is_empty() {
            request = request.header("Content-Length", body.len());
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        self.runtime.block_on(async {
            let response = self.server.router().oneshot(request).await.unwrap();
            let (status, headers) = (response.status(), response.headers().clone());
            let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            Answer { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
        })
    }

    /// The settings of its server.
    pub fn settings(&self) -> Settings {
        self.server.settings().clone()
    }

    /// The same place, with another rule of who may ask while there are no tokens.
    pub fn with_loopback(self, loopback: Loopback) -> Self {
        let settings = Settings { loopback, ..self.server.settings().clone() };
        let server = Server::bind(self.fresh_app(), settings).unwrap();
        Self { server, ..self }
    }

    /// The address that `karat view` prints, without its host.
    pub fn printed_path(&self) -> String {
        let url = self.server.url(&Target::Runs);
        url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Asks as a browser does.
    pub fn page(&self, path: &str) -> Answer {
        self.send("GET", path, &["Accept: text/html,*/*;q=0.8"], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &["Content-Type: application/json"], body)
    }
}

//! A server on a store in a folder of its own, and requests to it.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use http::{HeaderMap, StatusCode};
use karat_app::{App, Session, StoreUrl};
use karat_server::{Purpose, Server, Settings};
use karat_types::{Clock, Moment};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// The clock of all tests: 2026-06-01T12:00:00Z.
struct Noon;

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

    pub fn new(purpose: Purpose) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let app = App {
            store: StoreUrl::in_folder(folder.path()),
            home: folder.path().to_owned(),
            lookup: Arc::new(|_| None),
            clock: Arc::new(Noon),
            own_program: None,
            opened: Session::default(),
        };
        Self::on(folder, app, purpose)
    }

    fn on(folder: Arc<TempDir>, app: App, purpose: Purpose) -> Self {
        let settings = Settings { listen: "127.0.0.1:0".parse().unwrap(), hosts: Vec::new(), purpose };
        let server = Server::bind(app.clone(), settings).unwrap();
        Self { folder, app, server }
    }

    /// A server of a process that starts now on the same store.
    pub fn restarted(&self) -> Self {
        let app = App { opened: Session::default(), ..self.app.clone() };
        Self::on(Arc::clone(&self.folder), app, Purpose::View { style: true })
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let response = self.server.router().oneshot(request).await.unwrap();
            let (status, headers) = (response.status(), response.headers().clone());
            let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            Answer { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
        })
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

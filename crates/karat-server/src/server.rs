//! The server: an address, and the loop that serves it until it is stopped.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use karat_app::{App, Stop};
use tokio::runtime;

use crate::router;
use crate::settings::Settings;
use crate::state::State;
use crate::target::Target;

/// Time that runs have to end once the server is stopped: their calls in flight are waited for, and nothing is lost.
const RUNS_GRACE: Duration = Duration::from_secs(20);

/// Time that requests in flight have to end once the server is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// A server that cannot start, or that failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be used.
    #[error("listening on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Other machines could reach the server, and nothing would keep them out.
    #[error("listening on {address}: other machines can reach it, and there is no token yet")]
    NoToken {
        /// The address.
        address: SocketAddr,
    },
    /// The server cannot run.
    #[error("serving: {0}")]
    Serve(#[from] io::Error),
}

impl ServeError {
    /// The next step for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("another program uses this port: choose another one, or port 0 for any free port".to_owned())
            }
            Self::NoToken { .. } => {
                Some("`karat token create --role read --name NAME` makes one; or listen on 127.0.0.1".to_owned())
            }
            Self::Listen { .. } | Self::Serve(_) => None,
        }
    }
}

/// A server that listens and does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    state: State,
}

impl Server {
    /// Listens on the address of the settings. Connections wait until [`Server::serve`] is called.
    ///
    /// # Errors
    /// The address cannot be used, or other machines could reach it while there is no token.
    pub fn bind(app: App, settings: Settings) -> Result<Self, ServeError> {
        let is_open = !app.has_tokens().unwrap_or_default();
        if is_open && !settings.listen.ip().is_loopback() {
            return Err(ServeError::NoToken { address: settings.listen });
        }
        let listen = |source| ServeError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let state = State::new(app, settings)?;
        Ok(Self { listener, address, state })
    }

    /// The settings of the server.
    pub fn settings(&self) -> &Settings {
        self.state.settings()
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a page for a browser on this machine. If the store has tokens, it contains a key that opens the
    /// dashboard for the time of this process.
    pub fn url(&self, target: &Target) -> String {
        let host = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(ip) if ip.is_unspecified() => "[::1]".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let path = self.state.guard().with_own_key(target.path());
        format!("http://{host}:{}{path}", self.address.port())
    }

    /// The routes with everything around them, for callers that bring their own connections.
    pub fn router(&self) -> axum::Router {
        router::router(self.state.clone())
    }

    /// Serves until `stop` is set. Then runs are stopped, as Ctrl-C does, and have 20 seconds to end; requests in flight
    /// have two.
    ///
    /// # Errors
    /// The system refuses threads or the listener.
    pub fn serve(self, stop: &Stop) -> Result<(), ServeError> {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let stopping = stop.clone();
        let state = self.state.clone();
        let router = self.router();
        let runs = self.state.runs().clone();
        let outcome = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let serving = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
                .with_graceful_shutdown({
                    let stopping = stopping.clone();
                    async move {
                        stopping.wait().await;
                        state.stop().set();
                        state.runs().stop_all();
                    }
                });
            let outcome = tokio::select! {
                outcome = serving => outcome,
                () = async { stopping.wait().await; tokio::time::sleep(GRACE).await } => Ok(()),
            };
            // A run that does not end in time is left as after a kill: it can be resumed.
            let _ = tokio::time::timeout(RUNS_GRACE, async {
                while runs.is_any_running() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            })
            .await;
            outcome
        });
        // Reads that are still under way have nobody left to answer.
        runtime.shutdown_timeout(Duration::from_millis(100));
        Ok(outcome?)
    }
}

//! The server: an address, and the loop that serves it until it is stopped.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use karat_app::{App, AppError, Stop};
use tokio::runtime;

use crate::router;
use crate::runs::background::Background;
use crate::runs::dispatcher::Dispatcher;
use crate::serving::connections;
use crate::serving::supervisor;
use crate::settings::{Purpose, Settings};
use crate::state::State;
use crate::target::Target;

/// Time that runs have to end once the server is stopped: their calls in flight are waited for, and nothing is lost.
const RUNS_GRACE: Duration = Duration::from_secs(20);

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
    /// Nobody knows whether requests need a token.
    #[error("reading the tokens: {0}")]
    Tokens(#[source] AppError),
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
            Self::Tokens(error) => error.hint(),
            Self::Listen { .. } | Self::Serve(_) => None,
        }
    }
}

/// A server that listens and does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    state: State,
    /// Executes runs, if the server starts any.
    dispatcher: Option<Dispatcher>,
}

impl Server {
    /// Listens on the address of the settings. Connections wait until [`Server::serve`] is called.
    ///
    /// # Errors
    /// The address cannot be used, the tokens cannot be read, or other machines could reach the address while there is no
    /// token.
    pub fn bind(app: App, settings: Settings) -> Result<Self, ServeError> {
        let has_tokens = app.service().has_tokens().map_err(ServeError::Tokens)?;
        if !has_tokens && !settings.listen.ip().is_loopback() {
            return Err(ServeError::NoToken { address: settings.listen });
        }
        let listen = |source| ServeError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let state = State::new(app, settings, has_tokens)?;
        let dispatcher = match state.settings().purpose {
            Purpose::Serve { allow_commands } => {
                let most = state.settings().queue.max_runs.max(1);
                Some(Dispatcher::start(state.work().clone(), allow_commands, most)?)
            }
            Purpose::View { .. } => None,
        };
        if let Some(dispatcher) = &dispatcher {
            state.set_pulse(dispatcher.pulse());
            supervisor::watch(dispatcher.pulse())?;
        }
        Ok(Self { listener, address, state, dispatcher })
    }

    /// The settings of the server.
    pub fn settings(&self) -> &Settings {
        self.state.settings()
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a page for a browser on this machine. Where nothing else lets the browser in, it contains a key for the
    /// time of this process.
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
        let background = match self.state.settings().purpose {
            Purpose::Serve { .. } => Some(Background::start(self.state.work(), self.state.suites().clone())?),
            Purpose::View { .. } => None,
        };
        let stop_background = self.state.stop().clone();
        let outcome = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let closing = Stop::new();
            let stopped = async {
                stopping.wait().await;
                supervisor::notify("STOPPING=1");
                state.stop().set();
                state.runs().stop_all();
                // Until then requests are answered, so that a balancer learns from `/healthz` to send no more. A run that
                // does not end in time is left as after a kill: it goes on when the next server starts.
                let _ = tokio::time::timeout(RUNS_GRACE, async {
                    while runs.count() > 0 {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                })
                .await;
                closing.set();
            };
            supervisor::notify("READY=1");
            tokio::join!(connections::serve(listener, router, closing.clone()), stopped);
            Ok::<_, io::Error>(())
        });
        // Reads that are still under way have nobody left to answer.
        runtime.shutdown_timeout(Duration::from_millis(100));
        drop(self.dispatcher);
        stop_background.set();
        if let Some(background) = background {
            background.join();
        }
        Ok(outcome?)
    }
}

//! The server: an address, and the loop that serves it until it is stopped.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use karat_app::{App, Stop};
use tokio::runtime;

use crate::router;
use crate::state::State;

/// Time that requests in flight have to end once the server is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Names under which the server may be asked, beside those of this machine.
    pub hosts: Vec<String>,
    /// The command that the server belongs to.
    pub purpose: Purpose,
}

/// The command that a server belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// `karat view`: shows stored runs, and starts, resumes and schedules nothing.
    View {
        /// True if the page with every component is served at `/_style`.
        style: bool,
    },
}

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
    /// The address cannot be used.
    pub fn bind(app: App, settings: Settings) -> Result<Self, ServeError> {
        let listen = |source| ServeError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let state = State::new(app, settings)?;
        Ok(Self { listener, address, state })
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the dashboard for a browser on this machine.
    pub fn url(&self) -> String {
        let host = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V6(ip) if ip.is_unspecified() => "[::1]".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        format!("http://{host}:{}/", self.address.port())
    }

    /// The routes with everything around them, for callers that bring their own connections.
    pub fn router(&self) -> axum::Router {
        router::router(self.state.clone())
    }

    /// Serves until `stop` is set; then requests in flight have two seconds to end.
    ///
    /// # Errors
    /// The system refuses threads or the listener.
    pub fn serve(self, stop: &Stop) -> Result<(), ServeError> {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let stopping = stop.clone();
        let own = self.state.stop().clone();
        let router = self.router();
        let outcome = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let serving = axum::serve(listener, router).with_graceful_shutdown({
                let stopping = stopping.clone();
                async move {
                    stopping.wait().await;
                    own.set();
                }
            });
            tokio::select! {
                outcome = serving => outcome,
                () = async { stopping.wait().await; tokio::time::sleep(GRACE).await } => Ok(()),
            }
        });
        // Reads that are still under way have nobody left to answer.
        runtime.shutdown_timeout(Duration::from_millis(100));
        Ok(outcome?)
    }
}

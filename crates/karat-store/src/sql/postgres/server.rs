//! One server: its settings, the thread that drives the connections with it, and connecting.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::{Patience, SqlError, SqlResult};
use super::address::ServerAddress;
use super::failure::{ServerError, ServerErrorKind};
use super::tls;
use super::wait::{wait_for, wait_while};

/// The time to wait for a connection to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server, and the thread that drives the connections with it.
pub(crate) struct Server {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// The statements with which each session begins.
    setup: String,
    shown: String,
    runtime: Option<Runtime>,
    pub patience: Patience,
}

/// A connection.
pub(crate) struct Link {
    pub client: Client,
    driver: AbortHandle,
    /// The server's process for it.
    backend: i32,
    /// Set once an answer is not waited for any more.
    is_given_up: AtomicBool,
}

impl Link {
    /// Returns `true` if the connection is known to be lost.
    pub fn is_lost(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed) || self.client.is_closed()
    }

    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.driver.abort();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Otherwise the connection says goodbye, and a silent server never hears it.
        if self.is_lost() {
            self.driver.abort();
        }
    }
}

/// The work of a server on a request whose answer has not come.
enum Progress {
    Working,
    /// It waits for a request itself: the answer, or the request, is lost on the way.
    Idle,
    /// It does not answer.
    Away,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.shown).finish()
    }
}

impl Server {
    /// Starts the thread. Connects with nothing yet.
    ///
    /// # Errors
    /// The thread, or what encryption needs, cannot be made.
    pub fn new(address: &ServerAddress, patience: Patience) -> SqlResult<Arc<Self>> {
        let failed = |why: String| SqlError::Postgres(ServerError::of_connection(why));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("karat-postgres")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let mut config = address.config().map_err(failed)?;
        config
            .application_name("karat")
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(30));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let tls = address.is_encrypted().then(|| tls::connector(address.root_certificate())).transpose();
        // A commit that the server acknowledges is on its disk, whatever its default is.
        let setup = format!(
            "set search_path to \"{}\"; set synchronous_commit to on; set jit to off; set lock_timeout to '30s'; \
             set default_transaction_isolation to 'read committed'; set idle_in_transaction_session_timeout to '10min'",
            address.schema()
        );
        Ok(Arc::new(Self {
            config,
            tls: tls.map_err(failed)?,
            setup,
            shown: address.to_string(),
            runtime: Some(runtime),
            patience,
        }))
    }

    /// Begins a request and reads its answer on the thread of the connections, while the caller does something else.
    pub fn begin<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> SqlResult<JoinHandle<T>> {
        Ok(self.runtime()?.spawn(request))
    }

    fn runtime(&self) -> SqlResult<&Runtime> {
        self.runtime.as_ref().ok_or_else(|| connection_error("the store was closed"))
    }

    /// Makes a connection.
    pub fn connect(&self) -> SqlResult<Link> {
        if self.patience.has_just_failed() {
            return Err(connection_error("an attempt to connect has just failed"));
        }
        let since = Instant::now();
        let connected = self.connect_once(self.patience.for_attempt(), self.setup.clone(), async |link| Ok(link));
        match &connected {
            Ok(_) => self.patience.note_back(),
            Err(error) if error.is_lost_connection() => self.patience.note_failed(since),
            Err(_) => {}
        }
        connected
    }

    /// Makes a connection within a time and uses it on the thread of the connections.
    fn connect_once<T: Send + 'static, F: Future<Output = Result<T, tokio_postgres::Error>> + Send>(
        &self,
        most: Duration,
        setup: String,
        then: impl FnOnce(Link) -> F + Send + 'static,
    ) -> SqlResult<T> {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let connect = async move {
            let (client, driver) = match tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls).await?;
                    (client, tokio::spawn(connection).abort_handle())
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    (client, tokio::spawn(connection).abort_handle())
                }
            };
            let answer = client.simple_query(&format!("{setup}; select pg_backend_pid()")).await?;
            let backend = answer.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).and_then(|pid| pid.parse().ok()),
                _ => None,
            });
            let backend = backend.unwrap_or_default();
            then(Link { client, driver, backend, is_given_up: AtomicBool::new(false) }).await
        };
        // The clock of the timeout is that of the runtime.
        let connected = self.runtime()?.spawn(async move { tokio::time::timeout(most, connect).await });
        match wait_for(connected) {
            Ok(Ok(outcome)) => Ok(outcome?),
            _ => Err(connection_error("nothing came back in time")),
        }
    }

    /// Waits for the answer to a request. A server that is silent for some time is asked on another connection whether it
    /// still works on it: an answer may take as long as it takes, but one that is not coming is an error.
    pub fn answer<T, E: Into<SqlError>>(
        &self,
        link: &Link,
        request: impl Future<Output = Result<T, E>>,
    ) -> SqlResult<T> {
        if link.is_lost() {
            return Err(connection_error("the connection was lost"));
        }
        let since = Instant::now();
        let mut idle = 0;
        let is_coming = || {
            match self.look_at(link.backend) {
                Progress::Working => idle = 0,
                // The answer may have been on its way.
                Progress::Idle => idle += 1,
                Progress::Away => idle = 2,
            }
            idle < 2
        };
        match wait_while(request, self.patience.for_silence(), is_coming) {
            Some(outcome) => outcome.map_err(Into::into),
            None => {
                link.give_up();
                self.patience.note_failed(since);
                Err(connection_error("no answer came"))
            }
        }
    }

    fn look_at(&self, backend: i32) -> Progress {
        const STATE: &str = "select state from pg_catalog.pg_stat_activity where pid = $1";
        if self.patience.has_just_failed() {
            return Progress::Away;
        }
        let state = self.connect_once(self.patience.for_silence() * 2, "select 1".to_owned(), move |link| async move {
            let rows = link.client.query_typed(STATE, &[(&backend, Type::INT4)]).await?;
            // Its own row is there, unless the process has ended; without the right to see its state, that is empty.
            let state = rows.first().map(|row| row.try_get::<_, Option<String>>(0));
            state.transpose().map(|state| state.map(Option::unwrap_or_default))
        });
        match state {
            Ok(Some(state)) if state.starts_with("idle") => Progress::Idle,
            Ok(Some(_)) => Progress::Working,
            Ok(None) => Progress::Idle,
            // It answers, and has no place for this connection.
            Err(SqlError::Postgres(error)) if error.is_full_of_connections() => Progress::Working,
            Err(SqlError::Postgres(error)) if error.kind == ServerErrorKind::Lost => Progress::Away,
            Err(_) => Progress::Working,
        }
    }
}

fn connection_error(why: &str) -> SqlError {
    SqlError::Postgres(ServerError::of_connection(why.to_owned()))
}

impl Drop for Server {
    fn drop(&mut self) {
        // Waiting for it is forbidden inside of another runtime, and nothing is left to do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

//! One server: its settings, the thread that drives the connections with it, and connecting.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::{SqlError, SqlResult};
use super::address::ServerAddress;
use super::failure::ServerError;
use super::tls;
use super::wait::wait_for;

/// The time to wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server, and the thread that drives the connections with it.
pub(crate) struct Server {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// The statements with which each session begins.
    setup: String,
    shown: String,
    runtime: Option<Runtime>,
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
    pub fn new(address: &ServerAddress) -> SqlResult<Arc<Self>> {
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
    pub fn connect(&self) -> SqlResult<Client> {
        let runtime = self.runtime()?;
        let (config, tls) = (self.config.clone(), self.tls.clone());
        let connected = runtime.spawn(async move {
            let connect = async {
                Ok::<_, tokio_postgres::Error>(match tls {
                    Some(tls) => {
                        let (client, connection) = config.connect(tls).await?;
                        tokio::spawn(connection);
                        client
                    }
                    None => {
                        let (client, connection) = config.connect(NoTls).await?;
                        tokio::spawn(connection);
                        client
                    }
                })
            };
            tokio::time::timeout(CONNECT_TIMEOUT * 2, connect).await
        });
        let client = match wait_for(connected) {
            Ok(Ok(client)) => client?,
            _ => return Err(connection_error("it does not answer")),
        };
        wait_for(client.batch_execute(&self.setup))?;
        Ok(client)
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

//! What all requests share: the app, the settings, and the signal that ends the server.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use karat_app::{App, Stop};
use tokio::sync::Semaphore;

use crate::guard::Guard;
use crate::problem::Problem;
use crate::server::Settings;

/// Calls to the app at one time. Each one may hold a connection to the store and the rows of a page.
const CONCURRENT_READS: usize = 8;

/// What all requests share. A handler takes it as a parameter.
#[derive(Clone)]
pub(crate) struct State(Arc<Shared>);

struct Shared {
    app: App,
    settings: Settings,
    guard: Guard,
    reads: Arc<Semaphore>,
    /// Set when the server is stopped, so that streams end.
    stop: Stop,
}

impl State {
    /// The state of a new server.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(app: App, settings: Settings) -> io::Result<Self> {
        let guard = Guard::new(&settings.hosts)?;
        let reads = Arc::new(Semaphore::new(CONCURRENT_READS));
        Ok(Self(Arc::new(Shared { app, settings, guard, reads, stop: Stop::new() })))
    }

    /// The settings of the server.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Who may ask.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// The signal that is set when the server stops.
    pub fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Calls the app on a thread that may block, when one of a few places is free.
    ///
    /// # Errors
    /// Those of the call. A panic in it is an internal problem.
    pub async fn read<T, E>(&self, read: impl FnOnce(&App) -> Result<T, E> + Send + 'static) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        let place = Arc::clone(&self.0.reads).acquire_owned().await.map_err(|_| Problem::shutting_down())?;
        let app = self.0.app.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let outcome = read(&app).map_err(Into::into);
            drop(place);
            outcome
        });
        reading.await.unwrap_or_else(|_| Err(Problem::internal()))
    }
}

impl FromRequestParts<Self> for State {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, state: &Self) -> Result<Self, Infallible> {
        Ok(state.clone())
    }
}

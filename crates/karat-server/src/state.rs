//! The state that all requests share: the app, the settings, and the signal that ends the server.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use karat_app::{App, FollowedSuites, Stop};
use karat_types::Moment;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::guard::Guard;
use crate::guard::answers::SharedAnswers;
use crate::guard::keys::KeysUnderWay;
use crate::guard::limits::RequestLimits;
use crate::guard::reading::SharedReading;
use crate::guard::streams::SharedStreams;
use crate::runs::active_runs::ActiveRuns;
use crate::runs::dispatcher::{Pulse, ServerWork, Wake};
use crate::runs::due_queue::DueQueue;

use crate::problem::Problem;
use crate::settings::{Purpose, Settings};
use crate::telemetry::Telemetry;
use crate::telemetry::log::ServerLog;
use crate::telemetry::metrics::Metrics;

/// Calls to the app at one time. Each one may hold a connection to the store and the rows of a page.
const CONCURRENT_READS: usize = 8;

/// Streams of events at one time. Each reads the store.
const CONCURRENT_STREAMS: usize = 256;

/// The state that all requests share. A handler takes it as a parameter.
#[derive(Clone)]
pub(crate) struct State(Arc<Shared>);

struct Shared {
    work: ServerWork,
    settings: Settings,
    guard: Guard,
    /// The suites whose schedules are followed.
    suites: FollowedSuites,
    keys: KeysUnderWay,
    answers: SharedAnswers,
    /// Requests that may have changed something.
    changes: AtomicU64,
    limits: RequestLimits,
    has_tokens: SharedReading<bool>,
    pulse: OnceLock<Pulse>,
    stream_places: Arc<Semaphore>,
    streams: SharedStreams,
    reads: Arc<Semaphore>,
    ingest: Arc<Semaphore>,
}

impl State {
    /// The state of a new server on a store that has tokens, or none.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(app: App, settings: Settings, has_tokens: bool) -> io::Result<Self> {
        let guard = Guard::new(&settings, has_tokens)?;
        let reads = Arc::new(Semaphore::new(CONCURRENT_READS));
        let stream_places = Arc::new(Semaphore::new(CONCURRENT_STREAMS));
        let limits = RequestLimits::default();
        let log = ServerLog { out: settings.log.clone(), notes: settings.notes.clone(), clock: app.clock.clone() };
        let is_safe = !matches!(settings.purpose, Purpose::Serve { allow_commands: true });
        let suites = FollowedSuites::new(app.clone(), settings.schedules.clone(), is_safe);
        if let Some(url) = &settings.public_url {
            app.opened.set_public_url(url);
        }
        let work = ServerWork {
            app,
            runs: ActiveRuns::default(),
            due: DueQueue::default(),
            wake: Wake::default(),
            stop: Stop::new(),
            telemetry: Telemetry { metrics: Metrics::default(), log },
        };
        Ok(Self(Arc::new(Shared {
            work,
            settings,
            guard,
            suites,
            keys: KeysUnderWay::default(),
            answers: SharedAnswers::default(),
            changes: AtomicU64::new(0),
            limits,
            has_tokens: SharedReading::default(),
            pulse: OnceLock::new(),
            stream_places,
            streams: SharedStreams::default(),
            reads,
            ingest: Arc::new(Semaphore::new(1)),
        })))
    }

    /// The settings of the server.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The runs that this server executes.
    pub fn runs(&self) -> &ActiveRuns {
        &self.0.work.runs
    }

    /// The due runs that wait for a place.
    pub fn due(&self) -> &DueQueue {
        &self.0.work.due
    }

    /// The suites whose schedules are followed.
    pub fn suites(&self) -> &FollowedSuites {
        &self.0.suites
    }

    /// The work that requests share with the dispatcher and the background.
    pub fn work(&self) -> &ServerWork {
        &self.0.work
    }

    /// Wakes the dispatcher: a run was queued.
    pub fn wake_dispatcher(&self) {
        self.0.work.wake.wake();
    }

    /// The figures and the log.
    pub fn telemetry(&self) -> &Telemetry {
        &self.0.work.telemetry
    }

    /// The pulse of the dispatcher, if there is one.
    pub fn pulse(&self) -> Option<&Pulse> {
        self.0.pulse.get()
    }

    /// Notes the pulse of the dispatcher.
    pub fn set_pulse(&self, pulse: Pulse) {
        let _ = self.0.pulse.set(pulse);
    }

    /// Open streams of events.
    pub fn open_streams(&self) -> usize {
        CONCURRENT_STREAMS.saturating_sub(self.0.stream_places.available_permits())
    }

    /// The limits of requests.
    pub fn limits(&self) -> &RequestLimits {
        &self.0.limits
    }

    /// The keys of requests under way.
    pub fn keys(&self) -> &KeysUnderWay {
        &self.0.keys
    }

    /// The answers that callers share.
    pub fn answers(&self) -> &SharedAnswers {
        &self.0.answers
    }

    /// The number of changes that this server has made: requests that write, and ends of runs.
    pub fn change(&self) -> u64 {
        self.0.changes.load(Ordering::SeqCst) + self.0.work.runs.count_ended()
    }

    /// Counts a request that may have changed something.
    pub fn note_change(&self) {
        self.0.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// A place for a stream of events.
    ///
    /// # Errors
    /// There are too many.
    pub fn stream_place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.0.stream_places)
            .try_acquire_owned()
            .map_err(|_| Problem::too_many("there are too many streams"))
    }

    /// The streams of events that share a thread.
    pub fn streams(&self) -> &SharedStreams {
        &self.0.streams
    }

    /// The rules of who may ask.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// The signal that is set when the server stops.
    pub fn stop(&self) -> &Stop {
        &self.0.work.stop
    }

    /// The present time.
    pub fn now(&self) -> Moment {
        self.0.work.app.clock.now()
    }

    /// Calls the app on a thread that may block, at once: for look-ups that every request needs.
    ///
    /// # Errors
    /// Those of the call. A panic in it is an internal problem.
    pub async fn look_up<T, E>(&self, read: impl FnOnce(&App) -> Result<T, E> + Send + 'static) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        let app = self.0.work.app.clone();
        let reading = tokio::task::spawn_blocking(move || read(&app).map_err(Into::into));
        reading.await.unwrap_or_else(|_| Err(Problem::internal()))
    }

    /// Returns whether every request needs a token.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn has_tokens(&self) -> Result<bool, Problem> {
        self.0.has_tokens.read(self.look_up(|app| app.service().has_tokens())).await
    }

    /// Reads the body of a request on a thread that may block, one at a time: in memory it is many times larger.
    ///
    /// # Errors
    /// Those of the reading. A panic in it is an internal problem.
    pub async fn read_body<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = Arc::clone(&self.0.ingest).acquire_owned().await.map_err(|_| Problem::shutting_down())?;
        self.look_up(move |_| {
            let outcome = read();
            drop(place);
            outcome
        })
        .await
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
        // The place is freed when the call ends, also if the caller has gone by then.
        self.look_up(move |app| {
            let outcome = read(app);
            drop(place);
            outcome
        })
        .await
    }
}

impl FromRequestParts<Self> for State {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, state: &Self) -> Result<Self, Infallible> {
        Ok(state.clone())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::settings::{Loopback, QueueLimits};

    /// The state of a server that was never asked anything.
    pub(crate) fn idle() -> State {
        let folder = std::path::PathBuf::from("/nonexistent");
        let app = App {
            store: karat_app::StoreUrl::in_folder(&folder),
            home: folder,
            lookup: Arc::new(|_| None),
            clock: Arc::new(karat_types::FixedClock(Moment(0))),
            own_program: None,
            opened: karat_app::Session::default(),
        };
        let settings = Settings {
            listen: std::net::SocketAddr::from(([127, 0, 0, 1], 0)),
            hosts: Vec::new(),
            purpose: Purpose::View { style: false },
            queue: QueueLimits::default(),
            log: None,
            notes: None,
            schedules: Vec::new(),
            public_url: None,
            metrics_open: false,
            loopback: Loopback::Open,
        };
        State::new(app, settings, false).unwrap()
    }
}

//! The runs that this server has started: their signals to stop, and how they ended where the store does not say it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use karat_app::{App, AppError, CallRecording, Execution, RunEnd, RunState, Stop};
use karat_types::{Event, Observer};
use tokio::sync::oneshot;

use crate::problem::Problem;

/// Runs at one time.
const MOST: usize = 1;

/// Ended runs that are remembered.
const REMEMBERED: usize = 1_000;

/// The runs of this server. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ActiveRuns(Arc<Mutex<BTreeMap<String, ActiveRun>>>);

#[derive(Default)]
struct ActiveRun {
    stop: Stop,
    is_running: bool,
    is_cancelled: bool,
    /// The failure that ended it.
    failure: Option<String>,
    /// The same run before it was continued.
    before: Option<Box<Self>>,
}

/// What a run does, on a thread of its own.
pub(crate) type Job = Box<dyn FnOnce(&App, Execution) -> Result<RunEnd, AppError> + Send>;

/// Whether a run has begun, or why not.
type Beginning = Result<(), Problem>;

impl ActiveRuns {
    /// Starts a run on a thread of its own, and returns once it makes calls: what forbids it is an error here.
    ///
    /// # Errors
    /// Another run is active, or the run is refused.
    pub async fn start(&self, app: &App, run: &str, execution_of: Option<String>, job: Job) -> Result<(), Problem> {
        let stop = self.reserve(run)?;
        let (begun, beginning) = oneshot::channel();
        let begun = Arc::new(BeginningOnce(Mutex::new(Some(begun))));
        let execution = Execution {
            resume: execution_of.is_none(),
            run_id: execution_of,
            observer: begun.clone(),
            stop,
            tape: CallRecording::None,
        };
        let (runs, app, id) = (self.clone(), app.clone(), run.to_owned());
        let work = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&app, execution)));
            let failure = match &outcome {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("the run failed: this is a bug in karat".to_owned()),
            };
            let never_began = match outcome {
                Ok(Ok(_)) => Err(Problem::new(StatusCode::CONFLICT, "run-finished", "There is nothing left to do")),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(Problem::internal()),
            };
            // Ended before its caller is told: the next request finds it over.
            let waiting = begun.take();
            runs.end(&id, failure, waiting.is_some());
            // The caller may have gone.
            drop(waiting.map(|waiting| waiting.send(never_began)));
        };
        let thread = std::thread::Builder::new().name("run".to_owned()).spawn(work);
        if thread.is_err() {
            self.end(run, None, true);
            return Err(Problem::internal());
        }
        beginning.await.unwrap_or_else(|_| Err(Problem::internal()))
    }

    /// Stops a run. Returns whether this server runs it.
    pub fn cancel(&self, run: &str) -> bool {
        let mut runs = self.runs();
        let Some(run) = runs.get_mut(run).filter(|run| run.is_running) else { return false };
        run.is_cancelled = true;
        run.stop.set();
        true
    }

    /// Stops all runs, as Ctrl-C does; they can be resumed.
    pub fn stop_all(&self) {
        self.runs().values().for_each(|run| run.stop.set());
    }

    /// Returns whether a run of this server is not over.
    pub fn is_any_running(&self) -> bool {
        self.runs().values().any(|run| run.is_running)
    }

    /// Returns whether this server runs it now.
    pub fn is_running(&self, run: &str) -> bool {
        self.runs().get(run).is_some_and(|run| run.is_running)
    }

    /// Adds what only this server knows of a run: that it is active, that it was cancelled, or why it failed.
    pub fn complete(&self, state: RunState) -> (RunState, Option<String>) {
        let runs = self.runs();
        let Some(known) = runs.get(&state.run_id) else { return (state, None) };
        match &known.failure {
            // Its last row is written a moment before its thread ends; until then it cannot be continued.
            _ if known.is_running => {
                (RunState { status: "running", verdict: None, exit_code: None, completed_at: None, ..state }, None)
            }
            _ if state.status != "interrupted" => (state, None),
            Some(failure) => (RunState { status: "failed", exit_code: Some(1), ..state }, Some(failure.clone())),
            None if known.is_cancelled => (RunState { status: "cancelled", ..state }, None),
            None => (state, None),
        }
    }

    fn reserve(&self, run: &str) -> Result<Stop, Problem> {
        let mut runs = self.runs();
        if runs.get(run).is_some_and(|known| known.is_running) {
            return Err(Problem::new(StatusCode::CONFLICT, "run-in-use", "The run is active"));
        }
        if runs.values().filter(|known| known.is_running).count() >= MOST {
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "queue-full", "Another run is active");
            return Err(Problem { retry_after_s: Some(30), ..problem });
        }
        if runs.len() >= REMEMBERED {
            runs.retain(|_, known| known.is_running);
        }
        let stop = Stop::new();
        let before = runs.remove(run).map(Box::new);
        let new = ActiveRun { stop: stop.clone(), is_running: true, before, ..ActiveRun::default() };
        runs.insert(run.to_owned(), new);
        Ok(stop)
    }

    /// Ends a run. One that never began is as it was before.
    fn end(&self, run: &str, failure: Option<String>, never_began: bool) {
        let mut runs = self.runs();
        if never_began {
            let before = runs.remove(run).and_then(|run| run.before);
            runs.extend(before.map(|before| (run.to_owned(), *before)));
        } else if let Some(run) = runs.get_mut(run) {
            run.is_running = false;
            run.before = None;
            run.failure = failure;
        }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, ActiveRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells once that a run has begun, or that it ended without.
struct BeginningOnce(Mutex<Option<oneshot::Sender<Beginning>>>);

impl BeginningOnce {
    /// The caller, if it was told nothing yet.
    fn take(&self) -> Option<oneshot::Sender<Beginning>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Observer for BeginningOnce {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Started { .. } = event {
            drop(self.take().map(|waiting| waiting.send(Ok(()))));
        }
    }
}

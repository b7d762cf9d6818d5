//! The dispatcher: a thread that takes runs from the queue of the store and executes each on a thread of its own.
//!
//! A server that stops in order puts its runs back into the queue; the runs of a killed one are found by the next. A run
//! whose rows do not say how it ended gets its end in the queue: that it was cancelled, or why it failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use karat_app::{
    AlertedRun, App, AppError, CallRecording, DueRun, ErrorKind, Execution, QueueEnd, QueuedRun, RunEnd, Stop,
};
use karat_types::RunStatus;
use tokio::time::Instant;

use crate::runs::active_runs::ActiveRuns;
use crate::runs::due_queue::DueQueue;
use crate::runs::measure::{self, RunMetrics};
use crate::telemetry::Telemetry;

/// Time between two looks at the queue, which other processes may fill.
const TICK: Duration = Duration::from_secs(1);

/// Time between two searches for runs of killed servers.
const RECOVERY: Duration = Duration::from_secs(60);

/// Time without a look at the queue after which the dispatcher counts as hung.
pub(crate) const HUNG: Duration = Duration::from_secs(60);

/// The dispatcher of a server. Dropping it stops its runs; they go on at the next start.
pub(crate) struct Dispatcher(Arc<Shared>);

struct Shared {
    work: ServerWork,
    /// This server in the queue: its process and a random part.
    owner: String,
    allow_commands: bool,
    /// Runs at one time.
    most: usize,
    looked_at: Mutex<Instant>,
}

/// The work of a server, which requests, the dispatcher and the background share.
#[derive(Clone)]
pub(crate) struct ServerWork {
    pub app: App,
    /// Runs that this server executes.
    pub runs: ActiveRuns,
    /// Due runs that wait for a place.
    pub due: DueQueue,
    /// Wakes the dispatcher.
    pub wake: Wake,
    /// Set when the server stops.
    pub stop: Stop,
    pub telemetry: Telemetry,
}

/// Wakes the dispatcher before its next tick.
#[derive(Clone, Default)]
pub(crate) struct Wake(Arc<(Mutex<bool>, Condvar)>);

impl Wake {
    pub fn wake(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_one();
    }

    fn wait(&self, time: Duration) {
        let is_woken = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(is_woken, time, |is_woken| !*is_woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

impl Dispatcher {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(work: ServerWork, allow_commands: bool, most: usize) -> std::io::Result<Self> {
        let owner = format!("{}-{}", std::process::id(), uuid::Uuid::now_v7().simple());
        let looked_at = Mutex::new(Instant::now());
        let shared = Arc::new(Shared { work, owner, allow_commands, most, looked_at });
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("dispatcher".to_owned()).spawn(move || own.run())?;
        Ok(Self(shared))
    }

    /// A view of the dispatcher that does not keep it.
    pub fn pulse(&self) -> Pulse {
        Pulse(Arc::clone(&self.0))
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.0.work.stop.set();
        self.0.work.runs.stop_all();
        self.0.work.wake.wake();
    }
}

/// The time since the dispatcher looked at the queue.
#[derive(Clone)]
pub(crate) struct Pulse(Arc<Shared>);

impl Pulse {
    /// Returns whether the dispatcher ends.
    pub fn is_stopping(&self) -> bool {
        self.0.work.stop.is_set()
    }

    /// Time since the last look.
    pub fn age(&self) -> Duration {
        self.0.looked_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Shared {
    fn run(self: Arc<Self>) {
        let mut recovered: Option<Instant> = None;
        while !self.work.stop.is_set() {
            *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            if recovered.is_none_or(|at| at.elapsed() >= RECOVERY) && self.work.app.store.exists() {
                // A store that cannot be read now is tried again at the next tick; `/healthz` says so.
                let outcome = self.work.app.service().recover_queue(&self.owner);
                recovered = outcome.is_ok().then(Instant::now);
                for run in outcome.unwrap_or_default() {
                    self.work.telemetry.log.run(
                        &run,
                        "interrupted",
                        Some("its server crashed three times while it ran"),
                    );
                }
            }
            self.start_due();
            self.start_waiting();
            self.work.wake.wait(TICK);
        }
    }

    /// Due runs go first: they are few, and a queue may be long.
    fn start_due(self: &Arc<Self>) {
        while self.work.runs.count() < self.most && !self.work.stop.is_set() {
            let Some(due) = self.work.due.pop() else { return };
            // It was found unfinished in the moment before this server executed it.
            if self.work.runs.is_running(&due.run) {
                continue;
            }
            let stop = self.work.runs.add(&due.run);
            let (own, run) = (Arc::clone(self), due.run.clone());
            let thread = std::thread::Builder::new().name("run".to_owned()).spawn(move || own.execute_due(&due, stop));
            if let Err(error) = thread {
                // The run is claimed; it goes on when a server starts again.
                self.work.runs.remove(&run);
                return self.work.telemetry.log.note(&format!("starting the run {run}: {error}"));
            }
        }
    }

    fn execute_due(&self, due: &DueRun, stop: Stop) {
        let log = &self.work.telemetry.log;
        let run = due.run.as_str();
        let begun = Instant::now();
        log.run(run, "running", None);
        log.note(&format!("run {run} starts"));
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work.app.service().run_due(due, self.execution(stop))));
        let mut has_ended = false;
        match outcome {
            Ok(Ok(ended)) => {
                if let Some(end) = &ended.end {
                    measure::count_end(&self.work.telemetry.metrics, end);
                    has_ended = !matches!(end.status, RunStatus::Running | RunStatus::Interrupted);
                }
                if let Some(failure) = &ended.failure {
                    log.note(&format!("run {run}: {failure}"));
                }
                self.note_alerts(&ended.alerted);
                log.note(&format!("run {run} ended with exit code {}", ended.exit.code()));
            }
            Ok(Err(error)) => log.note(&format!("run {run}: {error}")),
            Err(_) => log.note(&format!("run {run} failed: this is a bug in karat")),
        }
        // Otherwise it would go on when the next server starts.
        if self.work.runs.is_cancelled(run)
            && !has_ended
            && let Err(error) = self.work.app.service().cancel_due_run(run)
        {
            log.failure("cancelling a run", &error.to_string());
        }
        self.work.runs.remove(run);
        if has_ended {
            measure::measure_run(&self.work.app, &self.work.telemetry, run, begun.elapsed());
        }
        self.work.wake.wake();
    }

    fn execution(&self, stop: Stop) -> Execution {
        let observer = Arc::new(RunMetrics::new(self.work.telemetry.metrics.clone()));
        Execution { run_id: None, resume: true, observer, stop, tape: CallRecording::None }
    }

    fn note_alerts(&self, alerted: &AlertedRun) {
        alerted.problems.iter().chain(&alerted.messages).for_each(|line| self.work.telemetry.log.note(line));
    }

    fn start_waiting(self: &Arc<Self>) {
        while self.work.runs.count() < self.most && self.work.app.store.exists() && !self.work.stop.is_set() {
            let Ok(Some(queued)) = self.work.app.service().take_queued(&self.owner) else { return };
            let stop = self.work.runs.add(&queued.run);
            let (own, run) = (Arc::clone(self), queued.run.clone());
            let thread = std::thread::Builder::new().name("run".to_owned()).spawn(move || own.execute(&queued, stop));
            if thread.is_err() {
                // It waits until the system allows threads again.
                let _ = self.work.app.service().park_queued(&run);
                self.work.runs.remove(&run);
                return;
            }
        }
    }

    fn execute(&self, queued: &QueuedRun, stop: Stop) {
        let execution = self.execution(stop);
        let begun = Instant::now();
        self.work.telemetry.log.run(&queued.run, "running", None);
        let execute = || self.work.app.service().execute_order(queued, self.allow_commands, execution);
        let end = match catch_unwind(AssertUnwindSafe(execute)) {
            Ok(outcome) => {
                if let Ok(end) = &outcome {
                    measure::count_end(&self.work.telemetry.metrics, end);
                }
                // Before the queue knows of the end: a server that is killed in between alerts at its next start.
                if !self.work.runs.is_cancelled(&queued.run) {
                    match self.work.app.service().alert_of_queued(queued, outcome.as_ref()) {
                        Ok(alerted) => self.note_alerts(&alerted),
                        Err(error) => self.work.telemetry.log.failure("storing alerts", &error.to_string()),
                    }
                }
                self.end_of(&queued.run, outcome)
            }
            Err(_) => Some(failure_end("the run failed: this is a bug in karat".to_owned())),
        };
        // If the store cannot be written now, the next server finds the run as one of a killed server.
        if let Some(end) = &end
            && let Err(error) = self.work.app.service().end_queued(&queued.run, end)
        {
            self.work.telemetry.log.failure("ending a run", &error.to_string());
        }
        self.work.runs.remove(&queued.run);
        if end.is_some() {
            measure::measure_run(&self.work.app, &self.work.telemetry, &queued.run, begun.elapsed());
        }
        self.work.wake.wake();
    }

    /// The end of a run for the queue; `None` if the run goes on later, or another process executes it.
    fn end_of(&self, run: &str, outcome: Result<RunEnd, AppError>) -> Option<QueueEnd> {
        let end = match outcome {
            Ok(end) => end,
            Err(error) if matches!(error.kind(), ErrorKind::RunInUse | ErrorKind::RunExists) => return None,
            Err(error) if error.kind() == ErrorKind::RunParked => {
                return Some(QueueEnd { status: Some("interrupted"), problem: Some(error.to_string()) });
            }
            Err(error) => return Some(failure_end(error.to_string())),
        };
        match end.status {
            RunStatus::Finished => Some(QueueEnd { problem: end.overspent, ..QueueEnd::default() }),
            RunStatus::BudgetStopped => Some(QueueEnd { problem: end.stopped, ..QueueEnd::default() }),
            RunStatus::Running | RunStatus::Interrupted => match end.refused {
                Some(refused) => Some(failure_end(refused)),
                None if self.work.runs.is_cancelled(run) => Some(QueueEnd { status: Some("cancelled"), problem: None }),
                None if self.work.stop.is_set() => {
                    // Otherwise it is found as that of a killed server.
                    let _ = self.work.app.service().park_queued(run);
                    None
                }
                None => Some(QueueEnd { status: Some("interrupted"), problem: None }),
            },
        }
    }
}

fn failure_end(problem: String) -> QueueEnd {
    QueueEnd { status: Some("failed"), problem: Some(problem) }
}

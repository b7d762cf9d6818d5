//! The dispatcher: a thread that takes runs from the queue of the store and executes each on a thread of its own.
//!
//! A server that stops in order puts its runs back into the queue; the runs of a killed one are found by the next. A run
//! whose rows do not say how it ended gets its end in the queue: that it was cancelled, or why it failed.
//!
//! While the store does not answer, the server lives and says so. A run that ends meanwhile waits in memory, and goes on by
//! itself once the store answers.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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

/// Time without a look at the queue after which the dispatcher counts as hung. A look at a store that does not answer takes
/// about a minute.
pub(crate) const HUNG: Duration = Duration::from_secs(180);

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
    /// True while the store does not answer.
    is_store_away: AtomicBool,
    /// Runs whose end the store could not be told.
    untold: Mutex<BTreeMap<String, End>>,
    /// Runs that the store's absence has ended, and that go on.
    held_up: Mutex<BTreeSet<String>>,
}

/// The end of a run, as far as the queue is concerned.
enum End {
    /// It gets this end.
    Told(QueueEnd),
    /// It goes on: at the next start, or once the store answers.
    Waits,
    /// Another process executes it.
    Elsewhere,
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
        let shared = Arc::new(Shared {
            work,
            owner,
            allow_commands,
            most,
            looked_at,
            is_store_away: AtomicBool::default(),
            untold: Mutex::default(),
            held_up: Mutex::default(),
        });
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

    /// Writes a line to the log.
    pub fn note(&self, text: &str) {
        self.0.work.telemetry.log.note(text);
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
                // A store that cannot be read now is tried again at the next tick.
                let outcome = self.note_failure(self.work.app.service().recover_queue(&self.owner));
                recovered = outcome.is_some().then(Instant::now);
                for run in outcome.unwrap_or_default() {
                    self.work.telemetry.log.run(
                        &run,
                        "interrupted",
                        Some("its server crashed three times while it ran"),
                    );
                }
            }
            self.tell_ends();
            self.start_due();
            self.start_waiting();
            self.work.wake.wait(TICK);
        }
    }

    /// The outcome of a look at the store. A store that fails is noted once, and so is that it answers again.
    fn note_failure<T>(&self, outcome: Result<T, AppError>) -> Option<T> {
        let was_away = self.is_store_away.swap(outcome.is_err(), Ordering::SeqCst);
        match &outcome {
            Err(error) if !was_away => {
                self.work.telemetry.log.note(&format!("no run is started, as the store cannot be used: {error}"));
            }
            Ok(_) if was_away => self.work.telemetry.log.note("the store answers again"),
            _ => {}
        }
        outcome.ok()
    }

    /// Tells the store the ends that it did not hear of.
    fn tell_ends(&self) {
        let untold = std::mem::take(&mut *lock(&self.untold));
        for (run, end) in untold {
            self.tell(&run, end);
        }
    }

    /// Tells the store the end of a run, now or once it answers.
    fn tell(&self, run: &str, end: End) {
        let told = match &end {
            End::Told(end) => self.work.app.service().end_queued(run, end),
            End::Waits => self.work.app.service().park_queued(run),
            End::Elsewhere => Ok(()),
        };
        match told {
            Ok(()) => {}
            // If the server ends before that, the next one finds the run as one of a killed server.
            Err(error) if error.is_store_away() => _ = lock(&self.untold).insert(run.to_owned(), end),
            Err(error) => self.work.telemetry.log.failure("ending a run", &error.to_string()),
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
            // Its run would start before its last end is told.
            if !lock(&self.untold).is_empty() {
                return;
            }
            let Some(Some(queued)) = self.note_failure(self.work.app.service().take_queued(&self.owner)) else {
                return;
            };
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
                let end = self.end_of(&queued.run, &outcome);
                // Before the queue knows of the end: a server that is killed in between alerts at its next start.
                if matches!(end, End::Told(_)) && !self.work.runs.is_cancelled(&queued.run) {
                    match self.work.app.service().alert_of_queued(queued, outcome.as_ref()) {
                        Ok(alerted) => self.note_alerts(&alerted),
                        Err(error) => self.work.telemetry.log.failure("storing alerts", &error.to_string()),
                    }
                }
                end
            }
            Err(_) => End::Told(failure_end("the run failed: this is a bug in karat".to_owned())),
        };
        let has_ended = matches!(end, End::Told(_));
        self.tell(&queued.run, end);
        self.work.runs.remove(&queued.run);
        if has_ended {
            measure::measure_run(&self.work.app, &self.work.telemetry, &queued.run, begun.elapsed());
        }
        self.work.wake.wake();
    }

    /// The end of a run for the queue.
    fn end_of(&self, run: &str, outcome: &Result<RunEnd, AppError>) -> End {
        let was_held_up = lock(&self.held_up).remove(run);
        let end = match outcome {
            Ok(end) => end,
            Err(error) if error.is_store_away() && self.work.runs.is_cancelled(run) => {
                return End::Told(QueueEnd { status: Some("cancelled"), problem: None });
            }
            Err(error) if self.goes_on_after(error, was_held_up) => {
                let problem = format!("run {run} waits, and goes on once the store answers: {error}");
                self.work.telemetry.log.run(run, "queued", Some(&problem));
                if !was_held_up {
                    self.work.telemetry.log.note(&problem);
                }
                lock(&self.held_up).insert(run.to_owned());
                return End::Waits;
            }
            Err(error) if matches!(error.kind(), ErrorKind::RunInUse | ErrorKind::RunExists) => return End::Elsewhere,
            Err(error) if error.kind() == ErrorKind::RunParked => {
                return End::Told(QueueEnd { status: Some("interrupted"), problem: Some(error.to_string()) });
            }
            Err(error) => return End::Told(failure_end(error.to_string())),
        };
        match end.status {
            RunStatus::Finished => End::Told(QueueEnd { status: None, problem: end.overspent.clone() }),
            RunStatus::BudgetStopped => End::Told(QueueEnd { status: None, problem: end.stopped.clone() }),
            RunStatus::Running | RunStatus::Interrupted => match &end.refused {
                Some(refused) => End::Told(failure_end(refused.clone())),
                None if self.work.runs.is_cancelled(run) => {
                    End::Told(QueueEnd { status: Some("cancelled"), problem: None })
                }
                // Otherwise it is found as that of a killed server.
                None if self.work.stop.is_set() => End::Waits,
                None => End::Told(QueueEnd { status: Some("interrupted"), problem: None }),
            },
        }
    }

    /// Returns whether a run that ended with this error goes on by itself. The right to write a run outlasts a store's absence
    /// by half a minute.
    fn goes_on_after(&self, error: &AppError, was_held_up: bool) -> bool {
        error.is_store_away() || was_held_up && error.kind() == ErrorKind::RunInUse
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failure_end(problem: String) -> QueueEnd {
    QueueEnd { status: Some("failed"), problem: Some(problem) }
}

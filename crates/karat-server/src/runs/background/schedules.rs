//! Threads that follow schedules and send alerts. What is due, and that it runs once, is decided by the app.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use karat_app::{App, CallRecording, DueRun, Execution, Scheduler, Stop};
use karat_types::SilentObserver;

/// Time between two looks at the schedules, and between two at the outbox.
const TICK: Duration = Duration::from_secs(1);

/// Time between two looks at the signal to stop.
const NAP: Duration = Duration::from_millis(100);

/// Scheduled runs at one time.
const MOST_RUNS: usize = 2;

/// Writes a line for the operator.
type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The threads that follow schedules.
pub struct Background {
    threads: Vec<JoinHandle<()>>,
    runs: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Background {
    /// Follows the schedules of suites until `stop` is set; without suites, of `karat.yaml` in this folder and in the
    /// folders in it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        app: &App,
        suites: Vec<String>,
        allow_commands: bool,
        stop: &Stop,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let log: Log = Arc::new(log);
        let runs = Arc::new(Mutex::new(Vec::new()));
        let follower = Follower {
            app: app.clone(),
            stop: stop.clone(),
            log: log.clone(),
            runs: runs.clone(),
            scheduler: Scheduler::new(app.clone(), suites).without_commands(!allow_commands),
            waiting: Vec::new(),
        };
        let schedules = std::thread::Builder::new().name("schedules".to_owned()).spawn(move || follower.follow())?;
        let (app, stop) = (app.clone(), stop.clone());
        let outbox = std::thread::Builder::new().name("outbox".to_owned()).spawn(move || send(&app, &stop, &log))?;
        Ok(Self { threads: vec![schedules, outbox], runs })
    }

    /// Waits until all threads have ended. Runs end as after Ctrl-C, and can be resumed.
    pub fn join(self) {
        for thread in self.threads {
            // A panic was reported where it happened.
            let _ = thread.join();
        }
        let runs = std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner));
        for run in runs {
            let _ = run.join();
        }
    }
}

struct Follower {
    app: App,
    stop: Stop,
    log: Log,
    runs: Arc<Mutex<Vec<JoinHandle<()>>>>,
    scheduler: Scheduler,
    /// Claimed runs that wait for a place.
    waiting: Vec<DueRun>,
}

impl Follower {
    fn follow(mut self) {
        while !self.stop.is_set() {
            match self.scheduler.tick() {
                Ok(due) => {
                    due.notes.iter().for_each(|note| (self.log)(note));
                    self.waiting.extend(due.runs);
                }
                Err(error) => (self.log)(&format!("following schedules: {error}")),
            }
            self.start_runs();
            pause(&self.stop, TICK);
        }
    }

    fn start_runs(&mut self) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|run| !run.is_finished());
        while runs.len() < MOST_RUNS && !self.waiting.is_empty() {
            let due = self.waiting.remove(0);
            let (app, stop, log) = (self.app.clone(), self.stop.clone(), self.log.clone());
            let work = move || run(&app, &due, stop, &log);
            match std::thread::Builder::new().name("run".to_owned()).spawn(work) {
                Ok(thread) => runs.push(thread),
                // The run is claimed; it goes on when a server starts again.
                Err(error) => (self.log)(&format!("starting a scheduled run: {error}")),
            }
        }
    }
}

fn run(app: &App, due: &DueRun, stop: Stop, log: &Log) {
    log(&format!("run {} starts", due.run));
    let tape = CallRecording::None;
    let execution = Execution { run_id: None, resume: true, observer: Arc::new(SilentObserver), stop, tape };
    match catch_unwind(AssertUnwindSafe(|| app.run_due(due, execution))) {
        Ok(Ok(ended)) => {
            if let Some(failure) = &ended.failure {
                log(&format!("run {}: {failure}", due.run));
            }
            ended.alerted.problems.iter().chain(&ended.alerted.messages).for_each(|line| log(line));
            log(&format!("run {} ended with exit code {}", due.run, ended.exit.code()));
        }
        Ok(Err(error)) => log(&format!("run {}: {error}", due.run)),
        Err(_) => log(&format!("run {} failed: this is a bug in karat", due.run)),
    }
}

fn send(app: &App, stop: &Stop, log: &Log) {
    while !stop.is_set() {
        match app.deliver_due() {
            Ok(delivered) => delivered.failures.iter().for_each(|failure| log(failure)),
            Err(error) => log(&format!("sending alerts: {error}")),
        }
        pause(stop, TICK);
    }
}

fn pause(stop: &Stop, time: Duration) {
    let mut left = time;
    while !left.is_zero() && !stop.is_set() {
        std::thread::sleep(NAP);
        left = left.saturating_sub(NAP);
    }
}

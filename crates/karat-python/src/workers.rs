//! Threads that call Python functions.
//!
//! One of them runs at a time as long as functions only compute, since each needs the interpreter. So one thread takes one
//! call after the other and stays attached from call to call; a call that comes meanwhile wakes no other, which would only
//! take the interpreter away.
//!
//! A function that waits releases the interpreter, and others could run. If calls take long on average, each new one wakes a
//! thread that has nothing to do. And if calls wait of which few begin, a watching thread writes off the threads under way and
//! admits others: twice as many each time, unless the last one had to wait for the interpreter. A thread that was written
//! off comes back when its function returns, if it is needed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::time::Instant;

/// Threads of a run at most: more calls than these are not under way at once.
const MOST: usize = 512;
/// Stack of a thread: deep recursion of Python code needs as much as on the main thread.
const STACK: usize = 8 << 20;
/// Interval at which the watching thread looks for calls that do not begin.
const PATIENCE: Duration = Duration::from_millis(2);
/// Calls begun within [`PATIENCE`] from which on a further thread would not help: they are short, and do not wait.
const MANY: u64 = 8;
/// Mean time of a call up to which one thread is enough: to wake another takes about as long.
const SHORT: Duration = Duration::from_micros(250);
/// The longest time that a call counts for in the mean.
const LONGEST: Duration = Duration::from_millis(20);
/// Share of the latest call in the mean.
const WEIGHT: f64 = 1.0 / 32.0;
/// The time for which no thread is added after one that had to wait for the interpreter: others compute.
const CONTENTION: Duration = Duration::from_millis(100);

/// Something that is done while the interpreter is attached.
pub type Job = Box<dyn FnOnce(Python<'_>) + Send>;

/// The threads, and the jobs that wait for them.
#[derive(Default)]
pub struct Workers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when a thread is admitted.
    admitted: Condvar,
    /// Notified when there is something to watch.
    watched: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// Threads that wait to be admitted.
    idle: usize,
    /// Threads that were admitted and are not attached yet, and how many of them are still idle.
    attaching: usize,
    admitted: usize,
    /// Threads that take jobs: admitted, and not written off since.
    taking: usize,
    /// Counts how often the threads under way were written off.
    generation: u64,
    /// Jobs that were begun.
    begun: u64,
    /// Mean time of a job in seconds; later ones count more.
    mean: f64,
    /// The time until which no thread is added.
    contended_until: Option<Instant>,
    /// True if many jobs began within the latest interval of the watching thread.
    is_brisk: bool,
    /// True while the watching thread looks at regular intervals.
    is_watching: bool,
    has_watcher: bool,
    is_over: bool,
}

impl State {
    fn has_short_jobs(&self) -> bool {
        self.mean <= SHORT.as_secs_f64()
    }

    fn add_time(&mut self, took: Duration) {
        self.mean += (took.min(LONGEST).as_secs_f64() - self.mean) * WEIGHT;
    }

    /// Returns whether a thread should leave the jobs to those that take them.
    fn is_spare(&self, generation: u64) -> bool {
        let others = self.taking - usize::from(generation == self.generation);
        others > 0 && self.has_short_jobs()
    }

    /// Counts a thread that was written off among those that take jobs.
    fn rejoin(&mut self, generation: &mut u64) {
        if *generation != self.generation {
            *generation = self.generation;
            self.taking += 1;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets an idle thread take jobs, or a new one. Returns `false` if there is none.
    fn admit(self: &Arc<Self>, state: &mut State) -> bool {
        if state.idle > state.admitted {
            state.admitted += 1;
            self.admitted.notify_one();
        } else {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("python".to_owned()).stack_size(STACK);
            // Attached once around all work: what the interpreter keeps of a thread is made by its outermost attachment and
            // freed at the end of that, which takes longer than a short function.
            let asked = Instant::now();
            let work = move || Python::attach(|py| py.detach(|| shared.work(asked)));
            // Without the thread the others go on, only with fewer calls at once.
            if state.threads >= MOST || thread.spawn(work).is_err() {
                return false;
            }
            state.threads += 1;
        }
        state.attaching += 1;
        state.taking += 1;
        true
    }

    /// Starts the watching thread, or wakes it.
    fn watch(self: &Arc<Self>, state: &mut State) {
        if state.has_watcher {
            self.watched.notify_one();
        } else {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("python-watch".to_owned());
            state.has_watcher = thread.spawn(move || shared.admit_for_waiting_jobs()).is_ok();
        }
        state.is_watching = state.has_watcher;
    }

    /// Takes jobs until the end. The thread was admitted at `asked`.
    fn work(&self, mut asked: Instant) {
        let mut generation = self.state().generation;
        loop {
            Python::attach(|py| {
                let waited = asked.elapsed();
                let mut next = self.take_first_job(&mut generation, waited);
                while let Some(job) = next {
                    let start = Instant::now();
                    job(py);
                    next = self.take_job(&mut generation, start.elapsed());
                }
            });
            if self.state().is_brisk {
                // The threads that add jobs get the processor before this one looks again: it would else sleep and be woken
                // for each job.
                std::thread::yield_now();
            }
            if !self.wait_for_jobs(&mut generation) {
                return;
            }
            asked = Instant::now();
        }
    }

    fn take_first_job(&self, generation: &mut u64, waited: Duration) -> Option<Job> {
        let mut state = self.state();
        state.attaching = state.attaching.saturating_sub(1);
        if waited > PATIENCE / 2 {
            state.contended_until = Some(Instant::now() + CONTENTION);
        }
        state.rejoin(generation);
        let job = state.jobs.pop_front()?;
        state.begun += 1;
        Some(job)
    }

    /// The next job after one that took this time. The lock is not held while Python code runs.
    fn take_job(&self, generation: &mut u64, took: Duration) -> Option<Job> {
        let mut state = self.state();
        state.add_time(took);
        if state.is_spare(*generation) {
            return None;
        }
        state.rejoin(generation);
        let job = state.jobs.pop_front()?;
        state.begun += 1;
        Some(job)
    }

    /// Waits until there are jobs for this thread. Returns `false` at the end.
    fn wait_for_jobs(&self, generation: &mut u64) -> bool {
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        if !state.jobs.is_empty() && !state.is_spare(*generation) {
            state.rejoin(generation);
            state.attaching += 1;
            return true;
        }
        if *generation == state.generation {
            state.taking -= 1;
        }
        state.idle += 1;
        while state.admitted == 0 && !state.is_over {
            state = self.admitted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.idle -= 1;
        state.admitted = state.admitted.saturating_sub(1);
        *generation = state.generation;
        !state.is_over
    }

    /// Admits threads while jobs wait of which few begin. Returns at the end.
    fn admit_for_waiting_jobs(self: Arc<Self>) {
        let mut state = self.state();
        while !state.is_over {
            if state.jobs.is_empty() && state.taking == 0 {
                (state.is_watching, state.is_brisk) = (false, false);
                state = self.watched.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (begun, added) = (state.begun, state.begun + state.jobs.len() as u64);
            state = self.watched.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            let waiting = added.saturating_sub(state.begun).min(state.jobs.len() as u64);
            let is_contended = state.contended_until.is_some_and(|until| Instant::now() < until);
            state.is_brisk = state.begun - begun >= MANY;
            if waiting == 0 || state.is_brisk || state.attaching > 0 || is_contended {
                continue;
            }
            let under_way = state.threads - state.idle;
            let more = under_way.max(1).min(usize::try_from(waiting).unwrap_or(MOST));
            state.generation += 1;
            state.taking = 0;
            while state.taking < more && self.admit(&mut state) {}
        }
    }
}

impl Workers {
    /// Adds a job. The first one starts a thread.
    pub fn add(&self, job: Job) {
        let mut state = self.0.state();
        state.jobs.push_back(job);
        if state.taking == 0 || (!state.has_short_jobs() && state.idle > state.admitted) {
            self.0.admit(&mut state);
        }
        if !state.is_watching {
            self.0.watch(&mut state);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_over = true;
        // Nothing waits for their answers any longer.
        let left = std::mem::take(&mut state.jobs);
        drop(state);
        self.0.admitted.notify_all();
        self.0.watched.notify_all();
        drop(left);
    }
}

//! Threads that call Python functions.
//!
//! One thread is enough for functions that only compute, since one of them runs at a time anyway, and it keeps the
//! interpreter attached from call to call. A function that waits releases the interpreter, and others could run: a call
//! that has not begun after a moment in which few others have starts a further thread. More threads than that would only
//! take the interpreter from each other, which costs more than a short function.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

/// Threads of a run at most: more calls than these are not under way at once.
const MOST: usize = 512;
/// Stack of a thread: deep recursion of Python code needs as much as on the main thread.
const STACK: usize = 8 << 20;

/// Something that is done while the interpreter is attached.
pub type Job = Box<dyn FnOnce(Python<'_>) + Send>;

/// The threads, and the jobs that wait for them.
#[derive(Default)]
pub struct Workers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Jobs that were begun.
    begun: AtomicU64,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    is_over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, or `None` at the end.
    fn wait_for_job(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_over {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn begin(&self, job: Job, py: Python<'_>) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        job(py);
    }

    fn work(&self) {
        while let Some(first) = self.wait_for_job() {
            Python::attach(|py| {
                self.begin(first, py);
                // Bound first: the lock must not be held while Python code runs.
                let mut next = self.state().jobs.pop_front();
                while let Some(job) = next {
                    self.begin(job, py);
                    next = self.state().jobs.pop_front();
                }
            });
        }
    }
}

impl Workers {
    /// Adds a job. The first one starts a thread.
    pub fn add(&self, job: Job) {
        let mut state = self.0.state();
        state.jobs.push_back(job);
        let (is_waited_for, is_first) = (state.idle > 0, state.threads == 0);
        drop(state);
        if is_waited_for {
            self.0.changed.notify_one();
        } else if is_first {
            self.grow();
        }
    }

    /// The number of jobs that were begun.
    pub fn count_begun(&self) -> u64 {
        self.0.begun.load(Ordering::Relaxed)
    }

    /// Starts a further thread, unless one has nothing to do.
    pub fn grow(&self) {
        let mut state = self.0.state();
        if state.idle > 0 || state.threads >= MOST || state.jobs.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("python".to_owned()).stack_size(STACK);
        // Without the thread the others go on, only with fewer calls at once.
        if thread.spawn(move || shared.work()).is_ok() {
            state.threads += 1;
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
        self.0.changed.notify_all();
        drop(left);
    }
}

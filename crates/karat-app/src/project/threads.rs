//! Checks that the system lets this process start the threads that it needs (H1). Without the check a thread that is
//! missing shows late: as a panic, or as a run that waits for it forever.

use std::io;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use crate::AppError;
use crate::error::RunError;
use crate::project::Project;

/// Threads beside the workers: of the store, of signals and progress, of the dataset, and for names of hosts.
const OTHERS: usize = 6;

/// The largest number of threads that is tried.
const MOST: usize = 256;

impl Project<'_> {
    /// Checks that threads for any command can be started.
    ///
    /// # Errors
    /// The system refuses them.
    pub fn check_threads(&self) -> Result<(), AppError> {
        check_threads(0)
    }
}

/// Checks that this number of threads can be started beside those of any command.
///
/// # Errors
/// The system refuses them.
pub(crate) fn check_threads(more: usize) -> Result<(), AppError> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let needed = (workers + OTHERS + more).min(MOST);
    let waiting = |until: mpsc::Receiver<()>| Builder::new().stack_size(64 << 10).spawn(move || wait_for_end(&until));
    try_threads(needed, waiting).map_err(|(started, source)| RunError::Threads { needed, started, source }.into())
}

/// The sender only goes away.
fn wait_for_end(until: &mpsc::Receiver<()>) {
    let _ = until.recv();
}

/// Starts threads that end with the call; returns how many could be started, and why no more.
fn try_threads(
    needed: usize,
    start: impl Fn(mpsc::Receiver<()>) -> io::Result<JoinHandle<()>>,
) -> Result<(), (usize, io::Error)> {
    let mut threads = Vec::with_capacity(needed);
    let mut outcome = Ok(());
    for started in 0..needed {
        let (end, until) = mpsc::channel();
        match start(until) {
            Ok(thread) => threads.push((end, thread)),
            Err(error) => {
                outcome = Err((started, error));
                break;
            }
        }
    }
    let (ends, threads): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
    drop(ends);
    // They do nothing that could fail.
    threads.into_iter().for_each(|thread| drop(thread.join()));
    outcome
}

/// Starts the async runtime of calls.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, AppError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|source| RunError::Runtime { source }.into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// H1: a limit on threads is an error that says how many there may be and which limit to raise.
    #[test]
    fn a_limit_on_threads_is_named() {
        let started = AtomicUsize::new(0);
        let (count, source) = try_threads(9, |until| match started.fetch_add(1, Ordering::Relaxed) {
            3 => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            _ => Builder::new().spawn(move || wait_for_end(&until)),
        })
        .unwrap_err();
        assert_eq!((count, started.into_inner()), (3, 4));
        let error = AppError::from(RunError::Threads { needed: 9, started: count, source });
        assert!(error.to_string().contains("only 3 of the 9 threads"), "{error}");
        assert!(error.hint().unwrap().contains("`ulimit -u`"));
        check_threads(1).unwrap();
    }
}

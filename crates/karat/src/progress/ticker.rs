//! A thread that does something regularly until it is dropped.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// A repeated action on a thread of its own.
pub struct Ticker(Option<(Sender<()>, JoinHandle<()>)>);

impl Ticker {
    /// Starts to repeat an action. Without a thread nothing is repeated.
    pub fn start(every: Duration, action: impl Fn() + Send + 'static) -> Self {
        let (stop, stopped) = channel::<()>();
        let repeat = move || {
            while matches!(stopped.recv_timeout(every), Err(RecvTimeoutError::Timeout)) {
                action();
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(repeat);
        Self(thread.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A thread that panicked has stopped.
            let _ = thread.join();
        }
    }
}

//! The deadline of a cell's output (`cell_timeout`).
//!
//! Time counts only while calls of the cell are running, from sending to answer. Waiting for money, for the model's
//! limits or for a slot does not count: with more cells than slots, every second cell would fail. Once the time is used
//! up, no further call of the cell is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The remaining time of a cell.
pub(crate) struct CellDeadline {
    state: Mutex<DeadlineState>,
    over: Notify,
}

struct DeadlineState {
    left: Duration,
    /// The number of running calls.
    calls: u32,
    since: Instant,
}

impl CellDeadline {
    pub fn new(limit: Duration) -> Self {
        let state = DeadlineState { left: limit, calls: 0, since: Instant::now() };
        Self { state: Mutex::new(state), over: Notify::new() }
    }

    /// Returns whether the time is used up.
    pub fn is_expired(&self) -> bool {
        self.state().left.is_zero()
    }

    /// Counts the time that another cell needed for calls that this one shares.
    pub fn use_up(&self, time: Duration) {
        let mut state = self.state();
        self.subtract(&mut state, time);
    }

    /// Returns once the time is used up. Time passes while this is polled after the call is `sent`; concurrent calls
    /// count once.
    pub async fn expire(&self, sent: impl Future<Output = ()>) {
        let over = self.over.notified();
        if self.is_expired() {
            return;
        }
        let passing = async {
            sent.await;
            let call = RunningCall::of(self);
            tokio::time::sleep_until(call.end).await;
            self.use_up(Duration::MAX);
        };
        tokio::select! {
            biased;
            () = over => {}
            () = passing => {}
        }
    }

    fn subtract(&self, state: &mut DeadlineState, time: Duration) {
        state.left = state.left.saturating_sub(time);
        if state.left.is_zero() {
            self.over.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, DeadlineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running call.
struct RunningCall<'a> {
    time: &'a CellDeadline,
    /// The moment at which the time is used up.
    end: Instant,
}

impl<'a> RunningCall<'a> {
    fn of(time: &'a CellDeadline) -> Self {
        let mut state = time.state();
        if state.calls == 0 {
            state.since = Instant::now();
        }
        state.calls += 1;
        // A limit that the clock cannot represent is not a limit.
        let end = state.since.checked_add(state.left).unwrap_or_else(|| state.since + NO_DEADLINE);
        Self { time, end }
    }
}

/// Longer than any run.
const NO_DEADLINE: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let mut state = self.time.state();
        state.calls -= 1;
        if state.calls == 0 {
            let passed = state.since.elapsed();
            self.time.subtract(&mut state, passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::future::{FutureExt, join};
    use tokio::time::{advance, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn time_passes_only_while_a_call_is_running() {
        let time = CellDeadline::new(6 * SECOND);
        let made = || time.expire(ready(()));
        assert!(timeout(2 * SECOND, made()).await.is_err());
        // Between two calls, and while a call waits for its turn.
        advance(60 * SECOND).await;
        assert!(timeout(60 * SECOND, time.expire(pending())).await.is_err());
        let (one, two) = join(timeout(2 * SECOND, made()), timeout(SECOND, made())).await;
        assert!(one.is_err() && two.is_err());
        time.use_up(SECOND);
        let started = Instant::now();
        join(made(), made()).await;
        assert_eq!(started.elapsed(), SECOND);
        assert!(time.is_expired() && made().now_or_never().is_some());
    }

    /// A waiting call learns that other calls have used up the time.
    #[tokio::test(start_paused = true)]
    async fn waiting_calls_expire_too() {
        let time = CellDeadline::new(SECOND);
        let started = Instant::now();
        join(time.expire(pending()), time.expire(ready(()))).await;
        assert_eq!(started.elapsed(), SECOND);
    }
}

//! The time that a cell has for its output (`cell_timeout`).
//!
//! It passes while calls of the cell are made, from when one is first sent until it has its answer. What it waits for before
//! (money, its model's limits, a slot) is not the cell's fault: with more cells than slots, every second one would fail. Once
//! nothing is left, no call of the cell is sent any more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// What is left of it.
pub(crate) struct CellTime {
    state: Mutex<State>,
    over: Notify,
}

struct State {
    left: Duration,
    /// Calls that are under way, and since when there is one.
    calls: u32,
    since: Instant,
}

impl CellTime {
    pub fn new(limit: Duration) -> Self {
        let state = State { left: limit, calls: 0, since: Instant::now() };
        Self { state: Mutex::new(state), over: Notify::new() }
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.state().left.is_zero()
    }

    /// What another cell has needed for calls that this one shares.
    pub fn spend(&self, time: Duration) {
        let mut state = self.state();
        self.pass(&mut state, time);
    }

    /// Returns when nothing is left. It passes as long as this is waited for once the call is `sent`, and once for all calls
    /// at once.
    pub async fn run_out(&self, sent: impl Future<Output = ()>) {
        let over = self.over.notified();
        if self.is_over() {
            return;
        }
        let passing = async {
            sent.await;
            let call = UnderWay::of(self);
            tokio::time::sleep_until(call.end).await;
            self.spend(Duration::MAX);
        };
        tokio::select! {
            biased;
            () = over => {}
            () = passing => {}
        }
    }

    fn pass(&self, state: &mut State, time: Duration) {
        state.left = state.left.saturating_sub(time);
        if state.left.is_zero() {
            self.over.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is under way.
struct UnderWay<'a> {
    time: &'a CellTime,
    /// When nothing is left.
    end: Instant,
}

impl<'a> UnderWay<'a> {
    fn of(time: &'a CellTime) -> Self {
        let mut state = time.state();
        if state.calls == 0 {
            state.since = Instant::now();
        }
        state.calls += 1;
        // A limit beyond what a clock can say is none.
        let end = state.since.checked_add(state.left).unwrap_or_else(|| state.since + FOR_EVER);
        Self { time, end }
    }
}

/// Longer than any run.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = self.time.state();
        state.calls -= 1;
        if state.calls == 0 {
            let passed = state.since.elapsed();
            self.time.pass(&mut state, passed);
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
    async fn it_passes_while_calls_are_made_and_once_for_all_of_them() {
        let time = CellTime::new(6 * SECOND);
        let made = || time.run_out(ready(()));
        assert!(timeout(2 * SECOND, made()).await.is_err());
        // Between two calls, and while one waits for its turn.
        advance(60 * SECOND).await;
        assert!(timeout(60 * SECOND, time.run_out(pending())).await.is_err());
        let (one, two) = join(timeout(2 * SECOND, made()), timeout(SECOND, made())).await;
        assert!(one.is_err() && two.is_err());
        time.spend(SECOND);
        let begun = Instant::now();
        join(made(), made()).await;
        assert_eq!(begun.elapsed(), SECOND);
        assert!(time.is_over() && made().now_or_never().is_some());
    }

    /// Who waits for its turn learns that others have used up the time.
    #[tokio::test(start_paused = true)]
    async fn it_runs_out_for_those_that_wait_too() {
        let time = CellTime::new(SECOND);
        let begun = Instant::now();
        join(time.run_out(pending()), time.run_out(ready(()))).await;
        assert_eq!(begun.elapsed(), SECOND);
    }
}

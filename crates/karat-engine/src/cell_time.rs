//! The time that a cell has for its output (`cell_timeout`).
//!
//! It passes while calls of the cell are made, from when one is first sent until it has its answer. What it waits for before
//! (money, its model's limits, a slot) is not the cell's fault: with more cells than slots, every second one would fail.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What is left of it.
pub(crate) struct CellTime(Mutex<State>);

struct State {
    left: Duration,
    /// Calls that are under way, and since when there is one.
    calls: u32,
    since: Instant,
}

impl CellTime {
    pub fn new(limit: Duration) -> Self {
        Self(Mutex::new(State { left: limit, calls: 0, since: Instant::now() }))
    }

    /// Returns when nothing is left. It passes as long as this is waited for, but counts once for all calls at once.
    pub async fn run_out(&self) {
        let call = UnderWay::of(self);
        tokio::time::sleep_until(call.end).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        Self { time, end: state.since + state.left }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = self.time.state();
        state.calls -= 1;
        if state.calls == 0 {
            state.left = state.left.saturating_sub(state.since.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join;
    use tokio::time::{advance, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_passes_while_calls_are_made_and_once_for_all_of_them() {
        let time = CellTime::new(5 * SECOND);
        assert!(timeout(2 * SECOND, time.run_out()).await.is_err());
        // Between two calls.
        advance(60 * SECOND).await;
        let (one, two) = join(timeout(2 * SECOND, time.run_out()), timeout(SECOND, time.run_out())).await;
        assert!(one.is_err() && two.is_err());
        let begun = Instant::now();
        join(time.run_out(), time.run_out()).await;
        assert_eq!(begun.elapsed(), SECOND);
        time.run_out().await;
        assert_eq!(begun.elapsed(), SECOND);
    }
}

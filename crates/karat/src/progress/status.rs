//! The state of a run in one line: cells, failures, spending, remaining time.

use std::fmt::Write as _;
use std::time::Duration;

use karat_app::usd;
use karat_types::{CellProgress, CellStatus, Event, Money};
use tokio::time::Instant;

/// The remaining time is shown once a run lasts this long.
const FIRST_ESTIMATE: Duration = Duration::from_secs(2);
/// An estimate is kept while a new one differs by less than this share of it.
const TOLERANCE: f64 = 0.2;

/// Counts of a run.
#[derive(Debug)]
pub struct Status {
    started: Instant,
    pub done: u64,
    pub total: u64,
    /// Cells that earlier parts of the run finished.
    earlier: u64,
    pub failed: u64,
    unscored: u64,
    retries: u64,
    spent: Money,
    budget: Option<Money>,
    remaining: Remaining,
}

impl Status {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            done: 0,
            total: 0,
            earlier: 0,
            failed: 0,
            unscored: 0,
            retries: 0,
            spent: Money::ZERO,
            budget: None,
            remaining: Remaining::default(),
        }
    }

    /// Counts an event.
    pub fn update(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { cells, done, budget, spent, .. } => {
                *self =
                    Self { total: *cells, done: *done, earlier: *done, budget: *budget, spent: *spent, ..Self::new() };
            }
            Event::CellFinished(cell) => self.count(cell),
            Event::Retrying { .. } => self.retries += 1,
            Event::Warning(_) | Event::Notice(_) | Event::CallEnded(_) | Event::Finished { .. } => {}
        }
    }

    fn count(&mut self, cell: &CellProgress<'_>) {
        self.done = self.done.max(cell.done);
        self.spent = self.spent.max(cell.spent);
        match cell.status {
            CellStatus::Error => self.failed += 1,
            CellStatus::Ok if cell.unscored => self.unscored += 1,
            CellStatus::Ok | CellStatus::Skipped => {}
        }
    }

    /// Returns the line, such as `45 of 120 cells, 2 failed, $0.42 of $25.00, about 1 min 20 s left`.
    pub fn text(&mut self) -> String {
        self.text_at(self.started.elapsed())
    }

    fn text_at(&mut self, elapsed: Duration) -> String {
        let mut text = format!("{} of {} cells", self.done, self.total);
        if self.done == self.earlier && self.done < self.total {
            // Writing to a String cannot fail.
            let _ = write!(text, ", the first calls are under way for {}", rough(elapsed));
        }
        let counts = [(self.failed, "failed"), (self.unscored, "unscored"), (self.retries, "retries")];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let what = if (count, what) == (1, "retries") { "retry" } else { what };
            // Writing to a String cannot fail.
            let _ = write!(text, ", {count} {what}");
        }
        // What costs nothing, or nothing yet, has no place beside what is awaited.
        let has_cost = self.spent > Money::ZERO || self.budget.is_some();
        if has_cost {
            let _ = write!(text, ", {}", usd(Some(self.spent.usd())));
        }
        if let Some(budget) = self.budget {
            let _ = write!(text, " of {}", usd(Some(budget.usd())));
        }
        let (made, left) = (self.done - self.earlier, self.total.saturating_sub(self.done));
        if let Some(rest) = self.remaining.update(elapsed, made, left) {
            let _ = write!(text, ", about {} left", rough(rest));
        }
        text
    }
}

/// Estimates the remaining time so that the shown figure counts down steadily: a new estimate replaces the last one only
/// where they differ clearly.
#[derive(Debug, Default)]
struct Remaining {
    /// The expected end, since the start.
    end: Option<Duration>,
}

impl Remaining {
    fn update(&mut self, elapsed: Duration, made: u64, left: u64) -> Option<Duration> {
        if made == 0 || left == 0 || elapsed < FIRST_ESTIMATE {
            return None;
        }
        let estimate = elapsed.mul_f64(left as f64 / made as f64);
        let kept = self.end.map(|end| end.saturating_sub(elapsed));
        let rest = kept.filter(|kept| kept.abs_diff(estimate) < estimate.mul_f64(TOLERANCE)).unwrap_or(estimate);
        self.end = Some(elapsed + rest);
        Some(rest)
    }
}

/// Returns a duration in the precision that an estimate deserves.
fn rough(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{} s", seconds.max(1)),
        seconds @ 60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60 / 5 * 5),
        seconds => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(of: u64) -> Duration {
        Duration::from_secs(of)
    }

    #[test]
    fn the_line_shows_cells_failures_spending_and_time() {
        let mut status = Status { budget: Money::from_usd(25.0), ..Status::new() };
        (status.total, status.done, status.failed, status.spent) = (120, 45, 2, Money(420_000_000));
        assert_eq!(status.text_at(seconds(48)), "45 of 120 cells, 2 failed, $0.42 of $25.00, about 1 min 20 s left");
        (status.failed, status.retries, status.budget, status.done) = (0, 1, None, 120);
        assert_eq!(status.text_at(seconds(90)), "120 of 120 cells, 1 retry, $0.42");
    }

    /// F64: while no cell has ended, the line says that calls are under way, and since when; what costs nothing shows no money.
    #[test]
    fn slow_first_cells_are_awaited_aloud() {
        let mut status = Status::new();
        status.total = 20;
        assert_eq!(status.text_at(seconds(50)), "0 of 20 cells, the first calls are under way for 50 s");
        (status.done, status.earlier) = (7, 7);
        assert_eq!(status.text_at(seconds(3)), "7 of 20 cells, the first calls are under way for 3 s");
        status.done = 20;
        assert_eq!(status.text_at(seconds(80)), "20 of 20 cells");
    }

    /// The remaining time counts down while the speed changes little, and is corrected when it changes much.
    #[test]
    fn the_remaining_time_is_steady() {
        let mut remaining = Remaining::default();
        assert_eq!(remaining.update(seconds(1), 1, 99), None);
        assert_eq!(remaining.update(seconds(10), 10, 90), Some(seconds(90)));
        // 11 cells in 12 s would take 97 s more.
        assert_eq!(remaining.update(seconds(12), 11, 89), Some(seconds(88)));
        assert_eq!(remaining.update(seconds(20), 10, 90), Some(seconds(180)));
        assert_eq!(remaining.update(seconds(200), 100, 0), None);
    }

    #[test]
    fn long_times_are_rough() {
        assert_eq!([0, 59, 83, 7300].map(|of| rough(seconds(of))), ["1 s", "59 s", "1 min 20 s", "2 h 01 min"]);
    }
}

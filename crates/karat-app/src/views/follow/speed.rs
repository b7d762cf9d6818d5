//! The speed of a run from how many cells were done at earlier looks, and a range for the time of the rest.

use std::collections::VecDeque;

use karat_types::Moment;

/// Looks older than this say little about the present speed.
const WINDOW_MS: i64 = 60_000;

/// The shortest time that gives a speed.
const SHORTEST_MS: i64 = 1_000;

/// The recent part of the window. Two speeds that differ make the range wide.
const RECENT_MS: i64 = 10_000;

/// The range is wider than the two speeds by this factor: the last cells have fewer calls beside them, and models differ.
const MARGIN: f64 = 1.25;

/// Looks at a run.
#[derive(Debug, Default)]
pub(crate) struct Speed {
    looks: VecDeque<(Moment, u64)>,
}

/// The speed, and the seconds that the rest may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outlook {
    pub cells_per_s: f64,
    pub seconds: f64,
    pub least_seconds: f64,
    pub most_seconds: f64,
}

impl Speed {
    /// Adds a look.
    pub fn add(&mut self, at: Moment, done: u64) {
        while self.looks.front().is_some_and(|(then, _)| at.0 - then.0 > WINDOW_MS) && self.looks.len() > 2 {
            self.looks.pop_front();
        }
        self.looks.push_back((at, done));
    }

    /// Returns the outlook for a number of cells that are left, once the looks say anything.
    pub fn outlook(&self, left: u64) -> Option<Outlook> {
        let (now, _) = *self.looks.back()?;
        let whole = self.since(now.0 - WINDOW_MS)?;
        let recent = self.since(now.0 - RECENT_MS).filter(|speed| *speed > 0.0).unwrap_or(whole);
        let left = left as f64;
        (whole > 0.0).then(|| Outlook {
            cells_per_s: recent,
            seconds: left / recent,
            least_seconds: left / whole.max(recent) / MARGIN,
            most_seconds: left / whole.min(recent) * MARGIN,
        })
    }

    /// Cells per second since the first look at or after a time.
    fn since(&self, ms: i64) -> Option<f64> {
        let (last, done) = *self.looks.back()?;
        let (first, done_then) = *self.looks.iter().find(|(at, _)| at.0 >= ms)?;
        let passed = last.0 - first.0;
        (passed >= SHORTEST_MS).then(|| done.saturating_sub(done_then) as f64 * 1000.0 / passed as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-17: the remaining time is a range around the present speed, and unknown while nothing says it.
    #[test]
    fn the_rest_is_a_range_around_the_present_speed() {
        let mut speed = Speed::default();
        assert_eq!(speed.outlook(10), None);
        speed.add(Moment(0), 0);
        assert_eq!(speed.outlook(10), None);
        (1..=20).for_each(|second| speed.add(Moment(second * 1000), second.unsigned_abs() * 2));
        let outlook = speed.outlook(20).unwrap();
        assert_eq!((outlook.cells_per_s, outlook.seconds), (2.0, 10.0));
        assert_eq!((outlook.least_seconds, outlook.most_seconds), (8.0, 12.5));
        (21..=40).for_each(|second| speed.add(Moment(second * 1000), 40));
        let stuck = speed.outlook(20).unwrap();
        assert!((stuck.cells_per_s - 1.0).abs() < 1e-9, "a pause does not end the estimate");
    }
}

//! Made-up numbers, the same each time.

use crate::number::Estimate;

/// A name longer than a chart has space for.
pub(super) const LONG_NAME: &str = "anthropic/claude-sonnet-with-a-very-long-name-2026-01-05/terse-variant-b";

/// Numbers from 0 to 1 that look random.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> f64 {
        // The multiplier and the increment of Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }

    /// A number around a centre, at most `spread` away.
    pub(super) fn around(&mut self, centre: f64, spread: f64) -> f64 {
        centre + (self.next() + self.next() - 1.0) * spread
    }
}

/// Dates from the first of January 2026 on, without weekends having any meaning.
pub(super) fn dates(number: usize) -> Vec<String> {
    let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let date = |mut day: usize| {
        let year = 2026 + day / 365;
        day %= 365;
        let mut month = 0;
        while let Some(days) = months.get(month).filter(|days| day >= **days) {
            day -= days;
            month += 1;
        }
        format!("{year}-{:02}-{:02}", month + 1, day + 1)
    };
    (0..number).map(date).collect()
}

/// A value with an interval of this half width.
pub(super) fn estimate(value: f64, half: f64, n: u64) -> Estimate {
    Estimate::new(value, (value - half, value + half), n)
}

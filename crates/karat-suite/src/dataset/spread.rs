//! Some rows of a large dataset that stand for all of it, kept while the rows are checked.
//!
//! Of as many rows each, one is kept, at a place that chance names: neither long rows that stand together, nor an order,
//! nor a period misleads whoever takes them for the whole. Once they are too many, one of each two that follow each other
//! goes.

use karat_types::Sample;
use serde_json::Value;

/// Of smaller datasets nothing is kept: looking at all rows takes no time.
const LARGE: u64 = 32_768;

/// One of so many rows is kept as long as they are few,
const STRETCH: u64 = 8;

/// and at most so many,
const MOST: usize = 8_192;

/// with about so many bytes of text.
const MOST_BYTES: usize = 8 << 20;

/// Rows that stand for all of a large dataset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spread {
    /// Some of its rows, in order.
    pub samples: Vec<Sample>,
    /// How many planned rows they stand for: those that can be read.
    pub rows: u64,
}

/// A spread as rows are looked at.
#[derive(Default)]
pub(super) struct Gathering {
    spread: Spread,
    bytes: usize,
    /// How often half of them have gone.
    halvings: u32,
}

impl Gathering {
    /// Looks at a planned row, which can be read.
    pub fn see(&mut self, row: u64, sample: impl FnOnce() -> Sample) {
        self.spread.rows += 1;
        if !is_kept(row, self.halvings) {
            return;
        }
        let sample = sample();
        self.bytes += bytes(&sample);
        self.spread.samples.push(sample);
        while (self.spread.samples.len() > MOST || self.bytes > MOST_BYTES) && self.spread.samples.len() > 1 {
            self.halvings += 1;
            self.spread.samples.retain(|sample| is_kept(sample.row, self.halvings));
            self.bytes = self.spread.samples.iter().map(bytes).sum();
        }
    }

    /// Those that were kept, where the dataset is large.
    pub fn finish(self) -> Option<Spread> {
        (self.spread.rows >= LARGE && !self.spread.samples.is_empty()).then_some(self.spread)
    }
}

/// Whether a row is still kept after so many halvings.
fn is_kept(row: u64, halvings: u32) -> bool {
    let stretch = row / STRETCH;
    row % STRETCH == chance(stretch, 0) % STRETCH
        && (0..halvings).all(|halving| (stretch >> halving) & 1 == chance(stretch >> (halving + 1), halving + 1) & 1)
}

/// SplitMix64's finaliser: every bit of the stretch and round reaches every bit.
fn chance(stretch: u64, round: u32) -> u64 {
    let mut z = stretch.wrapping_add(u64::from(round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// About what a sample's texts take.
fn bytes(sample: &Sample) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(of).sum(),
            Value::Object(members) => members.iter().map(|(name, value)| name.len() + of(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        }
    }
    sample.columns.values().map(of).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spread(rows: u64, text: impl Fn(u64) -> usize) -> Option<Spread> {
        let mut gathering = Gathering::default();
        for row in 0..rows {
            gathering.see(row, || {
                let columns = json!({ "text": "x".repeat(text(row)) });
                Sample { row, columns: columns.as_object().unwrap().clone(), ..Sample::new(format!("s{row}"), None) }
            });
        }
        gathering.finish()
    }

    /// Of as many rows each, one is kept, in order, never too many, and the same ones each time.
    #[test]
    fn one_of_each_stretch_is_kept() {
        for (rows, stretch) in [(LARGE, 8), (65_536, 8), (65_544, 16), (200_000, 32), (1_000_000, 128)] {
            let found = spread(rows, |_| 10).unwrap();
            assert_eq!(found.rows, rows);
            let stretches: Vec<u64> = found.samples.iter().map(|sample| sample.row / stretch).collect();
            let whole = rows / stretch;
            assert_eq!(stretches[..whole as usize], (0..whole).collect::<Vec<_>>(), "{rows} rows");
            assert!(stretches.len() as u64 <= whole + 1 && stretches.len() <= MOST);
            assert_eq!(spread(rows, |_| 10), Some(found));
        }
        assert_eq!(spread(LARGE - 1, |_| 10), None);
    }

    /// Long rows are fewer, so that memory is bounded.
    #[test]
    fn long_rows_are_fewer() {
        let found = spread(LARGE, |_| 10_000).unwrap();
        assert!((300..840).contains(&found.samples.len()), "{}", found.samples.len());
        assert!(found.samples.iter().map(bytes).sum::<usize>() <= MOST_BYTES);
    }

    /// What stands for all has about their mean, also where rows are sorted, periodic, or long ones stand together.
    #[test]
    fn they_stand_for_all() {
        let shapes: [fn(u64) -> usize; 3] = [
            |row| row as usize / 500,
            |row| if row % 16 == 3 { 160 } else { 5 },
            |row| match row {
                50_000..54_000 => 900,
                _ => 20,
            },
        ];
        for (at, text) in shapes.into_iter().enumerate() {
            let rows = 100_000;
            let found = spread(rows, text).unwrap();
            let mean = |texts: &mut dyn Iterator<Item = usize>, n: usize| texts.sum::<usize>() as f64 / n as f64;
            let kept = mean(&mut found.samples.iter().map(|sample| text(sample.row)), found.samples.len());
            let all = mean(&mut (0..rows).map(text), rows as usize);
            assert!((kept / all - 1.0).abs() < 0.05, "shape {at}: {kept} and {all}");
        }
    }
}

//! A representative sample of a large dataset's rows, kept while the rows are checked.
//!
//! Of each stretch of rows one is kept, at a random place: neither a cluster of long rows, nor an order, nor a period
//! makes the sample unrepresentative. Once there are too many, one of each two neighbours is dropped. They count as
//! representative only if their mean length is that of all rows: a few very long rows are hardly ever among them, or
//! have crowded out the others.

use karat_types::Sample;
use serde_json::{Map, Value};

/// Smaller datasets are not sampled, unless a test says so: reading all rows takes no time.
const LARGE: u64 = 32_768;

/// One in this many rows is kept, as long as that is within the two limits below.
const STRETCH: u64 = 8;

/// Largest number of rows that are kept.
const MOST: usize = 8_192;

/// Largest memory of the rows that are kept, in bytes; an estimate.
const MOST_BYTES: usize = 16 << 20;

/// Estimated overhead of a value in bytes, beside its text.
const VALUE_BYTES: usize = 96;

/// Fewer rows are not representative.
const FEWEST: usize = 512;

/// Largest relative difference of their mean length from that of all rows.
const APART: f64 = 0.2;

/// A representative sample of a large dataset's rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RepresentativeRows {
    /// Some of its rows, in order.
    pub samples: Vec<Sample>,
    /// Number of planned rows that they represent: those that can be read.
    pub rows: u64,
}

/// The sample while rows are read.
#[derive(Default)]
pub(super) struct RowSampler {
    sample: RepresentativeRows,
    /// Length of all rows, and of those that are kept.
    length: u64,
    kept: RowSize,
    /// Number of times that the kept rows were halved.
    halvings: u32,
}

impl RowSampler {
    /// Adds a planned row that can be read.
    pub fn add_row(&mut self, row: u64, columns: &Map<String, Value>, sample: impl FnOnce() -> Sample) {
        let size = RowSize::of(columns);
        self.sample.rows += 1;
        self.length += size.text as u64;
        if !is_kept(row, self.halvings) {
            return;
        }
        self.kept.add(size);
        self.sample.samples.push(sample());
        while self.sample.samples.len() > MOST || (self.kept.bytes() > MOST_BYTES && !self.sample.samples.is_empty()) {
            self.halvings += 1;
            self.sample.samples.retain(|sample| is_kept(sample.row, self.halvings));
            self.kept = RowSize::default();
            self.sample.samples.iter().for_each(|sample| self.kept.add(RowSize::of(&sample.columns)));
        }
    }

    /// Returns the kept rows if the dataset is large and they represent it. `large` replaces the usual number of rows.
    pub fn finish(self, large: Option<u64>) -> Option<RepresentativeRows> {
        let kept = self.sample.samples.len();
        let mean = |length: f64, rows: f64| (length + 1.0) / rows;
        let share = mean(self.kept.text as f64, kept as f64) / mean(self.length as f64, self.sample.rows as f64);
        let is_representative = kept >= FEWEST && (share - 1.0).abs() <= APART;
        (self.sample.rows >= large.unwrap_or(LARGE) && is_representative).then_some(self.sample)
    }
}

/// Returns whether a row is still kept after this many halvings.
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

/// Size of a row.
#[derive(Debug, Clone, Copy, Default)]
struct RowSize {
    text: usize,
    values: usize,
}

impl RowSize {
    fn of(columns: &Map<String, Value>) -> Self {
        let mut size = Self::default();
        columns.iter().for_each(|(name, value)| size.add_value(name.len(), value));
        size
    }

    fn add_value(&mut self, name: usize, value: &Value) {
        self.values += 1;
        self.text += name;
        match value {
            Value::String(text) => self.text += text.len(),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(0, item)),
            Value::Object(members) => members.iter().for_each(|(name, value)| self.add_value(name.len(), value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.text += 4,
        }
    }

    fn add(&mut self, other: Self) {
        self.text += other.text;
        self.values += other.values;
    }

    /// Estimated memory in bytes.
    fn bytes(self) -> usize {
        self.text + VALUE_BYTES * self.values
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample_of(rows: u64, text: impl Fn(u64) -> usize) -> Option<RepresentativeRows> {
        let mut sampler = RowSampler::default();
        for row in 0..rows {
            let columns = json!({ "text": "x".repeat(text(row)) });
            let columns = columns.as_object().unwrap();
            sampler.add_row(row, columns, || Sample {
                row,
                columns: columns.clone(),
                ..Sample::new(format!("s{row}"), None)
            });
        }
        sampler.finish(None)
    }

    /// One row of each stretch is kept, in order, never too many, and the same ones each time.
    #[test]
    fn one_of_each_stretch_is_kept() {
        for (rows, stretch) in [(LARGE, 8), (65_536, 8), (65_544, 16), (200_000, 32), (1_000_000, 128)] {
            let found = sample_of(rows, |_| 10).unwrap();
            assert_eq!(found.rows, rows);
            let stretches: Vec<u64> = found.samples.iter().map(|sample| sample.row / stretch).collect();
            let whole = rows / stretch;
            assert_eq!(stretches[..whole as usize], (0..whole).collect::<Vec<_>>(), "{rows} rows");
            assert!(stretches.len() as u64 <= whole + 1 && stretches.len() <= MOST);
            assert_eq!(sample_of(rows, |_| 10), Some(found));
        }
        assert_eq!(sample_of(LARGE - 1, |_| 10), None);
    }

    /// Fewer large rows are kept, so that memory is bounded; too few are not representative.
    #[test]
    fn large_rows_are_fewer() {
        let held =
            |found: &RepresentativeRows| found.samples.iter().map(|it| RowSize::of(&it.columns).bytes()).sum::<usize>();
        let found = sample_of(LARGE, |_| 10_000).unwrap();
        assert!((800..1_680).contains(&found.samples.len()) && held(&found) <= MOST_BYTES, "{}", found.samples.len());
        assert_eq!(sample_of(LARGE, |_| 40_000), None);
        let mut sampler = RowSampler::default();
        let columns: Map<String, Value> = (0..200).map(|at| (format!("c{at}"), Value::Null)).collect();
        for row in 0..2 * LARGE {
            sampler.add_row(row, &columns, || Sample { row, columns: columns.clone(), ..Sample::new("s", None) });
        }
        assert!((400..840).contains(&sampler.sample.samples.len()) && held(&sampler.sample) <= MOST_BYTES);
    }

    /// If few rows are most of the dataset, no others represent it, whether one of them was kept or not.
    #[test]
    fn very_long_rows_have_none_that_stand_for_them() {
        for offset in 0..8 {
            assert_eq!(sample_of(LARGE, |row| if row % 8_192 == offset { 1 << 20 } else { 5 }), None, "{offset}");
            assert_eq!(sample_of(LARGE, |row| if row == offset { 24 << 20 } else { 5 }), None, "{offset}");
        }
    }

    /// The representative rows have about the mean of all rows, also if these are sorted, periodic, or clustered by
    /// length.
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
            let found = sample_of(rows, text).unwrap();
            let mean = |texts: &mut dyn Iterator<Item = usize>, n: usize| texts.sum::<usize>() as f64 / n as f64;
            let kept = mean(&mut found.samples.iter().map(|sample| text(sample.row)), found.samples.len());
            let all = mean(&mut (0..rows).map(text), rows as usize);
            assert!((kept / all - 1.0).abs() < 0.05, "shape {at}: {kept} and {all}");
        }
    }
}

//! The seeded order of units, and their rows by passes over the dataset.
//!
//! A dataset is a stream, and the order is not that of its rows. One pass finds the order (some bytes a row); then each
//! pass keeps the rows of the next units, up to [`WINDOW_ROWS`] rows and about [`WINDOW_BYTES`] bytes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use karat_suite::{DatasetError, Plan};
use karat_types::{Key, Sample, SampleRecord, StopRule, unit_key};
use serde_json::Value;

use crate::EngineError;
use crate::plan::systems::Systems;

/// Rows that one pass keeps.
pub(crate) const WINDOW_ROWS: usize = 8_192;

/// Bytes of text that one pass keeps, about; a unit is never split.
const WINDOW_BYTES: usize = 64 << 20;

/// A row, or the reason why it cannot be read.
pub(crate) type OrderedRow = Result<Sample, DatasetError>;

/// The units of a plan in their order.
pub(crate) struct UnitOrder {
    /// Unit and row, in the order in which they run.
    rows: Vec<(Key, u64)>,
    /// The rows of each unit, as places in `rows`.
    units: Vec<Range<usize>>,
}

impl UnitOrder {
    /// Reads every row of the plan for its unit and shows it to the rule.
    ///
    /// # Errors
    /// A dataset that cannot be read, or a gate that cannot be applied to a row.
    pub fn read(plan: &Plan, systems: &Systems, rule: &mut dyn StopRule) -> Result<Self, EngineError> {
        let seed = plan.header.run.seed;
        // Ids order the rows of a cluster; a sample is a unit of its own.
        let (is_clustered, no_id) = (plan.header.dataset.clustered, Arc::<str>::from(""));
        let mut named: Vec<(Key, Arc<str>, u64)> = Vec::new();
        for row in plan.rows() {
            let (id, sample) = match row {
                Ok(sample) => (sample.id.clone(), systems.sample_record(&sample)),
                Err(error) => {
                    let Some(row) = error.row else { return Err(EngineError::Dataset(error)) };
                    let id = error.sample();
                    (id.clone(), SampleRecord { row, id: id.to_string(), ..SampleRecord::default() })
                }
            };
            rule.add_row(&sample).map_err(EngineError::Plan)?;
            let id = if is_clustered { id } else { no_id.clone() };
            named.push((unit_key(seed, sample.unit()), id, sample.row));
        }
        rule.start().map_err(EngineError::Plan)?;
        named.sort_unstable();
        let rows: Vec<(Key, u64)> = named.into_iter().map(|(unit, _, row)| (unit, row)).collect();
        let mut units = Vec::new();
        let mut start = 0;
        for unit in rows.chunk_by(|one, other| one.0 == other.0) {
            units.push(start..start + unit.len());
            start += unit.len();
        }
        Ok(Self { rows, units })
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// The key of a unit and the numbers of its rows, in their order.
    pub fn unit(&self, at: usize) -> Option<(Key, Vec<u64>)> {
        let rows = self.rows.get(self.units.get(at)?.clone())?;
        Some((rows.first()?.0, rows.iter().map(|(_, row)| *row).collect()))
    }

    /// The units from `first` that one pass reads, at least one.
    fn window(&self, first: usize, most: usize) -> Range<usize> {
        let start = self.units.get(first).map_or(0, |unit| unit.start);
        let fits = |unit: &&Range<usize>| unit.end - start <= most;
        let more = self.units.iter().skip(first + 1).take_while(fits).count();
        first..(first + 1 + more).min(self.units.len())
    }
}

/// The rows of some units, by number.
pub(crate) struct Window {
    units: Range<usize>,
    rows: BTreeMap<u64, OrderedRow>,
}

impl Window {
    /// A window that holds nothing.
    pub fn empty() -> Self {
        Self { units: 0..0, rows: BTreeMap::new() }
    }

    /// Returns whether it holds the rows of a unit.
    pub fn has(&self, unit: usize) -> bool {
        self.units.contains(&unit)
    }

    /// Takes rows by their numbers, in this order.
    pub fn take(&mut self, rows: &[u64]) -> Vec<OrderedRow> {
        rows.iter().filter_map(|row| self.rows.remove(row)).collect()
    }

    /// Reads the rows of the units from `first` on in one pass.
    ///
    /// # Errors
    /// A dataset that cannot be read any more.
    pub fn read(plan: &Plan, order: &UnitOrder, first: usize) -> Result<Self, DatasetError> {
        Self::read_within(plan.rows(), order, first, (WINDOW_ROWS, WINDOW_BYTES))
    }

    fn read_within(
        rows: impl Iterator<Item = OrderedRow>,
        order: &UnitOrder,
        first: usize,
        (most_rows, most_bytes): (usize, usize),
    ) -> Result<Self, DatasetError> {
        let mut units = order.window(first, most_rows);
        let mut wanted: BTreeMap<u64, usize> = BTreeMap::new();
        for unit in units.clone() {
            let rows = order.unit(unit).map(|(_, rows)| rows).unwrap_or_default();
            wanted.extend(rows.into_iter().map(|row| (row, unit)));
        }
        let mut kept: BTreeMap<u64, OrderedRow> = BTreeMap::new();
        let mut sizes = vec![0_usize; units.len()];
        let mut total = 0;
        for found in rows {
            let number = match &found {
                Ok(sample) => sample.row,
                Err(error) => match error.row {
                    Some(row) => row,
                    None => return Err(error.clone()),
                },
            };
            if let Some(unit) = wanted.get(&number).copied().filter(|unit| units.contains(unit)) {
                let size = found.as_ref().map_or(0, size_of);
                sizes[unit - units.start] += size;
                total += size;
                kept.insert(number, found);
            }
            // The last units are left to the next pass.
            while total > most_bytes && units.len() > 1 {
                units.end -= 1;
                total -= sizes.pop().unwrap_or_default();
                kept.retain(|row, _| wanted.get(row).is_some_and(|unit| units.contains(unit)));
            }
            if wanted.last_key_value().is_none_or(|(last, _)| number >= *last) {
                break;
            }
        }
        Ok(Self { units, rows: kept })
    }
}

/// About the bytes of a row's texts.
fn size_of(sample: &Sample) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => 24 + text.len(),
            Value::Array(items) => 24 + items.iter().map(of).sum::<usize>(),
            Value::Object(members) => members.iter().map(|(name, value)| 48 + name.len() + of(value)).sum(),
            _ => 24,
        }
    }
    let columns = sample.columns.iter().chain(&sample.metadata);
    columns.map(|(name, value)| 48 + name.len() + of(value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(units: &[&[u64]]) -> UnitOrder {
        let key = |at: usize| Key([at as u8; 16]);
        let rows: Vec<(Key, u64)> =
            units.iter().enumerate().flat_map(|(at, rows)| rows.iter().map(move |row| (key(at), *row))).collect();
        let mut start = 0;
        let ranges = units.iter().map(|rows| {
            start += rows.len();
            start - rows.len()..start
        });
        let units = ranges.collect();
        UnitOrder { rows, units }
    }

    fn rows(count: u64) -> impl Iterator<Item = OrderedRow> {
        (0..count).map(|row| {
            let mut sample = Sample::new(row.to_string(), None);
            sample.row = row;
            sample.columns.insert("text".to_owned(), "x".repeat(100).into());
            Ok(sample)
        })
    }

    /// SL-01: every row is read once over all passes, in the order of units, whatever the limits of a pass.
    #[test]
    fn passes_give_every_row_in_order() {
        let order = order(&[&[7, 2], &[5], &[0, 1, 9], &[3], &[8, 4, 6]]);
        for limits in [(1, usize::MAX), (3, usize::MAX), (100, 400), (100, 0), (100, usize::MAX)] {
            let (mut window, mut read, mut passes) = (Window::empty(), Vec::new(), 0);
            for unit in 0..order.len() {
                if !window.has(unit) {
                    window = Window::read_within(rows(10), &order, unit, limits).unwrap();
                    passes += 1;
                }
                let (_, wanted) = order.unit(unit).unwrap();
                read.extend(window.take(&wanted).into_iter().map(|row| row.unwrap().row));
            }
            assert_eq!(read, [7, 2, 5, 0, 1, 9, 3, 8, 4, 6], "{limits:?}");
            assert_eq!(passes == 1, limits == (100, usize::MAX), "{limits:?}");
        }
    }
}

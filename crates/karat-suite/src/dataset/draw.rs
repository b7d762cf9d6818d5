//! A seeded draw of `n` rows (of each group, if there are groups), spread over strata in proportion.
//!
//! Each row has a rank that follows from the seed and its id alone; of a stratum the rows of lowest rank are drawn. So
//! a draw does not depend on the order of the rows, and a longer dataset changes it as little as possible. Memory holds
//! at most `n` ranks a stratum.

use std::collections::{BTreeMap, BinaryHeap};

use karat_text::path::Path;
use karat_types::Key;
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::scalar::plain;

/// The settings of a draw.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    pub n: usize,
    pub per: Option<GroupKey>,
    pub by: Option<GroupKey>,
    pub seed: u64,
}

/// The value by which rows are grouped.
#[derive(Debug, Clone)]
pub(crate) enum GroupKey {
    /// A column.
    Column(Path),
    /// The day of the row's date.
    Day,
}

/// A draw under way.
pub(super) struct DrawSampler<'a> {
    draw: &'a Draw,
    /// Strata within groups: how many rows, and the lowest ranks with their rows.
    groups: BTreeMap<String, BTreeMap<String, Stratum>>,
}

#[derive(Default)]
struct Stratum {
    rows: u64,
    lowest: BinaryHeap<(u64, u64)>,
}

impl<'a> DrawSampler<'a> {
    pub fn new(draw: &'a Draw) -> Self {
        Self { draw, groups: BTreeMap::new() }
    }

    /// Puts a row of a day in.
    pub fn add(&mut self, row: u64, id: &str, day: Option<&str>, columns: &Value) {
        let value = |part: &Option<GroupKey>| match part {
            None => String::new(),
            Some(GroupKey::Column(path)) => path.first(columns).map_or_else(String::new, plain),
            Some(GroupKey::Day) => day.unwrap_or_default().to_owned(),
        };
        let group = self.groups.entry(value(&self.draw.per)).or_default();
        let stratum = group.entry(value(&self.draw.by)).or_default();
        stratum.rows += 1;
        stratum.lowest.push((rank(self.draw.seed, id), row));
        if stratum.lowest.len() > self.draw.n {
            stratum.lowest.pop();
        }
    }

    /// The rows that are drawn.
    pub fn into_rows(self) -> FxHashSet<u64> {
        let mut drawn = FxHashSet::default();
        for group in self.groups.into_values() {
            let sizes: Vec<u64> = group.values().map(|stratum| stratum.rows).collect();
            for (stratum, share) in group.into_values().zip(shares(&sizes, self.draw.n)) {
                let ranked = stratum.lowest.into_sorted_vec();
                drawn.extend(ranked.into_iter().take(share).map(|(_, row)| row));
            }
        }
        drawn
    }
}

/// Rows per stratum in proportion to its size, by largest remainders; ties go to the earlier stratum.
fn shares(sizes: &[u64], n: usize) -> Vec<usize> {
    let total: u64 = sizes.iter().sum();
    let n = (n as u64).min(total);
    if total == 0 {
        return vec![0; sizes.len()];
    }
    let exact = |size: u64| u128::from(size) * u128::from(n);
    let mut shares: Vec<usize> = sizes.iter().map(|size| (exact(*size) / u128::from(total)) as usize).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(exact(sizes[*at]) % u128::from(total)));
    let missing = n as usize - shares.iter().sum::<usize>();
    for at in order.into_iter().take(missing) {
        shares[at] += 1;
    }
    shares
}

fn rank(seed: u64, id: &str) -> u64 {
    let key = Key::of("karat/draw/1", format!("{seed}/{id}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key.0[..8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(draw: &Draw, order: impl Iterator<Item = u64>) -> FxHashSet<u64> {
        let mut urn = DrawSampler::new(draw);
        for row in order {
            let columns = json!({"half": row % 2, "topic": if row % 10 == 0 { "rare" } else { "common" }});
            let day = format!("2026-11-0{}", row % 4);
            urn.add(row, &format!("s{row}"), Some(&day), &columns);
        }
        urn.into_rows()
    }

    /// GE-02: a stratified draw is seeded, proportional, and does not depend on the order of rows.
    #[test]
    fn strata_are_drawn_in_proportion() {
        let path = |text| Some(GroupKey::Column(Path::parse(text).unwrap()));
        let draw = Draw { n: 20, per: None, by: path("topic"), seed: 7 };
        let rows = drawn(&draw, 0..1000);
        assert_eq!((rows.len(), rows.iter().filter(|row| *row % 10 == 0).count()), (20, 2));
        assert_eq!(rows, drawn(&draw, (0..1000).rev()));
        assert_ne!(rows, drawn(&Draw { seed: 8, ..draw.clone() }, 0..1000));
        let each = drawn(&Draw { per: path("half"), ..draw.clone() }, 0..1000);
        assert_eq!((each.len(), each.iter().filter(|row| *row % 2 == 0).count()), (40, 20));
        let daily = drawn(&Draw { per: Some(GroupKey::Day), ..draw.clone() }, 0..1000);
        assert_eq!((daily.len(), daily.iter().filter(|row| *row % 4 == 3).count()), (80, 20));
        assert_eq!(drawn(&draw, 0..5).len(), 5);
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(shares(&[1, 1, 1], 2), [1, 1, 0]);
        assert_eq!(shares(&[98, 1, 1], 10), [10, 0, 0]);
        assert_eq!(shares(&[3, 5], 100), [3, 5]);
        assert_eq!(shares(&[], 3), [0; 0]);
    }
}

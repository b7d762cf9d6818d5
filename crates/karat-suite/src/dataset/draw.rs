//! A seeded draw of `n` rows (of each group, if there are groups), spread over strata in proportion.
//!
//! Each row has a rank that follows from the seed and its id alone; of a stratum the rows of lowest rank are drawn. So
//! a draw does not depend on the order of the rows, and a longer dataset changes it as little as possible. Memory holds
//! at most `n` ranks a stratum.

use std::collections::{BTreeMap, BinaryHeap};

use karat_text::path::Path;
use karat_types::{DatasetDesign, DesignFrame, DesignKind, DesignStratum, Key};
use rustc_hash::FxHashSet;
use serde_json::Value;

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
    /// A column, by its path as written.
    Column(String, Path),
    /// The day of the row's date.
    Day,
}

impl GroupKey {
    /// The name under which a sample has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Column(name, _) => name,
            Self::Day => DatasetDesign::DAY,
        }
    }
}

/// The rows that a draw takes, by their number among those that the filters keep.
#[derive(Debug, Default)]
pub(crate) struct DrawnRows {
    pub rows: FxHashSet<u64>,
    /// The strata with the group of each.
    strata: Vec<(String, DesignStratum)>,
}

impl DrawnRows {
    /// The design of the draw, if its figures can be weighted: it is by one column, or by the day. `None` for a draw from all
    /// rows alike, and for one by two columns.
    pub fn design(&self, draw: &Draw, frame: Key) -> Option<DatasetDesign> {
        let (by, is_group) = match (&draw.per, &draw.by) {
            (Some(per), None) => (per, true),
            (None, Some(by)) => (by, false),
            _ => return None,
        };
        let named = |(group, stratum): &(String, DesignStratum)| match is_group {
            true => DesignStratum { value: group.clone(), ..stratum.clone() },
            false => stratum.clone(),
        };
        let strata: Vec<DesignStratum> = self.strata.iter().map(named).collect();
        let frame = DesignFrame { rows: strata.iter().map(|stratum| stratum.rows).sum(), hash: frame };
        Some(DatasetDesign { kind: DesignKind::Stratified, by: Some(by.name().to_owned()), strata, frame })
    }
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
            Some(GroupKey::Column(_, path)) => DatasetDesign::stratum_text(path.first(columns)),
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
    pub fn into_rows(self) -> DrawnRows {
        let mut drawn = DrawnRows::default();
        for (name, group) in self.groups {
            let sizes: Vec<u64> = group.values().map(|stratum| stratum.rows).collect();
            for ((value, stratum), share) in group.into_iter().zip(shares(&sizes, self.draw.n)) {
                drawn.strata.push((name.clone(), DesignStratum { value, rows: stratum.rows, drawn: share as u64 }));
                let ranked = stratum.lowest.into_sorted_vec();
                drawn.rows.extend(ranked.into_iter().take(share).map(|(_, row)| row));
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
        urn.into_rows().rows
    }

    /// GE-02: a stratified draw is seeded, proportional, and does not depend on the order of rows.
    #[test]
    fn strata_are_drawn_in_proportion() {
        let path = |text: &str| Some(GroupKey::Column(text.to_owned(), Path::parse(text).unwrap()));
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

    /// DC-20: a draw by a column or by the day says what its rows stand for.
    #[test]
    fn a_draw_knows_its_design() {
        let path = |text: &str| Some(GroupKey::Column(text.to_owned(), Path::parse(text).unwrap()));
        let design = |per, by| {
            let draw = Draw { n: 20, per, by, seed: 7 };
            let mut urn = DrawSampler::new(&draw);
            for row in 0..1000 {
                let topic = if row % 10 == 0 { json!(7) } else { json!(null) };
                urn.add(row, &format!("s{row}"), Some("2026-11-01"), &json!({ "topic": topic }));
            }
            urn.into_rows().design(&draw, Key([0; 16]))
        };
        let strata = |design: DatasetDesign| -> Vec<(String, u64, u64)> {
            design.strata.into_iter().map(|it| (it.value, it.rows, it.drawn)).collect()
        };
        let of = |texts: [(&str, u64, u64); 2]| texts.map(|(value, rows, drawn)| (value.to_owned(), rows, drawn));
        let by = design(None, path("topic")).unwrap();
        assert!(!by.is_weighted());
        assert_eq!(strata(by), of([("(none)", 900, 18), ("7", 100, 2)]));
        let per = design(path("topic"), None).unwrap();
        assert!(per.is_weighted());
        assert_eq!((per.frame.rows, per.by.as_deref()), (1000, Some("topic")));
        assert_eq!(strata(per), of([("(none)", 900, 20), ("7", 100, 20)]));
        assert_eq!(design(Some(GroupKey::Day), None).unwrap().by.as_deref(), Some("date"));
        assert_eq!((design(None, None), design(path("topic"), Some(GroupKey::Day))), (None, None));
    }

    #[test]
    fn shares_add_up() {
        assert_eq!(shares(&[1, 1, 1], 2), [1, 1, 0]);
        assert_eq!(shares(&[98, 1, 1], 10), [10, 0, 0]);
        assert_eq!(shares(&[3, 5], 100), [3, 5]);
        assert_eq!(shares(&[], 3), [0; 0]);
    }
}

//! Whole groups of rows to parts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::shares::PartShare;
use crate::duplicates::TextGroups;
use crate::hash::{join, mix};

/// Name of the part that gets the latest rows.
const TEST: &str = "test";

/// Facts that are known of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowFacts {
    /// Number of its stratum.
    pub stratum: u32,
    /// Its day, as any number that grows with time.
    pub day: Option<i64>,
    /// The part that an earlier split put it into.
    pub kept: Option<u32>,
}

/// Rows of a part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartCount {
    /// The part.
    pub name: String,
    /// The share that was asked for.
    pub asked: f64,
    /// Its rows.
    pub rows: u64,
    /// Its share of the rows that are in a part.
    pub share: f64,
    /// Rows of its largest group.
    pub largest_group: u64,
}

impl PartCount {
    /// Returns whether the share is off by more than two points.
    pub fn is_off(&self) -> bool {
        (self.share - self.asked).abs() > 0.02
    }
}

/// A split.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitRows {
    /// The part of each row; `None` where it is set aside.
    pub part_of: Vec<Option<u32>>,
    /// The parts, as they were named.
    pub parts: Vec<PartCount>,
    /// New rows that belong to rows of several parts.
    pub aside: Vec<u32>,
    /// Groups whose kept rows were in several parts already, with the first row of each.
    pub torn: Vec<u32>,
    /// Groups of more than one row.
    pub groups: u64,
}

/// Rows of one group.
#[derive(Default)]
struct Group {
    first: u32,
    rows: Vec<u32>,
    latest: Option<i64>,
    strata: BTreeMap<u32, u32>,
}

/// Puts every group into the part that lacks its rows most, the largest groups first. Where rows have days, groups are in the
/// order of their latest row, and the part `test`, or else the last one, gets the latest. Rows that were kept stay where
/// they are; new rows join the part of their group, and those of several parts are set aside.
pub fn assign(facts: &[RowFacts], groups: &mut TextGroups, parts: &[PartShare], seed: u64) -> SplitRows {
    let mut part_of: Vec<Option<u32>> = facts.iter().map(|row| row.kept).collect();
    let mut state = Parts::new(facts, parts);
    let mut aside = Vec::new();
    let mut torn = Vec::new();
    let mut free = Vec::new();
    let mut shared = 0;
    for group in collect(facts, groups) {
        shared += u64::from(group.rows.len() > 1);
        let mut kept: Vec<u32> = group.rows.iter().filter_map(|row| facts[*row as usize].kept).collect();
        kept.sort_unstable();
        kept.dedup();
        let new = group.rows.iter().copied().filter(|row| facts[*row as usize].kept.is_none());
        match kept.as_slice() {
            [] => free.push(group),
            [part] => {
                new.for_each(|row| part_of[row as usize] = Some(*part));
                state.add(*part, &group);
            }
            _ => {
                aside.extend(new);
                torn.push(group.first);
                for part in kept {
                    let held = group.rows.iter().copied().filter(|row| facts[*row as usize].kept == Some(part));
                    state.add(part, &group_of(held.collect(), facts));
                }
            }
        }
    }
    aside.sort_unstable();
    let by_time = facts.iter().any(|row| row.day.is_some());
    if by_time {
        // Rows without a day are older than all others: the test gets none of them.
        free.sort_by_key(|group| (group.latest, group.first));
        state.fill_by_time(&free, parts, &mut part_of);
    } else {
        free.sort_by_key(|group| (Reverse(group.rows.len()), mix(join(mix(seed), u64::from(group.first)))));
        for group in &free {
            let part = state.neediest(group);
            group.rows.iter().for_each(|row| part_of[*row as usize] = Some(part));
            state.add(part, group);
        }
    }
    let total: u64 = state.rows.iter().sum();
    let part = |(at, part): (usize, &PartShare)| PartCount {
        name: part.name.clone(),
        asked: part.share,
        rows: state.rows[at],
        share: if total == 0 { 0.0 } else { state.rows[at] as f64 / total as f64 },
        largest_group: state.largest[at],
    };
    SplitRows { part_of, parts: parts.iter().enumerate().map(part).collect(), aside, torn, groups: shared }
}

fn collect(facts: &[RowFacts], groups: &mut TextGroups) -> Vec<Group> {
    let mut by_root: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in 0..facts.len() as u32 {
        by_root.entry(groups.of(row)).or_default().push(row);
    }
    by_root.into_values().map(|rows| group_of(rows, facts)).collect()
}

fn group_of(rows: Vec<u32>, facts: &[RowFacts]) -> Group {
    let mut strata = BTreeMap::new();
    for row in &rows {
        *strata.entry(facts[*row as usize].stratum).or_default() += 1;
    }
    let latest = rows.iter().filter_map(|row| facts[*row as usize].day).max();
    Group { first: rows.first().copied().unwrap_or_default(), rows, latest, strata }
}

/// The parts as they fill.
struct Parts {
    rows: Vec<u64>,
    largest: Vec<u64>,
    /// Rows of each stratum in each part.
    strata: Vec<Vec<f64>>,
    /// Rows that each part should have of each stratum.
    wanted: Vec<Vec<f64>>,
    /// Rows that each part should have.
    total: Vec<f64>,
}

impl Parts {
    fn new(facts: &[RowFacts], parts: &[PartShare]) -> Self {
        let strata = facts.iter().map(|row| row.stratum as usize + 1).max().unwrap_or(0);
        let mut sizes = vec![0.0; strata];
        facts.iter().for_each(|row| sizes[row.stratum as usize] += 1.0);
        Self {
            rows: vec![0; parts.len()],
            largest: vec![0; parts.len()],
            strata: vec![vec![0.0; strata]; parts.len()],
            wanted: parts.iter().map(|part| sizes.iter().map(|size| size * part.share).collect()).collect(),
            total: parts.iter().map(|part| part.share * facts.len() as f64).collect(),
        }
    }

    fn add(&mut self, part: u32, group: &Group) {
        let part = part as usize;
        self.rows[part] += group.rows.len() as u64;
        self.largest[part] = self.largest[part].max(group.rows.len() as u64);
        group.strata.iter().for_each(|(stratum, rows)| self.strata[part][*stratum as usize] += f64::from(*rows));
    }

    /// The part whose squared distance from what it should have, relative to that, shrinks most.
    fn neediest(&self, group: &Group) -> u32 {
        let change = |have: f64, wanted: f64, more: f64| more * (2.0 * (have - wanted) + more) / wanted.max(0.5);
        let cost = |part: usize| {
            let strata = group.strata.iter().map(|(stratum, rows)| {
                let stratum = *stratum as usize;
                change(self.strata[part][stratum], self.wanted[part][stratum], f64::from(*rows))
            });
            strata.sum::<f64>() + change(self.rows[part] as f64, self.total[part], group.rows.len() as f64)
        };
        let best = (0..self.rows.len()).min_by(|one, other| cost(*one).total_cmp(&cost(*other)).then(one.cmp(other)));
        best.unwrap_or_default() as u32
    }

    /// Fills the parts with groups in the order of time. A part is full once the next group would take it farther from what
    /// it should have.
    fn fill_by_time(&mut self, groups: &[Group], parts: &[PartShare], part_of: &mut [Option<u32>]) {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|part| parts[*part].name.eq_ignore_ascii_case(TEST));
        let left: usize = groups.iter().map(|group| group.rows.len()).sum();
        // The kept rows' share of a part is not wanted again.
        let needs: Vec<f64> = order.iter().map(|part| (self.total[*part] - self.rows[*part] as f64).max(0.0)).collect();
        let needed: f64 = needs.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut ends: Vec<f64> = Vec::new();
        for need in needs {
            ends.push(ends.last().copied().unwrap_or(0.0) + need / needed * left as f64);
        }
        let (mut at, mut filled) = (0, 0.0);
        for group in groups {
            let middle = filled + group.rows.len() as f64 / 2.0;
            while at + 1 < order.len() && middle > ends[at] {
                at += 1;
            }
            filled += group.rows.len() as f64;
            let part = order[at] as u32;
            group.rows.iter().for_each(|row| part_of[*row as usize] = Some(part));
            self.add(part, group);
        }
    }
}

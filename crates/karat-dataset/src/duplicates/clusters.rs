//! Clusters of duplicates: a text that is kept, and those that resemble it.

use std::collections::BTreeMap;

use karat_text::similar::tell_apart;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::frames::{CodedWord, fillings};
use super::verifier::DuplicateVerifier;

/// The kind of likeness of two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// Equal once case and white space are folded.
    Exact,
    /// A Jaccard index of at least the cut.
    Near,
}

/// A duplicate of the text that stands for its cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    /// Position of the row.
    pub row: u32,
    /// The kind of likeness.
    pub likeness: Likeness,
    /// Jaccard index of the shingles, from the cut to 1.
    pub similarity: f64,
}

/// A row that is kept, and its duplicates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cluster {
    /// The row that is kept.
    pub kept: u32,
    /// The others, by row.
    pub members: Vec<Member>,
}

/// Rows that fill the same frame with other numbers, names or other words that decide. They are not duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The rows, the first of them first.
    pub rows: Vec<u32>,
}

/// The duplicates of a set of rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Duplicates {
    /// Number of rows.
    pub rows: u32,
    /// Clusters of at least two rows, by the row that is kept.
    pub clusters: Vec<Cluster>,
    /// Rows of the same frame, by the first.
    pub frames: Vec<Frame>,
    /// Rows without a text.
    pub textless: Vec<u32>,
    /// Rows of which not every candidate was compared, because too many texts share their phrases.
    pub unverified: u32,
}

impl Duplicates {
    /// The number of rows with this likeness to one that is kept.
    pub fn count(&self, likeness: Likeness) -> usize {
        self.clusters.iter().flat_map(|cluster| &cluster.members).filter(|member| member.likeness == likeness).count()
    }

    /// The rows that are not kept, in order.
    pub fn dropped_rows(&self) -> Vec<u32> {
        let members = self.clusters.iter().flat_map(|cluster| &cluster.members);
        let mut rows: Vec<u32> = members.map(|member| member.row).collect();
        rows.sort_unstable();
        rows
    }

    /// The number of rows that fill a frame.
    pub fn framed_rows(&self) -> usize {
        self.frames.iter().map(|frame| frame.rows.len()).sum()
    }
}

impl DuplicateVerifier {
    /// The clusters. Rows are looked at in order of preference: one joins the cluster whose text it resembles most, if that
    /// is at least the cut, or else stands for a cluster of its own.
    pub fn clusters(self) -> Duplicates {
        let mut clusters: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
        // The row that stands for each row.
        let mut stands: Vec<u32> = (0..self.rows()).collect();
        let mut framed: Vec<(u32, u32)> = Vec::new();
        let mut kept_rows = Vec::new();
        for (row, others) in self.candidates.iter() {
            kept_rows.clear();
            for other in others.iter().map(|other| stands[*other as usize]) {
                if !kept_rows.contains(&other) {
                    kept_rows.push(other);
                }
            }
            match self.best(row, &kept_rows) {
                (Some((kept, similarity)), _) => {
                    clusters.entry(kept).or_default().push((row, similarity));
                    stands[row as usize] = kept;
                }
                (None, frame) => framed.extend(frame.map(|other| (other, row))),
            }
        }
        let is_kept = |row: &&u32| stands[**row as usize] == **row;
        let unverified = self.candidates.incomplete.iter().filter(is_kept).count() as u32;
        self.split_fillings(&mut clusters, &mut framed);
        self.collect(clusters, framed, unverified)
    }

    /// The text that a row resembles most, else the first whose frame it fills.
    fn best(&self, row: u32, kept_rows: &[u32]) -> (Option<(u32, f64)>, Option<u32>) {
        let mut best: Option<(u32, f64)> = None;
        let mut frame = None;
        for other in kept_rows {
            let likeness = self.likeness(row, *other);
            if likeness < self.cut {
                continue;
            }
            if self.same_frame(row, *other) {
                frame = frame.or(Some(*other));
            } else if best
                .is_none_or(|(kept, most)| (likeness, self.rank[kept as usize]) > (most, self.rank[*other as usize]))
            {
                best = Some((*other, likeness));
            }
        }
        (best, frame)
    }

    fn sequence(&self, row: u32) -> &[CodedWord] {
        self.known_text(row).map(|text| &*text.sequence).unwrap_or_default()
    }

    fn same_frame(&self, one: u32, other: u32) -> bool {
        tell_apart(self.sequence(one), self.sequence(other))
    }

    /// Takes rows out of clusters that fill a place of the kept text with other words.
    fn split_fillings(&self, clusters: &mut BTreeMap<u32, Vec<(u32, f64)>>, framed: &mut Vec<(u32, u32)>) {
        for (kept, members) in clusters.iter_mut() {
            let sequences: Vec<&[CodedWord]> = members.iter().map(|(row, _)| self.sequence(*row)).collect();
            let filled = fillings(self.sequence(*kept), &sequences);
            framed.extend(filled.iter().map(|at| (*kept, members[*at].0)));
            let mut at = 0;
            members.retain(|_| {
                at += 1;
                filled.binary_search(&(at - 1)).is_err()
            });
        }
    }

    fn collect(
        self,
        mut clusters: BTreeMap<u32, Vec<(u32, f64)>>,
        framed: Vec<(u32, u32)>,
        unverified: u32,
    ) -> Duplicates {
        let near: FxHashMap<u32, (u32, f64)> = clusters
            .iter()
            .flat_map(|(kept, members)| members.iter().map(|(row, similarity)| (*row, (*kept, *similarity))))
            .collect();
        let mut exact: FxHashMap<u32, ()> = FxHashMap::default();
        for (row, kept) in &self.equal {
            // A copy of a near duplicate is as near as that one.
            let (kept, similarity) = near.get(kept).copied().unwrap_or((*kept, 1.0));
            if !near.contains_key(&self.standing(*row)) {
                exact.insert(*row, ());
            }
            clusters.entry(kept).or_default().push((*row, similarity));
        }
        let clusters = clusters.into_iter().filter(|(_, members)| !members.is_empty()).map(|(kept, members)| {
            let member = |(row, similarity): (u32, f64)| {
                let likeness = if exact.contains_key(&row) { Likeness::Exact } else { Likeness::Near };
                Member { row, likeness, similarity }
            };
            let mut members: Vec<Member> = members.into_iter().map(member).collect();
            members.sort_by_key(|member| member.row);
            Cluster { kept, members }
        });
        let clusters: Vec<Cluster> = clusters.collect();
        Duplicates { rows: self.rows(), clusters, frames: frames(framed), textless: self.textless, unverified }
    }

    /// The row that stands for the equal texts of a row.
    fn standing(&self, row: u32) -> u32 {
        self.equal.binary_search_by_key(&row, |(row, _)| *row).map_or(row, |at| self.equal[at].1)
    }
}

/// Frames of linked rows. A link leads to a row that was looked at earlier.
fn frames(links: Vec<(u32, u32)>) -> Vec<Frame> {
    let mut first: FxHashMap<u32, u32> = FxHashMap::default();
    let mut frames: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (earlier, row) in links {
        let base = first.get(&earlier).copied().unwrap_or(earlier);
        first.insert(row, base);
        frames.entry(base).or_insert_with(|| vec![base]).push(row);
    }
    let mut frames: Vec<Frame> = frames
        .into_values()
        .map(|mut rows| {
            rows.sort_unstable();
            rows.dedup();
            Frame { rows }
        })
        .collect();
    frames.sort_by_key(|frame| frame.rows.first().copied());
    frames
}

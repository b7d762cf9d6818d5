//! Groups of rows that belong together, directly or through others.

use rustc_hash::FxHashMap;

use super::verifier::DuplicateVerifier;

/// Disjoint sets of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextGroups {
    parents: Vec<u32>,
    /// Rows of which not every candidate was compared, because too many texts share their phrases.
    pub unverified: u32,
}

impl TextGroups {
    /// Every row by itself.
    pub fn of_rows(rows: u32) -> Self {
        Self { parents: (0..rows).collect(), unverified: 0 }
    }

    /// The least row of the group of a row.
    pub fn of(&mut self, row: u32) -> u32 {
        let mut root = row;
        while self.parents[root as usize] != root {
            root = self.parents[root as usize];
        }
        let mut at = row;
        while self.parents[at as usize] != root {
            at = std::mem::replace(&mut self.parents[at as usize], root);
        }
        root
    }

    /// Puts two rows, and all that belong to them, into one group.
    pub fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.of(one), self.of(other));
        let (least, more) = (one.min(other), one.max(other));
        self.parents[more as usize] = least;
    }

    /// Puts the rows of each value into one group; rows without a value stay by themselves.
    pub fn join_by<T: std::hash::Hash + Eq>(&mut self, values: impl IntoIterator<Item = Option<T>>) {
        let mut first: FxHashMap<T, u32> = FxHashMap::default();
        for (row, value) in (0_u32..).zip(values) {
            let Some(value) = value else { continue };
            let known = *first.entry(value).or_insert(row);
            self.join(known, row);
        }
    }
}

impl DuplicateVerifier {
    /// Groups in which every two texts whose Jaccard index is at least the cut are together. Unlike clusters they follow
    /// chains: no pair may be torn apart.
    pub fn groups(&self) -> TextGroups {
        let mut groups = TextGroups::of_rows(self.rows());
        groups.unverified = self.candidates.incomplete.len() as u32;
        self.equal.iter().for_each(|(row, kept)| groups.join(*row, *kept));
        for (row, others) in self.candidates.iter() {
            for other in others {
                if groups.of(row) != groups.of(*other) && self.likeness(row, *other) >= self.cut {
                    groups.join(row, *other);
                }
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_chains() {
        let mut groups = TextGroups::of_rows(6);
        groups.join(4, 2);
        groups.join(5, 4);
        groups.join_by([Some("a"), None, None, Some("a"), None, None]);
        let found: Vec<u32> = (0..6).map(|row| groups.of(row)).collect();
        assert_eq!(found, [0, 1, 2, 0, 2, 2]);
    }
}

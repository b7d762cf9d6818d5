//! Longest common subsequences of token ids, bit-parallel.
//!
//! Source: Hyyrö 2004, "Bit-parallel LCS-length computation revisited". Bit `i` of the column
//! after `j` candidate tokens is 0 where the table `t[i + 1][j]` is one more than `t[i][j]`.

/// A reference, prepared for being compared with several candidates.
pub(super) struct Reference<'a> {
    tokens: &'a [u32],
    /// (token, position), sorted.
    occurrences: Vec<(u32, usize)>,
}

impl<'a> Reference<'a> {
    pub(super) fn new(tokens: &'a [u32]) -> Self {
        let mut occurrences: Vec<_> = tokens.iter().copied().zip(0..).collect();
        occurrences.sort_unstable();
        Self { tokens, occurrences }
    }

    /// The length of the longest common subsequence.
    pub(super) fn common_length(&self, candidate: &[u32]) -> usize {
        let mut column = Column::start(self);
        for token in candidate {
            column.advance(self.positions_of(*token));
        }
        column.risen()
    }

    /// Positions in the reference of the longest common subsequence that rouge-score's backtrack
    /// finds, last first: from the ends, match when possible, else drop the candidate's token if
    /// that alone keeps the length.
    ///
    /// Columns are stored for one stretch of √n at a time and recomputed from checkpoints, so that
    /// memory grows as n·√n bits.
    pub(super) fn common_positions(&self, candidate: &[u32]) -> Vec<usize> {
        let stretch = candidate.len().isqrt().max(256);
        let checkpoints = self.checkpoints(candidate, stretch);
        let mut found = Vec::new();
        let mut i = self.tokens.len();
        for (index, checkpoint) in checkpoints.into_iter().enumerate().rev() {
            let start = index * stretch;
            let part = &candidate[start..candidate.len().min(start + stretch)];
            let columns = self.columns(checkpoint, part);
            let mut j = part.len();
            while i > 0 && j > 0 {
                if self.tokens[i - 1] == part[j - 1] {
                    found.push(i - 1);
                    i -= 1;
                    j -= 1;
                } else if columns[j - 1].rises_at(i - 1) {
                    j -= 1;
                } else {
                    i -= 1;
                }
            }
        }
        found
    }

    fn checkpoints(&self, candidate: &[u32], stretch: usize) -> Vec<Column> {
        let mut column = Column::start(self);
        let mut checkpoints = Vec::new();
        let last = candidate.len().saturating_sub(1) / stretch;
        for (index, part) in candidate.chunks(stretch).enumerate() {
            checkpoints.push(column.clone());
            if index < last {
                for token in part {
                    column.advance(self.positions_of(*token));
                }
            }
        }
        checkpoints
    }

    fn columns(&self, mut column: Column, part: &[u32]) -> Vec<Column> {
        let next = |token: &u32| {
            column.advance(self.positions_of(*token));
            column.clone()
        };
        part.iter().map(next).collect()
    }

    fn positions_of(&self, token: u32) -> &[(u32, usize)] {
        let start = self.occurrences.partition_point(|(t, _)| *t < token);
        let rest = &self.occurrences[start..];
        &rest[..rest.partition_point(|(t, _)| *t == token)]
    }
}

/// One column of the table as differences, 64 positions of the reference a word.
#[derive(Clone)]
struct Column {
    words: Vec<u64>,
}

impl Column {
    fn start(reference: &Reference) -> Self {
        let words = vec![u64::MAX; reference.tokens.len().div_ceil(64)];
        Self { words }
    }

    /// Moves on by a candidate token that stands at `positions` of the reference.
    fn advance(&mut self, positions: &[(u32, usize)]) {
        let mut open = positions;
        let mut carry = false;
        for (index, word) in self.words.iter_mut().enumerate() {
            if open.is_empty() && !carry {
                break;
            }
            let here = open.partition_point(|(_, position)| position / 64 == index);
            let matches = bits(&open[..here]);
            open = &open[here..];
            let (sum, first) = word.overflowing_add(*word & matches);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *word = sum | (*word & !matches);
        }
    }

    fn rises_at(&self, position: usize) -> bool {
        self.words[position / 64] >> (position % 64) & 1 == 0
    }

    /// The number of positions where the table rises: the length of the subsequence.
    fn risen(&self) -> usize {
        self.words.iter().map(|w| w.count_zeros() as usize).sum()
    }
}

fn bits(positions: &[(u32, usize)]) -> u64 {
    positions.iter().fold(0, |bits, (_, position)| bits | 1 << (position % 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table and the backtrack of rouge-score, word for word.
    fn by_table(reference: &[u32], candidate: &[u32]) -> Vec<usize> {
        let mut table = vec![vec![0; candidate.len() + 1]; reference.len() + 1];
        for (i, r) in reference.iter().enumerate() {
            for (j, c) in candidate.iter().enumerate() {
                table[i + 1][j + 1] = if r == c { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
            }
        }
        let (mut i, mut j) = (reference.len(), candidate.len());
        let mut found = Vec::new();
        while i > 0 && j > 0 {
            if reference[i - 1] == candidate[j - 1] {
                found.push(i - 1);
                i -= 1;
                j -= 1;
            } else if table[i][j - 1] > table[i - 1][j] {
                j -= 1;
            } else {
                i -= 1;
            }
        }
        found
    }

    fn tokens(most: usize) -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0..12_u32, 0..most)
    }

    proptest! {
        #[test]
        fn positions_equal_the_quadratic_table(a in tokens(200), b in tokens(200)) {
            let reference = Reference::new(&a);
            let expected = by_table(&a, &b);
            prop_assert_eq!(reference.common_length(&b), expected.len());
            prop_assert_eq!(reference.common_positions(&b), expected);
        }
    }

    #[test]
    fn positions_agree_across_stretches() {
        let token = |i: u32| (i * i + i / 7) % 23;
        let a: Vec<u32> = (0..900).map(token).collect();
        let b: Vec<u32> = (0..1500).map(|i| token(i + 5)).collect();
        assert_eq!(Reference::new(&a).common_positions(&b), by_table(&a, &b));
    }

    #[test]
    fn empty_sides_have_nothing_in_common() {
        assert_eq!(Reference::new(&[]).common_length(&[1]), 0);
        assert!(Reference::new(&[1]).common_positions(&[]).is_empty());
    }
}

//! Declared categories: looking labels up, weighting disagreements, counting ratings.

use super::codebook::Codebook;
use crate::numeric::input::InputError;

/// The agreement of two categories of a declared, ordered list: 1 if they are the same, 0 if they are farthest apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    /// 1 when equal, else 0 (nominal labels).
    Identity,
    /// 1 − |i−j| / (q−1).
    Linear,
    /// 1 − ((i−j) / (q−1))², the usual choice for a 1–5 scale.
    Quadratic,
    /// 1 − C(|i−j|+1, 2) / C(q, 2) (Gwet 2014).
    Ordinal,
}

impl Weighting {
    /// 1 − agreement of the categories with indices `i` and `j` of `q`: exactly 0 when `i == j`.
    pub fn disagreement(self, i: usize, j: usize, q: usize) -> f64 {
        let distance = i.abs_diff(j) as f64;
        if i == j {
            return 0.0;
        }
        let farthest = (q.saturating_sub(1)).max(1) as f64;
        match self {
            Self::Identity => 1.0,
            Self::Linear => distance / farthest,
            Self::Quadratic => (distance / farthest).powi(2),
            Self::Ordinal => distance * (distance + 1.0) / (farthest * (farthest + 1.0)),
        }
    }

    /// Agreement in \[0, 1\] of the categories with indices `i` and `j` of `q`.
    pub fn agreement(self, i: usize, j: usize, q: usize) -> f64 {
        1.0 - self.disagreement(i, j, q)
    }
}

/// The index of each score in the declared scale, at one probe per score.
///
/// # Errors
/// [`InputError::UnknownLabel`] for a score that the scale does not hold.
pub fn score_indices(name: &'static str, scores: &[f64], scale: &[f64]) -> Result<Vec<usize>, InputError> {
    let mut codebook = Codebook::default();
    let mut first_index = Vec::with_capacity(scale.len());
    for (index, step) in scale.iter().enumerate() {
        // Adding zero makes −0 and 0 the same bits.
        if codebook.code(step + 0.0) as usize == first_index.len() {
            first_index.push(index);
        }
    }
    let index_of = |(index, score): (usize, &f64)| {
        let code = codebook.find(score + 0.0);
        code.map(|code| first_index[code]).ok_or(InputError::UnknownLabel { name, index })
    };
    scores.iter().enumerate().map(index_of).collect()
}

/// Number of ratings of each category for each item: items × categories.
///
/// Items may have different numbers of ratings; items without any are kept and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountTable {
    counts: Vec<u64>,
    categories: usize,
}

impl CountTable {
    /// From the category indices that each item got, missing ratings left out.
    ///
    /// # Errors
    /// [`InputError::OutOfBounds`] for an index that is not below `categories`.
    pub fn from_ratings(
        items: impl IntoIterator<Item = impl IntoIterator<Item = usize>>,
        categories: usize,
    ) -> Result<Self, InputError> {
        let mut counts = Vec::new();
        for item in items {
            let start = counts.len();
            counts.resize(start + categories, 0);
            for index in item {
                match counts.get_mut(start + index) {
                    Some(count) if index < categories => *count += 1,
                    _ => {
                        return Err(InputError::OutOfBounds { name: "category index", index, len: categories });
                    }
                }
            }
        }
        Ok(Self { counts, categories })
    }

    /// Number of declared categories, q.
    pub fn categories(&self) -> usize {
        self.categories
    }

    /// The counts of each item.
    pub fn items(&self) -> impl ExactSizeIterator<Item = &[u64]> + Clone {
        self.counts.chunks_exact(self.categories.max(1))
    }
}

//! Ratings of units by any number of raters, with gaps.

use crate::numeric::input::{InputError, finite, same_length};

/// The ratings that each unit got; raters are anonymous and may skip units.
///
/// Nominal labels are coded as numbers, one number per label.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ratings {
    values: Vec<f64>,
    /// End of each unit in `values`.
    ends: Vec<usize>,
}

impl Ratings {
    /// From one list of present ratings per unit.
    ///
    /// # Errors
    /// [`InputError::NotFinite`], with the index counted over all ratings.
    pub fn from_units(units: impl IntoIterator<Item = impl IntoIterator<Item = f64>>) -> Result<Self, InputError> {
        let units = units.into_iter();
        let mut ratings = Self { values: Vec::new(), ends: Vec::with_capacity(units.size_hint().0) };
        for unit in units {
            ratings.values.extend(unit);
            ratings.ends.push(ratings.values.len());
        }
        finite("ratings", &ratings.values)?;
        Ok(ratings)
    }

    /// From one list per rater, all as long as there are units; `None` where a rater skipped a unit.
    ///
    /// # Errors
    /// Raters with different numbers of units, or a value that is not finite.
    pub fn from_raters(raters: &[impl AsRef<[Option<f64>]>]) -> Result<Self, InputError> {
        let units = raters.first().map_or(0, |rater| rater.as_ref().len());
        for rater in raters {
            same_length("the first rater", units, "another rater", rater.as_ref().len())?;
        }
        Self::from_units((0..units).map(|unit| raters.iter().filter_map(move |rater| rater.as_ref()[unit])))
    }

    /// Number of units, including those with fewer than two ratings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no units.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The ratings of one unit; empty for an index past the end.
    pub fn unit(&self, index: usize) -> &[f64] {
        let start = if index == 0 { Some(0) } else { self.ends.get(index - 1).copied() };
        match (start, self.ends.get(index)) {
            (Some(start), Some(&end)) => &self.values[start..end],
            _ => &[],
        }
    }

    /// The ratings of all units, in order.
    pub fn units(&self) -> impl Iterator<Item = &[f64]> + Clone {
        (0..self.len()).map(|index| self.unit(index))
    }
}

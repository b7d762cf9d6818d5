//! The aggregate of a metric over a group of cells.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::infer::finding::Finding;

/// The weights behind a group's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weighting {
    /// Each unit weighs the same.
    #[default]
    Units,
    /// Each system weighs the same, whatever its number of units: the figure is the mean of the systems' figures.
    Systems,
}

/// A metric over a group of cells. The unit is sample × system with trials reduced; `n` counts units.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    pub(crate) figure: Option<Finding>,
    pub(crate) weighting: Weighting,
    pub(crate) mean: Option<f64>,
    pub(crate) median: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) stddev: Option<f64>,
    pub(crate) n_unscored: u64,
    pub(crate) n_errors: u64,
    pub(crate) n_na: u64,
    pub(crate) bounds: Option<(f64, f64)>,
}

/// `{n, mean, median, min, max, stddev, value, weighting?, se, ci, level, method, seed?, df?, effective_clusters?,
/// few_vary?, open?, degenerate?, n_unscored,
/// n_errors, n_na, bounds?}`. `weighting` is `systems` if `value` weighs systems equally; all else is over units.
impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figure = self.figure.as_ref();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("n", &self.n())?;
        map.serialize_entry("mean", &self.mean)?;
        map.serialize_entry("median", &self.median)?;
        map.serialize_entry("min", &self.min)?;
        map.serialize_entry("max", &self.max)?;
        map.serialize_entry("stddev", &self.stddev)?;
        map.serialize_entry("value", &self.value())?;
        if self.weighting == Weighting::Systems {
            map.serialize_entry("weighting", "systems")?;
        }
        map.serialize_entry("se", &figure.and_then(Finding::se))?;
        map.serialize_entry("ci", &figure.and_then(Finding::ends))?;
        map.serialize_entry("level", &figure.and_then(Finding::level))?;
        map.serialize_entry("method", &figure.map(Finding::method))?;
        if let Some(seed) = figure.and_then(Finding::seed) {
            map.serialize_entry("seed", &seed)?;
        }
        if let Some(figure) = figure {
            figure.serialize_limits(&mut map)?;
        }
        map.serialize_entry("n_unscored", &self.n_unscored)?;
        map.serialize_entry("n_errors", &self.n_errors)?;
        map.serialize_entry("n_na", &self.n_na)?;
        if self.bounds.is_some() {
            map.serialize_entry("bounds", &self.bounds)?;
        }
        map.end()
    }
}

impl Spread {
    /// The metric's figure with its interval.
    pub fn figure(&self) -> Option<&Finding> {
        self.figure.as_ref()
    }

    /// The figure's value.
    pub fn value(&self) -> Option<f64> {
        self.figure.as_ref().map(Finding::value)
    }

    /// The weights behind the figure.
    pub fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// Number of units with a value.
    pub fn n(&self) -> u64 {
        self.figure.as_ref().map_or(0, Finding::n)
    }

    /// Arithmetic mean of all units. It differs from the figure if systems weigh the same and have unequal numbers of
    /// units.
    pub fn mean(&self) -> Option<f64> {
        self.mean
    }

    /// Median of all units.
    pub fn median(&self) -> Option<f64> {
        self.median
    }

    /// Lowest unit.
    pub fn min(&self) -> Option<f64> {
        self.min
    }

    /// Highest unit.
    pub fn max(&self) -> Option<f64> {
        self.max
    }

    /// Sample standard deviation (÷ n − 1) of the units.
    pub fn stddev(&self) -> Option<f64> {
        self.stddev
    }

    /// Number of units whose scorer failed.
    pub fn n_unscored(&self) -> u64 {
        self.n_unscored
    }

    /// Number of units whose cell has no output.
    pub fn n_errors(&self) -> u64 {
        self.n_errors
    }

    /// Number of units to which the metric does not apply.
    pub fn n_na(&self) -> u64 {
        self.n_na
    }

    /// The mean if every failed unit had the worst score, and if every failed unit had the best score of the metric's
    /// range. `None` if nothing failed, or the metric has no range.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        self.bounds
    }
}

//! The numbers of one metric before they become a figure, and the aggregates that turn them into one.

use std::collections::BTreeMap;

use karat_stats::describe::{mean, nearest_rank_of};

use crate::score::cascade::ObservedCascade;
use crate::score::classification::LabelFigure;

/// The average number of observations beyond a percentile that a bootstrap needs. With fewer, the test of its change
/// gives a false alarm in up to a fifth of the runs.
const BEYOND: usize = 3;

/// The least number of clusters for a bootstrap.
pub(crate) const BOOTSTRAP_FROM: usize = 10;

/// Above this number of observations the normal interval is used, and nothing is bootstrapped unless requested.
pub(crate) const RESAMPLED_UP_TO: usize = 10_000;

/// A value with which a unit enters sums and variances. Of a cascade it is the estimator's, which may lie outside the
/// metric's range and is no grade of the unit. A number becomes one by `into`; there is no way back to a shown number but
/// [`for_sums`](Self::for_sums), so that a reader never sees it as the score of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FigureValue(f64);

impl From<f64> for FigureValue {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl FigureValue {
    /// The number, for sums, means and variances only.
    pub(crate) fn for_sums(self) -> f64 {
        self.0
    }
}

/// Numbers of one metric with their strata, clusters and labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Observations {
    /// The numbers.
    pub(crate) values: Vec<f64>,
    /// Stratum of each; strata have equal weight whatever their number of observations.
    pub(crate) strata: Vec<u32>,
    /// Cluster of each; observations of one cluster are not independent.
    pub(crate) clusters: Vec<u32>,
    /// True if clusters hold more than one observation of a stratum.
    pub(crate) clustered: bool,
    /// Expected and found label of each, if the scorer names labels.
    pub(crate) labels: Vec<(u16, u16)>,
    /// Number of labels that the scorer declares; they come first. 0 if the labels that occur count.
    pub(crate) declared: usize,
    /// The cells behind the numbers, if a cascade's judges graded only part of them.
    pub(crate) cascade: Option<ObservedCascade>,
}

impl Observations {
    /// Reserves capacity for `most` observations.
    pub(crate) fn with_capacity(mut self, most: usize) -> Self {
        self.values.reserve_exact(most);
        self.strata.reserve_exact(most);
        self.clusters.reserve_exact(most);
        self
    }

    pub(crate) fn push(&mut self, value: impl Into<FigureValue>, stratum: usize, cluster: u32) {
        self.values.push(value.into().for_sums());
        self.strata.push(stratum as u32);
        self.clusters.push(cluster);
    }

    /// Adds an observation with its labels.
    pub(crate) fn push_labelled(
        &mut self,
        value: impl Into<FigureValue>,
        labels: Option<(u16, u16)>,
        stratum: usize,
        cluster: u32,
    ) {
        self.push(value, stratum, cluster);
        self.labels.extend(labels);
    }

    /// Adds the place of the last observation, for cascades.
    pub(crate) fn push_place(&mut self, sample: usize, system: usize, stratum: usize) {
        if let Some(cascade) = &mut self.cascade {
            cascade.push(sample, system, stratum);
        }
    }

    /// The same for a change: the scores of the place's cells are differences from `before`.
    pub(crate) fn push_change(&mut self, sample: usize, system: usize, stratum: usize, before: f64) {
        if let Some(cascade) = &mut self.cascade {
            cascade.push_change(sample, system, stratum, before);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn is_one_stratum(&self) -> bool {
        self.strata.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Values by stratum, in the order of the strata.
    pub(crate) fn by_stratum(&self) -> Vec<(u32, Vec<f64>)> {
        let mut groups = BTreeMap::<u32, Vec<f64>>::new();
        for (stratum, value) in self.strata.iter().zip(&self.values) {
            groups.entry(*stratum).or_default().push(*value);
        }
        groups.into_iter().collect()
    }
}

/// The way in which samples become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Mean,
    Median,
    Min,
    Max,
    Sum,
    Percentile(u8),
    Labels(LabelFigure),
}

impl Aggregate {
    /// Parses a metric's `aggregate`: `mean`, `median`, `min`, `max`, `sum`, `p1` … `p99`, or a figure of labels.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Median),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            "sum" => Some(Self::Sum),
            _ => LabelFigure::parse(text).map(Self::Labels).or_else(|| {
                text.strip_prefix('p')?.parse().ok().filter(|p| (1..=99).contains(p)).map(Self::Percentile)
            }),
        }
    }

    /// Returns true for a figure of labels rather than of values.
    pub(crate) fn uses_labels(self) -> bool {
        matches!(self, Self::Labels(_))
    }

    /// The aggregate of values without strata; `None` for no values, and for figures of labels.
    pub(crate) fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(values),
            Self::Median => karat_stats::describe::median(values),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Sum => Some(karat_stats::numeric::sum::sum(values)),
            Self::Percentile(p) => nearest_rank_of(values, f64::from(p) / 100.0),
            Self::Labels(_) => None,
        }
    }

    /// The least number of independent observations for a bootstrap: a percentile needs some beyond it. `None` for
    /// extremes, which no bootstrap covers.
    pub(crate) fn min_bootstrap_units(self) -> Option<usize> {
        match self {
            Self::Min | Self::Max => None,
            Self::Percentile(p) => Some((100 * BEYOND).div_ceil(usize::from(p.min(100 - p))).max(BOOTSTRAP_FROM)),
            Self::Mean | Self::Median | Self::Sum | Self::Labels(_) => Some(BOOTSTRAP_FROM),
        }
    }

    /// The largest possible difference of two figures of values within a range. `None` without a range, for sums (which
    /// grow with n) and for figures of labels (which have their own scale).
    pub(crate) fn max_change(self, range: Option<(f64, f64)>) -> Option<f64> {
        match self {
            Self::Sum | Self::Labels(_) => None,
            _ => range.map(|(lo, hi)| hi - lo),
        }
    }

    /// Its name in reports.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Median => "median".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Sum => "sum".to_owned(),
            Self::Percentile(p) => format!("p{p} (nearest rank)"),
            Self::Labels(figure) => figure.name().to_owned(),
        }
    }
}

//! The numbers of one metric before they become a figure, and the aggregates that turn them into one.

use std::collections::BTreeMap;
use std::sync::Arc;

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
/// metric's range and is not a grade of the unit. A number becomes one by `into`; there is no way back to a shown number but
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

/// The draw of a run's samples from a larger set, stratum by stratum.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SampleDesign {
    /// The column of the strata.
    pub(crate) by: String,
    /// Rows of the larger set, and those that were drawn, by stratum.
    pub(crate) strata: Vec<(u64, u64)>,
    /// Stratum of each sample.
    pub(crate) of: Vec<u32>,
    /// True if samples of some strata stand for more rows than others.
    pub(crate) is_weighted: bool,
}

impl SampleDesign {
    /// The stratum of a sample.
    pub(crate) fn stratum(&self, sample: u32) -> usize {
        self.of.get(sample as usize).map_or(usize::MAX, |stratum| *stratum as usize)
    }

    /// The weight of each sample, of mean 1: a stratum's share of the rows over its share of these samples.
    pub(crate) fn weights(&self, samples: &[u32]) -> Vec<f64> {
        let mut counts = vec![0_u64; self.strata.len()];
        let strata: Vec<usize> = samples.iter().map(|sample| self.stratum(*sample)).collect();
        strata.iter().for_each(|at| counts.iter_mut().skip(*at).take(1).for_each(|count| *count += 1));
        let there = counts.iter().zip(&self.strata).filter(|(count, _)| **count > 0);
        let total: u64 = there.map(|(_, (rows, _))| rows).sum();
        let weight = |at: &usize| {
            let (Some((rows, _)), Some(count)) = (self.strata.get(*at), counts.get(*at)) else { return 0.0 };
            samples.len() as f64 * *rows as f64 / (total.max(1) as f64 * *count as f64)
        };
        strata.iter().map(weight).collect()
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
    pub(crate) labels: Vec<(u32, u32)>,
    /// Number of labels that the scorer declares; they come first. 0 if the labels that occur count.
    pub(crate) declared: usize,
    /// The draw of the samples from a larger set, if there was one.
    pub(crate) design: Option<Arc<SampleDesign>>,
    /// True if the observations are of part of the samples by choice.
    pub(crate) is_part: bool,
    /// Sample of each, where places are pushed.
    pub(crate) places: Vec<u32>,
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
        labels: Option<(u32, u32)>,
        stratum: usize,
        cluster: u32,
    ) {
        self.push(value, stratum, cluster);
        self.labels.extend(labels);
    }

    /// Adds the place of the last observation, for cascades and draws.
    pub(crate) fn push_place(&mut self, sample: usize, system: usize, stratum: usize) {
        if self.design.is_some() {
            self.places.push(sample as u32);
        }
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

    /// The sample of each observation; `None` where that is not known. Without clusters it is its own cluster.
    pub(crate) fn samples(&self) -> Option<&[u32]> {
        let has_places = self.places.len() == self.values.len();
        if has_places { Some(&self.places) } else { (!self.clustered).then_some(&self.clusters) }
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

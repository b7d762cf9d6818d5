//! The rule that turns a metric into figures: aggregate, range, level and bootstrap.

use karat_stats::bootstrap::Resampling;
use karat_stats::inference::{DECIDABLE_DF, commonest};
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_types::{MetricSpec, PlanHeader};

use crate::infer::finding::Finding;
use crate::infer::resampled::{Resampled, bootstrap_change, bootstrap_figure, label_figure, paired_change};
use crate::score::observations::{Aggregate, Observations};

/// The range of shares, and of passes and fails.
pub(super) const SHARES: (f64, f64) = (0.0, 1.0);

/// The reason where clusters differ within and not between.
pub(super) const ALIKE: &str = "all clusters have one mean";

/// The reason why clusters with so few degrees of freedom decide nothing.
pub(super) fn few_clusters_reason(clusters: usize, df: f64) -> Option<String> {
    let worth = df + 1.0;
    (df < DECIDABLE_DF - 1e-9)
        .then(|| format!("{clusters} clusters, worth {worth:.1} of equal size: too few to decide"))
}

/// The rule of a metric's figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) aggregate: Aggregate,
    pub(crate) binary: bool,
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) level: Level,
    /// True if a figure of drawn samples is of the population behind the rows that were drawn from, as gates by interval ask.
    pub(crate) population: bool,
    /// The bootstrap that replaces the formulas, if requested.
    pub(crate) bootstrap: Option<Resampling>,
}

impl Measure {
    /// The rule of a mean of values of a declared range, such as differences or shares.
    pub(crate) fn of_mean(binary: bool, range: Option<(f64, f64)>, level: Level) -> Self {
        Self { aggregate: Aggregate::Mean, binary, range, level, population: false, bootstrap: None }
    }

    /// The figure with its resamples; `None` if its interval comes from a formula: that of a mean knows more than resamples
    /// do where few values vary, near the ends of a scale, and of cells that a cascade did not ask about.
    pub(crate) fn resample(self, observed: &Observations) -> Option<Resampled> {
        let is_drawn = observed.design.is_some() && self.aggregate == Aggregate::Mean;
        if observed.cascade.is_some()
            || is_drawn
            || self.aggregate == Aggregate::Mean && !self.may_resample_mean(observed)
        {
            return None;
        }
        let asked = self.bootstrap.and_then(|how| bootstrap_figure(observed, self.aggregate, &how));
        asked.or_else(|| label_figure(observed, self.aggregate))
    }

    /// The range of the values; passes and fails have that of shares.
    pub(super) fn scale(self) -> Option<(f64, f64)> {
        if self.binary { Some(SHARES) } else { self.range }
    }

    /// Returns true if the observations are passes and fails.
    pub(super) fn is_rate(self, observed: &Observations) -> bool {
        self.binary && observed.values.iter().all(|value| *value <= 0.0 || *value >= 1.0)
    }

    /// Returns true if a mean has no interval that knows more than resamples.
    fn may_resample_mean(self, observed: &Observations) -> bool {
        let is_tied = commonest(&observed.values).is_some_and(|found| found.is_tied());
        self.scale() != Some(SHARES) && !is_tied
    }

    /// The change of a figure other than the mean on the same observations.
    pub(crate) fn change(self, now: &Observations, before: &Observations) -> Option<Resampled> {
        match self.bootstrap {
            Some(how) => bootstrap_change(now, before, self.aggregate, &how),
            None => paired_change(now, before, self.aggregate),
        }
    }

    /// The largest possible difference of two figures, if the metric has a range.
    pub(crate) fn max_change(self) -> Option<f64> {
        self.aggregate.max_change(self.range)
    }

    /// Sets another confidence level.
    pub(crate) fn at_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// The rule that a plan declares for a metric.
    pub(crate) fn of(plan: &PlanHeader, metric: &MetricSpec, level: Level) -> Result<Self, crate::AnalysisError> {
        let aggregate = Aggregate::parse(&metric.aggregate).ok_or_else(|| crate::AnalysisError::UnknownAggregate {
            metric: metric.name.clone(),
            aggregate: metric.aggregate.clone(),
        })?;
        let bootstrap = plan
            .statistics
            .bootstrap
            .map(|resamples| Resampling { resamples: resamples as usize, ..Resampling::new(Seed(plan.run.seed)) });
        Ok(Self { aggregate, binary: metric.binary, range: metric.range, level, population: false, bootstrap })
    }
}

/// Clips the interval of a figure to the range of the metric's values. Sums and figures of labels are left alone: they
/// have other ranges.
pub(crate) fn clip_to_range(found: Finding, range: Option<(f64, f64)>, aggregate: Aggregate) -> Finding {
    match range {
        Some((lo, hi)) if aggregate != Aggregate::Sum && !aggregate.uses_labels() => found.clip_interval(lo, hi),
        _ => found,
    }
}

//! The rule that turns a metric into figures: aggregate, range, level and bootstrap.

use karat_stats::bootstrap::Resampling;
use karat_stats::correction::CascadeBasis;
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_types::{MetricSpec, PlanHeader};

use crate::figures::cascaded::cascade_figure;
use crate::figures::estimate;
use crate::figures::finding::Finding;
use crate::figures::resampled::{Resampled, bootstrap_change, bootstrap_figure, label_figure, paired_change};
use crate::score::observations::{Aggregate, Observations};

/// The rule of a metric's figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) aggregate: Aggregate,
    pub(crate) binary: bool,
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) level: Level,
    /// The bootstrap that replaces the formulas, if requested.
    pub(crate) bootstrap: Option<Resampling>,
}

impl Measure {
    /// The figure of observations, with its interval clipped to the metric's range: a t interval ignores it.
    pub(crate) fn figure(self, observed: &Observations) -> Option<Finding> {
        let found = match self.resample(observed) {
            Some(drawn) => drawn.finding_at(self.level),
            None => estimate::figure(observed, self.aggregate, self.binary, self.level),
        }?;
        Some(clip_to_range(found, self.range, self.aggregate))
    }

    /// The figure of a cascade's observations with the interval of the mean of these samples.
    pub(crate) fn dataset_figure(self, observed: &Observations) -> Option<Finding> {
        let cascade = observed.cascade.as_ref().filter(|_| self.aggregate == Aggregate::Mean);
        let Some(cascade) = cascade else { return self.figure(observed) };
        let found = cascade_figure(observed, cascade, CascadeBasis::Dataset, self.level)?;
        Some(clip_to_range(found, self.range, self.aggregate))
    }

    /// The figure with its resamples; `None` if its interval comes from a formula.
    pub(crate) fn resample(self, observed: &Observations) -> Option<Resampled> {
        // A cascade's interval knows of the cells that were not asked about; resampling does not.
        if observed.cascade.is_some() {
            return None;
        }
        let asked = self.bootstrap.and_then(|how| bootstrap_figure(observed, self.aggregate, &how));
        asked.or_else(|| label_figure(observed, self.aggregate))
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
        Ok(Self { aggregate, binary: metric.binary, range: metric.range, level, bootstrap })
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

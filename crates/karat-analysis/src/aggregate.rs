//! What a group of systems achieved in one metric (CL-18).

use karat_stats::bootstrap::Resampling;
use karat_stats::describe::{extent, median, standard_deviation};
use karat_stats::interval::Level;
use karat_stats::seed::Seed;
use karat_types::{MetricSpec, PlanHeader};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::estimate::{self, Aggregate, Observations};
use crate::finding::{Finding, finite};
use crate::resampled::{Resampled, bootstrapped, of_labels, paired_change, resampled_change};
use crate::table::{ScoreTable, State};

/// How a metric is turned into figures: its rule, and whether it is a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    pub(crate) aggregate: Aggregate,
    pub(crate) binary: bool,
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) level: Level,
    /// The bootstrap that is asked for in place of the formulas.
    pub(crate) bootstrap: Option<Resampling>,
}

impl Measure {
    /// The figure of observations. Its interval ends where the figure cannot go further: that of t knows no bounds.
    pub(crate) fn figure(self, observed: &Observations) -> Option<Finding> {
        let found = match self.resampled(observed) {
            Some(drawn) => drawn.at(self.level),
            None => estimate::figure(observed, self.aggregate, self.binary, self.level),
        }?;
        Some(within(found, self.range, self.aggregate))
    }

    /// The figure with the resamples that its interval is made of; `None` where it is made by a formula.
    pub(crate) fn resampled(self, observed: &Observations) -> Option<Resampled> {
        let asked = self.bootstrap.and_then(|how| bootstrapped(observed, self.aggregate, &how));
        asked.or_else(|| of_labels(observed, self.aggregate))
    }

    /// How much the figure changed on the same observations, of a figure that is no mean.
    pub(crate) fn change(self, now: &Observations, before: &Observations) -> Option<Resampled> {
        match self.bootstrap {
            Some(how) => resampled_change(now, before, self.aggregate, &how),
            None => paired_change(now, before, self.aggregate),
        }
    }

    /// The furthest that two such figures can be apart, where the metric has a range.
    pub(crate) fn widest_change(self) -> Option<f64> {
        self.aggregate.widest_change(self.range)
    }

    /// The same at another level.
    pub(crate) fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// What a plan declares of it.
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

/// A figure with its interval within the range of the metric's values; a sum, and what is made of labels, have others.
pub(crate) fn within(found: Finding, range: Option<(f64, f64)>, aggregate: Aggregate) -> Finding {
    match range {
        Some((lo, hi)) if aggregate != Aggregate::Sum && !aggregate.is_of_labels() => found.clipped(lo, hi),
        _ => found,
    }
}

/// A metric over a group of cells. The unit is sample × system, trials already reduced; `n` counts units.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    figure: Option<Finding>,
    mean: Option<f64>,
    median: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    stddev: Option<f64>,
    n_unscored: u64,
    n_errors: u64,
    n_na: u64,
    bounds: Option<(f64, f64)>,
}

/// `{n, mean, median, min, max, stddev, value, se, ci, level, method, seed?, degenerate?, n_unscored, n_errors,
/// n_na, bounds?}`.
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
        map.serialize_entry("se", &figure.and_then(Finding::se))?;
        map.serialize_entry("ci", &figure.and_then(Finding::interval))?;
        map.serialize_entry("level", &figure.and_then(Finding::level))?;
        map.serialize_entry("method", &figure.map(Finding::method))?;
        if let Some(seed) = figure.and_then(Finding::seed) {
            map.serialize_entry("seed", &seed)?;
        }
        if figure.is_some_and(Finding::is_degenerate) {
            map.serialize_entry("degenerate", &true)?;
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

    /// Units with a value.
    pub fn n(&self) -> u64 {
        self.figure.as_ref().map_or(0, Finding::n)
    }

    /// Arithmetic mean of all units.
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

    /// Units whose scorer failed.
    pub fn n_unscored(&self) -> u64 {
        self.n_unscored
    }

    /// Units whose cell has no output.
    pub fn n_errors(&self) -> u64 {
        self.n_errors
    }

    /// Units to which the metric does not apply.
    pub fn n_na(&self) -> u64 {
        self.n_na
    }

    /// The mean if everything that failed had scored worst, and best, on the metric's range. `None`
    /// when nothing failed, or the metric has no range.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        self.bounds
    }
}

/// The metric over some systems and samples.
pub(crate) fn spread(
    table: &ScoreTable,
    metric: usize,
    measure: Measure,
    systems: &[usize],
    samples: std::ops::Range<usize>,
) -> Spread {
    let one_sample = samples.len() == 1 && table.samples() > 1;
    let mut observed = table.observations(metric).with_room(samples.len() * systems.len());
    let mut failures = vec![0_u64; systems.len()];
    let (mut n_unscored, mut n_errors, mut n_na) = (0, 0, 0);
    for sample in samples {
        for (at, &system) in systems.iter().enumerate() {
            let state = table.state(metric, sample, system);
            match state {
                State::Unscored => n_unscored += 1,
                State::Error => n_errors += 1,
                State::NotApplicable => n_na += 1,
                State::Absent | State::Skipped | State::Value => {}
            }
            failures[at] += u64::from(state.is_failure());
            if let Some(value) = table.value(metric, sample, system) {
                observed.push_labelled(value, table.labels(metric, sample, system), at, table.cluster(sample));
            }
        }
    }
    let figure = if one_sample { estimate::plain_mean(&observed) } else { measure.figure(&observed) };
    let bounds = measure.range.filter(|_| measure.aggregate == Aggregate::Mean && n_unscored + n_errors > 0);
    let extent = extent(&observed.values);
    Spread {
        figure,
        mean: estimate::plain_mean(&observed).map(|found| found.value()),
        median: median(&observed.values).and_then(finite),
        min: extent.and_then(|(min, _)| finite(min)),
        max: extent.and_then(|(_, max)| finite(max)),
        stddev: standard_deviation(&observed.values).and_then(finite),
        n_unscored,
        n_errors,
        n_na,
        bounds: bounds.and_then(|(lo, hi)| {
            Some((mean_with_failures(&observed, &failures, lo)?, mean_with_failures(&observed, &failures, hi)?))
        }),
    }
}

/// Equal-weight mean over systems when every failed unit counts as `value`.
fn mean_with_failures(observed: &Observations, failures: &[u64], value: f64) -> Option<f64> {
    let mut sums = vec![(0.0, 0_u64); failures.len()];
    for (stratum, value) in observed.strata.iter().zip(&observed.values) {
        let entry = sums.get_mut(*stratum as usize)?;
        *entry = (entry.0 + value, entry.1 + 1);
    }
    let means: Vec<f64> = sums
        .iter()
        .zip(failures)
        .filter(|((_, n), failed)| n + **failed > 0)
        .map(|((sum, n), failed)| (sum + value * *failed as f64) / (n + failed) as f64)
        .collect();
    karat_stats::describe::mean(&means).and_then(finite)
}

#[cfg(test)]
mod tests {
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    /// CL-18: mean, median, min, max and standard deviation of hand-computed scores.
    #[test]
    fn spread_of_hand_computed_scores() {
        let run = Sketch::new(1, 1, 4).value(0, 0, 2.0).value(1, 0, 4.0).value(2, 0, 9.0).value(3, 0, 5.0).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let spread = &findings.systems[0].metrics[0];
        assert_eq!((spread.value(), spread.median(), spread.n()), (Some(5.0), Some(4.5), 4));
        assert_eq!((spread.min(), spread.max()), (Some(2.0), Some(9.0)));
        assert!((spread.stddev().unwrap() - (26.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(spread.bounds(), None);
    }

    /// House rule: the interval of a bounded metric ends where the metric does.
    #[test]
    fn no_interval_leaves_the_range_of_its_metric() {
        let interval = |low: f64| {
            let run = Sketch::new(1, 1, 4).fill(10.0).value(0, 0, low).run();
            analyse(&run, &Options::default()).unwrap().systems[0].metrics[0].figure().unwrap().interval().unwrap()
        };
        // 8.5 ± 3.182·1.5, on a scale that ends at 10.
        let (lo, hi) = interval(4.0);
        assert!((lo - 3.726).abs() < 1e-3 && (hi - 10.0).abs() < 1e-12, "{lo} {hi}");
        let (lo, hi) = interval(-0.0);
        assert!(lo.abs() < 1e-12 && (hi - 10.0).abs() < 1e-12, "{lo} {hi}");
    }

    /// House rule: what failed is dropped and counted, and the best and worst case are shown.
    #[test]
    fn failures_are_counted_and_bounded() {
        let run = Sketch::new(1, 1, 4).value(0, 0, 6.0).value(1, 0, 8.0).unscored(2, 0).error(3, 0, "timeout").run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let spread = &findings.systems[0].metrics[0];
        assert_eq!((spread.n(), spread.n_unscored(), spread.n_errors()), (2, 1, 1));
        assert_eq!(spread.value(), Some(7.0));
        assert_eq!(spread.bounds(), Some((3.5, 8.5)));
    }
}

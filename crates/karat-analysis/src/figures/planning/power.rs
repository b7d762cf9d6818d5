//! Power: the difference that a number of samples detects, and the number of samples that a difference needs.
//!
//! The unit is the paired sample. Its standard deviation s_d comes from stored scores if there are any: pooled over
//! pairs of systems, multiplied by the root of the design effect if samples are clustered; the test then has one degree
//! of freedom less than there are clusters. With a single system, s_d is its spread with an assumed correlation ρ = ½.
//! Without scores, the range gives the worst case √(p(1−p)·2(1−ρ)) with p = ρ = ½.
//!
//! A sum is planned as a multiple of the mean. A median, a percentile or a figure of labels is planned with the
//! bootstrap standard error of its change in place of s_d/√n; it shrinks with √n as well. Extremes have no test and no
//! plan.

use karat_stats::bootstrap::Resampling;
use karat_stats::inference::ChangeTest;
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_stats::power::PairedDesign;
use karat_types::{MetricSpec, PlanHeader};
use serde::Serialize;

use crate::figures::planning::needed::{Needed, PLANNED_POWER, Planning};
use crate::infer::change::{Kind, PairedScores, Test};
use crate::infer::finding::Finding;
use crate::infer::pairs::{PairedFigures, resampling};
use crate::infer::resampled::bootstrap_figure;
use crate::score::observations::{Aggregate, BOOTSTRAP_FROM, Observations};
use crate::score::table::ScoreTable;

/// The spread of paired differences, measured or assumed.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedDeviation {
    deviation: Finding,
    cluster_size: f64,
    /// Share of samples that gives a pair.
    applies: f64,
}

impl PairedDeviation {
    /// The standard deviation s_d of one paired difference, in the metric's unit, multiplied by the root of the design
    /// effect if samples are clustered.
    pub fn finding(&self) -> &Finding {
        &self.deviation
    }
}

/// The power of a number of samples for a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricPower {
    /// The metric.
    pub metric: String,
    /// Lowest and highest possible value, if bounded.
    pub range: Option<(f64, f64)>,
    /// Number of samples.
    pub samples: u64,
    /// Number of clusters, if samples are clustered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// The standard deviation of one paired difference used for planning, with its source.
    pub deviation: Finding,
    /// The smallest difference that the samples detect; `None` for fewer than two samples or clusters.
    pub detectable: Option<f64>,
    /// Probability of detecting it.
    pub power: f64,
    /// Confidence level of the planned test.
    pub level: f64,
    /// The wanted difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<f64>,
    /// The samples needed for the wanted difference; `None` if none is wanted, or more than 10¹² samples would be
    /// needed.
    pub needed: Option<Needed>,
}

/// Returns the reason why a difference cannot be planned for: it is not above 0, or exceeds the metric's range. `None`
/// if it can.
pub fn difference_problem(metric: Option<&MetricSpec>, difference: f64) -> Option<String> {
    if !(difference > 0.0 && difference.is_finite()) {
        return Some(format!("{difference} is not a valid difference: it must be a number above 0"));
    }
    let metric = metric?;
    let (lo, hi) = metric.range.filter(|(lo, hi)| difference > hi - lo && metric.aggregate != "sum")?;
    Some(format!("a difference of {difference} is impossible: {} ranges from {lo} to {hi}", metric.name))
}

/// Returns the reason why a metric cannot be planned for: its figure has no test. `None` if it can.
pub fn planning_problem(metric: &MetricSpec) -> Option<String> {
    let aggregate = aggregate(metric);
    let untested = aggregate.min_bootstrap_units().is_none();
    untested.then(|| format!("{} is the {} of samples, for which there is no test", metric.name, aggregate.name()))
}

/// Computes the power of `samples` samples for a metric, and the samples needed for the difference `mde`.
pub fn power(
    metric: &MetricSpec,
    spread: &PairedDeviation,
    samples: u64,
    mde: Option<f64>,
    cost_per_sample: Option<f64>,
) -> MetricPower {
    let (level, applies, aggregate) = (Level::P95, spread.applies, aggregate(metric));
    // The sum over the present samples is a multiple of their mean.
    let times = if aggregate == Aggregate::Sum { samples as f64 * applies } else { 1.0 };
    let design = PairedDesign { deviation: times * spread.deviation.value(), cluster_size: spread.cluster_size };
    let fewest = match aggregate {
        Aggregate::Mean => planned_test(metric.binary, spread.cluster_size > 1.0).fewest(level),
        other => other.min_bootstrap_units().unwrap_or(BOOTSTRAP_FROM) as f64,
    };
    let planning = Planning { design, present: samples, applies, level, fewest, cost_per_sample };
    MetricPower {
        metric: metric.name.clone(),
        range: metric.range,
        samples,
        clusters: (spread.cluster_size > 1.0).then(|| design.clusters(samples as f64 * applies) as u64),
        deviation: spread.deviation.clone(),
        detectable: planning.detectable(),
        power: PLANNED_POWER,
        level: planning.level.get(),
        wanted: mde,
        needed: mde.and_then(|difference| planning.required_samples(difference)),
    }
}

/// The test that `compare` uses for few samples: no plan has fewer samples than this test needs.
fn planned_test(binary: bool, clustered: bool) -> Test {
    match (clustered, binary) {
        (true, _) => Test::Mean(ChangeTest::ClusterSignFlip),
        (false, true) => Test::Mean(ChangeTest::McNemar),
        (false, false) => Test::Mean(ChangeTest::SignFlip),
    }
}

fn aggregate(metric: &MetricSpec) -> Aggregate {
    Aggregate::parse(&metric.aggregate).unwrap_or(Aggregate::Mean)
}

/// The aggregate whose spread is used.
fn measured_aggregate(metric: &MetricSpec) -> Aggregate {
    match aggregate(metric) {
        Aggregate::Sum => Aggregate::Mean,
        other => other,
    }
}

/// s_d of stored scores: pooled over the pairs of the first system with each other one; with a single system, its own
/// spread.
pub(crate) fn measured_deviation(plan: &PlanHeader, table: &ScoreTable, metric: usize) -> Option<PairedDeviation> {
    let aggregate = measured_aggregate(plan.metrics.get(metric)?);
    let kind = if table.is_binary(metric) { Kind::Binary } else { Kind::Score };
    let how = resampling(plan, Seed(1));
    let others = 1..plan.systems.len();
    let tests = others.map(|other| paired_figures(table, metric, other).test(kind, aggregate, &how));
    let known: Vec<(PairedDesign, usize)> = tests.filter_map(|test| Some((test.design()?, test.n()))).collect();
    let n: usize = known.iter().map(|(_, n)| n).sum();
    if n == 0 {
        return single_system_deviation(table, metric, aggregate, &how);
    }
    let squares: f64 = known.iter().map(|(design, n)| design.deviation.powi(2) * *n as f64).sum();
    let clusters: f64 = known.iter().map(|(design, n)| design.clusters(*n as f64)).sum();
    let pairs = known.len();
    let what = deviation_name(aggregate, "the change of ");
    let method = format!("{what} of {pairs} pair{} of systems", if pairs == 1 { "" } else { "s" });
    PairedDeviation::of((squares / n as f64).sqrt(), n, n as f64 / clusters, method)
}

/// The name of the deviation used for planning.
fn deviation_name(aggregate: Aggregate, change: &str) -> String {
    let plain = if change.is_empty() { "s" } else { "s_d" };
    match aggregate {
        Aggregate::Mean => plain.to_owned(),
        other => format!("√n × resampled SE of {change}the {}", other.name()),
    }
}

/// s of the first system, which equals s_d if the two scores are correlated by ½.
fn single_system_deviation(
    table: &ScoreTable,
    metric: usize,
    aggregate: Aggregate,
    how: &Resampling,
) -> Option<PairedDeviation> {
    let mut scores = PairedScores::default();
    let mut observed = table.observations(metric);
    for sample in 0..table.samples() {
        if let Some(value) = table.figure_value(metric, sample, 0) {
            scores.push(0.0, value.for_sums(), table.cluster(sample));
            observed.push_labelled(value, table.labels(metric, sample, 0), 0, table.cluster(sample));
        }
    }
    let (n, test) = (scores.len(), scores.test(Kind::Score));
    let deviation = match aggregate {
        Aggregate::Mean => test.design()?.deviation,
        _ => resampled_error(&observed, aggregate, how)? * (n as f64).sqrt(),
    };
    let cluster_size = n as f64 / test.units() as f64;
    let what = deviation_name(aggregate, "");
    PairedDeviation::of(deviation, n, cluster_size, format!("{what} of one system, correlation 0.5 assumed"))
}

fn resampled_error(observed: &Observations, aggregate: Aggregate, how: &Resampling) -> Option<f64> {
    bootstrap_figure(observed, aggregate, how)?.drawn?.standard_error()
}

impl PairedDeviation {
    fn of(deviation: f64, n: usize, cluster_size: f64, method: String) -> Option<Self> {
        let deviation = Finding::point(deviation, n, method).filter(|it| it.value() > 0.0)?;
        Some(Self { deviation, cluster_size, applies: 1.0 })
    }

    /// Sets the share of samples, above 0 and at most 1, that gives a pair.
    pub(crate) fn with_share(self, share: f64) -> Self {
        Self { applies: share, ..self }
    }
}

fn paired_figures(table: &ScoreTable, metric: usize, other: usize) -> PairedFigures {
    let mut figures = PairedFigures::within(None, table.observations(metric), table.observations(metric));
    for sample in 0..table.samples() {
        let labels = |system: usize| table.labels(metric, sample, system);
        let values = [0, other].map(|system| table.figure_value(metric, sample, system));
        if let [Some(a), Some(b)] = values {
            figures.push(
                [a.for_sums(), b.for_sums()],
                labels(0).zip(labels(other)).map(<[_; 2]>::from),
                table.cluster(sample),
            );
        }
    }
    figures
}

/// Half the range: the s_d of differences of 0 or the full range in equal shares, correlated by ½. For means only.
pub(crate) fn worst_case(plan: &PlanHeader, metric: &MetricSpec) -> Option<PairedDeviation> {
    let (lo, hi) = metric.range.filter(|_| measured_aggregate(metric) == Aggregate::Mean)?;
    let clusters = if plan.dataset.clustered { ", clusters not counted" } else { "" };
    let method = format!("worst case of its range, correlation 0.5 assumed{clusters}");
    PairedDeviation::of(0.5 * (hi - lo), 0, 1.0, method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::stored_deviations::paired_deviations;
    use crate::testing::Sketch;
    use crate::{Findings, Options, analyse};

    fn one(stored: Option<&Findings>, samples: u64, mde: f64, cost: Option<f64>) -> MetricPower {
        let plan = Sketch::new(2, 1, 4).run().plan();
        let spreads = paired_deviations(&plan, stored);
        power(&plan.metrics[0], spreads[0].as_ref().unwrap(), samples, Some(mde), cost)
    }

    /// BY-16: without a stored run the samples and dollars of a difference are planned for the worst case.
    #[test]
    fn planning_without_a_stored_run_uses_the_worst_case() {
        let found = one(None, 100, 1.0, Some(0.01));
        assert_eq!((found.deviation.value(), found.deviation.n()), (5.0, 0));
        // scipy.stats.nct, solved for 80 % power at d_z = 0.2: 198.15
        let needed = found.needed.unwrap();
        assert_eq!((needed.samples, needed.more), (199, 99));
        assert!((needed.cost_usd.unwrap() - 0.99).abs() < 1e-12);
        // scipy.stats.nct, solved for 80 % power at n = 100: 0.2829126
        assert!((found.detectable.unwrap() - 5.0 * 0.282_912_6).abs() < 1e-6, "{:?}", found.detectable);
    }

    /// BY-16: the deviation of paired differences comes from stored runs; with one system, from its scores.
    #[test]
    fn deviations_of_differences_come_from_stored_scores() {
        let two = Sketch::new(2, 1, 4).value(0, 0, 5.0).value(0, 1, 6.0).value(1, 0, 3.0).value(1, 1, 2.0);
        let two = two.value(2, 0, 4.0).value(2, 1, 5.0).value(3, 0, 8.0).value(3, 1, 7.0).run();
        let found = one(Some(&analyse(&two, &Options::default()).unwrap()), 4, 1.0, None);
        assert!((found.deviation.value() - (4.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.deviation.method(), "s_d of 1 pair of systems");
        let single = Sketch::new(1, 1, 3).value(0, 0, 5.0).value(1, 0, 3.0).value(2, 0, 4.0).run();
        let found = one(Some(&analyse(&single, &Options::default()).unwrap()), 4, 1.0, None);
        assert_eq!((found.deviation.value(), found.deviation.n()), (1.0, 3));
    }

    /// BY-16: a metric that applies to half of the samples needs twice as many, and never fewer than its test needs.
    #[test]
    fn samples_without_a_score_are_planned_for() {
        let sketch = |apart: bool| {
            let run = (0..8).fold(Sketch::new(2, 1, 8), |it, at| match at % 2 == 0 || apart {
                true => it.value(at, 0, 5.0).value(at, 1, 5.0 + (at % 3) as f64),
                false => it.not_applicable(at, 0).not_applicable(at, 1),
            });
            analyse(&run.run(), &Options::default()).unwrap()
        };
        let half = one(Some(&sketch(false)), 8, 0.1, None).needed.unwrap();
        assert_eq!(half.pairs.map(|pairs| 2 * pairs), Some(half.samples));
        let few = one(Some(&sketch(true)), 8, 10.0, None).needed.unwrap();
        assert_eq!((few.samples, few.pairs), (6, None));
    }

    /// BY-16: other figures than means are planned as `compare` tests them, a sum as a multiple of the mean, an extreme
    /// not at all.
    #[test]
    fn other_figures_are_planned_by_their_own_errors() {
        let sketch = |aggregate: &str| {
            let sketch = Sketch::new(2, 1, 60).metric("aggregate", serde_json::json!(aggregate));
            let value = |at: usize, factor: usize| ((at * factor) % 17) as f64;
            (0..60).fold(sketch, |it, at| it.value(at, 0, value(at, 7)).value(at, 1, value(at, 5))).run()
        };
        let planned = |aggregate: &str| {
            let run = sketch(aggregate);
            let findings = analyse(&run, &Options::default()).unwrap();
            let spread = paired_deviations(&findings.plan, Some(&findings)).remove(0)?;
            let side = |model| crate::compare::Side::of(model, &findings, Some(model), None).unwrap();
            let compared = crate::compare::compare(&side("model-a"), &side("model-b"), &Default::default()).unwrap();
            Some((power(&findings.plan.metrics[0], &spread, 60, Some(1.0), None), compared.metrics[0].clone()))
        };
        let (mean, _) = planned("mean").unwrap();
        let (p90, compared) = planned("p90").unwrap();
        assert_eq!(p90.detectable, compared.detectable);
        assert!(p90.deviation.method().contains("resampled SE of the change of the p90"), "{:?}", p90.deviation);
        let (sum, _) = planned("sum").unwrap();
        assert!((sum.detectable.unwrap() - 60.0 * mean.detectable.unwrap()).abs() < 1e-6);
        assert!(planned("max").is_none());
        assert!(planning_problem(&sketch("max").plan().metrics[0]).unwrap().contains("the max of samples"));
    }

    /// BY-16: clustered samples count for fewer, so a difference needs more of them.
    #[test]
    fn clusters_take_more_samples() {
        let sketch = |clusters: &[&str]| {
            let shift = |sample: usize| if sample < 4 { 1.0 } else { -1.0 };
            let run = (0..8).fold(Sketch::new(2, 1, 8).clusters(clusters), |it, sample| {
                it.value(sample, 0, 5.0).value(sample, 1, 5.0 + shift(sample) * (1.0 + sample as f64 / 10.0))
            });
            let findings = analyse(&run.run(), &Options::default()).unwrap();
            one(Some(&findings), 8, 0.5, None).needed.unwrap().samples
        };
        let apart: Vec<String> = (0..8).map(|sample| format!("c{sample}")).collect();
        let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
        assert!(sketch(&["a", "a", "b", "b", "c", "c", "d", "d"]) > sketch(&apart));
    }
}

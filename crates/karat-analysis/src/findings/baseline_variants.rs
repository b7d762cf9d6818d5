//! Compares variants without a model, such as manual results, with the systems that call one.

use karat_stats::describe::mean;
use karat_types::PlanHeader;
use serde::Serialize;

use crate::infer::change::{Kind, PairedScores};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::table::ScoreTable;

/// A variant without a model compared with all systems that call one, in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineVariant {
    /// The variant.
    pub variant: String,
    /// The metric.
    pub metric: String,
    /// The variant's figure, on its samples.
    pub figure: Finding,
    /// Mean over samples of (variant − mean of the systems with a model), where both have a score.
    pub difference: Option<Finding>,
}

/// Compares every variant without a model with the systems that call one, by variant, then metric. Empty if no system
/// calls a model; metrics that depend on time or price are left out.
pub(crate) fn compare_baseline_variants(
    plan: &PlanHeader,
    table: &ScoreTable,
    measures: &[Measure],
) -> Vec<BaselineVariant> {
    let (with, without): (Vec<usize>, Vec<usize>) =
        (0..plan.systems.len()).partition(|system| plan.system_model(*system).is_some());
    if with.is_empty() {
        return Vec::new();
    }
    let steady = plan.metrics.iter().zip(measures).enumerate().filter(|(_, (metric, _))| !metric.volatile);
    let metrics: Vec<_> = steady.collect();
    let pairs = without.iter().flat_map(|system| metrics.iter().map(move |it| (*system, it)));
    pairs
        .filter_map(|(system, (at, (metric, measure)))| {
            let empty = table.observations(*at);
            let (mut own, mut both) = (empty, PairedScores::within(measure.max_change()));
            for sample in 0..table.samples() {
                let Some(value) = table.figure_value(*at, sample, system) else { continue };
                own.push_labelled(value, table.labels(*at, sample, system), 0, table.cluster(sample));
                let others: Vec<f64> =
                    with.iter().filter_map(|other| Some(table.figure_value(*at, sample, *other)?.for_sums())).collect();
                if let Some(mean) = mean(&others) {
                    both.push(mean, value.for_sums(), table.cluster(sample));
                }
            }
            Some(BaselineVariant {
                variant: plan.system_variant(system).to_owned(),
                metric: metric.name.clone(),
                figure: measure.figure(&own)?,
                difference: both.test(Kind::Score).finding(measure.level),
            })
        })
        .collect()
}

/// The figure of some systems on one sample, without an interval.
pub(crate) fn mean_on_sample(table: &ScoreTable, metric: usize, sample: usize, systems: &[usize]) -> Option<Finding> {
    let values: Vec<f64> = systems.iter().filter_map(|system| table.shown_value(metric, sample, *system)).collect();
    Finding::point(mean(&values)?, values.len(), "mean")
}

#[cfg(test)]
mod tests {
    use crate::testing::example;
    use crate::{Options, analyse};

    /// CL-09, CL-19: a recorded baseline is compared on the samples that both have.
    #[test]
    fn a_recorded_variant_is_compared_on_its_own_samples() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        let beside = findings.baselines.iter().find(|it| it.metric == "quality.overallScore").unwrap();
        assert_eq!((beside.variant.as_str(), beside.figure.n()), ("manual-notes", 2));
        assert_eq!(beside.difference.as_ref().unwrap().n(), 2);
        assert!(findings.baselines.iter().all(|it| it.metric != "latency"));
    }
}

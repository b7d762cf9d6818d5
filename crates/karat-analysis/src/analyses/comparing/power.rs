//! `power`: the differences between systems that the run's samples detect, and the samples that a wanted difference
//! needs.

use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::planning::power::{MetricPower, difference_problem, measured_deviation, planning_problem, power};

/// Options of `power`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerOptions {
    /// The difference to detect, in the metric's own unit.
    pub mde: Option<f64>,
    /// The metric; default: every metric that depends on neither time nor price.
    pub metric: Option<String>,
}

/// Power by metric, in the plan's order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Power {
    /// The metrics.
    pub metrics: Vec<MetricPower>,
}

struct PowerFold(PowerOptions);

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: PowerOptions = options(spec)?;
    if let Some(metric) = options.metric.as_ref().filter(|name| plan.metric(name).is_none()) {
        let known: Vec<&str> = plan.metrics.iter().map(|metric| metric.name.as_str()).collect();
        return Err(options_error(spec, format!("metric is {metric:?}; this run has {}", known.join(", "))));
    }
    let named = options.metric.as_ref().and_then(|name| plan.metrics.iter().find(|it| it.name == *name));
    if let Some(why) = named.and_then(planning_problem) {
        return Err(options_error(spec, format!("metric: {why}")));
    }
    if let Some(why) = options.mde.and_then(|mde| difference_problem(named, mde)) {
        return Err(options_error(spec, format!("mde: {why}")));
    }
    Ok(Some(Box::new(PowerFold(options))))
}

impl Analysis for PowerFold {
    fn add_cell(&mut self, _: &ScoredCell<'_>) {}

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let wanted = |name: &str| self.0.metric.as_deref().is_none_or(|metric| metric == name);
        let steady = context.plan.metrics.iter().enumerate().filter(|(_, it)| !it.volatile && wanted(&it.name));
        let metrics = steady.filter_map(|(at, metric)| {
            let spread = measured_deviation(context.plan, context.table, at)?;
            let samples = (0..context.table.samples()).filter(|sample| {
                (0..context.plan.systems.len()).any(|system| context.table.shown_value(at, *sample, system).is_some())
            });
            Some(power(metric, &spread, samples.count() as u64, self.0.mde, None))
        });
        Outcome::Power(Power { metrics: metrics.collect() })
    }
}

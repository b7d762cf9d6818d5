//! Metrics and findings in the form that pages show them: a scale for each metric, an estimate for each finding.

use karat_analysis::compare::ComparedMetric;
use karat_analysis::{Finding, Spread};
use karat_page::number::{Estimate, Scale, Unit};
use karat_types::{MetricSpec, PlanHeader};

use crate::shared::figures::unit_named;

/// The scale of shares of 1.
pub(crate) fn shares() -> Scale {
    Scale { range: Some((0.0, 1.0)), ..Scale::of(Unit::Share) }
}

/// The scale of a quantity without a declared range.
pub(crate) fn bare_scale() -> Scale {
    Scale::default()
}

/// Returns the scale of a metric: its range, its better direction, and the unit that its scorer measures in.
pub fn scale_of(plan: &PlanHeader, metric: &MetricSpec) -> Scale {
    Scale { unit: unit_named(plan.unit_of(metric)), range: metric.range, better: metric.better }
}

/// Returns the scale of the metric of this name; a quantity without a range if the plan has none.
pub fn scale_named(plan: &PlanHeader, name: &str) -> Scale {
    plan.metric(name).and_then(|at| plan.metrics.get(at)).map_or_else(bare_scale, |metric| scale_of(plan, metric))
}

/// Returns the scale of a compared metric.
pub(crate) fn scale_of_compared(metric: &ComparedMetric) -> Scale {
    Scale { unit: unit_named(metric.unit), range: metric.range, better: metric.better }
}

/// Returns the figure with its interval, cut to the range of the scale.
pub(crate) fn estimate(scale: &Scale, finding: &Finding) -> Estimate {
    let cut = |end: f64| scale.range.map_or(end, |(lo, hi)| end.max(lo).min(hi));
    let interval = finding.interval().map(|(lo, hi)| (cut(lo), cut(hi)));
    Estimate { interval, ..Estimate::point(finding.value(), finding.n()) }
}

/// Returns the figure with its interval, or an estimate without a value.
pub(crate) fn estimate_or_none(scale: &Scale, finding: Option<&Finding>) -> Estimate {
    finding.map_or_else(Estimate::default, |finding| estimate(scale, finding))
}

/// Returns a difference with its interval, which has no range to be cut to.
pub(crate) fn difference(finding: &Finding) -> Estimate {
    Estimate { interval: finding.interval(), ..Estimate::point(finding.value(), finding.n()) }
}

/// Returns the figure of a spread, or the reason why there is none.
pub(crate) fn estimate_of_spread(scale: &Scale, spread: &Spread) -> Estimate {
    match spread.figure() {
        Some(finding) => estimate(scale, finding),
        None => Estimate::missing(left_out(spread).unwrap_or_else(|| "no score".to_owned())),
    }
}

/// Returns for example `2 failed, 1 unscored`, or `None` if every cell has a score.
pub(crate) fn left_out(spread: &Spread) -> Option<String> {
    let counted = [(spread.n_errors(), "failed"), (spread.n_unscored(), "unscored"), (spread.n_na(), "n/a")];
    let some = counted.iter().filter(|(n, _)| *n > 0);
    let some: Vec<String> = some.map(|(n, word)| format!("{} {word}", karat_page::number::count(*n))).collect();
    (!some.is_empty()).then(|| some.join(", "))
}

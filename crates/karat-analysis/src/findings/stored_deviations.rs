//! Takes the deviations used for planning from a stored run, if there is one.

use karat_types::{MetricSpec, PlanHeader};

use crate::figures::planning::power::{PairedDeviation, measured_deviation, worst_case};
use crate::findings::Findings;
use crate::score::table::{ScoreTable, State};

/// The spread of paired differences by metric index; `None` if it is unknown.
pub fn paired_deviations(plan: &PlanHeader, stored: Option<&Findings>) -> Vec<Option<PairedDeviation>> {
    let measured = |metric: &MetricSpec| {
        let findings = stored?;
        let at = findings.plan.metric(&metric.name)?;
        let applies = applicable(&findings.table, at, findings.plan.systems.len());
        Some(measured_deviation(&findings.plan, &findings.table, at)?.with_share(applies))
    };
    plan.metrics.iter().map(|metric| measured(metric).or_else(|| worst_case(plan, metric))).collect()
}

/// The share of a system's samples to which the metric applies; 1 if that is unknown.
fn applicable(table: &ScoreTable, metric: usize, systems: usize) -> f64 {
    let states = (0..table.samples()).flat_map(|sample| (0..systems).map(move |system| (sample, system)));
    let states = states.map(|(sample, system)| table.state(metric, sample, system));
    let (mut applies, mut all) = (0_u64, 0_u64);
    for state in states.filter(|state| !matches!(state, State::Absent | State::Error)) {
        all += 1;
        applies += u64::from(matches!(state, State::Value | State::Unscored));
    }
    if applies == 0 { 1.0 } else { applies as f64 / all as f64 }
}

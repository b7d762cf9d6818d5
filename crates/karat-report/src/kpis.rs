//! Key figures in words: the change since the baseline, the bounds and their state.

use karat_analysis::Kpi;
use karat_types::MetricSpec;

use crate::figures::{self, NONE, percent, signed};

/// `+1619 (+193 %, CI +12.0 to +1800)`: the change; relative too, where the metric has no range to read it against; without
/// an interval that has collapsed.
pub(crate) fn change(metric: &MetricSpec, kpi: &Kpi) -> String {
    let Some(change) = &kpi.change else { return NONE.to_owned() };
    let by = change.value();
    let of = kpi.baseline.filter(|before| metric.range.is_none() && *before > 0.0 && by != 0.0);
    let share = of.map(|before| signed(&percent(by / before).replace('-', "−")));
    let interval = change.interval().filter(|(lo, hi)| lo < hi);
    let interval =
        interval.map(|(lo, hi)| format!("CI {} to {}", figures::change(metric, lo), figures::change(metric, hi)));
    let beside: Vec<String> = [share, interval].into_iter().flatten().collect();
    let shown = figures::change(metric, by);
    if beside.is_empty() { shown } else { format!("{shown} ({})", beside.join(", ")) }
}

/// `≥ 0.900, rise ≤ 168`: the gates' bounds.
pub(crate) fn bounds(metric: &MetricSpec, kpi: &Kpi) -> String {
    let said = kpi.bounds.iter().map(|it| {
        let sign = match it.bound {
            "min" => "≥",
            "max" => "≤",
            "max_drop" => "drop ≤",
            _ => "rise ≤",
        };
        format!("{sign} {}", figures::maybe(metric, it.threshold))
    });
    said.collect::<Vec<_>>().join(", ")
}

/// What the gates decided, the worst first; nothing where none looks at it.
pub(crate) fn state(kpi: &Kpi) -> &'static str {
    let worst = kpi.bounds.iter().map(|it| it.verdict).max_by_key(|verdict| *verdict as u8);
    worst.map_or("", |verdict| verdict.as_str())
}

/// With more systems than this, a person is shown what moved and what did not pass; with fewer, everything.
const FEW_SYSTEMS: usize = 3;

/// Whether so many systems are compared that figures on which nothing is to be said are left out.
pub(crate) fn are_many(kpis: &[Kpi]) -> bool {
    let systems: std::collections::BTreeSet<&str> = kpis.iter().map(|kpi| kpi.system.as_str()).collect();
    systems.len() > FEW_SYSTEMS
}

/// Whether something is to be said of a figure: it moved, a gate does not pass, or there is a remark.
pub(crate) fn tells(kpi: &Kpi) -> bool {
    let moved = kpi.change.as_ref().is_some_and(|change| change.value().abs() > 0.0);
    moved || kpi.remark.is_some() || !matches!(state(kpi), "" | "pass")
}

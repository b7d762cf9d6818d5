//! Texts about key figures: the change since the baseline, the bounds and their state.

use karat_analysis::Kpi;

use crate::shared::figures::{self, NONE, Scaled, percent, with_sign};
use crate::wording::gates::sign;

/// Returns for example `+1.62 s (+193 %, CI +12 ms to +1.80 s)`. The percentage appears if the metric has no range to read
/// the change against; an interval without width is left out.
pub(crate) fn change_text(metric: &impl Scaled, kpi: &Kpi) -> String {
    let Some(change) = &kpi.change else { return NONE.to_owned() };
    let by = change.value();
    let of = kpi.baseline.filter(|before| metric.range().is_none() && *before > 0.0 && by != 0.0);
    let share = of.map(|before| with_sign(&percent(by / before).replace('-', "−")));
    let interval = change.interval().filter(|(lo, hi)| lo < hi);
    let interval = interval
        .map(|(lo, hi)| format!("CI {} to {}", figures::signed_value(metric, lo), figures::signed_value(metric, hi)));
    let beside: Vec<String> = [share, interval].into_iter().flatten().collect();
    let shown = figures::signed_value(metric, by);
    if beside.is_empty() { shown } else { format!("{shown} ({})", beside.join(", ")) }
}

/// Returns the gates' bounds, for example `≥ 0.900, rise ≤ 168`.
pub(crate) fn bounds_text(kpi: &Kpi, value: impl Fn(f64) -> String) -> String {
    let bounds = kpi.bounds.iter().map(|it| {
        let limit = it.threshold.map_or_else(|| NONE.to_owned(), &value);
        format!("{} {limit}", sign(it.bound))
    });
    bounds.collect::<Vec<_>>().join(", ")
}

/// Returns the worst decision of the gates, or an empty text if no gate checks the figure.
pub(crate) fn gate_state(kpi: &Kpi) -> &'static str {
    let worst = kpi.bounds.iter().map(|it| it.verdict).max_by_key(|verdict| *verdict as u8);
    worst.map_or("", |verdict| verdict.as_str())
}

/// Number of systems above which only changed or failing figures are shown.
const FEW_SYSTEMS: usize = 3;

/// Returns `true` if there are so many systems that unremarkable figures are left out.
pub(crate) fn has_many_systems(kpis: &[Kpi]) -> bool {
    let systems: std::collections::BTreeSet<&str> = kpis.iter().map(|kpi| kpi.system.as_str()).collect();
    systems.len() > FEW_SYSTEMS
}

/// Returns `true` if the figure moved, a gate does not pass, or there is a remark.
pub(crate) fn is_notable(kpi: &Kpi) -> bool {
    let moved = kpi.change.as_ref().is_some_and(|change| change.value().abs() > 0.0);
    moved || kpi.remark.is_some() || !matches!(gate_state(kpi), "" | "pass")
}

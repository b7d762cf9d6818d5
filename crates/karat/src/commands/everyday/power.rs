//! `karat plan --mde X`: the number of samples and dollars that it takes to detect a difference.

use karat_app::{MetricPower, Plan, PlanPower, PowerRequest, usd};

use crate::commands::CommandContext;
use crate::commands::values::threshold;
use crate::failure::Failure;

/// Returns the power of a plan for the differences of the flags; `None` if there are none.
pub fn compute(context: &CommandContext<'_>, plan: &Plan, flags: &[String]) -> Result<Option<PlanPower>, Failure> {
    if flags.is_empty() {
        return Ok(None);
    }
    let wanted: Vec<PowerRequest> = flags.iter().map(|flag| parse_difference(flag)).collect::<Result<_, _>>()?;
    Ok(Some(context.app.analysis().power(plan, &wanted)?))
}

/// Parses `X` or `METRIC=X`; X may be a percentage.
pub fn parse_difference(flag: &str) -> Result<PowerRequest, Failure> {
    let (metric, text) = match flag.rsplit_once('=') {
        Some((metric, text)) => (Some(metric.trim().to_owned()), text),
        None => (None, flag),
    };
    let difference = threshold(text).filter(|difference| difference.value > 0.0).ok_or_else(|| {
        Failure::Message(format!(
            "`--mde {flag}` is not a difference above 0. Write `0.02` (in the metric's unit), `2%` (of its value in the \
             latest run) or `METRIC=0.02`"
        ))
    })?;
    Ok(PowerRequest { metric, difference })
}

/// Returns the lines below the plan.
pub fn text(power: &PlanPower) -> String {
    let source = match &power.run {
        Some(run) => format!("run {run}"),
        None => "no run of this suite is stored".to_owned(),
    };
    power.metrics.iter().map(|metric| metric_line(metric, &source)).collect::<Vec<_>>().join("\n")
}

fn metric_line(metric: &MetricPower, source: &str) -> String {
    let with = format!("with {:.0} % power at {:.0} % confidence", 100.0 * metric.power, 100.0 * metric.level);
    let samples = format!("{} paired samples{}", metric.samples, clusters(metric.clusters));
    let now = match metric.detectable {
        Some(least) => format!("{samples} detect {} or more {with}", three_digits(least)),
        None => format!("{samples} detect nothing"),
    };
    let deviation = &metric.deviation;
    let source = if deviation.n() > 0 { source } else { "no stored run to estimate it from" };
    let spread = format!("s_d {}: {}, {source}", three_digits(deviation.value()), deviation.method());
    format!("power of {}: {now} ({spread}){}", metric.metric, needed_text(metric))
}

/// Returns `; 0.020 takes 1540 samples, 1140 more, about $31.00`.
fn needed_text(metric: &MetricPower) -> String {
    let Some(wanted) = metric.wanted.map(three_digits) else { return String::new() };
    let Some(needed) = &metric.needed else {
        return format!("; {wanted} takes more than 10^12 samples, so it cannot be detected");
    };
    let cost = match needed.cost_usd {
        _ if needed.more == 0 => ", which the dataset has".to_owned(),
        Some(cost) if cost > 0.0 => format!(", {} more, about {}", needed.more, usd(Some(cost))),
        Some(_) => format!(", {} more, at no cost", needed.more),
        None => format!(", {} more, at an unknown price", needed.more),
    };
    let pairs = needed.pairs.map_or_else(String::new, |pairs| format!(", {pairs} of them with a score"));
    format!("; {wanted} takes {} samples{}{pairs}{cost}", needed.samples, clusters(needed.clusters))
}

fn clusters(clusters: Option<u64>) -> String {
    clusters.map_or_else(String::new, |clusters| format!(" in {clusters} clusters"))
}

/// Returns a positive number with three significant digits.
fn three_digits(value: f64) -> String {
    let magnitude = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    match 2 - magnitude {
        digits if !(-12..=8).contains(&digits) => format!("{value:.2e}"),
        digits => format!("{value:.*}", digits.max(0) as usize),
    }
}

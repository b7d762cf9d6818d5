//! What `karat plan --mde X` adds: how many samples and dollars a difference takes.

use karat_app::{MetricPower, Plan, PlanPower, Wanted};

use super::{Edge, number};
use crate::failure::Failure;

/// The power of a plan for the differences of the flags; `None` where none is asked for.
pub fn of(edge: &Edge<'_>, plan: &Plan, flags: &[String]) -> Result<Option<PlanPower>, Failure> {
    if flags.is_empty() {
        return Ok(None);
    }
    let wanted: Vec<Wanted> = flags.iter().map(|flag| wanted(flag)).collect::<Result<_, _>>()?;
    Ok(Some(edge.app.power(plan, &wanted)?))
}

/// `X`, `METRIC=X`, or a percentage in place of X.
fn wanted(flag: &str) -> Result<Wanted, Failure> {
    let (metric, text) = match flag.rsplit_once('=') {
        Some((metric, text)) => (Some(metric.trim().to_owned()), text),
        None => (None, flag),
    };
    let difference = number(text).filter(|difference| *difference > 0.0 && difference.is_finite());
    let difference = difference.ok_or_else(|| {
        Failure::Edge(format!("`--mde {flag}` is no difference. Write `0.02`, `2%` or `METRIC=0.02`, above 0"))
    })?;
    Ok(Wanted { metric, difference })
}

/// The lines below the plan.
pub fn text(power: &PlanPower) -> String {
    let source = match &power.run {
        Some(run) => format!("run {run}"),
        None => "no run of this suite is stored".to_owned(),
    };
    power.metrics.iter().map(|metric| line(metric, &source)).collect::<Vec<_>>().join("\n")
}

fn line(metric: &MetricPower, source: &str) -> String {
    let with = format!("with {:.0} % power at {:.0} %", 100.0 * metric.power, 100.0 * metric.level);
    let now = match metric.detectable {
        Some(least) => format!("{} paired samples detect {} or more {with}", metric.samples, short(least)),
        None => format!("{} paired samples detect nothing", metric.samples),
    };
    let deviation = &metric.deviation;
    let spread = format!("s_d {}: {}, {source}", short(deviation.value()), deviation.method());
    let wanted = metric.needed.as_ref().map_or_else(String::new, |needed| {
        let cost = match needed.cost_usd {
            _ if needed.more == 0 => ", which are there".to_owned(),
            Some(cost) if cost > 0.0 => format!(", {} more, about ${cost:.2}", needed.more),
            Some(_) => format!(", {} more, at no cost", needed.more),
            None => format!(", {} more, at an unknown price", needed.more),
        };
        format!("; {} takes {} samples{cost}", short(needed.difference), needed.samples)
    });
    format!("power of {}: {now} ({spread}){wanted}", metric.metric)
}

/// Three significant digits.
fn short(value: f64) -> String {
    let magnitude = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    format!("{value:.*}", (2 - magnitude).clamp(0, 8) as usize)
}

//! "How this number was made": what a reader needs to make the figures again, in one line.

use karat_analysis::{Findings, Tally};
use karat_types::{ConsensusMethod, ScorerKind};

use crate::figures::{count, percent};
use crate::moment::age;
use crate::report::Report;

/// The parts of the line: a label and a plain text each. Texts may hold ids from the suite: a format escapes them.
pub(crate) fn parts(report: Report<'_>) -> Vec<(&'static str, String)> {
    let Report { findings, rows, context } = report;
    let (plan, header) = (&findings.plan, rows.header());
    let figure = report.primary().and_then(|(at, _)| findings.run.metrics.get(at)?.figure());
    let interval = figure.map(|figure| match figure.level() {
        Some(level) => format!("{} {}", percent(level), figure.method()),
        None => format!("none ({})", figure.method()),
    });
    let reuse = || {
        let tally = findings.run.tally;
        let age = tally.oldest_reused.map(|moment| age(moment, header.started_at));
        let oldest = age.map_or_else(String::new, |age| format!(", the oldest {age} before the run"));
        match tally {
            Tally { reused: 0, oldest_reused: None, .. } => "nothing".to_owned(),
            Tally { reused: 0, .. } => format!("judgments{oldest}"),
            Tally { reused, .. } => format!("{} cells{oldest}", count(reused)),
        }
    };
    let mut parts = vec![
        ("suite", plan.suite.clone()),
        ("plan", plan.plan_hash.to_string()),
        ("dataset", format!("{} ({} samples)", short(&plan.dataset.hash), count(findings.samples() as u64))),
    ];
    parts.extend(figure.map(|figure| ("n", count(figure.n()))));
    parts.extend(interval.map(|interval| ("interval", interval)));
    parts.push(("judges", judges(findings)));
    parts.extend(services(findings));
    parts.push(("seed", plan.run.seed.to_string()));
    if !context.canonical {
        parts.push(("reused", reuse()));
    }
    parts.push(("karat", header.version.clone()));
    parts
}

/// The version of the service that answered, and that there are several.
fn services(findings: &Findings) -> Option<(&'static str, String)> {
    let services = findings.services()?;
    let version = services.version()?;
    let others = services.versions.len() - 1;
    let more = if others > 0 { format!(" and {others} more: it changed while it was measured") } else { String::new() };
    Some(("service", format!("{version}{more}")))
}

fn judges(findings: &Findings) -> String {
    let plan = &findings.plan;
    let rubrics = plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some(rubric),
        ScorerKind::Metric { .. } => None,
    });
    let method = rubrics.map(|rubric| rubric.consensus.method).next().unwrap_or(ConsensusMethod::Mean);
    let ids: Vec<&str> = plan.judges.iter().map(|judge| judge.id.as_str()).collect();
    let rule = match method {
        ConsensusMethod::Mean => "mean",
        ConsensusMethod::Median => "median",
        ConsensusMethod::Majority => "majority",
    };
    match ids.as_slice() {
        [] => "none".to_owned(),
        [only] => (*only).to_owned(),
        several => format!("{rule} of {}", several.join(", ")),
    }
}

/// The first twelve characters of a hash: enough to find it, short enough to read.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

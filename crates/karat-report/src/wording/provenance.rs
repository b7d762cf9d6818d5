//! "How this number was made": everything a reader needs to reproduce the figures, in one line.

use std::collections::BTreeSet;

use karat_analysis::{CellCounts, Findings};
use karat_types::{ConsensusMethod, PlanHeader, RunHeader, ScorerKind};
use serde_json::Value;

use crate::shared::figures::{count, count_noun, percent};
use crate::shared::moment::age;
use crate::shared::report::Report;

/// Number of model names in the line.
const NAMES: usize = 6;

/// Returns the parts of the line: a label and a plain text each. Texts may contain ids from the suite, so the format
/// must escape them.
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
            CellCounts { reused: 0, oldest_reused: None, .. } => "nothing".to_owned(),
            CellCounts { reused: 0, .. } => format!("judgments{oldest}"),
            CellCounts { reused, .. } => format!("{}{oldest}", count_noun(reused, "cell")),
        }
    };
    let mut parts = vec![
        ("suite", plan.suite.clone()),
        ("plan", plan.plan_hash.to_string()),
        ("dataset", format!("{} ({})", short(&plan.dataset.hash), count_noun(findings.samples() as u64, "sample"))),
    ];
    parts.extend(figure.map(|figure| ("n", count(figure.n()))));
    parts.extend(interval.map(|interval| ("interval", interval)));
    parts.push(("judges", judges(plan)));
    parts.extend(served_names(findings));
    parts.extend(services(findings));
    parts.push(("seed", plan.run.seed.to_string()));
    if !context.canonical {
        parts.push(("reused", reuse()));
        let addresses = addresses(header);
        parts.extend((!addresses.is_empty()).then(|| ("addresses", addresses.join("; "))));
    }
    parts.push(("karat", header.version.clone()));
    parts
}

/// The addresses that were asked and are not the providers' own, and the proxies before them, as the run's start has them.
pub(crate) fn addresses(header: &RunHeader) -> Vec<&str> {
    let stored = header.invocation.get("addresses").and_then(Value::as_array);
    stored.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the version of the service that answered, and the number of others.
fn services(findings: &Findings) -> Option<(&'static str, String)> {
    let services = findings.services()?;
    let version = services.version()?;
    let others = services.versions.len() - 1;
    let more =
        if others > 0 { format!(" and {others} more: the service changed during the run") } else { String::new() };
    Some(("service", format!("{version}{more}")))
}

/// Returns the names under which models and judges answered, if they differ from the requested ones.
fn served_names(findings: &Findings) -> Option<(&'static str, String)> {
    let judges = findings.judges.iter().flat_map(|judge| &judge.answered_as);
    let all = findings.run.answered_as.iter().chain(judges);
    let others: BTreeSet<String> =
        all.filter(|it| it.is_other()).map(|it| format!("{} as {}", it.asked, it.model)).collect();
    let first: Vec<&str> = others.iter().map(String::as_str).take(NAMES).collect();
    let more = others.len().saturating_sub(NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!others.is_empty()).then(|| ("answered", format!("{}{more}", first.join(", "))))
}

/// Returns the judges of each rubric and the rule that combines their grades. If rubrics differ, each is listed with
/// its scorers.
fn judges(plan: &PlanHeader) -> String {
    let mut rulers: Vec<(String, Vec<&str>)> = Vec::new();
    for scorer in &plan.scorers {
        let ScorerKind::Rubric(rubric) = &scorer.kind else { continue };
        let ruler = match rubric.judges.as_slice() {
            [] => continue,
            [only] => only.clone(),
            several => format!("{} of {}", method(rubric.consensus.method), several.join(", ")),
        };
        match rulers.iter_mut().find(|(known, _)| *known == ruler) {
            Some((_, scorers)) => scorers.push(&scorer.id),
            None => rulers.push((ruler, vec![&scorer.id])),
        }
    }
    match rulers.as_slice() {
        [] => "none".to_owned(),
        [(only, _)] => only.clone(),
        several => {
            let each = several.iter().map(|(ruler, scorers)| format!("{ruler} for {}", scorers.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

fn method(method: ConsensusMethod) -> &'static str {
    match method {
        ConsensusMethod::Mean => "mean",
        ConsensusMethod::Median => "median",
        ConsensusMethod::Majority => "majority",
    }
}

/// Returns the first twelve characters of a hash: enough to find it, short enough to read.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use karat_analysis::testing::judged_run;

    use super::*;

    /// CL-16: the line names the judges and the rule of each rubric separately.
    #[test]
    fn judges_are_listed_by_rubric() {
        let mut plan = judged_run(1, 1, &["A", "B", "C"], serde_json::json!([])).header.plan.as_ref().clone();
        assert_eq!(judges(&plan), "mean of A, B, C");
        let mut second = plan.scorers[0].clone();
        second.id = "two".to_owned();
        plan.scorers.push(second);
        assert_eq!(judges(&plan), "mean of A, B, C");
        let mut third = plan.scorers[0].clone();
        third.id = "one".to_owned();
        if let ScorerKind::Rubric(rubric) = &mut third.kind {
            rubric.judges = vec!["A".to_owned()];
        }
        plan.scorers.push(third);
        assert_eq!(judges(&plan), "mean of A, B, C for quality, two; A for one");
    }
}

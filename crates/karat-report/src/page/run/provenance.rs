//! "How this number was made": everything that a reader needs to trust or repeat the figures.

use karat_page::Markup;
use karat_page::component::ledger;
use karat_types::ScorerKind;

use crate::shared::report::Report;
use crate::shared::scales;
use crate::wording::provenance;

pub(super) fn section(report: Report<'_>) -> Markup {
    let mut facts: Vec<(String, String)> =
        provenance::parts(report).into_iter().map(|(label, text)| (label.to_owned(), text)).collect();
    facts.extend(of_primary(report));
    let plan = &report.findings.plan;
    facts.extend(prompt_versions(report).map(|versions| ("prompt versions".to_owned(), versions)));
    facts.push(("suite hash".to_owned(), plan.suite_hash.clone()));
    facts.push(("dataset hash".to_owned(), plan.dataset.hash.clone()));
    if let Some(version) = &plan.dataset.version {
        facts.push(("dataset version".to_owned(), version.clone()));
    }
    facts.extend(repeat_command(report).map(|command| ("repeat with".to_owned(), command)));
    ledger::provenance(&facts)
}

/// Facts about the primary metric: its name, how it is combined, and what is left out of it.
fn of_primary(report: Report<'_>) -> Vec<(String, String)> {
    let Some((at, metric)) = report.primary() else { return Vec::new() };
    let mut facts = vec![("metric".to_owned(), metric.name.clone())];
    if let Some(scorer) = report.findings.plan.scorers.get(metric.scorer) {
        let combined = format!("{} over samples of the {} over trials", metric.aggregate, scorer.reduce);
        facts.push(("combined as".to_owned(), combined));
    }
    let left_out = report.findings.run.metrics.get(at).and_then(scales::left_out);
    facts.push(("left out".to_owned(), left_out.unwrap_or_else(|| "nothing".to_owned())));
    facts
}

fn prompt_versions(report: Report<'_>) -> Option<String> {
    let versions: Vec<String> = report
        .findings
        .plan
        .scorers
        .iter()
        .filter_map(|scorer| match &scorer.kind {
            ScorerKind::Rubric(rubric) => Some(format!("{} {}", scorer.id, rubric.rubric.version.as_deref()?)),
            ScorerKind::Metric { .. } => None,
        })
        .collect();
    (!versions.is_empty()).then(|| versions.join(", "))
}

/// Returns the command that makes this run again, if its suite is named relative to the working directory.
fn repeat_command(report: Report<'_>) -> Option<String> {
    let suite = report.rows.header().invocation.pointer("/invocation/suite")?.as_str()?;
    let is_plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let is_relative = !suite.starts_with('/') && !suite.is_empty() && suite.chars().all(is_plain);
    is_relative.then(|| format!("karat run {suite}"))
}

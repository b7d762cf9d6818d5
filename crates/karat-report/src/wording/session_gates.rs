//! Failed gates on a corpus of sessions.

use karat_analysis::{Decision, SummaryCorpus, Verdict};

use crate::shared::report::Report;

/// Returns the failed gates on means of a corpus, in the gates' order, for example `overall_mean 0.612 < gate 0.700`.
/// If the run has several systems, the system comes first.
pub(crate) fn failed_gates(report: Report<'_>, corpus: &SummaryCorpus) -> Vec<String> {
    let several = report.findings.plan.systems.len() > 1;
    let failed = report.context.verdicts.decisions.iter().filter(|it| it.verdict == Verdict::Fail);
    failed
        .filter_map(|decision| {
            let system = decision.system.as_ref().filter(|_| several);
            let prefix = system.map(|system| format!("{system}: ")).unwrap_or_default();
            Some(format!("{prefix}{}", message(corpus, decision)?))
        })
        .collect()
}

/// Returns the message, or `None` if the decision is not a lower bound of a corpus mean.
fn message(corpus: &SummaryCorpus, decision: &Decision) -> Option<String> {
    let of_all = decision.bound == "min" && decision.sample.is_none() && decision.group.is_none();
    let own = decision.subject.strip_prefix(&corpus.scorer).and_then(|rest| rest.strip_prefix('.'));
    let name = own.unwrap_or(&decision.subject);
    let is_mean = name == "overall" || corpus.dimension_means.get(name).is_some();
    let (observed, threshold) = (decision.observed?, decision.threshold?);
    (of_all && decision.is_metric && is_mean).then(|| format!("{name}_mean {observed:.3} < gate {threshold:.3}"))
}

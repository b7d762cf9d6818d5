//! Decides the cases of gates.

use karat_stats::interval::Level;
use karat_stats::power::{PairedDesign, rate_items};
use karat_types::{GateBasis, StopRecord};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::case::{BoundKind, GateCase, Target};
use super::evidence::{Basis, Evidence, GateContext};
use super::stored_verdicts::{StoredVerdict, claim_finding, claim_verdict, stored_verdict};
use super::verdict_text::{Verdict, VerdictText};
use crate::figures::planning::PLANNED_POWER;
use crate::figures::planning::needed::{Needed, Planning, planned_difference};
use crate::infer::finding::Finding;
use crate::score::observations::Aggregate;

/// One case of a gate, decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The gate's id.
    pub id: String,
    /// The metric, or the path of the finding.
    pub subject: String,
    /// True if the subject is a metric.
    pub is_metric: bool,
    /// The system, if evaluated per system.
    pub system: Option<String>,
    /// The sample, if evaluated per sample.
    pub sample: Option<String>,
    /// Column and value, if evaluated per column.
    pub group: Option<(String, serde_json::Value)>,
    /// `min`, `max`, `max_drop` or `max_rise`.
    pub bound: &'static str,
    /// The bound, in the metric's unit; `None` if it is relative to an unknown figure.
    pub threshold: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The current figure.
    pub observed: Option<f64>,
    /// The figure it is compared with.
    pub reference: Option<f64>,
    /// The figure or change that is compared with the bound.
    pub finding: Option<Finding>,
    /// True if the figure is the human-anchored one.
    pub is_anchored: bool,
    /// True if the interval decides.
    pub by_interval: bool,
    /// The reason, with the numbers.
    pub reason: String,
    /// The samples with which the interval decides a figure a little inside of its bound, if it does not decide this one.
    pub needed: Option<Needed>,
    /// True if an undecided verdict counts as a failure.
    pub(super) undecided_fails: bool,
}

impl Decision {
    /// Distance of the figure from its bound, in the metric's unit; negative if the bound is broken. `None` if either
    /// is unknown.
    pub fn headroom(&self) -> Option<f64> {
        let (held, bound) = (self.finding.as_ref()?.value(), self.threshold?);
        Some(match self.bound {
            "min" => held - bound,
            "max_drop" => held + bound,
            _ => bound - held,
        })
    }

    /// Returns true if it is about a metric of all samples of this system.
    pub(super) fn covers(&self, system: &str) -> bool {
        self.is_metric && self.system.as_deref() == Some(system) && self.sample.is_none() && self.group.is_none()
    }
}

/// `{id, metric, finding?, system?, sample?, group?, anchor?, bound, threshold, verdict, observed, reference?, change?,
/// interval, level?, method?, n, df?, effective_clusters?, few_vary?, open?, degenerate?, decide, reason, needed?}`; `metric` is the path for a finding.
impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("metric", &self.subject)?;
        if !self.is_metric {
            map.serialize_entry("finding", &self.subject)?;
        }
        if let Some(system) = &self.system {
            map.serialize_entry("system", system)?;
        }
        if let Some(sample) = &self.sample {
            map.serialize_entry("sample", sample)?;
        }
        if let Some((column, value)) = &self.group {
            map.serialize_entry("group", &serde_json::json!({ column: value }))?;
        }
        if self.is_anchored {
            map.serialize_entry("anchor", "human")?;
        }
        map.serialize_entry("verdict", &self.verdict)?;
        map.serialize_entry("observed", &self.observed)?;
        map.serialize_entry("bound", self.bound)?;
        map.serialize_entry("threshold", &self.threshold)?;
        let finding = self.finding.as_ref();
        if let Some(reference) = self.reference {
            map.serialize_entry("reference", &reference)?;
            map.serialize_entry("change", &finding.map(Finding::value))?;
        }
        map.serialize_entry("interval", &finding.and_then(Finding::ends))?;
        map.serialize_entry("level", &finding.and_then(Finding::level))?;
        map.serialize_entry("method", &finding.map(Finding::method))?;
        map.serialize_entry("n", &finding.map_or(0, Finding::n))?;
        if let Some(finding) = finding {
            finding.serialize_limits(&mut map)?;
        }
        map.serialize_entry("decide", if self.by_interval { "interval" } else { "point" })?;
        map.serialize_entry("reason", &self.reason)?;
        if let Some(needed) = &self.needed {
            map.serialize_entry("needed", needed)?;
        }
        map.end()
    }
}

/// The number that the finding is compared with. A drop of at most 0.5 is a change of at least −0.5.
pub(super) fn bound(case: &GateCase<'_>, reference: Option<f64>) -> Option<f64> {
    let size = allowed_size(case, reference)?;
    Some(if case.bound == BoundKind::MaxDrop { -size } else { size })
}

/// The bound as written in the gate, with percentages resolved.
fn allowed_size(case: &GateCase<'_>, reference: Option<f64>) -> Option<f64> {
    if case.bound.is_change() { case.threshold.from_figure(reference) } else { Some(case.threshold.value) }
}

/// Decides one case with an interval of a level.
pub(super) fn decide(context: &GateContext<'_>, case: &GateCase<'_>, level: Level) -> Decision {
    let evidence = context.evidence_for(case);
    let mut finding = evidence.basis.finding_at(level).map(|found| found.clip_difference(max_change(context, case)));
    let limit = bound(case, evidence.reference);
    let by_interval = case.gate.decide == GateBasis::Interval || evidence.basis.is_estimated();
    let words = VerdictText { case, name: name(context, case), evidence: &evidence, unit: unit(context, case) };
    let stored = stored_verdict(context.findings, case, words.name);
    let (mut verdict, mut reason) = match (&finding, limit, &stored) {
        (Some(_), _, StoredVerdict::Claim(record, claim)) => claim_verdict((record, claim), &words, limit),
        (Some(_), _, StoredVerdict::NotFollowed(record)) => (Verdict::Undecided, not_followed_reason(record)),
        (Some(finding), Some(limit), StoredVerdict::None) => words.decide(finding, limit, by_interval),
        _ => (Verdict::Undecided, missing_reason(&evidence.basis)),
    };
    let is_early = matches!(stored, StoredVerdict::Claim(..));
    let is_open = !is_early && verdict == Verdict::Undecided && by_interval;
    let needed = finding.as_ref().zip(limit).filter(|(found, _)| is_open && found.open().is_none());
    let needed = needed.and_then(|(found, limit)| required_samples(context, case, &evidence, (found, limit), level));
    if let Some(needed) = &needed {
        reason = format!("{reason}; {}", words.needed_text(needed));
    }
    if let (true, StoredVerdict::Claim(_, claim)) = (finding.is_some(), &stored) {
        finding = finding.and_then(|figure| claim_finding(claim, &figure).or(Some(figure)));
    }
    let alpha = 1.0 - context.policy.confidence;
    let look = evidence.look.as_ref().filter(|_| by_interval).and_then(|look| look.sentence(alpha));
    for remark in evidence.remark.iter().chain(&look) {
        reason = format!("{reason} ({remark})");
    }
    if let (Some(change), true) = (&evidence.instrument_change, verdict != Verdict::Undecided) {
        verdict = Verdict::Undecided;
        reason = format!("{reason}; undecided because {change}");
    }
    let (lost, cells, what) = match evidence.lacking.share() > evidence.unscored.share() {
        true => (evidence.lacking, "pairs of cells", "lack a score on one side"),
        false => (evidence.unscored, "cells", "could not be scored"),
    };
    // An early verdict has looked at them itself.
    if verdict != Verdict::Undecided && !is_early && lost.share() > context.policy.max_unscored {
        let share = lost.share() * 100.0;
        let lacking = format!("{} of {} {cells} ({share:.1} %) {what}", lost.number_text(), lost.due);
        if verdict == Verdict::Fail && fails_at_best(context, case, level) {
            reason = format!("{reason}; {lacking}, and no score for them could change that");
        } else {
            verdict = Verdict::Undecided;
            let allowed = context.policy.max_unscored * 100.0;
            reason = format!("{reason}; undecided because {lacking}, and the policy allows {allowed:.1} %");
        }
    }
    if verdict == Verdict::Fail && case.gate.review {
        match context.policy.strict {
            true => reason = format!("{reason}; under review, which `policy.strict` treats as a failure"),
            false => verdict = Verdict::Review,
        }
    }
    Decision {
        id: case.gate.id.clone(),
        subject: name(context, case).to_owned(),
        is_metric: matches!(case.target, Target::Metric(_)),
        system: case.unit.system.clone(),
        sample: case.unit.sample.map(|sample| context.findings.sample_id(sample).to_owned()),
        group: case.unit.group.as_ref().map(|(_, value)| (case.gate.per.clone(), value.clone())),
        bound: case.bound.name(),
        threshold: allowed_size(case, evidence.reference),
        verdict,
        observed: match (is_early, case.bound.is_change()) {
            (true, false) => finding.as_ref().map(Finding::value).or(evidence.observed),
            _ => evidence.observed,
        },
        reference: evidence.reference,
        finding,
        is_anchored: case.gate.human_anchor,
        by_interval,
        reason,
        needed,
        undecided_fails: case.gate.undecided_fails.unwrap_or(context.policy.undecided_fails),
    }
}

/// The samples with which a figure as far inside of its bound as matters passes with [`PLANNED_POWER`]. `None` for metrics
/// without a scale, percentiles, sums and intervals by resampling.
fn required_samples(
    context: &GateContext<'_>,
    case: &GateCase<'_>,
    evidence: &Evidence,
    (finding, limit): (&Finding, f64),
    level: Level,
) -> Option<Needed> {
    let Target::Metric(metric) = case.target else { return None };
    let (spec, measure) = (context.findings.plan.metrics.get(metric)?, context.findings.measures.get(metric)?);
    let margin = context.findings.plan.scorers.get(spec.scorer).and_then(|it| it.margin);
    let inside =
        planned_difference((&spec.name, margin), &context.policy.mde, (evidence.observed, measure.max_change()))?;
    let (n, units) = (finding.n() as f64, finding.effective_clusters());
    let needed = match &evidence.basis {
        Basis::Observed(..) if measure.binary && units.is_none() && measure.aggregate == Aggregate::Mean => {
            let rate = limit + if case.bound.is_least() { inside } else { -inside };
            let alone = PairedDesign { deviation: 1.0, cluster_size: 1.0 };
            planning(alone, finding.n(), level)
                .plan_clusters(inside, rate_items(limit, rate, level, PLANNED_POWER)?.ceil())?
        }
        Basis::Observed(..) if measure.aggregate == Aggregate::Mean => {
            let deviation = finding.se()? * n.sqrt();
            let design = PairedDesign { deviation, cluster_size: (n / units.unwrap_or(n)).max(1.0) };
            planning(design, finding.n(), level).required_samples(inside)?
        }
        Basis::Change(test) => planning(test.design()?, finding.n(), level).required_samples(inside)?,
        _ => return None,
    };
    (needed.more > 0).then_some(needed)
}

fn planning(design: PairedDesign, present: u64, level: Level) -> Planning {
    Planning { design, present, applies: 1.0, level, fewest: 2.0, cost_per_sample: None }
}

/// The largest possible change; `None` for figures.
fn max_change(context: &GateContext<'_>, case: &GateCase<'_>) -> Option<f64> {
    let Target::Metric(metric) = case.target else { return None };
    context.findings.measures.get(metric).filter(|_| case.bound.is_change())?.max_change()
}

/// Returns true if a case fails even if every missing score were the best possible.
fn fails_at_best(context: &GateContext<'_>, case: &GateCase<'_>, level: Level) -> bool {
    let Some(context) = context.with_best_scores(case) else { return false };
    let evidence = context.evidence_for(case);
    let Some((finding, limit)) = evidence.basis.finding_at(level).zip(bound(case, evidence.reference)) else {
        return false;
    };
    // The missing scores of the other side are unknown, too.
    if evidence.lacking.share() > context.policy.max_unscored {
        return false;
    }
    let words = VerdictText { case, name: name(&context, case), evidence: &evidence, unit: unit(&context, case) };
    let by_interval = case.gate.decide == GateBasis::Interval || evidence.basis.is_estimated();
    words.decide(&finding, limit, by_interval).0 == Verdict::Fail
}

/// The reason of a gate that a stopped run did not ask about.
fn not_followed_reason(record: &StopRecord) -> String {
    if record.claims.is_empty() && record.race.is_empty() {
        return format!(
            "the run whose outputs are scored stopped after {}, because of other scores: continue it with `karat resume RUN \
             --to-end`, and score it again",
            record.course()
        );
    }
    format!(
        "the run stopped after {} of {} samples for other gates; `karat resume RUN --to-end` makes the rest",
        record.stopped_after_samples, record.samples
    )
}

fn missing_reason(basis: &Basis) -> String {
    match basis {
        Basis::Missing(why) => why.clone(),
        _ => "there is no figure to decide on".to_owned(),
    }
}

/// The subject of a case: a metric (patterns are expanded), or the path of a finding.
fn name<'a>(context: &'a GateContext<'_>, case: &'a GateCase<'_>) -> &'a str {
    match case.target {
        Target::Metric(metric) => context.findings.plan.metrics.get(metric).map_or("", |metric| metric.name.as_str()),
        Target::Finding(path) => path,
    }
}

fn unit(context: &GateContext<'_>, case: &GateCase<'_>) -> Option<&'static str> {
    let Target::Metric(metric) = case.target else { return None };
    let plan = &context.findings.plan;
    plan.unit_of(plan.metrics.get(metric)?)
}

//! Key figures: every metric of every system compared with the pinned baseline, with the verdicts of gates on it.

use karat_types::{Gate, Threshold};
use serde::Serialize;

use super::case::{BoundKind, GateCase, Target, Unit};
use super::decision::Decision;
use super::evidence::GateContext;
use super::scope::Scope;
use super::verdict_text::Verdict;
use crate::infer::finding::Finding;

/// A metric of a system, current and in the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kpi {
    /// The system.
    pub system: String,
    /// The metric.
    pub metric: String,
    /// Its current figure.
    pub figure: Finding,
    /// The baseline's figure on the compared samples; `None` if it has none.
    pub baseline: Option<f64>,
    /// The change since the baseline, paired by sample if both have the samples.
    pub change: Option<Finding>,
    /// A remark on the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The gates' bounds on this metric of this system, in the gates' order.
    pub bounds: Vec<KpiBound>,
}

/// A gate's bound on a figure or its change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KpiBound {
    /// `min`, `max`, `max_drop` or `max_rise`.
    pub bound: &'static str,
    /// In the metric's unit; `None` if it is relative to an unknown figure.
    pub threshold: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The key figures of every system, in the plan's order; empty without a baseline.
pub(super) fn all(context: &GateContext<'_>, decisions: &[Decision]) -> Vec<Kpi> {
    if context.references.baseline.is_none() {
        return Vec::new();
    }
    let findings = context.findings;
    let of_system = |group: &crate::Group| {
        let names = findings.plan.metrics.iter().enumerate();
        let kpi = |(at, metric): (usize, &karat_types::MetricSpec)| {
            let figure = group.metrics.get(at)?.figure()?.clone();
            let own = |it: &&Decision| it.subject == metric.name && it.covers(&group.id);
            let bounds = decisions.iter().filter(own).map(KpiBound::of).collect();
            let kpi = Kpi {
                system: group.id.clone(),
                metric: metric.name.clone(),
                figure,
                baseline: None,
                change: None,
                remark: None,
                bounds,
            };
            Some(with_change(context, kpi, at, group.systems.first().copied()?))
        };
        names.filter_map(kpi).collect::<Vec<_>>()
    };
    findings.systems.iter().flat_map(of_system).collect()
}

/// Adds the change, computed as for a gate on any change.
fn with_change(context: &GateContext<'_>, kpi: Kpi, metric: usize, system: usize) -> Kpi {
    let gate = Gate::for_metric(&kpi.metric);
    let unit = Unit { systems: vec![system], system: Some(kpi.system.clone()), ..Unit::default() };
    let case = GateCase {
        gate: &gate,
        scope: &Scope::default(),
        target: Target::Metric(metric),
        unit,
        bound: BoundKind::MaxDrop,
        threshold: Threshold { value: 0.0, percent: false },
    };
    let evidence = context.evidence_for(&case);
    let level = context.findings.measures.get(metric).map(|measure| measure.level);
    let change = level.and_then(|level| evidence.basis.finding_at(level));
    let remark = evidence.instrument_change.or(evidence.remark).filter(|_| change.is_some());
    Kpi { baseline: evidence.reference, remark, change, ..kpi }
}

impl KpiBound {
    fn of(decision: &Decision) -> Self {
        Self { bound: decision.bound, threshold: decision.threshold, verdict: decision.verdict }
    }
}

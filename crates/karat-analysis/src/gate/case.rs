//! Expands a gate to cases: metric × unit × bound.

use karat_types::{Gate, GateReference, PlanHeader, Subject, Threshold};
use serde_json::Value;

use super::{scope::Scope, subject};
use crate::Findings;
use crate::score::instrument::metric_names::names_metric;

/// The kind of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundKind {
    Min,
    Max,
    MaxDrop,
    MaxRise,
}

impl BoundKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::MaxDrop => "max_drop",
            Self::MaxRise => "max_rise",
        }
    }

    /// Returns true if the bound is a lower limit.
    pub(super) fn is_least(self) -> bool {
        matches!(self, Self::Min | Self::MaxDrop)
    }

    /// Returns true if it limits a change rather than a figure.
    pub(super) fn is_change(self) -> bool {
        matches!(self, Self::MaxDrop | Self::MaxRise)
    }
}

/// The subject of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// A metric, by index.
    Metric(usize),
    /// A path under `analyses`.
    Finding(&'a str),
}

/// The cells of a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Unit {
    /// Systems, by index.
    pub(super) systems: Vec<usize>,
    /// Label of the system; `None` for the whole run.
    pub(super) system: Option<String>,
    /// The sample, if evaluated per sample.
    pub(super) sample: Option<usize>,
    /// The group, if evaluated per column.
    pub(super) group: Option<(u32, Value)>,
}

/// A single decision to make.
#[derive(Debug, Clone)]
pub(super) struct GateCase<'a> {
    pub(super) gate: &'a Gate,
    pub(super) scope: &'a Scope,
    pub(super) target: Target<'a>,
    pub(super) unit: Unit,
    pub(super) bound: BoundKind,
    pub(super) threshold: Threshold,
}

/// The cases of a gate.
pub(super) fn gate_cases<'a>(findings: &Findings, gate: &'a Gate, scope: &'a Scope) -> Vec<GateCase<'a>> {
    let limits = [
        (BoundKind::Min, gate.min),
        (BoundKind::Max, gate.max),
        (BoundKind::MaxDrop, gate.max_drop),
        (BoundKind::MaxRise, gate.max_rise),
    ];
    let bounds: Vec<(BoundKind, Threshold)> =
        limits.into_iter().filter_map(|(bound, threshold)| Some((bound, threshold?))).collect();
    let (targets, units) = match &gate.subject {
        Subject::Finding(path) => (vec![Target::Finding(path.as_str())], vec![Unit::default()]),
        Subject::Metric(_) => (metrics(&findings.plan, gate), units(findings, gate, scope)),
    };
    // A gate without cells stays undecided rather than vanishing as if it had passed.
    let units = if units.is_empty() { vec![Unit::default()] } else { units };
    let mut cases = Vec::new();
    for unit in &units {
        for target in &targets {
            cases.extend(bounds.iter().map(|(bound, threshold)| GateCase {
                gate,
                scope,
                target: *target,
                unit: unit.clone(),
                bound: *bound,
                threshold: *threshold,
            }));
        }
    }
    cases
}

/// The metrics of a gate; [`problem::gate_problems`](super::problem::gate_problems) has checked that there is one.
fn metrics<'a>(plan: &PlanHeader, gate: &Gate) -> Vec<Target<'a>> {
    let names = plan.metrics.iter().enumerate();
    names.filter(|(_, metric)| names_metric(plan, subject(gate), metric)).map(|(at, _)| Target::Metric(at)).collect()
}

/// The units of a gate, without those that its condition leaves empty and without the systems that others are compared
/// with.
fn units(findings: &Findings, gate: &Gate, scope: &Scope) -> Vec<Unit> {
    let samples = findings.samples();
    let judged = |system: &usize| !is_reference(&findings.plan, gate, *system);
    if gate.per == "run" {
        let systems: Vec<usize> = findings.run.systems.iter().copied().filter(judged).collect();
        let mut cells = (0..samples).flat_map(|sample| systems.iter().map(move |system| (sample, *system)));
        let any = cells.any(|(sample, system)| scope.holds(sample, system));
        return if any { vec![Unit { systems, ..Unit::default() }] } else { Vec::new() };
    }
    let mut units = Vec::new();
    for group in &findings.systems {
        let Some(system) = group.systems.first().copied().filter(judged) else { continue };
        let unit = Unit { systems: vec![system], system: Some(group.id.clone()), ..Unit::default() };
        let mut held = (0..samples).filter(|sample| scope.holds(*sample, system)).peekable();
        match (gate.per.as_str(), &scope.groups) {
            ("sample", _) => units.extend(held.map(|sample| Unit { sample: Some(sample), ..unit.clone() })),
            (_, Some((of, values))) => {
                let here: std::collections::BTreeSet<u32> = held.filter_map(|sample| of.get(sample).copied()).collect();
                let groups = here.into_iter().filter_map(|at| Some((at, values.get(at as usize)?.clone())));
                units.extend(groups.map(|group| Unit { group: Some(group), ..unit.clone() }));
            }
            _ if held.peek().is_some() => units.push(unit),
            _ => {}
        }
    }
    units
}

/// Returns true if a gate compares the other systems with this one.
pub(super) fn is_reference(plan: &PlanHeader, gate: &Gate, system: usize) -> bool {
    match &gate.against {
        Some(GateReference::Variant(id)) => plan.system_variant(system) == id,
        Some(GateReference::Model(id)) => plan.system_model(system).is_some_and(|model| model.is_called(id)),
        _ => false,
    }
}

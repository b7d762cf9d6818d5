//! The sides of a comparison (some systems of a run each), and the pairing of their systems.

use std::collections::BTreeMap;

use crate::figures::groups::system_id;
use crate::findings::Findings;

/// The systems of a run on one side of a comparison.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// The display name of the side.
    pub label: String,
    /// The run.
    pub findings: &'a Findings,
    /// Its systems, as indices into the plan.
    pub systems: Vec<usize>,
}

impl<'a> Side<'a> {
    /// The systems of a run with the given model and variant, if given.
    ///
    /// # Errors
    /// The run has no such system; the error lists its systems.
    pub fn of(
        label: impl Into<String>,
        findings: &'a Findings,
        model: Option<&str>,
        variant: Option<&str>,
    ) -> Result<Self, UnknownSystem> {
        let plan = &findings.plan;
        let has_model = |system: usize| model.is_none_or(|id| plan.system_model(system).is_some_and(|it| it.id == id));
        let has_variant = |system: usize| variant.is_none_or(|id| plan.system_variant(system) == id);
        let systems: Vec<usize> =
            (0..plan.systems.len()).filter(|system| has_model(*system) && has_variant(*system)).collect();
        if systems.is_empty() {
            let wanted = [model, variant].into_iter().flatten().collect::<Vec<_>>().join("/");
            let has = (0..plan.systems.len()).map(|system| system_id(plan, system)).collect();
            return Err(UnknownSystem { wanted, has });
        }
        Ok(Self { label: label.into(), findings, systems })
    }

    /// Ids of its systems.
    pub fn ids(&self) -> Vec<String> {
        self.systems.iter().map(|system| system_id(&self.findings.plan, *system)).collect()
    }

    fn key(&self, system: usize, by: PairingKey) -> String {
        let plan = &self.findings.plan;
        match by {
            PairingKey::System => system_id(plan, system),
            PairingKey::Variant => plan.system_variant(system).to_owned(),
            PairingKey::Model => plan.system_model(system).map_or_else(String::new, |model| model.id.clone()),
            PairingKey::Only => String::new(),
        }
    }
}

/// The run has no system of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSystem {
    /// The requested model or variant.
    pub wanted: String,
    /// The systems that the run has.
    pub has: Vec<String>,
}

/// The property that two paired systems share.
#[derive(Debug, Clone, Copy)]
enum PairingKey {
    System,
    Variant,
    Model,
    /// None: they are the only ones left.
    Only,
}

/// Pairs of systems as (baseline, candidate): first those with the same model and variant, then of the rest those that
/// alone share a variant, or a model, then the last one of each side.
pub(super) fn pairs(baseline: &Side<'_>, candidate: &Side<'_>) -> Vec<(usize, usize)> {
    let (mut left, mut right) = (baseline.systems.clone(), candidate.systems.clone());
    let mut pairs = Vec::new();
    for by in [PairingKey::System, PairingKey::Variant, PairingKey::Model, PairingKey::Only] {
        let (own, others) = (unique_by_key(baseline, &left, by), unique_by_key(candidate, &right, by));
        for (key, from) in own {
            if let Some(to) = others.get(&key) {
                pairs.push((from, *to));
                left.retain(|system| *system != from);
                right.retain(|system| system != to);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The systems with a unique key.
fn unique_by_key(side: &Side<'_>, systems: &[usize], by: PairingKey) -> BTreeMap<String, usize> {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for system in systems {
        by_key.entry(side.key(*system, by)).or_default().push(*system);
    }
    let single = |(key, systems): (String, Vec<usize>)| match systems[..] {
        [only] => Some((key, only)),
        _ => None,
    };
    by_key.into_iter().filter_map(single).collect()
}

//! Partners of systems in gates: another system of the run, or pinned results.

use karat_types::{Gate, GateReference, PlanHeader};

use super::References;
use crate::reference::pinned::Pinned;

/// The reference that a system is compared with.
#[derive(Clone, Copy)]
pub(super) enum Partner<'a> {
    /// Pinned results, and the place of the system in them.
    Pinned(&'a Pinned, usize),
    /// A system of the same run.
    System(usize),
}

impl Partner<'_> {
    /// The pinned results, if it is not a system of the run.
    pub(super) fn as_pinned(&self) -> Option<&Pinned> {
        match self {
            Self::Pinned(pinned, _) => Some(pinned),
            Self::System(_) => None,
        }
    }
}

/// The systems of partners within the run, as (base, other).
pub(super) fn system_pairs(partners: &[(usize, Partner<'_>)]) -> Option<Vec<(usize, usize)>> {
    let pair = |(own, partner): &(usize, Partner<'_>)| match partner {
        Partner::System(base) => Some((*base, *own)),
        Partner::Pinned(..) => None,
    };
    partners.iter().map(pair).collect::<Option<Vec<_>>>().filter(|pairs| !pairs.is_empty())
}

/// The reference of a gate in words.
pub(super) fn reference_name(gate: &Gate) -> String {
    match &gate.against {
        None | Some(GateReference::Baseline) => "the baseline".to_owned(),
        Some(GateReference::Previous) => "the previous run".to_owned(),
        Some(GateReference::Run(id)) => format!("run {id}"),
        Some(GateReference::Variant(id)) => format!("variant {id}"),
        Some(GateReference::Model(id)) => format!("model {id}"),
    }
}

/// The reference of a system, or the reason why there is none.
pub(super) fn find_partner<'a>(
    plan: &PlanHeader,
    references: &'a References,
    gate: &Gate,
    system: usize,
) -> Result<Partner<'a>, String> {
    let pinned = |pinned: Option<&'_ Pinned>, none: &str| match pinned {
        None => Err(none.to_owned()),
        Some(_) => Ok(()),
    };
    let found = match &gate.against {
        None | Some(GateReference::Baseline) => {
            pinned(
                references.baseline.as_ref(),
                "there is no baseline: pin a run with `karat baseline pin` or samples with `karat golden pin`, or give --baseline",
            )?;
            references.baseline.as_ref()
        }
        Some(GateReference::Previous) => {
            pinned(references.previous.as_ref(), "there is no earlier finished run of this suite")?;
            references.previous.as_ref()
        }
        Some(GateReference::Run(id)) => references.runs.get(id),
        Some(GateReference::Variant(id)) => {
            let model = plan.systems.get(system).and_then(|it| it.model);
            if plan.variants.iter().all(|variant| variant.id != *id) {
                return Err(format!("the variant {id} is not part of this run"));
            }
            let other = plan.systems.iter().position(|it| {
                it.model == model && plan.variants.get(it.variant).is_some_and(|variant| variant.id == *id)
            });
            return other.map(Partner::System).ok_or_else(|| format!("variant {id} does not run on this model"));
        }
        Some(GateReference::Model(id)) => {
            let variant = plan.systems.get(system).map(|it| it.variant);
            if !plan.models.iter().any(|model| model.is_called(id)) {
                return Err(format!("the model {id} is not part of this run"));
            }
            let other = plan.systems.iter().position(|it| {
                Some(it.variant) == variant
                    && it.model.and_then(|at| plan.models.get(at)).is_some_and(|model| model.is_called(id))
            });
            return other.map(Partner::System).ok_or_else(|| format!("model {id} does not run this variant"));
        }
    };
    let pinned = found.ok_or_else(|| format!("{} could not be read", reference_name(gate)))?;
    let id = crate::system_id(plan, system);
    let at = pinned.system(&id).ok_or_else(|| format!("{} does not have the system {id}", reference_name(gate)))?;
    Ok(Partner::Pinned(pinned, at))
}

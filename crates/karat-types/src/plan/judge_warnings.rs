//! Warnings about judges whose grades say little of what they grade: scripts, and models that grade their own kind.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ModelSpec, PlanHeader, ScorerKind};

impl PlanHeader {
    /// The judges that a rubric asks.
    fn asked_judges(&self) -> impl Iterator<Item = &ModelSpec> {
        self.judges.iter().filter(move |judge| {
            self.scorers.iter().any(|scorer| match &scorer.kind {
                ScorerKind::Rubric(rubric) => rubric.judges.contains(&judge.id),
                ScorerKind::Metric { .. } => false,
            })
        })
    }

    /// The models whose outputs are judged: those of systems, and those that a step names. An id may stand twice.
    fn judged_models(&self) -> impl Iterator<Item = &ModelSpec> {
        (0..self.systems.len()).flat_map(move |system| {
            let steps = self.systems.get(system).and_then(|it| self.variants.get(it.variant)).map(|it| &it.steps);
            let fixed = steps.into_iter().flatten().filter_map(|step| step.model.as_ref());
            let fixed = fixed.filter_map(move |id| self.models.iter().find(|model| model.id == *id));
            self.system_model(system).into_iter().chain(fixed)
        })
    }

    /// The warning about judges that grade themselves, or models of their own family; `None` if there are none.
    pub fn own_family_warning(&self) -> Option<String> {
        let mut own: BTreeSet<String> = BTreeSet::new();
        for judge in self.asked_judges().filter(|judge| !judge.is_scripted()) {
            let is_kin = |model: &&ModelSpec| model.is_same_model(judge) || model.is_same_family(judge);
            let kin: BTreeMap<&str, bool> = self
                .judged_models()
                .filter(|model| !model.is_scripted())
                .filter(is_kin)
                .map(|model| (model.id.as_str(), model.is_same_model(judge)))
                .collect();
            own.extend(kin.into_iter().map(|(id, is_itself)| match is_itself {
                true => format!("`{}` grades its own outputs", judge.id),
                false => format!("`{}` grades `{id}`, a model of its own family", judge.id),
            }));
        }
        (!own.is_empty()).then(|| {
            let own = own.into_iter().collect::<Vec<_>>().join(", ");
            format!("{own}: judges tend to favour such outputs. Name a judge of another family with --judges.")
        })
    }

    /// The warning about scripted judges that grade real models; `None` if there are none.
    pub fn script_warning(&self) -> Option<String> {
        let scripts = self.asked_judges().filter(|judge| judge.is_scripted());
        let judges: Vec<String> = scripts.map(|judge| format!("`{}`", judge.id)).collect();
        let real = self.judged_models().filter(|model| !model.is_scripted());
        let models: BTreeSet<String> = real.map(|model| format!("`{}`", model.id)).collect();
        if judges.is_empty() || models.is_empty() {
            return None;
        }
        let models: Vec<String> = models.into_iter().collect();
        Some(format!(
            "{} {} and {} a real model ({}): such scores say nothing of it. Name a real judge with --judges.",
            judges.join(", "),
            if judges.len() == 1 { "is a script" } else { "are scripts" },
            if judges.len() == 1 { "grades" } else { "grade" },
            models.join(", ")
        ))
    }
}

//! Content of a suite that changed since its stored runs although its declared version did not.

use karat_types::{Action, Key, PlanHeader, Rubric, RunHeader, ScorerKind, StepSpec};
use serde::Serialize;

use crate::AppError;
use crate::project::Project;

/// Number of the newest runs that are compared.
const RUNS: usize = 8;

impl Project<'_> {
    /// Prompts and rubrics of a plan that differ from the suite's newest runs despite the same version, and diagnostics
    /// that judges gave in another form: a sentence each. Makes no API calls.
    pub fn changes(&self, plan: &PlanHeader) -> Result<Vec<String>, AppError> {
        let store = self.app.store_to_read()?;
        let runs = store.runs_of_suite(&plan.suite, RUNS)?;
        let earlier = runs.iter().map(|run| store.run(run)).collect::<Result<Vec<_>, _>>()?;
        let all = steps(plan, &earlier).into_iter().chain(rubrics(plan, &earlier)).chain(dataset(plan, &earlier));
        Ok(all.collect())
    }
}

fn steps(plan: &PlanHeader, earlier: &[RunHeader]) -> Vec<String> {
    let mut changed = Vec::new();
    for variant in &plan.variants {
        for step in &variant.steps {
            let of = |header: &RunHeader| {
                let known = header.plan.variants.iter().find(|it| it.id == variant.id)?;
                known.steps.iter().find(|it| it.id == step.id).cloned()
            };
            let newest = earlier.iter().find_map(|header| Some((header, of(header)?)));
            let Some((header, then)) = newest else { continue };
            let (Some(version), Some(now), Some(before)) = (&step.version, prompt(step), prompt(&then)) else {
                continue;
            };
            if then.version.as_ref() == Some(version) && now != before {
                let what = format!("the prompt of step `{}.{}`", variant.id, step.id);
                changed.push(same_version(&what, version, &before, &now, &header.id));
            }
        }
    }
    changed
}

fn rubrics(plan: &PlanHeader, earlier: &[RunHeader]) -> Vec<String> {
    let mut changed = Vec::new();
    for scorer in &plan.scorers {
        let Some(now) = rubric(plan, &scorer.id) else { continue };
        let newest = earlier.iter().find_map(|header| Some((header, rubric(&header.plan, &scorer.id)?)));
        let Some((header, then)) = newest else { continue };
        if let (Some(version), true) = (&now.version, now.version == then.version && now != then) {
            let what = format!("the rubric of `{}`", scorer.id);
            changed.push(same_version(&what, version, &digest(then), &digest(now), &header.id));
        }
        if now.diagnostics != then.diagnostics {
            changed.push(format!(
                "judgments of `{}` up to run {} have diagnostics of an older schema: they are dropped, and outputs are judged again",
                scorer.id, header.id
            ));
        }
    }
    changed
}

/// Files of the dataset that changed although its version did not.
fn dataset(plan: &PlanHeader, earlier: &[RunHeader]) -> Vec<String> {
    let Some(version) = &plan.dataset.version else { return Vec::new() };
    let is_same = |header: &&RunHeader| header.plan.dataset.version.as_ref() == Some(version);
    let Some(header) = earlier.iter().find(is_same) else { return Vec::new() };
    let changed = plan.dataset.sources.iter().filter_map(|now| {
        let then = header.plan.dataset.sources.iter().find(|then| then.path == now.path)?;
        let first = |digest: &str| digest.chars().take(8).collect::<String>();
        (then.blake3 != now.blake3).then(|| {
            let what = format!("the dataset `{}`", now.path);
            let told = same_version(&what, version, &first(&then.blake3), &first(&now.blake3), &header.id);
            format!("{told}, and a line in its changelog")
        })
    });
    changed.collect()
}

fn same_version(what: &str, version: &str, then: &str, now: &str, run: &str) -> String {
    format!(
        "{what} changed under the same version `{version}`: it was {then} in run {run} and is {now}. Give it a new \
         `version`, so that reports tell them apart"
    )
}

fn prompt(step: &StepSpec) -> Option<String> {
    match &step.action {
        Action::Prompt(prompt) => Some(digest(prompt)),
        _ => None,
    }
}

fn rubric<'p>(plan: &'p PlanHeader, scorer: &str) -> Option<&'p Rubric> {
    match &plan.scorers.iter().find(|it| it.id == scorer)?.kind {
        ScorerKind::Rubric(rubric) => Some(&rubric.rubric),
        ScorerKind::Metric { .. } => None,
    }
}

/// The first eight digits of a content hash.
fn digest<T: Serialize>(content: &T) -> String {
    let bytes = serde_json::to_vec(content).unwrap_or_default();
    Key::of("karat/changed/1", &bytes).to_string().chars().take(8).collect()
}

//! The plan's systems, compiled once a run: steps, identities, scorers and judges.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use karat_scoring::judge::{PROMPT_VERSION, RubricJudge};
use karat_scoring::scorer;
use karat_text::template::Context;
use karat_types::{
    Key, KeyBuilder, ModelSpec, PlanHeader, Reads, RubricScorer, Sample, SampleRecord, ScorerKind, UserSpec,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::EngineError;
use crate::plan::cascade::ReadyCascade;
use crate::plan::identity::{instrument_identity, run_only_identity};
use crate::plan::joins::Joins;
use crate::plan::privacy::Privacy;
use crate::plan::ready::{Partners, ReadyJudge, ReadyScorer, ReadyStep, ReadySystem};
use crate::plan::scored::scored_reads;
use crate::plan::services::placeholder_services;
use crate::plan::{identity_parts, tokens};
use crate::steps::CompiledStep;

/// Domains of the constant parts of identities.
const STEP: &str = "karat/step-spec/2";
const JUDGE: &str = "karat/judge/2";

/// The parts of a plan that are the same for all cells.
pub(crate) struct Systems {
    pub systems: Vec<ReadySystem>,
    pub scorers: Vec<ReadyScorer>,
    /// The files whose rows scorers join with cells.
    pub joins: Joins,
    pub judges: Vec<ReadyJudge>,
    /// The distinct sets of names that steps and rubrics read.
    pub reads: Vec<Reads>,
    /// The union of all read sets.
    pub all_reads: Reads,
    /// The parts of a row that metrics read. No part of the identity of a cell: they are applied anew each time.
    pub scored_reads: Reads,
    /// Every name that a step or a join reads.
    pub names: Arc<[String]>,
    /// The start of every chain of keys.
    pub root: Key,
    /// The rules by which content is kept.
    pub privacy: Privacy,
}

impl Systems {
    /// The longest timeout of a single attempt.
    pub fn longest_timeout(&self) -> Duration {
        let steps = self.systems.iter().flat_map(|system| &system.chain).map(|step| step.timeout);
        steps.chain(self.judges.iter().map(|judge| judge.timeout)).max().unwrap_or_default()
    }

    /// Compiles a plan for the run of this id. Its services are not started: templates with their addresses can be
    /// rendered, but nothing answers there.
    pub fn new(plan: &PlanHeader, run: &str) -> Result<Self, EngineError> {
        let mut reads = Vec::new();
        let models: Vec<Arc<ModelSpec>> = plan.models.iter().cloned().map(Arc::new).collect();
        let mut systems = (0..plan.systems.len())
            .map(|at| ready_system(plan, at, &models, run, &mut reads))
            .collect::<Result<Vec<_>, EngineError>>()?;
        mark_shared(&mut systems);
        let scorers = ready_scorers(plan)?;
        let joins = Joins::of(scorers.iter().map(|ready| &*ready.scorer))?;
        let judges = ready_judges(plan, run, &mut reads)?;
        share_partners(&mut systems, &judges);
        let all_reads = Reads::union(&reads);
        let scored_reads = scored_reads(plan);
        let steps = plan.variants.iter().flat_map(|variant| &variant.steps);
        let mut names = joins.reads();
        names.extend(steps.flat_map(|step| step.reads.iter().chain(&step.media_reads)));
        let names = names.into_iter().cloned().collect();
        let systems = Self {
            systems,
            scorers,
            joins,
            judges,
            reads,
            all_reads,
            scored_reads,
            names,
            root: KeyBuilder::new("karat/chain/1").finish(),
            privacy: Privacy::of(plan)?,
        };
        Ok(systems.with_service_urls(&placeholder_services(plan)))
    }

    /// The parts of a row that gates read, as the store has them.
    pub fn sample_record(&self, sample: &Sample) -> SampleRecord {
        let redacted = self.privacy.row(sample);
        SampleRecord {
            row: sample.row,
            id: sample.id.to_string(),
            cluster: sample.cluster.clone(),
            date: sample.date.clone(),
            metadata: redacted.as_ref().unwrap_or(sample).metadata.clone(),
            ..SampleRecord::default()
        }
    }

    /// The same systems with services at these addresses: `{ID: {url}}`.
    pub fn with_service_urls(mut self, services: &Value) -> Self {
        for system in &mut self.systems {
            system.context = system.context.child().with("services", services);
        }
        self
    }
}

fn add_read_set(reads: &mut Vec<Reads>, names: &[String]) -> usize {
    let wanted = Reads::new(names.iter().map(String::as_str));
    match reads.iter().position(|known| *known == wanted) {
        Some(at) => at,
        None => {
            reads.push(wanted);
            reads.len() - 1
        }
    }
}

fn ready_system(
    plan: &PlanHeader,
    at: usize,
    models: &[Arc<ModelSpec>],
    run: &str,
    reads: &mut Vec<Reads>,
) -> Result<ReadySystem, EngineError> {
    let system = plan.systems[at];
    let variant = &plan.variants[system.variant];
    let matrix_model = system.model.map(|model| models[model].clone());
    let mut chain = Vec::new();
    let mut recorded = None;
    for spec in &variant.steps {
        let step = CompiledStep::new(spec)
            .map_err(|error| EngineError::Plan(format!("variant `{}`, step `{}`: {error}", variant.id, spec.id)))?;
        let model = match &spec.model {
            Some(id) => models.iter().find(|model| model.id == *id).cloned(),
            None => matrix_model.clone(),
        };
        let tells = spec.reads.iter().any(|name| name.split('.').next() == Some("model"));
        let identified = model.clone().filter(|_| step.calls_model() || tells);
        // Agents are run live, at the price of live calls.
        let live = |model: Arc<ModelSpec>| if model.live_price.is_some() { Arc::new(model.live()) } else { model };
        let is_agent = spec.action.as_agent().is_some();
        let model = model.filter(|_| step.calls_model()).map(|model| if is_agent { live(model) } else { model });
        let timeout =
            spec.timeout_ms.or(model.as_ref().and_then(|model| model.timeout_ms)).unwrap_or(plan.run.timeout_ms);
        let identity = identity_parts::step_parts(spec, identified.as_deref(), &variant.id, plan).key(STEP);
        let reusable = spec.is_reusable(identified.as_deref());
        let ready = ReadyStep {
            identity: if reusable { identity } else { run_only_identity(identity, run) },
            reusable,
            reads: add_read_set(reads, &spec.reads),
            timeout: Duration::from_millis(timeout),
            retries: spec.retries.unwrap_or(plan.run.retries),
            model,
            user: models
                .iter()
                .find(|model| {
                    spec.action
                        .as_agent()
                        .is_some_and(|agent| agent.user.as_ref().and_then(UserSpec::model) == Some(model.id.as_str()))
                })
                .cloned()
                .map(live),
            who: format!("step {}", spec.id).into(),
            step: Arc::new(step),
            shared: true,
            is_demo: plan.calls_demo(spec) && !plan.is_simulated(),
        };
        if ready.step.is_recorded() {
            chain.clear();
            recorded = Some(ready);
        } else {
            chain.push(ready);
        }
    }
    let context = system_context(plan, &variant.id, matrix_model.as_deref());
    Ok(ReadySystem { recorded, chain, model: matrix_model, variant: variant.id.clone(), context })
}

fn system_context(plan: &PlanHeader, variant: &str, model: Option<&ModelSpec>) -> Context {
    let context = Context::new()
        .with("params", &plan.params)
        .with("variant", variant)
        .with("run", &json!({ "date": plan.as_of }));
    model.into_iter().fold(context, |context, model| {
        context.with("model", &json!({ "id": model.id, "name": model.model, "family": model.family }))
    })
}

/// Marks shared steps: a system's last step is its own unless another system begins with the same steps; earlier steps
/// count as shared.
fn mark_shared(systems: &mut [ReadySystem]) {
    let prefixes: Vec<Vec<Key>> =
        systems.iter().map(|system| system.chain.iter().map(|step| step.identity).collect()).collect();
    for (at, system) in systems.iter_mut().enumerate() {
        let others = prefixes.iter().enumerate().filter(|(other, _)| *other != at);
        let shared = others.into_iter().any(|(_, prefix)| prefix.starts_with(&prefixes[at]));
        if let Some(last) = system.chain.last_mut() {
            last.shared = shared;
        }
    }
}

/// Marks outputs that judges compare with as shared: their own cells need them, too.
fn share_partners(systems: &mut [ReadySystem], judges: &[ReadyJudge]) {
    let count = systems.len();
    let partners: BTreeSet<usize> = judges.iter().flat_map(|judge| judge.partners.all(count)).collect();
    for partner in partners {
        if let Some(last) = systems.get_mut(partner).and_then(|system| system.chain.last_mut()) {
            last.shared = true;
        }
    }
}

fn ready_scorers(plan: &PlanHeader) -> Result<Vec<ReadyScorer>, EngineError> {
    let mut ready = Vec::new();
    for (index, spec) in plan.scorers.iter().enumerate() {
        if let ScorerKind::Metric { .. } = spec.kind {
            let scorer =
                scorer::build(spec).map_err(|error| EngineError::Plan(format!("scorer `{}`: {error}", spec.id)))?;
            ready.push(ReadyScorer {
                scorer,
                metrics: metrics_of(plan, index).collect(),
                who: format!("scorer {}", spec.id).into(),
                timeout: Duration::from_millis(plan.run.timeout_ms),
                retries: plan.run.retries,
            });
        }
    }
    Ok(ready)
}

fn ready_judges(plan: &PlanHeader, run: &str, reads: &mut Vec<Reads>) -> Result<Vec<ReadyJudge>, EngineError> {
    let mut ready = Vec::new();
    for (index, spec) in plan.scorers.iter().enumerate() {
        let ScorerKind::Rubric(rubric) = &spec.kind else { continue };
        let cascade = ReadyCascade::of(plan, index)?.map(Arc::new);
        for id in &rubric.judges {
            let judge = plan.judges.iter().enumerate().find(|(_, judge)| judge.id == *id);
            let (at, model) = judge
                .ok_or_else(|| EngineError::Plan(format!("scorer `{}`: judge `{id}` is not in the plan", spec.id)))?;
            let machine = RubricJudge::new(rubric, model)
                .map_err(|error| EngineError::Plan(format!("scorer `{}`: {error}", spec.id)))?;
            let timeout = rubric.timeout_ms.or(model.timeout_ms).unwrap_or(plan.run.timeout_ms);
            let identity = identity_parts::judge_parts(rubric, PROMPT_VERSION, model, plan).key(JUDGE);
            let reusable = rubric.is_reusable(model);
            let identity = if reusable { identity } else { run_only_identity(identity, run) };
            let everyday = plan.run.measures_judges.then_some(identity);
            ready.push(ReadyJudge {
                scorer: index as u16,
                judge: at as u16,
                identity: everyday.map_or(identity, instrument_identity),
                everyday,
                reusable,
                names: rubric.reads.clone(),
                who: format!("scorer {}", spec.id).into(),
                reads: add_read_set(reads, &rubric.reads),
                model: Arc::new(model.clone()),
                timeout: Duration::from_millis(timeout),
                version: rubric.rubric.version.clone(),
                reasks: u64::from(rubric.rubric.invalid.reask),
                rounds: u64::from(rubric.rounds()),
                partners: partners(plan, rubric),
                rubric_tokens: json_tokens(&rubric.rubric),
                example_tokens: match u64::from(rubric.rubric.examples) {
                    0 => 0,
                    examples => examples * rubric.labels.iter().map(json_tokens).max().unwrap_or_default(),
                },
                // A plan lists a rubric's metrics in the order of its scores.
                metrics: machine.dimensions().into_iter().map(str::to_owned).zip(metrics_of(plan, index)).collect(),
                machine,
                cascade: cascade.clone(),
            });
        }
    }
    Ok(ready)
}

fn json_tokens(value: &impl Serialize) -> u64 {
    serde_json::to_string(value).map_or(0, |text| tokens::estimate_tokens(&text))
}

fn partners(plan: &PlanHeader, rubric: &RubricScorer) -> Partners {
    match (&rubric.versus, plan.pair_design(rubric)) {
        (None, _) => Partners::None,
        (Some(_), Some(design)) => Partners::Design(design),
        (Some(versus), None) => {
            Partners::One((0..plan.systems.len()).map(|system| plan.partner(versus, system)).collect())
        }
    }
}

/// Indices of a scorer's metrics.
fn metrics_of(plan: &PlanHeader, scorer: usize) -> impl Iterator<Item = u16> {
    plan.metrics.iter().enumerate().filter(move |(_, metric)| metric.scorer == scorer).map(|(at, _)| at as u16)
}

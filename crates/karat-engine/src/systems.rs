//! The plan's systems, compiled once a run: steps, identities, scorers and judges.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use karat_scoring::judge::{PROMPT_VERSION, RubricJudge};
use karat_scoring::scorer::{self, Scorer};
use karat_store::{ReuseView, StoreError, StoredRecord};
use karat_text::template::Context;
use karat_types::{JudgeRound, JudgmentRecord, Key, KeyBuilder, ModelSpec, PlanHeader, Reads, Score, ScorerKind};
use serde_json::{Value, json};

use crate::identity::{RowDigests, judgment_key, of_ruler, of_run, step_key};
use crate::parts;
use crate::privacy::Privacy;
use crate::services::unstarted;
use crate::steps::CompiledStep;
use crate::{EngineError, tokens};

/// Domains of the constant parts of identities.
const STEP: &str = "karat/step-spec/2";
const JUDGE: &str = "karat/judge/2";

/// A step of a system, ready to be keyed and run.
pub(crate) struct ReadyStep {
    pub step: Arc<CompiledStep>,
    pub identity: Key,
    /// Index into [`Systems::reads`].
    pub reads: usize,
    pub model: Option<Arc<ModelSpec>>,
    /// In messages: `step query`.
    pub who: Arc<str>,
    pub timeout: Duration,
    pub retries: u32,
    /// Whether other runs may take its output over: what answers has a version.
    pub reusable: bool,
    /// Whether another cell of the same row can need this step's output.
    pub shared: bool,
}

/// Model × variant, ready.
pub(crate) struct ReadySystem {
    /// The found output that the chain starts from, where there is one: steps before it cannot matter.
    pub recorded: Option<ReadyStep>,
    /// The steps whose outputs are made.
    pub chain: Vec<ReadyStep>,
    pub model: Option<Arc<ModelSpec>>,
    pub variant: String,
    /// What its templates see that is the same for all rows: `params`, `variant`, `model`, `run`,
    /// `services`.
    pub context: Context,
}

/// A deterministic scorer and where its scores stand.
pub(crate) struct ReadyScorer {
    pub scorer: Box<dyn Scorer>,
    pub metrics: Vec<u16>,
    /// In messages: `scorer tone`.
    pub who: Arc<str>,
    /// Of one attempt, where somebody outside is asked.
    pub timeout: Duration,
    /// Attempts after the first.
    pub retries: u32,
}

/// One rubric scorer put to one judge.
pub(crate) struct ReadyJudge {
    pub scorer: u16,
    pub judge: u16,
    pub machine: RubricJudge,
    pub identity: Key,
    /// The identity under which it grades when no ruler is measured, where one is: those grades may be taken over, too.
    pub everyday: Option<Key>,
    /// Whether other runs may take its judgments over: a program that judges has a version.
    pub reusable: bool,
    /// The names that the rubric reads.
    pub names: Vec<String>,
    /// Index into [`Systems::reads`].
    pub reads: usize,
    pub model: Arc<ModelSpec>,
    /// In messages: `scorer quality`.
    pub who: Arc<str>,
    pub timeout: Duration,
    pub version: Option<String>,
    /// Metric index by dimension.
    pub metrics: Vec<(String, u16)>,
    /// By system, the one whose output it is compared with; `None` for judges of single outputs.
    pub partners: Option<Vec<Option<usize>>>,
    /// How often it is asked about an output.
    pub rounds: u64,
    /// Declared bound of a reply.
    pub max_tokens: Option<u32>,
    /// How often it may be asked again.
    pub reasks: u64,
    /// About how many tokens the rubric itself takes in a prompt.
    pub rubric_tokens: u64,
}

/// Where a judge's judgment of something lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgmentKeys {
    /// Where this run records it.
    pub own: Key,
    /// Where it may lie besides.
    everyday: Option<Key>,
}

impl ReadyJudge {
    /// Keys of its judgment of a subject, given what it reads of the row.
    pub fn keys(&self, subject: Key, row: Key) -> JudgmentKeys {
        let key = |identity| judgment_key(identity, subject, row);
        JudgmentKeys { own: key(self.identity), everyday: self.everyday.map(key) }
    }
}

impl JudgmentKeys {
    fn all(self) -> impl Iterator<Item = Key> {
        iter::once(self.own).chain(self.everyday)
    }

    /// The latest judgment that `find` finds.
    pub fn stored(
        self,
        find: impl Fn(Key) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError>,
    ) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError> {
        let found = self.all().map(find).collect::<Result<Vec<_>, _>>()?;
        Ok(found.into_iter().flatten().max_by_key(|it| it.run_started_at))
    }

    /// Whether there is one that may be taken over.
    pub fn is_stored(self, stock: &ReuseView) -> Result<bool, StoreError> {
        for key in self.all() {
            if stock.has_judgment(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Everything of a plan that is the same for all cells.
pub(crate) struct Systems {
    pub systems: Vec<ReadySystem>,
    pub scorers: Vec<ReadyScorer>,
    pub judges: Vec<ReadyJudge>,
    /// The distinct sets of names that steps and rubrics read.
    pub reads: Vec<Reads>,
    /// What any of them reads.
    pub all_reads: Reads,
    /// Every name that a step reads.
    pub names: Arc<[String]>,
    /// Where every chain of keys begins.
    pub root: Key,
    /// How content is kept.
    pub privacy: Privacy,
}

impl ReadySystem {
    /// The keys of the steps that are made, given the key of what was found before them.
    pub fn keys(&self, systems: &Systems, row: &RowDigests, before: Key, trial: u32) -> Vec<Key> {
        let mut before = before;
        let mut next = |step: &ReadyStep| {
            before = step_key(before, step.identity, row.get(&systems.reads, step.reads), trial);
            before
        };
        self.chain.iter().map(&mut next).collect()
    }
}

impl ReadyJudge {
    /// Scores of a stored judgment at this run's metric positions. A rubric's metrics stand together and in the
    /// rubric's order in every plan, and a judgment holds all of them, so only the first position differs.
    pub fn rebase(&self, scores: &[(u16, Score)]) -> Vec<(u16, Score)> {
        let then = scores.iter().map(|(at, _)| *at).min().unwrap_or_default();
        let now = self.metrics.iter().map(|(_, at)| *at).min().unwrap_or_default();
        scores.iter().map(|(at, score)| (at - then + now, score.clone())).collect()
    }

    /// The rounds of a stored judgment at this run's metric positions.
    pub fn rounds_of(&self, stored: &JudgmentRecord) -> Vec<JudgeRound> {
        let then = stored.scores.iter().map(|(at, _)| *at).min().unwrap_or_default();
        let now = self.metrics.iter().map(|(_, at)| *at).min().unwrap_or_default();
        let moved = |round: &JudgeRound| JudgeRound {
            scores: round.scores.iter().map(|(at, value)| (at - then + now, *value)).collect(),
            ..round.clone()
        };
        stored.rounds.iter().map(moved).collect()
    }

    /// The system whose output a system's is compared with, where it is.
    pub fn partner(&self, system: usize) -> Option<usize> {
        self.partners.as_ref()?.get(system).copied().flatten()
    }

    /// Whether it is asked about a system's outputs: the other side of its pairs it is not.
    pub fn is_asked(&self, system: usize) -> bool {
        self.partners.is_none() || self.partner(system).is_some()
    }
}

impl Systems {
    /// The longest that one attempt of a call may take.
    pub fn longest_timeout(&self) -> Duration {
        let steps = self.systems.iter().flat_map(|system| &system.chain).map(|step| step.timeout);
        steps.chain(self.judges.iter().map(|judge| judge.timeout)).max().unwrap_or_default()
    }

    /// Compiles a plan for the run of this id. Its services are not started: templates that read their addresses can be
    /// rendered, and nobody answers there.
    pub fn new(plan: &PlanHeader, run: &str) -> Result<Self, EngineError> {
        let mut reads = Vec::new();
        let models: Vec<Arc<ModelSpec>> = plan.models.iter().cloned().map(Arc::new).collect();
        let mut systems = (0..plan.systems.len())
            .map(|at| ready_system(plan, at, &models, run, &mut reads))
            .collect::<Result<Vec<_>, EngineError>>()?;
        mark_shared(&mut systems);
        let scorers = ready_scorers(plan)?;
        let judges = ready_judges(plan, run, &mut reads)?;
        share_partners(&mut systems, &judges);
        let all_reads = Reads::union(&reads);
        let steps = plan.variants.iter().flat_map(|variant| &variant.steps);
        let names: BTreeSet<&String> = steps.flat_map(|step| &step.reads).collect();
        let systems = Self {
            systems,
            scorers,
            judges,
            reads,
            all_reads,
            names: names.into_iter().cloned().collect(),
            root: KeyBuilder::new("karat/chain/1").finish(),
            privacy: Privacy::of(plan)?,
        };
        Ok(systems.serving(&unstarted(plan)))
    }

    /// The same with services at these addresses: `{ID: {url}}`.
    pub fn serving(mut self, services: &Value) -> Self {
        for system in &mut self.systems {
            system.context = system.context.child().with("services", services);
        }
        self
    }
}

fn read_set(reads: &mut Vec<Reads>, names: &[String]) -> usize {
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
        let model = model.filter(|_| step.calls_model());
        let timeout =
            spec.timeout_ms.or(model.as_ref().and_then(|model| model.timeout_ms)).unwrap_or(plan.run.timeout_ms);
        let identity = parts::of_step(spec, identified.as_deref(), &variant.id, plan).key(STEP);
        let reusable = spec.is_reusable(identified.as_deref());
        let ready = ReadyStep {
            identity: if reusable { identity } else { of_run(identity, run) },
            reusable,
            reads: read_set(reads, &spec.reads),
            timeout: Duration::from_millis(timeout),
            retries: spec.retries.unwrap_or(plan.run.retries),
            model,
            who: format!("step {}", spec.id).into(),
            step: Arc::new(step),
            shared: true,
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

/// A system's last step is its own unless another system begins with the same steps; earlier steps count as shared.
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

/// What others are compared with is needed by their cells, too.
fn share_partners(systems: &mut [ReadySystem], judges: &[ReadyJudge]) {
    let partners: BTreeSet<usize> =
        judges.iter().flat_map(|judge| judge.partners.iter().flatten().flatten().copied()).collect();
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
        for id in &rubric.judges {
            let found = plan.judges.iter().enumerate().find(|(_, judge)| judge.id == *id);
            let (at, model) = found
                .ok_or_else(|| EngineError::Plan(format!("scorer `{}`: judge `{id}` is not in the plan", spec.id)))?;
            let machine = RubricJudge::new(rubric, model)
                .map_err(|error| EngineError::Plan(format!("scorer `{}`: {error}", spec.id)))?;
            let timeout = rubric.timeout_ms.or(model.timeout_ms).unwrap_or(plan.run.timeout_ms);
            let identity = parts::of_judge(rubric, PROMPT_VERSION, model, plan).key(JUDGE);
            let reusable = rubric.is_reusable(model);
            let identity = if reusable { identity } else { of_run(identity, run) };
            let everyday = plan.run.of_ruler.then_some(identity);
            ready.push(ReadyJudge {
                scorer: index as u16,
                judge: at as u16,
                identity: everyday.map_or(identity, of_ruler),
                everyday,
                reusable,
                names: rubric.reads.clone(),
                who: format!("scorer {}", spec.id).into(),
                reads: read_set(reads, &rubric.reads),
                model: Arc::new(model.clone()),
                timeout: Duration::from_millis(timeout),
                version: rubric.rubric.version.clone(),
                max_tokens: rubric.parameters.max_tokens,
                reasks: u64::from(rubric.rubric.invalid.reask),
                rounds: u64::from(rubric.rounds()),
                partners: rubric
                    .versus
                    .as_ref()
                    .map(|versus| (0..plan.systems.len()).map(|system| plan.partner(versus, system)).collect()),
                rubric_tokens: serde_json::to_string(&rubric.rubric).map_or(0, |text| tokens::estimated(&text)),
                // A plan lists a rubric's metrics in the order of its scores.
                metrics: machine.dimensions().into_iter().map(str::to_owned).zip(metrics_of(plan, index)).collect(),
                machine,
            });
        }
    }
    Ok(ready)
}

/// Indices of a scorer's metrics.
fn metrics_of(plan: &PlanHeader, scorer: usize) -> impl Iterator<Item = u16> {
    plan.metrics.iter().enumerate().filter(move |(_, metric)| metric.scorer == scorer).map(|(at, _)| at as u16)
}

//! The plan: what will be run, as a value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use karat_alert::AlertSpec;
use karat_schedule::ScheduleSpec;
use karat_text::chunking::tokens::Tokenizer;
use karat_types::{
    Action, GateRules, Key, ModelSpec, PlanHeader, Requires, Sample, ScorerKind, ServiceSpec, Shard, ShardRows,
    StepSpec, System, ToolSpec, VariantSpec,
};

use crate::dataset::{Dataset, DatasetError, RepresentativeRows};
use crate::decode::service::CanarySpec;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::files::Files;
use crate::suite::{ChosenJudge, Suite, hash, prompt_limits};

/// Everything that fixes cells and judgments: a header that is stored with the run, and the rows, which are streamed.
#[derive(Clone)]
pub struct Plan {
    /// The header.
    pub header: Arc<PlanHeader>,
    /// The suite's gates. No part of the plan's identity: they can be changed and applied to a stored run.
    pub rules: GateRules,
    /// Frozen judgments that show whether a judge changed. No part of the plan's identity.
    pub canaries: Vec<CanarySpec>,
    /// Times at which the suite runs. No part of the plan's identity.
    pub schedules: Vec<ScheduleSpec>,
    /// Messages about its runs. No part of the plan's identity.
    pub alerts: Vec<AlertSpec>,
    /// Variables that hold the keys of the models that the suite knows, called or not. No part of the plan's identity.
    pub key_variables: Vec<String>,
    /// Notes on what is not planned, each with its reason.
    pub notes: Vec<String>,
    /// Warnings and notices of the suite.
    pub warnings: Diagnostics,
    /// The judge that was chosen because the suite's own judges are scripts.
    pub chosen_judge: Option<ChosenJudge>,
    /// The part of the rows that is run; `None` = all. No part of the plan's identity: each part has the whole's header.
    pub(super) shard: Option<ShardRows>,
    pub(super) states_concurrency: bool,
    pub(super) dataset: Arc<Dataset>,
    pub(super) representative_rows: Option<Arc<RepresentativeRows>>,
    pub(super) files: Arc<dyn Files>,
}

impl Plan {
    /// The rows in order, of its shard if it has one; every pass gives the same ones. An error is a bad row: the only one
    /// and the last where the dataset stops at bad rows, else one of the planned rows (its number is in the error).
    pub fn rows(&self) -> Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send> {
        let rows = self.dataset.rows();
        match self.shard {
            None => rows,
            Some(ShardRows { shard, .. }) => Box::new(rows.filter(move |row| is_of_shard(shard, row))),
        }
    }

    /// The columns that may hold a row's id.
    pub fn id_columns(&self) -> Vec<String> {
        self.dataset.roles.id.columns()
    }

    /// The columns that describe a row to readers.
    pub fn metadata_columns(&self) -> Vec<String> {
        self.dataset.metadata.iter().map(|(name, _)| name.clone()).collect()
    }

    /// A representative sample of the rows, if there are too many to read all before a run starts.
    pub fn representative_rows(&self) -> Option<&RepresentativeRows> {
        self.representative_rows.as_deref().filter(|_| self.shard.is_none())
    }

    /// Read access to the plan's files, such as recorded outputs.
    pub fn files(&self) -> Arc<dyn Files> {
        self.files.clone()
    }

    /// The index, in the header's metrics, of what a scorer calls by this dimension name.
    pub fn metric(&self, scorer: usize, dimension: &str) -> Option<usize> {
        crate::decode::scorers::metrics::index_of(&self.header, scorer, dimension)
    }
}

/// Returns true if a row belongs to a shard. One that cannot be read goes by its id; one behind which nothing can be read
/// fails every shard.
fn is_of_shard(shard: Shard, row: &Result<Sample, DatasetError>) -> bool {
    match row {
        Ok(sample) => shard.holds(&sample.id, sample.cluster.as_deref()),
        Err(error) => error.row.is_none() || shard.holds(&error.sample(), None),
    }
}

impl Suite {
    /// The plan of this suite.
    ///
    /// # Errors
    /// When no cell is left to run: every combination is excluded.
    pub fn plan(&self) -> Result<Plan, Diagnostics> {
        let mut notes = self.notes.clone();
        let mut models =
            if self.variants.iter().any(VariantSpec::calls_matrix_model) { self.models.clone() } else { Vec::new() };
        let matrix = models.len();
        for id in self.variants.iter().flat_map(|variant| &variant.steps).flat_map(StepSpec::named_models) {
            if !models.iter().any(|model| model.id == *id) {
                models.extend(self.registry.find(id).map(Cow::into_owned));
            }
        }
        let systems = self.systems(&models, matrix, &mut notes);
        notes.extend(prompt_limits::image_notes(&self.variants, &self.models, &self.registry));
        let lacks_models = self.may_lack_models && models.is_empty();
        if systems.is_empty() && !lacks_models {
            let mut problem = Diagnostic::of_file(
                Severity::Error,
                &self.path,
                "no cell is left to run: every combination is excluded",
            );
            problem.hint(if notes.is_empty() { "name a model and a variant".to_owned() } else { notes.join("; ") });
            return Err(problem.into());
        }
        let mut header = PlanHeader {
            schema: "karat.plan/1".to_owned(),
            suite: self.name.clone(),
            about: self.about.clone(),
            suite_hash: self.suite_hash.clone(),
            plan_hash: Key::default(),
            params: self.params.clone(),
            dataset: self.dataset_header.clone(),
            models,
            judges: self.judges(),
            embedders: self.embedders.clone(),
            variants: self.variants.clone(),
            systems,
            trials: self.trials,
            scorers: self.scorers.clone(),
            metrics: self.metrics.clone(),
            headline: self.headline.clone(),
            analyses: self.analyses.clone(),
            services: self.used_services(),
            tools: self.used_tools(),
            as_of: self.as_of.clone(),
            statistics: self.statistics,
            run: self.run.clone(),
            tokenizer: Tokenizer::NAME.to_owned(),
            privacy: self.privacy.clone(),
        };
        header.unprice_scripts();
        notes.extend(header.script_warning());
        notes.extend(header.own_family_warning());
        header.plan_hash = hash::plan(&header, &self.recordings, &self.selection);
        Ok(Plan {
            header: Arc::new(header),
            rules: self.rules().clone(),
            canaries: self.canaries.clone(),
            schedules: self.schedules.clone(),
            alerts: self.alerts.clone(),
            key_variables: self.registry.key_variables(),
            notes,
            chosen_judge: self.chosen_judge.clone(),
            warnings: self.warnings().clone(),
            shard: None,
            states_concurrency: self.states_concurrency,
            dataset: self.dataset.clone(),
            representative_rows: self.representative_rows.clone(),
            files: self.files.clone(),
        })
    }

    /// The tools that a step offers.
    fn used_tools(&self) -> Vec<ToolSpec> {
        let offered = |tool: &ToolSpec| {
            self.variants.iter().flat_map(|variant| &variant.steps).any(|step| match &step.action {
                Action::Agent(agent) => agent.all_tools().any(|offered| offered.id == tool.id),
                Action::Prompt(prompt) => prompt.tools.iter().any(|offered| offered.name == tool.id),
                Action::Http(_) | Action::Command(_) | Action::Recorded(_) => false,
            })
        };
        self.tools.iter().filter(|tool| offered(tool)).cloned().collect()
    }

    /// The services whose addresses a step reads.
    fn used_services(&self) -> BTreeMap<String, ServiceSpec> {
        let reads = self.variants.iter().flat_map(|variant| &variant.steps).flat_map(|step| &step.reads);
        let ids = reads.filter_map(|name| name.strip_prefix("services.")?.split('.').next());
        ids.filter_map(|id| Some((id.to_owned(), self.services.get(id)?.clone()))).collect()
    }

    /// The judges of all scorers, in the order in which they are first named.
    fn judges(&self) -> Vec<ModelSpec> {
        let mut judges: Vec<ModelSpec> = Vec::new();
        for scorer in &self.scorers {
            let ScorerKind::Rubric(rubric) = &scorer.kind else { continue };
            for id in &rubric.judges {
                if !judges.iter().any(|judge| judge.id == *id) {
                    judges.extend(self.registry.find(id).map(Cow::into_owned));
                }
            }
        }
        judges
    }

    fn systems(&self, models: &[ModelSpec], matrix: usize, notes: &mut Vec<String>) -> Vec<System> {
        let mut systems = Vec::new();
        for (index, variant) in self.variants.iter().enumerate() {
            let trials = if variant.has_one_trial() { 1 } else { self.trials };
            if trials < self.trials {
                notes
                    .push(format!("{} has one trial instead of {}: its outputs are recorded", variant.id, self.trials));
            }
            let axis: Vec<Option<usize>> =
                if variant.calls_matrix_model() { (0..matrix).map(Some).collect() } else { vec![None] };
            for model in axis {
                match unmet(variant, model.and_then(|index| models.get(index)), models) {
                    None => systems.push(System { model, variant: index, trials }),
                    Some(why) => notes.push(why),
                }
            }
        }
        systems
    }
}

/// Why a variant is not planned with a model: the first requirement that the model does not meet. What only a row can
/// decide is left to the run.
fn unmet(variant: &VariantSpec, matrix: Option<&ModelSpec>, models: &[ModelSpec]) -> Option<String> {
    variant.steps.iter().filter(|step| step.action.calls_model()).find_map(|step| {
        let own = step.model.as_ref().and_then(|id| models.iter().find(|model| model.id == *id));
        let model = own.or(matrix)?;
        let why = lacking(&step.requires, model)?;
        Some(format!("{} × {} is not planned: the step `{}` requires {why}", model.id, variant.id, step.id))
    })
}

fn lacking(requires: &Requires, model: &ModelSpec) -> Option<String> {
    if let Some(mode) = requires.json_mode.filter(|mode| model.json_mode < *mode) {
        return Some(format!("JSON mode {}, the model has {}", word(mode), word(model.json_mode)));
    }
    if let Some(window) = requires.context_window.filter(|window| model.context_window.is_none_or(|own| own < *window))
    {
        let own = model.context_window.map_or_else(|| "an unknown one".to_owned(), |own| own.to_string());
        return Some(format!("a context window of {window} tokens, the model has {own}"));
    }
    if let Some(tier) = requires.tier.filter(|tier| model.tier != Some(*tier)) {
        let own = model.tier.map_or_else(|| "none".to_owned(), word);
        return Some(format!("the tier {}, the model has {own}", word(tier)));
    }
    let listed = requires.models.is_empty() || requires.models.iter().any(|name| names(name, model));
    (!listed).then(|| format!("one of {}", requires.models.join(", ")))
}

/// A value of the registry as it is written there.
fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns whether a reference in `requires.models` means this model.
fn names(reference: &str, model: &ModelSpec) -> bool {
    let spelled = reference
        .split_once([':', '/'])
        .is_some_and(|(provider, name)| provider == model.provider && (name == model.id || name == model.model));
    reference == model.id || reference == model.model || spelled
}

//! A suite: read, changed by the caller, checked, decoded; and the plan that it makes.
//!
//! - here: [`Suite`] and its accessors; `load.rs` reads one, phase by phase; `plan.rs` makes the plan
//! - `selection.rs`: the variants, models, scorers and analyses that take part; `metrics.rs`: the names of their metrics
//! - `traces.rs`: the share of the traces that a server keeps
//! - `row_source.rs`: rows of a file or of traces apart from any suite
//! - `hash.rs`: identities of suite, dataset and plan
//! - `shard.rs`: a part of a plan, with its share of the limits
//! - `safe.rs`, `versions.rs`, `prompt_limits.rs`, `orphaned_files.rs`: warnings and refusals that look at the suite as a whole

pub(crate) mod hash;
mod load;
pub(crate) mod orphaned_files;
pub(crate) mod plan;
pub(crate) mod prompt_limits;
pub(crate) mod row_source;
pub(crate) mod safe;
mod selection;
pub(crate) mod shard;
pub(crate) mod traces;
pub(crate) mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decode::dataset::DesignFile;
use crate::decode::service::CanarySpec;
use karat_alert::AlertSpec;
use karat_schedule::ScheduleSpec;
use karat_types::{
    AnalysisSpec, DatasetHeader, FilePath, GateRules, ModelSpec, RunSpec, ScorerSpec, ServiceSpec, ToolSpec,
    VariantSpec,
};
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::check;
use crate::dataset::checks::CheckCounts;
use crate::dataset::columns::fetch::Fetch;
use crate::dataset::{Dataset, DatasetSource, RepresentativeRows};
use crate::decode::{Decoder, gates};
use crate::diagnostics::{Diagnostic, Diagnostics, Problems, Severity};
use crate::files::Files;
use crate::grammar::POLICY_FILE;
use crate::registry::Registry;
use crate::syntax::node::Node;
use crate::syntax::yaml;

pub use selection::ChosenJudge;

/// A suite that can be planned.
pub struct Suite {
    pub(crate) path: String,
    /// True if it may be without a system: it is checked, and not run.
    pub(crate) may_lack_models: bool,
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) suite_hash: String,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) registry: Registry,
    pub(crate) models: Vec<ModelSpec>,
    pub(crate) variants: Vec<VariantSpec>,
    pub(crate) scorers: Vec<ScorerSpec>,
    /// The models that make vectors for scorers.
    pub(crate) embedders: Vec<ModelSpec>,
    pub(crate) metrics: Vec<karat_types::MetricSpec>,
    pub(crate) headline: Vec<String>,
    pub(crate) analyses: Vec<AnalysisSpec>,
    pub(crate) services: BTreeMap<String, ServiceSpec>,
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) run: RunSpec,
    /// True if `run.max_concurrency` is written in the suite.
    pub(crate) states_concurrency: bool,
    pub(crate) trials: u32,
    pub(crate) as_of: Option<String>,
    pub(crate) dataset: Arc<Dataset>,
    pub(crate) dataset_header: DatasetHeader,
    pub(crate) design_file: Option<DesignFile>,
    pub(crate) representative_rows: Option<Arc<RepresentativeRows>>,
    checks: Vec<CheckCounts>,
    /// The judge that was chosen because the suite's own are scripts.
    pub(crate) chosen_judge: Option<ChosenJudge>,
    /// Limit and ids of samples, as the caller narrowed the dataset.
    pub(crate) selection: (Option<u64>, Vec<String>),
    pub(crate) recordings: BTreeMap<String, String>,
    pub(crate) notes: Vec<String>,
    pub(crate) params: Map<String, Value>,
    pub(crate) privacy: karat_types::PrivacySpec,
    pub(crate) statistics: karat_types::StatisticsSpec,
    rules: GateRules,
    pub(crate) canaries: Vec<CanarySpec>,
    pub(crate) schedules: Vec<ScheduleSpec>,
    pub(crate) alerts: Vec<AlertSpec>,
    warnings: Diagnostics,
}

impl Suite {
    /// Its gates and how they bind. A plan does not hold them: they can be changed and applied to a stored run.
    pub fn rules(&self) -> &GateRules {
        &self.rules
    }

    /// The model registry with the suite's own entries.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The files that columns with `fetch` want and that are not there. Load the suite with `fetching`, or their absence
    /// is an error.
    pub fn missing_files(&self) -> Vec<Fetch> {
        self.dataset.missing_files()
    }

    /// Checks fetched content before it is written as the file.
    ///
    /// # Errors
    /// The content is not JSON, empty, a web page, violates the row schema, or breaks a check with `max: 0`.
    pub fn accepts(&self, fetch: &Fetch, content: &[u8]) -> Result<(), String> {
        self.dataset.accepts(fetch, content)
    }

    /// The counts of the dataset's checks; all of them hold.
    pub fn checks(&self) -> &[CheckCounts] {
        &self.checks
    }

    /// The file that says how the rows of the dataset were drawn, and whether all rows of the source are used.
    pub fn design_file(&self) -> Option<(&DesignFile, bool)> {
        self.design_file.as_ref().map(|file| (file, self.dataset.is_unfiltered()))
    }

    /// The path of the file of the dataset's rows, where it is one file.
    pub fn source_file(&self) -> Option<&str> {
        match &self.dataset.source {
            DatasetSource::Files { paths, .. } => match paths.as_slice() {
                [FilePath { path, beneath: None }] => Some(path.as_str()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Warnings and notices.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

/// Reads a policy file: just the keys `gates` and `policy`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load_policy(files: Arc<dyn Files>, path: &str) -> Result<GateRules, Diagnostics> {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(files, &catalog);
    let (_, node) = read(path, "policy file", &mut decoder)?;
    check::check_at(&node, &POLICY_FILE, &["policy file"], &catalog, &mut decoder.problems);
    let gates = decoder.gates(node.field("gates"), None);
    let policy = gates::policy(node.field("policy"), &mut decoder.problems);
    let problems = decoder.problems.into_diagnostics();
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(GateRules { gates, policy, ..GateRules::default() })
}

/// A part of a suite that a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuitePart {
    /// A variant.
    Variant,
    /// A model or judge.
    Model,
}

/// The part of a suite that a word names, without checking anything of the suite.
pub fn part_named(files: &dyn Files, path: &str, word: &str) -> Option<SuitePart> {
    let text = String::from_utf8(files.read(path).ok()?).ok()?;
    let mut problems = Problems::default();
    let file = problems.source(path, &text);
    let node = yaml::read_tree(&text, file, &mut problems)?;
    let has_model = |list: &str| {
        node.field(list)
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .any(|item| item.main("id").and_then(Node::text) == Some(word))
    };
    match node.field("variants").is_some_and(|variants| variants.get(word).is_some()) {
        true => Some(SuitePart::Variant),
        false => ["models", "judges"].into_iter().any(has_model).then_some(SuitePart::Model),
    }
}

/// The name of a suite, without checking anything else of it.
///
/// # Errors
/// A file that cannot be read, that is not YAML, or that has no `name`.
pub fn name_of(files: Arc<dyn Files>, path: &str) -> Result<String, Diagnostics> {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(files, &catalog);
    let (_, node) = read(path, "suite", &mut decoder)?;
    let nameless = || Diagnostics::from(Diagnostic::of_file(Severity::Error, path, "the suite has no `name`"));
    node.text_of("name").map(str::to_owned).ok_or_else(nameless)
}

/// Returns whether a suite has `schedules` or `alerts`, without checking them or anything else.
///
/// # Errors
/// A file that cannot be read, or that is not YAML.
pub fn has_service_keys(files: Arc<dyn Files>, path: &str) -> Result<bool, Diagnostics> {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(files, &catalog);
    let (_, node) = read(path, "suite", &mut decoder)?;
    Ok(["schedules", "alerts"].iter().any(|key| node.field(key).is_some()))
}

fn read(path: &str, what: &str, decoder: &mut Decoder<'_>) -> Result<(String, Node), Diagnostics> {
    let failed = |message: String| Diagnostics::from(Diagnostic::of_file(Severity::Error, path, message));
    let bytes = decoder.files.read(path).map_err(|error| failed(format!("the {what} cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| failed(format!("the {what} is not UTF-8 text")))?;
    let file = decoder.problems.source(path, &text);
    match yaml::read_tree(&text, file, &mut decoder.problems) {
        Some(node) => Ok((text, node)),
        None => Err(std::mem::take(&mut decoder.problems).into_diagnostics()),
    }
}

//! The symbolic header of a plan: everything that fixes cells and judgments, rows apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Action, Better, Bound, DatasetDesign, Key, ModelSpec, Moment, Pricing, ScorerKind, ScorerSpec, ServiceSpec,
    StepSpec, ToolSpec, VariantSpec, Versus,
};

/// A plan without its rows. It is stored with the run, and a report needs nothing else beside the run's rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanHeader {
    /// `karat.plan/1`.
    pub schema: String,
    /// The suite's name.
    pub suite: String,
    /// One line about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Hash of the suite file as written.
    pub suite_hash: String,
    /// Hash of everything that fixes cells and judgments.
    pub plan_hash: Key,
    /// Values of the suite's params, as templates see them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// The dataset.
    pub dataset: DatasetHeader,
    /// The models that run, in the suite's order, then models that steps name.
    pub models: Vec<ModelSpec>,
    /// The judges.
    pub judges: Vec<ModelSpec>,
    /// The models that make vectors of texts for scorers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embedders: Vec<ModelSpec>,
    /// The variants that run.
    pub variants: Vec<VariantSpec>,
    /// The systems that are compared: model × variant, in plan order.
    pub systems: Vec<System>,
    /// Repetitions of a cell.
    pub trials: u32,
    /// The scorers.
    pub scorers: Vec<ScorerSpec>,
    /// Every metric of the run, in the scorers' order: a score's index counts in this list.
    pub metrics: Vec<MetricSpec>,
    /// Names of the metrics that summaries show, where the suite names them; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headline: Vec<String>,
    /// The analyses asked for.
    #[serde(default)]
    pub analyses: Vec<AnalysisSpec>,
    /// The services that a step uses, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, ServiceSpec>,
    /// The tools that a step offers, in the suite's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The day that the run is about, YYYY-MM-DD, where one is named or looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// The method for intervals.
    #[serde(default, skip_serializing_if = "StatisticsSpec::is_standard")]
    pub statistics: StatisticsSpec,
    /// Execution settings.
    pub run: RunSpec,
    /// Name of the tokenizer that cuts chunks.
    pub tokenizer: String,
    /// Redaction rules, and whether content is stored.
    #[serde(default, skip_serializing_if = "PrivacySpec::is_open")]
    pub privacy: PrivacySpec,
}

/// The method for intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatisticsSpec {
    /// Resamples of a bootstrap, where one is asked for in place of the formulas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<u32>,
    /// Resamples of every bootstrap, where the suite says how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resamples: Option<u32>,
}

impl StatisticsSpec {
    /// Returns true if nothing is asked for.
    pub fn is_standard(&self) -> bool {
        *self == Self::default()
    }
}

/// The parts of a dataset's content that must not be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivacySpec {
    /// Built-in rules by name: `email`, `phone`, `card`, `iban`, `api_key`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<String>,
    /// Own rules: name to regular expression.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patterns: BTreeMap<String, String>,
    /// True if prompts, replies, outputs and judges' words are kept at all.
    pub keep_content: bool,
    /// True if the suite declares its dataset sensitive: messages show nothing of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
}

impl Default for PrivacySpec {
    fn default() -> Self {
        Self { redact: Vec::new(), patterns: BTreeMap::new(), keep_content: true, sensitive: false }
    }
}

impl PrivacySpec {
    /// Returns true if nothing is redacted and everything kept.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

impl PlanHeader {
    /// The system, by index, that a system is compared with; `None` where it is that system itself, or the plan has none.
    /// Of a tournament there are many: see [`PlanHeader::pair_design`].
    pub fn partner(&self, versus: &Versus, system: usize) -> Option<usize> {
        let spec = self.systems.get(system)?;
        let is_partner = |other: usize| {
            let it = self.systems.get(other)?;
            Some(match versus {
                Versus::Variant(id) => {
                    self.system_variant(other) == id
                        && (it.model == spec.model || it.model.is_none() || spec.model.is_none())
                }
                Versus::Model(id) => it.variant == spec.variant && self.system_model(other)?.id == *id,
                Versus::All => false,
            })
        };
        (0..self.systems.len()).find(|other| is_partner(*other) == Some(true)).filter(|other| *other != system)
    }

    /// Every model that the plan may call: those that run, judges, and those that make vectors. An id may stand twice.
    pub fn all_models(&self) -> impl Iterator<Item = &ModelSpec> {
        self.models.iter().chain(&self.judges).chain(&self.embedders)
    }

    /// Returns whether all calls of the plan are simulated: every model is scripted, and no step calls anything else than
    /// demonstrations. Their prices are practice then; in any other plan, simulated calls cost nothing.
    pub fn is_simulated(&self) -> bool {
        let mut models = self.all_models().peekable();
        let steps = self.variants.iter().flat_map(|variant| &variant.steps);
        let mut outside = steps.filter(|step| step.action.is_outside()).peekable();
        let has_calls = models.peek().is_some() || outside.peek().is_some();
        has_calls && models.all(ModelSpec::is_scripted) && outside.all(|step| self.calls_demo(step))
    }

    /// Returns whether a step calls a demonstration that ships with Karat.
    pub fn calls_demo(&self, step: &StepSpec) -> bool {
        let is_demo = |name: &String| {
            let service = name.strip_prefix("services.").and_then(|rest| rest.split('.').next());
            service.and_then(|id| self.services.get(id)).is_some_and(ServiceSpec::is_demo)
        };
        matches!(step.action, Action::Http(_)) && step.reads.iter().any(is_demo)
    }

    /// Takes the prices from scripted models where others are called, too: nobody bills their calls, and they use no part
    /// of a budget.
    pub fn unprice_scripts(&mut self) {
        if self.is_simulated() {
            return;
        }
        let models = self.models.iter_mut().chain(&mut self.judges).chain(&mut self.embedders);
        models.filter(|model| model.is_scripted()).for_each(|model| model.price = Pricing::Unmetered);
    }

    /// Cells of the plan before conditions that only a row can decide.
    pub fn cells(&self) -> u64 {
        self.dataset.rows * self.cells_per_row()
    }

    /// Cells of one row.
    pub fn cells_per_row(&self) -> u64 {
        self.systems.iter().map(|system| u64::from(system.trials)).sum()
    }

    /// Row, system and trial of a cell ordinal: rows outermost, trials innermost.
    pub fn place(&self, ordinal: u64) -> (u64, usize, u32) {
        let per_row = self.cells_per_row().max(1);
        let mut rest = ordinal % per_row;
        for (index, system) in self.systems.iter().enumerate() {
            if rest < u64::from(system.trials) {
                return (ordinal / per_row, index, rest as u32);
            }
            rest -= u64::from(system.trials);
        }
        (ordinal / per_row, 0, 0)
    }

    /// The trial of another system that stands beside a trial: the same, or its last where it has fewer.
    pub fn paired_trial(&self, system: usize, trial: u32) -> u32 {
        let trials = self.systems.get(system).map_or(1, |system| system.trials.max(1));
        trial.min(trials - 1)
    }

    /// A tool by its id.
    pub fn tool(&self, id: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    /// Position of a metric by name.
    pub fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == name)
    }

    /// Position of the built-in metric [`PASS`].
    pub fn pass(&self) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == PASS && metric.scorer >= self.scorers.len())
    }

    /// The metrics that are, or may be, passes and fails of scorers: those that [`PASS`] is made of. Scorers in a cascade
    /// do not grade every cell, so they are not checks.
    pub fn checks(&self) -> impl Iterator<Item = &MetricSpec> {
        let is_check = |it: &&MetricSpec| {
            (it.binary || it.verdicts) && self.scorers.get(it.scorer).is_some_and(|scorer| !scorer.is_in_cascade())
        };
        self.metrics.iter().filter(is_check)
    }

    /// The metric of the first scorer that stands for a metric of a cascade; see [`first_metric`].
    pub fn first_metric(&self, metric: usize) -> Option<usize> {
        first_metric(&self.scorers, &self.metrics, metric)
    }

    /// The model of a system, where it has one.
    pub fn system_model(&self, system: usize) -> Option<&ModelSpec> {
        self.systems.get(system)?.model.and_then(|index| self.models.get(index))
    }

    /// The unit of a metric that is not a plain number: `ms`, `USD`.
    pub fn unit_of(&self, metric: &MetricSpec) -> Option<&'static str> {
        if metric.binary {
            return None;
        }
        match &self.scorers.get(metric.scorer)?.kind {
            ScorerKind::Metric { metric, .. } if metric == "latency" => Some("ms"),
            ScorerKind::Metric { metric, .. } if metric == "cost" => Some("USD"),
            _ => None,
        }
    }

    /// The variant's id of a system.
    pub fn system_variant(&self, system: usize) -> &str {
        self.systems.get(system).and_then(|it| self.variants.get(it.variant)).map_or("", |variant| variant.id.as_str())
    }
}

/// Model × variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Index into `models`; `None` when the variant calls none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<usize>,
    /// Index into `variants`.
    pub variant: usize,
    /// Trials of each of its cells.
    pub trials: u32,
}

/// The plan's description of its dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetHeader {
    /// Rows after conditions and limits.
    pub rows: u64,
    /// Hash over the sources and the adapter's options.
    pub hash: String,
    /// Each source file.
    pub sources: Vec<SourceDigest>,
    /// Declared version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// True if rows name a cluster.
    #[serde(default)]
    pub clustered: bool,
    /// Time zone that cuts dates into days; UTC without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Contradictions between rows and the files beside them.
    #[serde(default, skip_serializing_if = "Mismatches::is_empty")]
    pub mismatches: Mismatches,
    /// The changelog, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changelog: Option<SourceDigest>,
    /// The draw of the rows from a larger set, where figures are weighted by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<DatasetDesign>,
}

/// Contradictions between rows and the files that their columns are resolved from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mismatches {
    /// Their number.
    pub count: u64,
    /// The first hundred of them.
    pub first: Vec<Mismatch>,
}

impl Mismatches {
    /// Returns true if nothing contradicts anything.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// One contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Id of the sample.
    pub sample: String,
    /// The text.
    pub what: String,
}

/// A source file by name and content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDigest {
    /// Path as written in the suite.
    pub path: String,
    /// BLAKE3 of its bytes, hexadecimal.
    pub blake3: String,
    /// Its size.
    pub bytes: u64,
}

/// The built-in metric: 1 where all of a cell's pass/fail scores hold. It belongs to no scorer.
pub const PASS: &str = "pass";

/// A metric of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSpec {
    /// `scorer` or `scorer.dimension`.
    pub name: String,
    /// Index of its scorer.
    pub scorer: usize,
    /// Lowest and highest possible value, where it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// True if it only takes the values 0 and 1: its interval is Wilson's.
    #[serde(default)]
    pub binary: bool,
    /// True if its scorer may answer pass or fail, so that only the scores tell whether the metric is binary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verdicts: bool,
    /// Direction.
    #[serde(default)]
    pub better: Better,
    /// True if it depends on time or price, so that the canonical report leaves it out.
    #[serde(default)]
    pub volatile: bool,
    /// The rule that aggregates samples to one figure.
    pub aggregate: String,
    /// The bound that makes its scores 0 or 1.
    #[serde(default, skip_serializing_if = "Bound::is_none")]
    pub bound: Bound,
    /// True if it finds texts again by their words, so that a paraphrase counts as missing: it ranks no system.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_words: bool,
}

/// The index of the first scorer's metric that stands for a metric of a cascade: that of the same dimension, or the only
/// one where both scorers have only one. `None` for metrics without a cascade.
pub fn first_metric(scorers: &[ScorerSpec], metrics: &[MetricSpec], metric: usize) -> Option<usize> {
    let own = metrics.get(metric)?;
    let dear = scorers.get(own.scorer)?;
    let first = scorers.iter().position(|scorer| Some(&scorer.id) == dear.cascade.as_ref().map(|it| &it.first))?;
    let of = |scorer: usize| metrics.iter().enumerate().filter(move |(_, metric)| metric.scorer == scorer);
    let dimension = own.name.strip_prefix(&dear.id)?;
    let same = of(first).find(|(_, metric)| metric.name.strip_prefix(&scorers[first].id) == Some(dimension));
    let only = || of(first).next().filter(|_| of(first).count() == 1 && of(own.scorer).count() == 1);
    same.or_else(only).map(|(at, _)| at)
}

/// An analysis asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnalysisSpec {
    /// Registered name.
    pub analysis: String,
    /// Its key under `analyses`.
    pub id: String,
    /// Its options.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
}

/// Placeholders of [`RunSpec::cell_line`], written as `{done}`.
pub const CELL_LINE_FIELDS: &[&str] =
    &["done", "total", "sample", "model", "variant", "trial", "status", "duration_ms"];

/// The most trials of a cell. More is a typo, and planning them would take hours.
pub const MOST_TRIALS: u32 = 10_000;

/// The most calls in flight: each may have a connection of its own, and a machine has no more ports.
pub const MOST_CONCURRENCY: u32 = 65_535;

/// Execution settings, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Cells in flight.
    pub max_concurrency: u32,
    /// Timeout of one attempt in milliseconds.
    pub timeout_ms: u64,
    /// Timeout of one cell in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_timeout_ms: Option<u64>,
    /// Attempts after the first.
    pub retries: u32,
    /// Money that the run may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// True if the budget was declared (then an unknown price refuses the run) or is the default ceiling.
    #[serde(default)]
    pub budget_declared: bool,
    /// Calls that the run may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// True if the suite itself bounds the calls: a larger plan is then refused before its first call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses_calls: bool,
    /// A file that gets a block for every call: a template over `run.date`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_log: Option<String>,
    /// True if the suite asks for batch APIs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
    /// The parts of requests and outputs that are stored.
    #[serde(default, skip_serializing_if = "Capture::is_full")]
    pub capture: Capture,
    /// True if `-o -` prints rows of judgments as JSON, instead of the report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prints_rows: bool,
    /// Format of the progress line of a cell: a text with the placeholders of [`CELL_LINE_FIELDS`] in braces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_line: Option<String>,
    /// Seed of everything random.
    pub seed: u64,
    /// The rule by which the run stops once its gates are decided; `None` if it goes to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_early: Option<StopEarlySpec>,
    /// Which results of earlier runs are reused.
    #[serde(default)]
    pub cache: CachePolicy,
    /// True if it measures the judge, as a golden check does: no other run reuses its judgments, and they are a sample's
    /// history only where nothing else is.
    #[serde(default, rename = "of_ruler", skip_serializing_if = "std::ops::Not::not")]
    pub measures_judges: bool,
    /// The default layout of the report's files.
    #[serde(default, skip_serializing_if = "Layout::is_folder")]
    pub layout: Layout,
}

/// The rule by which a run stops before its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StopEarlySpec {
    /// The rule that decides a claim.
    pub rule: EarlyRule,
    /// Units before a bound may decide; 30 samples or 20 clusters without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// A metric: systems that cannot be the best in it are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<String>,
}

/// A rule that decides claims early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyRule {
    /// A mixture of eight fixed bets.
    #[default]
    Betting,
    /// One bet by the variance so far.
    EValue,
    /// Of runs that earlier versions stored: it was shown and decided nothing.
    Asymptotic,
}

/// The layout of a report's files in their folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// `report.md`, `report.json`, …: a folder a run.
    #[default]
    Folder,
    /// `results/RUN.json`, `reports/RUN.md`, …: many runs in one folder.
    Flat,
}

impl Layout {
    fn is_folder(&self) -> bool {
        *self == Self::Folder
    }
}

/// The parts of requests, replies and outputs that are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capture {
    /// Everything.
    #[default]
    Full,
    /// Replies; of requests, and of outputs that stand in the dataset, only a hash.
    Responses,
    /// Hashes only, and judges' words.
    Hash,
}

impl Capture {
    /// Returns true if everything is kept.
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

/// Which results of other runs a run reuses. Whatever it makes, later runs may take over in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachePolicy {
    /// All.
    #[default]
    Reuse,
    /// Those that are at most so many milliseconds older than the run.
    MaxAge(u64),
    /// Outputs only: judges judge again, so that a changed judge shows.
    Outputs,
    /// None: only what the run made itself.
    Off,
}

impl CachePolicy {
    /// A result of another run may be reused when that run began at this moment or later; never without it. `start` is
    /// when the run that asks began. What it made itself it always finds.
    pub fn oldest(self, start: Moment) -> Option<Moment> {
        match self {
            Self::Reuse | Self::Outputs => Some(Moment(i64::MIN)),
            Self::MaxAge(age) => Some(Moment(start.0.saturating_sub_unsigned(age))),
            Self::Off => None,
        }
    }
}

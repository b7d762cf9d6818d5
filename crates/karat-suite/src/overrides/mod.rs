//! Changes that the command line, or another caller, makes to a suite.
//!
//! - here: [`Overrides`], the list of changes, stored with each run; [`LoadContext`], the circumstances of one load
//! - `changes.rs` applies `--set` and sweeps to the tree before it is checked; `address.rs` finds the place to change

pub(crate) mod address;
pub(crate) mod changes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::files::Files;
use crate::syntax::environment::Environment;
use karat_types::{MOST_CONCURRENCY, MOST_TRIALS, Moment, Shard, Tier, VariantSpec};

/// Changes to a suite. Each one replaces a value of the suite; `None`, `false` and empty lists change nothing.
///
/// The fields that the schema has are those that a caller over a wire may set, and their comments are what such a caller
/// reads. A field with `schemars(skip)` belongs to the user of this machine: with `set`, a suite could be sent elsewhere.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Overrides {
    /// Parameters of the suite: name to value. Files are relative to the working directory.
    #[serde(deserialize_with = "read_params")]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub params: Vec<(String, String)>,
    /// `--set address=value`; the value is YAML.
    #[schemars(skip)]
    pub set: Vec<(String, String)>,
    /// `--sweep address=a,b`; each value is YAML.
    #[schemars(skip)]
    pub sweep: Vec<(String, String)>,
    /// Models to run, instead of the suite's: ids, in any spelling.
    pub models: Vec<String>,
    /// `--tier`: only models of this tier.
    #[schemars(skip)]
    pub tier: Option<Tier>,
    /// Variants to run, instead of all.
    pub variants: Vec<String>,
    /// Judges of every rubric scorer, instead of the suite's; `none` for none.
    pub judges: Vec<String>,
    /// Ids of samples to run, instead of all. A text with commas is the id of a sample that has it, else a list of ids.
    pub samples: Vec<String>,
    /// Run the first rows only.
    #[schemars(range(min = 0, max = u32::MAX))]
    pub limit: Option<u64>,
    /// The day that the run is about, YYYY-MM-DD.
    // It is stored with a run that has started.
    #[schemars(extend("format" = "date"))]
    pub as_of: Option<String>,
    /// `--safe`: true if keys that run a program are errors.
    #[schemars(skip)]
    pub safe: bool,
    /// True if parameters are from a caller who may not read the environment, over HTTP: templates and `${…}` in them are
    /// errors.
    #[schemars(skip)]
    pub plain_params: bool,
    /// Repetitions of each cell.
    #[schemars(range(min = 1, max = MOST_TRIALS))]
    pub trials: Option<u32>,
    /// Maximum number of calls in flight.
    #[schemars(range(min = 1, max = MOST_CONCURRENCY))]
    pub max_concurrency: Option<u32>,
    /// Maximum spending in US dollars.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub budget_usd: Option<f64>,
    /// Maximum number of requests, retries included.
    #[schemars(range(min = 0, max = u32::MAX))]
    pub max_calls: Option<u64>,
    /// `--timeout` of one attempt, in milliseconds.
    #[schemars(skip)]
    pub timeout_ms: Option<u64>,
    /// `--retries`.
    #[schemars(skip)]
    pub retries: Option<u32>,
    /// `--max-output-tokens` of every step that calls a model.
    #[schemars(skip)]
    pub max_output_tokens: Option<u32>,
    /// `--judge-max-tokens`.
    #[schemars(skip)]
    pub judge_max_tokens: Option<u32>,
    /// `--judge-timeout`, in milliseconds.
    #[schemars(skip)]
    pub judge_timeout_ms: Option<u64>,
    /// `--max-chunks` of every chunked step.
    #[schemars(skip)]
    pub max_chunks: Option<u32>,
    /// `--shard`: the part of the samples that is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub shard: Option<Shard>,
    /// `--no-cache`: no results of earlier runs are reused.
    #[schemars(skip)]
    pub no_cache: bool,
    /// True if outputs of earlier runs are reused, and judges judge again.
    #[schemars(skip)]
    pub judge_again: bool,
    /// True if the run measures the judges, not the systems (`karat golden check`).
    #[serde(rename = "of_ruler")]
    #[schemars(skip)]
    pub golden_check: bool,
    /// Circumstances of this load; not stored.
    #[serde(skip)]
    pub context: LoadContext,
}

impl Overrides {
    /// The word in the place of a judge with which nothing is judged.
    const NO_JUDGE: &str = "none";

    /// Returns whether the judges are turned off: outputs are made, and may be judged by a later run.
    pub fn has_no_judges(&self) -> bool {
        !self.judges.is_empty() && self.judges.iter().all(|judge| judge == Self::NO_JUDGE)
    }
}

/// Reads parameters as an object of values, or as pairs of texts: what is not text counts as its JSON, which is YAML.
fn read_params<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    let param = |(name, value): (String, Value)| match value {
        Value::String(text) => (name, text),
        other => (name, other.to_string()),
    };
    match Value::deserialize(deserializer)? {
        Value::Object(params) => Ok(params.into_iter().map(param).collect()),
        pairs => Vec::deserialize(pairs).map_err(D::Error::custom),
    }
}

/// The circumstances in which a suite is loaded. They come from the caller, not from the user.
#[derive(Debug, Clone, Default)]
pub struct LoadContext {
    /// The current time: without `as_of`, the run is about the day before in the dataset's time zone.
    pub now: Option<Moment>,
    /// Answers `${NAME}` in the paths of parameters; nothing else is resolved while loading.
    pub environment: Environment,
    /// The task that the suite is loaded for.
    pub purpose: LoadPurpose,
    /// True if `days` does not limit the dataset: its rows are not run.
    pub any_day: bool,
    /// Ids of the scorers that score, instead of all.
    pub scorers: Option<Vec<String>>,
    /// The folder of traces, for datasets of the source `traces:NAME`.
    pub traces: TraceFiles,
    /// Of a suite that nobody wrote for these models: ids of the models that may judge in place of its scripted judges where
    /// real models are tested, the best one first. `None` for a suite whose judges somebody has named.
    pub real_judges: Option<Vec<String>>,
    /// True where a suite that names no model is warned of and not refused: it is checked, and not run.
    pub may_lack_models: bool,
    /// The version of each host function that the caller has, by name.
    pub host_functions: BTreeMap<String, String>,
    /// The outputs of the suite's last run, which paths into outputs are checked against.
    pub last_outputs: LastOutputs,
    /// Number of rows from which a dataset counts as large: a run then starts before all rows are estimated. `None` for
    /// the usual number; tests need fewer rows.
    pub large_dataset: Option<u64>,
}

/// The caller's folder of traces: `NAME/YYYY-MM-DD.jsonl`. It is not part of the suite's files.
#[derive(Clone, Default)]
pub struct TraceFiles(Option<Arc<dyn Files>>);

impl TraceFiles {
    /// The files below the folder.
    pub fn new(files: Arc<dyn Files>) -> Self {
        Self(Some(files))
    }

    pub(crate) fn files(&self) -> Option<Arc<dyn Files>> {
        self.0.clone()
    }
}

impl fmt::Debug for TraceFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceFiles")
    }
}

/// Some outputs of a suite's last run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredOutputs {
    /// Id of the run.
    pub run: String,
    /// The outputs.
    pub outputs: Vec<Value>,
}

/// The caller's access to the outputs of a suite's last run.
#[derive(Clone, Default)]
pub struct LastOutputs(Option<Arc<ReadOutputs>>);

type ReadOutputs = dyn Fn(&str, &[VariantSpec]) -> Option<StoredOutputs> + Send + Sync;

impl LastOutputs {
    /// Outputs that a function finds: it takes the suite's name and its variants, and leaves out the outputs of variants
    /// that were different then.
    pub fn new(read: impl Fn(&str, &[VariantSpec]) -> Option<StoredOutputs> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    pub(crate) fn read(&self, suite: &str, variants: &[VariantSpec]) -> Option<StoredOutputs> {
        self.0.as_ref().and_then(|read| read(suite, variants))
    }
}

impl fmt::Debug for LastOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastOutputs")
    }
}

/// The task that a suite is loaded for: it decides which files may be absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoadPurpose {
    /// A plan, or a run.
    #[default]
    Run,
    /// `karat dataset fetch`: files that it writes may be absent, and dataset checks do not apply.
    Fetch,
    /// `karat annotate`: files of labels may be absent or empty.
    Label,
    /// `karat calibrate`: each label must have an output and belong to a sample of the dataset.
    Calibrate,
}

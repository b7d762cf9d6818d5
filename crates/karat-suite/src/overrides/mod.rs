//! Changes that the command line, or another caller, makes to a suite.
//!
//! - here: [`Overrides`], the list of changes, stored with each run; [`LoadContext`], the circumstances of one load
//! - `changes.rs` applies `--set` and sweeps to the tree before it is checked; `address.rs` finds the place to change

pub(crate) mod address;
pub(crate) mod changes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::Files;
use crate::syntax::environment::Environment;
use karat_types::{Moment, Shard, Tier, VariantSpec};

/// Changes to a suite. Each one replaces a value of the suite; `None`, `false` and empty lists change nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// `-p name=value`: parameters. Files are relative to the working directory.
    pub params: Vec<(String, String)>,
    /// `--set address=value`; the value is YAML.
    pub set: Vec<(String, String)>,
    /// `--sweep address=a,b`; each value is YAML.
    pub sweep: Vec<(String, String)>,
    /// `--models`: ids, in any spelling.
    pub models: Vec<String>,
    /// `--tier`: only models of this tier.
    pub tier: Option<Tier>,
    /// `--variants`: ids.
    pub variants: Vec<String>,
    /// `--judges`: ids, for every rubric scorer.
    pub judges: Vec<String>,
    /// `--sample`: ids of samples. A text with commas is the id of a sample that has it, else a list of ids.
    pub samples: Vec<String>,
    /// `--limit`: the number of rows to use, from the first.
    pub limit: Option<u64>,
    /// `--as-of`: the day that the run is about, YYYY-MM-DD. Stored with a run that has started.
    pub as_of: Option<String>,
    /// `--safe`: true if keys that run a program are errors.
    pub safe: bool,
    /// True if parameters are from a caller who may not read the environment, over HTTP: templates and `${…}` in them are
    /// errors.
    pub plain_params: bool,
    /// `--trials`.
    pub trials: Option<u32>,
    /// `--max-concurrency`.
    pub max_concurrency: Option<u32>,
    /// `--budget-usd`.
    pub budget_usd: Option<f64>,
    /// `--max-calls`.
    pub max_calls: Option<u64>,
    /// `--timeout` of one attempt, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--max-output-tokens` of every step that calls a model.
    pub max_output_tokens: Option<u32>,
    /// `--judge-max-tokens`.
    pub judge_max_tokens: Option<u32>,
    /// `--judge-timeout`, in milliseconds.
    pub judge_timeout_ms: Option<u64>,
    /// `--max-chunks` of every chunked step.
    pub max_chunks: Option<u32>,
    /// `--shard`: the part of the samples that is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// `--no-cache`: no results of earlier runs are reused.
    pub no_cache: bool,
    /// True if outputs of earlier runs are reused, and judges judge again.
    pub judge_again: bool,
    /// True if the run measures the judges, not the systems (`karat golden check`).
    #[serde(rename = "of_ruler")]
    pub golden_check: bool,
    /// Circumstances of this load; not stored.
    #[serde(skip)]
    pub context: LoadContext,
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
    /// The version of each host function that the caller has, by name.
    pub host_functions: BTreeMap<String, String>,
    /// The outputs of the suite's last run, which paths into outputs are checked against.
    pub last_outputs: LastOutputs,
    /// Number of rows from which a dataset counts as large: a run then starts before all rows are estimated. `None` for
    /// the usual number; tests need fewer rows.
    pub large_dataset: Option<u64>,
}

/// The caller's folder of traces: `NAME/YYYY-MM-DD.jsonl`. It is no part of the suite's files.
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

//! Changes that the command line, or another caller, makes to a suite.
//!
//! - here: [`Overrides`], the list of changes
//! - `changes.rs` applies `--set` and sweeps to the tree before it is checked; `address.rs` finds the place to change

pub(crate) mod address;
pub(crate) mod changes;

use crate::syntax::environment::Environment;
use karat_types::{CachePolicy, Moment, Tier};

/// Changes to a suite. Each one replaces a value of the suite; `None` and empty lists change nothing.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `-p name=value`: parameters. Files are relative to the working directory.
    pub params: Vec<(String, String)>,
    /// `--set address=value`; the value is YAML.
    pub set: Vec<(String, String)>,
    /// `--sweep address=a,b`; each value is YAML.
    pub sweep: Vec<(String, String)>,
    /// `--models`: ids, in any spelling.
    pub models: Option<Vec<String>>,
    /// `--tier`: only models of this tier.
    pub tier: Option<Tier>,
    /// `--variants`: ids.
    pub variants: Option<Vec<String>>,
    /// `--judges`: ids, for every rubric scorer.
    pub judges: Option<Vec<String>>,
    /// Ids of the scorers that score, instead of all.
    pub scorers: Option<Vec<String>>,
    /// `--sample`: ids of samples. A text with commas is the id of a sample that has it, else a list of ids.
    pub samples: Vec<String>,
    /// `--limit`: the number of rows to use, from the first.
    pub limit: Option<u64>,
    /// `--as-of`: the day that the run is about, YYYY-MM-DD.
    pub as_of: Option<String>,
    /// The current time: without `as_of`, the run is about the day before in the dataset's time zone.
    pub now: Option<Moment>,
    /// `--safe`: true if keys that run a program are errors.
    pub safe: bool,
    /// True if files that `fetch` would make may be absent.
    pub fetching: bool,
    /// True for a calibration: each label must have an output and belong to a sample of the dataset.
    pub calibrating: bool,
    /// True if the run measures the judges, not the systems (golden check).
    pub of_ruler: bool,
    /// True if labels are being gathered: then their file may be empty or not be there yet.
    pub labelling: bool,
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
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// `--no-cache`: which results of earlier runs are reused.
    pub cache: Option<CachePolicy>,
    /// Answers `${NAME}` in the paths of parameters; nothing else is resolved while loading.
    pub environment: Environment,
}

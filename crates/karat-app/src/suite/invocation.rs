//! The invocation of a suite, stored with the run so that `resume` needs only the run's id.

use karat_suite::{Environment, Overrides};
use karat_types::{CachePolicy, Moment, Threshold, Tier};
use serde::{Deserialize, Serialize};

use crate::EnvLookup;

/// Gate flags of the command line, applied on top of the suite's gates.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GateFlags {
    /// `--gate` (true) and `--no-gate` (false) override whether gates bind.
    pub binds: Option<bool>,
    /// `--baseline`: a pinned run or a report.json.
    pub baseline: Option<String>,
    /// `--min`: the minimum of a metric.
    pub min: Vec<(String, Threshold)>,
    /// `--max-drop`: the largest drop of a metric; without a metric, of every gate on a drop.
    pub max_drop: Vec<(Option<String>, Threshold)>,
    /// `--gate-threshold`: the minimum of the primary metric.
    pub threshold: Option<Threshold>,
}

/// A suite with all changes from the command line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Invocation {
    /// Suite file or preset.
    pub suite: String,
    /// The folder that relative paths are relative to.
    pub folder: String,
    /// `-p`.
    pub params: Vec<(String, String)>,
    /// `--set`.
    pub set: Vec<(String, String)>,
    /// `--models`.
    pub models: Vec<String>,
    /// `--tier`.
    pub tier: Option<Tier>,
    /// `--variants`.
    pub variants: Vec<String>,
    /// `--judges`.
    pub judges: Vec<String>,
    /// `--sample`.
    pub samples: Vec<String>,
    /// `--limit`.
    pub limit: Option<u64>,
    /// `--sweep`.
    pub sweep: Vec<(String, String)>,
    /// `--as-of`; after the start of the run, its day.
    pub as_of: Option<String>,
    /// `--safe`: nothing may run a program.
    pub safe: bool,
    /// `--trials`.
    pub trials: Option<u32>,
    /// `--max-output-tokens`.
    pub max_output_tokens: Option<u32>,
    /// `--max-chunks`.
    pub max_chunks: Option<u32>,
    /// `--judge-max-tokens`.
    pub judge_max_tokens: Option<u32>,
    /// `--judge-timeout`.
    pub judge_timeout_ms: Option<u64>,
    /// `--max-concurrency`.
    pub max_concurrency: Option<u32>,
    /// `--max-calls`.
    pub max_calls: Option<u64>,
    /// `--budget-usd`.
    pub budget_usd: Option<f64>,
    /// `--timeout`.
    pub timeout_ms: Option<u64>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--yes`: the default ceiling does not apply.
    pub yes: bool,
    /// `--no-cache`.
    pub no_cache: bool,
    /// Gate flags of the command line.
    pub gates: GateFlags,
    /// `--output-dir`.
    pub output_dir: Option<String>,
    /// `karat golden check`: the run measures the judge.
    pub of_ruler: bool,
    /// `karat calibrate`: the run is a round of the suite's calibration.
    pub calibrating: Option<CalibrationRequest>,
}

/// The request for a round of calibration: part of the run's invocation, so that the round can be resumed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationRequest {
    /// The scorer; the first with labels and judges if absent.
    pub scorer: Option<String>,
    /// Agreement that must be exceeded: of every dimension, or `DIMENSION=X` of one.
    pub thresholds: Vec<(Option<String>, f64)>,
    /// The reason for thresholds other than the suite's.
    pub reason: Option<String>,
}

impl Invocation {
    pub(crate) fn overrides(&self, lookup: &EnvLookup, now: Moment) -> Overrides {
        let some = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        let lookup = lookup.clone();
        Overrides {
            params: self.params.clone(),
            set: self.set.clone(),
            sweep: self.sweep.clone(),
            models: some(&self.models),
            tier: self.tier,
            variants: some(&self.variants),
            judges: some(&self.judges),
            scorers: None,
            samples: self.samples.clone(),
            limit: self.limit,
            as_of: self.as_of.clone(),
            now: Some(now),
            safe: self.safe,
            fetching: false,
            labelling: false,
            calibrating: false,
            of_ruler: self.of_ruler,
            trials: self.trials,
            max_concurrency: self.max_concurrency,
            budget_usd: self.budget_usd,
            max_calls: self.max_calls,
            timeout_ms: self.timeout_ms,
            retries: self.retries,
            max_output_tokens: self.max_output_tokens,
            judge_max_tokens: self.judge_max_tokens,
            judge_timeout_ms: self.judge_timeout_ms,
            max_chunks: self.max_chunks,
            seed: None,
            cache: self.no_cache.then_some(CachePolicy::Off),
            environment: Environment::new(move |name| lookup(name)),
        }
    }

    /// The same invocation with the execution settings of a later part of the run.
    #[must_use]
    pub fn with_execution(mut self, later: &Self) -> Self {
        self.max_concurrency = later.max_concurrency.or(self.max_concurrency);
        self.max_calls = later.max_calls.or(self.max_calls);
        self.budget_usd = later.budget_usd.or(self.budget_usd);
        self.timeout_ms = later.timeout_ms.or(self.timeout_ms);
        self.retries = later.retries.or(self.retries);
        self.yes |= later.yes;
        self
    }
}

//! The request for a run, and the invocation of a suite that it becomes: that is stored with the run, so that `resume` needs
//! only the run's id.

use karat_suite::{Environment, LoadContext, Overrides};
use karat_types::{Moment, Threshold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EnvLookup;

/// A run that is asked for by HTTP, by an agent or from Python: the flags of `karat run`.
// The schema has what a caller over a wire may set; see `Overrides`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// A preset, a suite file, or a folder with a karat.yaml.
    #[schemars(length(min = 1))]
    pub suite: String,
    /// Changes to the suite.
    #[serde(flatten)]
    pub overrides: Overrides,
    /// `--yes`: the default ceiling does not apply.
    #[serde(default)]
    #[schemars(skip)]
    pub yes: bool,
    /// `--batch`: calls go by their providers' batch APIs.
    #[serde(default)]
    #[schemars(skip)]
    pub batch: bool,
    /// A pinned run or a report.json that gates compare with, instead of the suite's baseline.
    #[schemars(length(min = 1))]
    pub baseline: Option<String>,
    /// True if gates bind, false if they do not; by default as the suite says.
    pub gate: Option<bool>,
    /// Id of the run; it must be new.
    #[schemars(regex(pattern = "^[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}$"))]
    pub run_id: Option<String>,
}

impl RunRequest {
    /// The invocation of a caller who is not the user of this machine: parameters are plain data, and programs need the
    /// user's leave.
    pub fn remote_invocation(self, trigger: &str, allow_commands: bool) -> Invocation {
        let mut invocation = Invocation::from(self);
        invocation.trigger = trigger.to_owned();
        invocation.overrides.safe = !allow_commands;
        invocation.overrides.plain_params = true;
        invocation
    }
}

impl From<RunRequest> for Invocation {
    fn from(RunRequest { suite, overrides, yes, batch, baseline, gate, run_id: _ }: RunRequest) -> Self {
        let gates = GateFlags { baseline, binds: gate, ..GateFlags::default() };
        Self { suite, overrides, yes, batch, gates, ..Self::default() }
    }
}

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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Invocation {
    /// Suite file or preset.
    pub suite: String,
    /// The folder that relative paths are relative to.
    pub folder: String,
    /// Changes to the suite.
    #[serde(flatten)]
    pub overrides: Overrides,
    /// `--yes`: the default ceiling does not apply.
    pub yes: bool,
    /// `--batch`: calls go by their providers' batch APIs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
    /// `--detach`: the process does not wait for batches.
    #[serde(skip)]
    pub detach: bool,
    /// Gate flags of the command line.
    pub gates: GateFlags,
    /// `--output-dir`.
    pub output_dir: Option<String>,
    /// The origin of the run: `api`; empty for the command line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trigger: String,
    /// `karat calibrate`: the run is a round of the suite's calibration.
    pub calibrating: Option<CalibrationRequest>,
    /// True if only keys of the suite are read: the days of its data do not matter, and may have none.
    #[serde(skip)]
    pub any_day: bool,
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
    /// The task whose settled labels judges are compared with, instead of the suite's file of labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Invocation {
    /// A suite without changes.
    #[must_use]
    pub fn of(suite: impl Into<String>) -> Self {
        Self { suite: suite.into(), ..Self::default() }
    }

    /// A suite whose schedules and alerts are read, whatever day its data are of: a night without data must be told.
    #[must_use]
    pub fn of_any_day(suite: impl Into<String>) -> Self {
        Self { any_day: true, ..Self::of(suite) }
    }

    /// The same suite, whatever day its data are of: what is stored of it is read, and no row.
    #[must_use]
    pub fn on_any_day(&self) -> Self {
        Self { any_day: true, ..self.clone() }
    }

    /// The overrides, with the circumstances of a load that starts now.
    pub(crate) fn overrides_at(&self, lookup: &EnvLookup, now: Moment) -> Overrides {
        let lookup = lookup.clone();
        // Only a build with debug assertions has the switch, so that tests of large datasets need fewer rows.
        let large_dataset = if cfg!(debug_assertions) { lookup("KARAT_TEST_LARGE_DATASET") } else { None };
        let large_dataset = large_dataset.and_then(|rows| rows.parse().ok());
        let environment = Environment::new(move |name| lookup(name));
        let context =
            LoadContext { now: Some(now), environment, any_day: self.any_day, large_dataset, ..LoadContext::default() };
        Overrides { context, ..self.overrides.clone() }
    }

    /// The same invocation with the execution settings of a later part of the run.
    #[must_use]
    pub fn with_execution(mut self, later: &Self) -> Self {
        let (own, new) = (&mut self.overrides, &later.overrides);
        own.max_concurrency = new.max_concurrency.or(own.max_concurrency);
        own.max_calls = new.max_calls.or(own.max_calls);
        own.budget_usd = new.budget_usd.or(own.budget_usd);
        own.timeout_ms = new.timeout_ms.or(own.timeout_ms);
        own.retries = new.retries.or(own.retries);
        own.safe |= new.safe;
        self.yes |= later.yes;
        self.batch |= later.batch;
        self.detach = later.detach;
        self
    }
}

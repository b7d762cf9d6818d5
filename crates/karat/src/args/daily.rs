//! Flags of what looks at a suite's days: drift, digest, golden sets.

use clap::{Args, Subcommand, ValueEnum};

use super::{ExecutionArgs, SuiteArgs, TextFormArg};

/// Which rows of a suite's history.
#[derive(Debug, Clone, Default, Args)]
pub struct RowArgs {
    /// From this date on
    #[arg(long, value_name = "DATE", env = "KARAT_SINCE")]
    pub since: Option<String>,
    /// Up to this date
    #[arg(long, value_name = "DATE", env = "KARAT_UNTIL")]
    pub until: Option<String>,
    #[command(flatten)]
    pub judged: JudgedArgs,
}

/// Who judged, and how.
#[derive(Debug, Clone, Default, Args)]
pub struct JudgedArgs {
    /// Of this judge: its id, or the model that judged
    #[arg(long, value_name = "ID", env = "KARAT_JUDGE")]
    pub judge: Option<String>,
    /// Of this version of the rubric
    #[arg(long, value_name = "V", env = "KARAT_PROMPT_VERSION")]
    pub prompt_version: Option<String>,
    /// Of this system: its id (`gpt-5/raw`), or its model or variant
    #[arg(long, value_name = "ID", env = "KARAT_SYSTEM")]
    pub system: Option<String>,
}

#[derive(Debug, Args)]
pub struct DriftArgs {
    /// Suite file, preset, or name of a suite with stored runs
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// The day that is asked about [default: yesterday in the dataset's zone]
    #[arg(long, value_name = "DATE", env = "KARAT_AS_OF")]
    pub as_of: Option<String>,
    /// One of the suite's `drift` analyses [default: the first]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// The metric [default: the analysis' own]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// How a change is looked for [default: the analysis' own]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<MethodArg>,
    /// Calendar days of the short window [default: the analysis' own, 7]
    #[arg(long, value_name = "DAYS", env = "KARAT_SHORT_WINDOW")]
    pub short_window: Option<i32>,
    /// Calendar days of the long window [default: the analysis' own, 30]
    #[arg(long, value_name = "DAYS", env = "KARAT_LONG_WINDOW")]
    pub long_window: Option<i32>,
    /// A day is bad when z is further than this on the worse side [default: the analysis' own, 1.5]
    #[arg(long, value_name = "Z", env = "KARAT_Z_THRESH")]
    pub z_thresh: Option<f64>,
    /// Last days that must all be bad [default: the analysis' own, 2]
    #[arg(long, value_name = "DAYS", env = "KARAT_STREAK")]
    pub streak: Option<u32>,
    #[command(flatten)]
    pub rows: RowArgs,
    /// A param of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    /// End with 3 when there is an alert, or an incident that is open
    #[arg(long, env = "KARAT_EXIT_NONZERO_ON_ALERT")]
    pub exit_nonzero_on_alert: bool,
    /// Close the incident that is open, and say why
    #[arg(long, value_name = "WHY", conflicts_with = "replay")]
    pub close: Option<String>,
    /// How soon a shift of this size would be found in such a series, and how often nothing would be: such as `-0.5`
    #[arg(long, value_name = "SHIFT", allow_hyphen_values = true)]
    pub replay: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum MethodArg {
    /// Short median against long median, in median absolute deviations
    MedianMad,
    /// Cumulative sums: small lasting steps
    Cusum,
    /// A weighted average: slow drift
    Ewma,
    /// Page-Hinkley
    PageHinkley,
    /// A betting e-detector: a guaranteed time between false alarms
    EDetector,
}

#[derive(Debug, Args)]
pub struct DigestArgs {
    /// Suite file, preset, or name of a suite with stored runs
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub judged: JudgedArgs,
    /// File (`week.md`, `week.json`), or folder of digest.md and digest.json [default: stdout]
    #[arg(short, long, visible_alias = "output", value_name = "PATH", env = "KARAT_DIGEST_OUTPUT")]
    pub output_dir: Option<String>,
    /// The form
    #[arg(long, value_name = "FORM", env = "KARAT_DIGEST_FORMAT")]
    pub format: Option<TextFormArg>,
}

/// A window of days.
#[derive(Debug, Clone, Default, Args)]
pub struct WindowArgs {
    /// The last day of the window [default: the last day with a judgment]
    #[arg(long, value_name = "DATE", env = "KARAT_AS_OF")]
    pub as_of: Option<String>,
    /// Calendar days of the window [default: 7]
    #[arg(long, value_name = "DAYS", env = "KARAT_WINDOW")]
    pub window: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub enum GoldenCommand {
    /// Pin the stored judgments of a suite as its golden set: the only thing that ever moves a baseline
    Pin(GoldenPinArgs),
    /// Judge the pinned samples afresh and say which dropped; ends with 2 when one did
    Check(Box<GoldenCheckArgs>),
    /// List the pinned samples
    List(GoldenListArgs),
}

#[derive(Debug, Args)]
pub struct GoldenPinArgs {
    /// Suite file, or a preset's name
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// A param of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    #[command(flatten)]
    pub rows: RowArgs,
    /// Say what would be written and removed, and change nothing
    #[arg(long, env = "KARAT_DRY_RUN")]
    pub dry_run: bool,
    /// Remove the files of samples that are not pinned now
    #[arg(long)]
    pub clean: bool,
}

#[derive(Debug, Args)]
pub struct GoldenListArgs {
    /// Suite file, or a preset's name
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// A param of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct GoldenCheckArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// The judge, instead of the suite's: the same as `--judges`
    #[arg(long, value_name = "ID", env = "KARAT_JUDGE")]
    pub judge: Option<String>,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Largest drop of the composite that is no regression
    #[arg(long, value_name = "X", env = "KARAT_GOLDEN_MAX_DROP", default_value_t = 0.5)]
    pub max_drop: f64,
    /// Take over judgments of earlier runs where they are still valid
    #[arg(long)]
    pub cached: bool,
    /// Id of the run that judges
    #[arg(long, value_name = "ID", env = "KARAT_RUN_ID")]
    pub run_id: Option<String>,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

//! Flags of the commands for CI: workflows, gates, baselines, golden sets, drift.

use clap::{Args, Subcommand, ValueEnum};

use super::{DateRangeArgs, ExecutionArgs, GateArgs, ProgressArgs, SelectionArgs, TextFormatArg, heading, parse};

#[derive(Debug, Args)]
pub struct GateCommandArgs {
    /// Id of the run, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// File with `gates` and `policy`, instead of the run's own
    #[arg(long, value_name = "FILE", env = "KARAT_POLICY")]
    pub policy: Option<String>,
    #[command(flatten)]
    pub gates: GateArgs,
    /// Folder of gate.md and gate.json, or `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR")]
    pub output_dir: Option<String>,
    /// Formats to write
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',')]
    pub format: Vec<TextFormatArg>,
}

#[derive(Debug, Subcommand)]
pub enum CiCommand {
    /// Write a GitHub Actions workflow that runs a suite
    Github(CiArgs),
    /// Write a GitLab CI pipeline that runs a suite
    Gitlab(CiArgs),
}

#[derive(Debug, Args)]
pub struct CiArgs {
    /// Suite file, or the name of a preset
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// File to write, or `-` for stdout [default: where the service looks for it]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write the results of a finished run as a baseline
    Pin {
        /// Id of the run, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        run: String,
        /// File to write, or `-` for stdout [default: the suite's `baseline`]
        #[arg(short, long, value_name = "FILE")]
        output: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum GoldenCommand {
    /// Pin the stored judgments of a suite as its golden set
    Pin(GoldenPinArgs),
    /// Judge the pinned samples again and exit with 2 if one got worse
    Check(Box<GoldenCheckArgs>),
    /// List the pinned samples
    List(GoldenListArgs),
}

#[derive(Debug, Args)]
pub struct GoldenPinArgs {
    /// Suite file, or the name of a preset
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// Set a parameter of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    #[command(flatten)]
    pub range: DateRangeArgs,
    /// Show what would be written and removed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Remove the files of samples that are no longer pinned
    #[arg(long)]
    pub clean: bool,
}

#[derive(Debug, Args)]
pub struct GoldenListArgs {
    /// Suite file, or the name of a preset
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// Set a parameter of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum GoldenRuleArg {
    /// Test of all cards: did the judge move? 2 if it did, 4 if that cannot be told
    Test,
    /// Every card: 2 if one dropped by more than allowed
    Drop,
}

#[derive(Debug, Args)]
pub struct GoldenCheckArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Judge to use, instead of the suite's; short for `--judges`
    #[arg(long, value_name = "ID", help_heading = heading::SELECTION)]
    pub judge: Option<String>,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Rule that decides [default: drop where a gate compares each sample with the baseline, else test]
    #[arg(long, value_enum, value_name = "RULE", help_heading = heading::GATES)]
    pub decide: Option<GoldenRuleArg>,
    /// Largest drop of the composite score that is not a regression [default: 0.5]; means `--decide drop`
    #[arg(long, value_name = "X", help_heading = heading::GATES, value_parser = parse::number)]
    pub max_drop: Option<f64>,
    /// Reuse judgments of earlier runs that are still valid
    #[arg(long, help_heading = heading::CACHE)]
    pub cached: bool,
    /// Id of the run that judges
    #[arg(long, value_name = "ID", help_heading = heading::CACHE)]
    pub run_id: Option<String>,
    /// Print JSON
    #[arg(long, help_heading = heading::OUTPUT)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Debug, Args)]
pub struct DriftArgs {
    /// Suite file, preset, or name of a suite with stored runs
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// Day to check [default: yesterday in the dataset's time zone]
    #[arg(long, value_name = "DATE", env = "KARAT_AS_OF")]
    pub as_of: Option<String>,
    /// One of the suite's `drift` analyses [default: the first]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Metric to check [default: the analysis' own]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// Method that detects a change [default: the analysis' own]
    #[arg(long, value_name = "METHOD", value_parser = parse::word_of::<MethodArg>("analyses.drift.method"))]
    pub method: Option<MethodArg>,
    /// Calendar days of the short window [default: the analysis' own, or 7]
    #[arg(long, value_name = "DAYS")]
    pub short_window: Option<i32>,
    /// Calendar days of the long window [default: the analysis' own, or 30]
    #[arg(long, value_name = "DAYS")]
    pub long_window: Option<i32>,
    /// A day is bad if z exceeds this on the worse side [default: the analysis' own, or 1.5]
    #[arg(long, value_name = "Z", value_parser = parse::number)]
    pub z_thresh: Option<f64>,
    /// Number of last days that must all be bad [default: the analysis' own, or 2]
    #[arg(long, value_name = "DAYS", value_parser = parse::whole::<u32>)]
    pub streak: Option<u32>,
    #[command(flatten)]
    pub range: DateRangeArgs,
    /// Set a parameter of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    /// Exit with 3 if there is an alert or an open incident
    #[arg(long)]
    pub exit_nonzero_on_alert: bool,
    /// Close the open incident with this reason
    #[arg(long, value_name = "REASON", conflicts_with = "replay")]
    pub close: Option<String>,
    /// Show how soon a shift of this size, such as `-0.5`, would be detected in the stored series, and how often it would
    /// be missed
    #[arg(long, value_name = "SHIFT", allow_hyphen_values = true)]
    pub replay: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum MethodArg {
    /// Short median against long median, in median absolute deviations
    MedianMad,
    /// Cumulative sums: detects small lasting steps
    Cusum,
    /// Betting e-detector: guarantees the mean time between false alarms
    EDetector,
}

//! Flags of the commands that read stored runs: reports, comparisons, rows, traces.

use clap::{Args, ValueEnum};

use super::{OutputArgs, OutputsArg, SelectionArgs, TextFormatArg, parse};

/// Rows of a suite's history, by date and judge.
#[derive(Debug, Clone, Default, Args)]
pub struct DateRangeArgs {
    /// Use rows from this date on
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Use rows up to this date
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    #[command(flatten)]
    pub judged: JudgedByArgs,
}

/// Rows of a suite's history, by judge.
#[derive(Debug, Clone, Default, Args)]
pub struct JudgedByArgs {
    /// Use rows of this judge: its id, or the model that judged
    #[arg(long, value_name = "ID")]
    pub judge: Option<String>,
    /// Use rows of this version of the rubric
    #[arg(long, value_name = "VERSION")]
    pub prompt_version: Option<String>,
    /// Use rows of this system: its id (`gpt-5/raw`), model or variant
    #[arg(long, value_name = "ID")]
    pub system: Option<String>,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Id of the run, the beginning of one, or `latest`; with `--window` or `--series`, a suite
    #[arg(default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write the page of all days of a dated suite: is it slipping? [default: series.html, or a file or folder by `-o`]
    #[arg(long, conflicts_with_all = ["canonical", "window", "from", "cells", "prompt_version"])]
    pub series: bool,
    /// Maximum number of cells that are shown with input, output and reasons [default: 40]
    #[arg(long, value_name = "N", value_parser = parse::whole::<usize>)]
    pub cells: Option<usize>,
    /// Leave out what differs between interrupted and uninterrupted runs
    #[arg(long)]
    pub canonical: bool,
    /// Write the comment on the run of this report.json instead of a stored run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "canonical", "window", "as_of"])]
    pub from: Option<String>,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub judged: JudgedByArgs,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The baseline and the candidate: two runs (id, the beginning of one, or `latest`), or two models, variants or systems
    /// of one run. With `--models` or `--variants`, the run alone
    #[arg(value_name = "BASELINE CANDIDATE", num_args = 1..=2)]
    pub sides: Vec<String>,
    /// Run whose models or variants are compared [default: the latest run of this folder's suite]
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Model of the baseline and model of the candidate
    #[arg(long, value_name = "ID", num_args = 1..=2, value_delimiter = ',')]
    pub models: Vec<String>,
    /// Variant of the baseline and variant of the candidate
    #[arg(long, value_name = "ID", num_args = 1..=2, value_delimiter = ',')]
    pub variants: Vec<String>,
    /// Compare these metrics only, such as `quality.*`
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Correction of p-values for the number of metrics
    #[arg(long, value_name = "RULE", default_value = "holm")]
    pub correction: CorrectionArg,
    /// Confidence level of all metrics together
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = parse::number)]
    pub confidence: f64,
    /// Smallest difference of a metric that matters; smaller differences count as equivalent. `5%` is relative to the
    /// baseline
    #[arg(long, value_name = "METRIC=X", value_delimiter = ',')]
    pub margin: Vec<String>,
    /// Difference that further samples are planned for: `X` or `METRIC=X`, in the metric's unit, or `5%` of the baseline's
    /// figure [default: the metric's margin, else a twentieth of its scale]
    #[arg(long, value_name = "[METRIC=]X", value_delimiter = ',')]
    pub mde: Vec<String>,
    /// Also decide if judges, scorer rules or the content of samples changed between the two
    #[arg(long)]
    pub allow_changed: bool,
    /// Maximum number of samples listed that got better, and of those that got worse
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = parse::whole::<usize>)]
    pub movers: usize,
    /// Show both outputs of each listed sample
    #[arg(long)]
    pub outputs: bool,
    /// Verdicts that set the exit code: 2 for `worse`, 4 for `undecided` [default: none]
    #[arg(long, value_name = "VERDICT,…", value_delimiter = ',')]
    pub fail_on: Vec<FailOnArg>,
    /// Folder of compare.md, compare.json and compare.html, or `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR")]
    pub output_dir: Option<String>,
    /// Formats to write [default: md,json; on stdout a summary for a terminal]
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',')]
    pub format: Vec<TextFormatArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CorrectionArg {
    /// Holm: controls the chance of any false difference
    Holm,
    /// Benjamini-Hochberg: controls the share of false differences
    Bh,
    /// No correction
    None,
}

/// Verdicts that may set an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOnArg {
    /// The candidate is worse
    Worse,
    /// The data does not decide, or a metric has no score on one side
    Undecided,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Id of the run, the beginning of one, or `latest`; or a suite, whose rows of all runs are shown
    #[arg(default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub range: DateRangeArgs,
    /// Format of the rows
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: TableFormatArg,
    /// Print JSON; short for `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Show cells with this status only
    #[arg(long, value_name = "STATUS")]
    pub status: Option<StatusArg>,
    /// Show this sample: input, reference, and the outputs of all systems with scores and reasons
    #[arg(long, value_name = "ID")]
    pub sample: Option<String>,
    /// Show input, output, reference, scores and reasons of these cells, in place of a table
    #[arg(long, value_name = "CELLS")]
    pub outputs: Option<OutputsArg>,
    /// Maximum number of cells that `--outputs` shows [default: 40]
    #[arg(long, value_name = "N", requires = "outputs", value_parser = parse::whole::<usize>)]
    pub cells: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormatArg {
    Table,
    Tsv,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusArg {
    Ok,
    Error,
    Skipped,
}

#[derive(Debug, Args)]
pub struct LsArgs {
    /// Show this metric of each run that has it
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// List runs of this suite only
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// Maximum number of runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = parse::whole::<usize>)]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "karat trace [RUN] <CELL>")]
pub struct TraceArgs {
    /// Id of the run, the beginning of one, or `latest` [default: latest]
    pub run: Option<String>,
    /// Cell: its number in `karat show`, or `sample/model/variant[/trial]`
    pub cell: Option<String>,
    /// Print requests and replies as they were sent and received, not as text
    #[arg(long)]
    pub raw: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "raw")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Cell: its number in `karat show`, or `sample/model/variant[/trial]`
    pub cell: String,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Explain what `karat run --no-cache` would do
    #[arg(long)]
    pub no_cache: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DigestArgs {
    /// Suite file, preset, or name of a suite with stored runs
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub judged: JudgedByArgs,
    /// File (`week.md`, `week.json`), or folder of digest.md and digest.json [default: stdout]
    #[arg(short, long, visible_alias = "output", value_name = "PATH")]
    pub output_dir: Option<String>,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<TextFormatArg>,
}

/// A window of days, for a digest.
#[derive(Debug, Clone, Default, Args)]
pub struct WindowArgs {
    /// Last day of a digest's window [default: the last day with a judgment]
    #[arg(long, value_name = "DATE")]
    pub as_of: Option<String>,
    /// Calendar days of a digest's window [default: 7]
    #[arg(long, value_name = "DAYS", value_parser = parse::whole::<u32>)]
    pub window: Option<u32>,
}

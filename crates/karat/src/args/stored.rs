//! Flags of what is said of stored runs: reports, comparisons, rows, traces.

use clap::builder::Resettable;
use clap::{Args, Command, Id, ValueEnum};

use super::{JudgedArgs, OutputArgs, RowArgs, TextFormArg, WindowArgs};

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Id of the run, its beginning, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Leave out what differs between interrupted and uninterrupted runs
    #[arg(long, env = "KARAT_CANONICAL")]
    pub canonical: bool,
    /// With `--window`: RUN is a suite, and its last days are summed up
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub judged: JudgedArgs,
}

/// `karat report`, whose flags of a digest have variables of their own: those that tell other commands which days to look
/// at would make another command of it.
pub fn with_own_days(report: Command) -> Command {
    let groups = [WindowArgs::group_id(), JudgedArgs::group_id()];
    let of_days = report.get_groups().filter(|group| groups.contains(&Some(group.get_id().clone())));
    let own: Vec<Id> = of_days.flat_map(|group| group.get_args().cloned()).collect();
    report.mut_args(|arg| if own.contains(arg.get_id()) { arg.env(Resettable::Reset) } else { arg })
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The baseline and the candidate: runs (id, its beginning, `latest`), or models, variants or systems of one run; with
    /// `--models` or `--variants` the run alone
    #[arg(value_name = "BASELINE CANDIDATE", num_args = 1..=2)]
    pub sides: Vec<String>,
    /// The run that models and variants are compared in [default: latest]
    #[arg(long, value_name = "RUN", env = "KARAT_COMPARE_RUN")]
    pub run: Option<String>,
    /// Model of the baseline, model of the candidate
    #[arg(long, value_name = "ID", num_args = 2, env = "KARAT_COMPARE_MODELS", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Variant of the baseline, variant of the candidate
    #[arg(long, value_name = "ID", num_args = 2, env = "KARAT_COMPARE_VARIANTS", value_delimiter = ',')]
    pub variants: Vec<String>,
    /// These metrics only, such as `quality.*`
    #[arg(long, value_name = "METRIC,…", env = "KARAT_COMPARE_METRICS", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// How p-values are corrected for the number of metrics
    #[arg(long, value_name = "RULE", env = "KARAT_COMPARE_CORRECTION", default_value = "holm")]
    pub correction: CorrectionArg,
    /// Confidence level of all metrics together
    #[arg(long, value_name = "SHARE", env = "KARAT_COMPARE_CONFIDENCE", default_value_t = 0.95)]
    pub confidence: f64,
    /// The smallest difference of a metric that matters: within it the two are equivalent; `5%` is relative to the baseline
    #[arg(long, value_name = "METRIC=X", env = "KARAT_COMPARE_MARGIN", value_delimiter = ',')]
    pub margin: Vec<String>,
    /// Decide also where judges, rules of scorers or the content of samples changed between the two
    #[arg(long, env = "KARAT_COMPARE_ALLOW_CHANGED")]
    pub allow_changed: bool,
    /// Verdicts of any metric that decide the exit code: 2 for `worse`, 4 for `undecided` [default: none, and 0]
    #[arg(long, value_name = "VERDICT,…", env = "KARAT_COMPARE_FAIL_ON", value_delimiter = ',')]
    pub fail_on: Vec<FailOnArg>,
    /// Folder of compare.md and compare.json, `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", env = "KARAT_COMPARE_OUTPUT_DIR")]
    pub output_dir: Option<String>,
    /// Forms that are written
    #[arg(long, value_name = "FORM,…", env = "KARAT_COMPARE_FORMAT", value_delimiter = ',')]
    pub format: Vec<TextFormArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CorrectionArg {
    /// Holm: no metric is called different by chance
    Holm,
    /// Benjamini-Hochberg: few of those called different are so by chance
    Bh,
    /// Each metric on its own
    None,
}

/// Verdicts that may decide an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOnArg {
    /// The candidate is worse
    Worse,
    /// Nothing can be said yet, or a metric has no score on both sides
    Undecided,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Id of the run, its beginning, or `latest`; or a suite, whose rows of all runs are shown
    #[arg(default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub rows: RowArgs,
    /// Form of the rows
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub format: RowsArg,
    /// As JSON: `--format json`
    #[arg(long, env = "KARAT_JSON", conflicts_with = "format")]
    pub json: bool,
    /// Cells with this status only
    #[arg(long, value_name = "STATUS")]
    pub status: Option<StatusArg>,
    /// Cells of this sample only
    #[arg(long, value_name = "ID")]
    pub sample: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowsArg {
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
    /// How this metric is distributed in each run that has it
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Only runs of this suite
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// At most so many
    #[arg(short = 'n', long, default_value_t = 20)]
    pub limit: usize,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct TraceArgs {
    /// Id of the run, its beginning, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// The cell: its number in `karat show`, or `sample/model/variant[/trial]`
    pub cell: String,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

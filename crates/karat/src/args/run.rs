//! Flags of the commands that create, check and run suites.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use karat_types::Shard;

use super::{EnforceArgs, ExecutionArgs, GateArgs, OutputArgs, SelectionArgs, heading};

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Preset to copy: faq, claims, briefing, spans, rag, summary or agent; with `--task` or `--provider`, the folder to write
    pub preset: Option<String>,
    /// Folder to write [default: the preset's name, or this folder without a preset]
    pub dir: Option<String>,
    /// Write a small suite for this task: answer, agent, classify, extract, rag or summary
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Provider of its models, such as openai, anthropic or ollama
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// File with the rows of your own corpus, in the place of the preset's samples (preset claims)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["task", "provider"], requires = "preset")]
    pub corpus: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Plan shard M of N only, as `karat run --shard` runs it
    #[arg(long, value_name = "M/N", env = "KARAT_SHARD", help_heading = heading::SELECTION)]
    pub shard: Option<Shard>,
    /// Also show how many samples and dollars it takes to detect this difference: `X` or `METRIC=X`, in the metric's unit,
    /// or `5%` of its value in the latest run
    #[arg(long, value_name = "[METRIC=]X", value_delimiter = ',', help_heading = heading::OUTPUT)]
    pub mde: Vec<String>,
    /// Print JSON
    #[arg(long, help_heading = heading::OUTPUT)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Run shard M of N only: a fixed part of the samples, in a store of its own. `karat merge` makes one run of all
    #[arg(long, value_name = "M/N", env = "KARAT_SHARD", help_heading = heading::SELECTION)]
    pub shard: Option<Shard>,
    /// Continue the latest unfinished run of the same plan, or the run named by `--run-id`
    #[arg(long, env = "KARAT_RESUME", value_parser = BoolishValueParser::new(), help_heading = heading::EVERYDAY)]
    pub resume: bool,
    /// Id of the run; must be new unless `--resume` is given
    #[arg(long, value_name = "ID", env = "KARAT_RUN_ID", help_heading = heading::CACHE)]
    pub run_id: Option<String>,
    /// Show what the run would do and cost, as `karat plan` does
    #[arg(long, hide = true, help_heading = heading::CACHE)]
    pub dry_run: bool,
    /// Record every call in a file; no cached results are used
    #[arg(long, value_name = "FILE", conflicts_with = "replay", help_heading = heading::CACHE)]
    pub record: Option<PathBuf>,
    /// Answer every call from a recording, without a network; a call that it does not contain is an error
    #[arg(long, value_name = "FILE", help_heading = heading::CACHE)]
    pub replay: Option<PathBuf>,
    /// Store and send the alerts of the suite when the run ends, as scheduled runs do
    #[arg(long, conflicts_with_all = ["dry_run", "invalidate_run", "shard"], help_heading = heading::OUTPUT)]
    pub alert: bool,
    /// Invalidate the cached results of a run and exit, as `karat invalidate RUN` does
    #[arg(long, value_name = "RUN", hide = true, help_heading = heading::CACHE)]
    pub invalidate_run: Option<String>,
    #[command(flatten)]
    pub gates: GateArgs,
    #[command(flatten)]
    pub enforce: EnforceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Print the events of the run to stdout as JSON lines; all messages go to stderr
    #[arg(long, help_heading = heading::OUTPUT)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Display of progress.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ProgressArgs {
    /// Print a line for each finished cell
    #[arg(short, long, env = "KARAT_VERBOSE", value_parser = BoolishValueParser::new(), help_heading = heading::OUTPUT)]
    pub verbose: bool,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub run: ContinueArgs,
    /// Make the rest of a run that stopped early; then all of its cells enter its figures
    #[arg(long, help_heading = heading::EVERYDAY)]
    pub to_end: bool,
}

/// Flags of commands that continue a stored run.
#[derive(Debug, Args)]
pub struct ContinueArgs {
    /// Id of the run, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Record the calls in this file, instead of the recording that the run started with
    #[arg(long, value_name = "FILE", help_heading = heading::CACHE)]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Print the events of the run to stdout as JSON lines; all messages go to stderr
    #[arg(long, help_heading = heading::OUTPUT)]
    pub json: bool,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Stores of the shards, or folders with one each
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// Id of the run in all of them [default: that of the only shard in each]
    #[arg(long, value_name = "ID")]
    pub run_id: Option<String>,
    /// Merge what is there; `karat resume` makes the rest
    #[arg(long)]
    pub partial: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// Id of the run, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
}

#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Id of the run, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// Suite whose scorers are used [default: the run's own]
    #[arg(long, value_name = "SUITE", help_heading = heading::SELECTION)]
    pub suite: Option<String>,
    /// Judges to use, instead of the suite's
    #[arg(long, visible_alias = "judge-models", value_name = "ID,…", env = "KARAT_JUDGES", value_delimiter = ',', help_heading = heading::SELECTION)]
    pub judges: Vec<String>,
    /// Id of the new run
    #[arg(long, value_name = "ID", help_heading = heading::CACHE)]
    pub run_id: Option<String>,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

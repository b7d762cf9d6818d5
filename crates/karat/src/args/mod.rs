//! The command line as types, and the tree of commands that clap parses.
//!
//! - `suite`: flags that choose a suite, its samples and its settings; shared by most commands
//! - `parse`: parsers of numbers, whose errors name the range
//! - `output`: where reports are written; shared by `run`, `resume`, `score` and `report`
//! - `run`, `ci`, `people`, `data`, `history`, `server`, `service`, `housekeeping`: the flags of one group of commands each
//!
//! `command` adds what derive cannot express: flags of the store and the help flag. Read `suite` first, then `run`.

mod ci;
mod data;
mod gate_flags;
mod history;
mod housekeeping;
mod output;
mod parse;
mod people;
mod run;
mod server;
mod service;
mod suite;

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Parser, Subcommand};

pub use ci::{
    BaselineCommand, CiCommand, DriftArgs, GateCommandArgs, GoldenCheckArgs, GoldenCommand, GoldenListArgs,
    GoldenPinArgs, GoldenRuleArg, MethodArg,
};
pub use data::{
    ColumnArgs, DatasetCheckArgs, DatasetCommand, DatasetDedupArgs, DatasetDescribeArgs, DatasetDiffArgs,
    DatasetItemsArgs, DatasetSampleArgs, DatasetSplitArgs, DatasetVersionArgs, ExportArgs, ExportFormatArg, ImportArgs,
    ImportKindArg, ItemFlagArg, ItemsFormatArg, KeptRowArg, RowDifferenceArg, SampleMethodArg, SourceRowsArgs,
    TraceRowsArg,
};
pub use gate_flags::{EnforceArgs, GateArgs};
pub use history::{
    CompareArgs, CorrectionArg, DateRangeArgs, DigestArgs, FailOnArg, JudgedByArgs, LsArgs, ReportArgs, ShowArgs,
    StatusArg, TableFormatArg, TraceArgs, WhyArgs, WindowArgs,
};
pub use housekeeping::{
    BuildArg, CacheCommand, CompletionsArgs, DemoArgs, DoctorArgs, InvalidateArgs, ModelsArgs, ModelsCommand,
    PriceFileArgs, RubricsArgs, SchemaArg, SchemaArgs, StoreCommand,
};
pub use output::{LayoutArg, OutputArgs, OutputsArg, TextFormatArg};
pub use people::{AgreeArgs, AnnotateCommand, AnnotateCreateArgs, AnnotateExportArgs, CalibrateArgs, LabelFormat};
pub use run::{
    CancelArgs, ContinueArgs, InitArgs, MergeArgs, PlanArgs, ProgressArgs, ResumeArgs, RunArgs, ScoreArgs, ValidateArgs,
};
pub use server::{HealthArgs, LogFormat, McpArgs, ServeArgs, TokenCommand, TracesCommand, ViewArgs};
pub use service::{AlertCommand, NextArgs, ScheduleCommand, ScheduleRunArgs};
pub use suite::{ExecutionArgs, SelectionArgs, SuiteArgs, TierArg};

pub use heading::ADVANCED;

/// Headings of the flags of commands that have many of them.
mod heading {
    pub const EVERYDAY: &str = "Everyday options";
    pub const SELECTION: &str = "What to run";
    pub const LIMITS: &str = "Limits and retries";
    pub const CACHE: &str = "Run id, cached results and recordings";
    pub const GATES: &str = "Gates";
    pub const OUTPUT: &str = "Output";
    pub const ADVANCED: &str = "Advanced";
    pub const GLOBAL: &str = "Global options";
}

/// A command with fewer flags than this lists them under one heading.
const FLAGS_WORTH_HEADINGS: usize = 16;

/// Returns the tree of commands; [`crate::help::command`] adds examples and groups to it.
pub fn command() -> clap::Command {
    let help = Arg::new("help").short('h').long("help").global(true).action(ArgAction::Help);
    let help = help.help_heading(heading::GLOBAL).help("Print help (`-h` prints a summary)");
    let command = <Cli as clap::CommandFactory>::command().disable_help_flag(true).arg(help);
    adjust(with_store_flags(command))
}

/// Commands that open no store.
const WITHOUT_STORE: &[&str] = &["init", "ci", "health", "models", "rubrics", "demo", "schema", "completions"];

/// Adds the flags of the store to every command that opens one. [`Common`] has them, too, before the command.
fn with_store_flags(command: clap::Command) -> clap::Command {
    fn add(command: clap::Command) -> clap::Command {
        if command.has_subcommands() {
            let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
            return names.into_iter().fold(command, |command, name| command.mut_subcommand(name, add));
        }
        let flag = |id, about| Arg::new(id).action(ArgAction::SetTrue).help(about).help_heading(ADVANCED);
        let unsafe_postgres = flag(
            UNSAFE_POSTGRES,
            "Accept a PostgreSQL server with `fsync=off`: it can lose paid results when its machine stops",
        );
        let network = flag(NETWORK_FS, "Open a store for writing although it is on a network file system");
        command
            .arg(unsafe_postgres.long("allow-unsafe-postgres"))
            .arg(network.long("allow-network-fs").env("KARAT_ALLOW_NETWORK_FS").value_parser(BoolishValueParser::new()))
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let opens = names.into_iter().filter(|name| !WITHOUT_STORE.contains(&name.as_str()));
    opens.fold(command, |command, name| command.mut_subcommand(name, add))
}

const UNSAFE_POSTGRES: &str = "allow_unsafe_postgres";
const NETWORK_FS: &str = "allow_network_fs";

/// Adjusts the flags of a command and of those below it: values may be negative numbers, help names a flag's variable but
/// not its value, and a short list of flags has no headings.
fn adjust(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let flags = command.get_arguments().filter(|arg| !arg.is_positional()).count();
    let command = command.mut_args(|arg| {
        let takes_values = !arg.is_positional() && arg.get_action().takes_values();
        let arg = if takes_values { arg.allow_negative_numbers(true) } else { arg };
        let arg = arg.hide_env_values(true);
        let is_apart = [Some(heading::GLOBAL), Some(ADVANCED)].contains(&arg.get_help_heading());
        if is_apart || flags >= FLAGS_WORTH_HEADINGS { arg } else { arg.help_heading(None) }
    });
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, adjust))
}

/// Karat runs your prompts, models and pipelines against test cases, scores them, and tells you whether a change made them
/// better, with confidence intervals, a hard cost limit and no repeated calls.
#[derive(Debug, Parser)]
#[command(name = "karat", version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    /// With `--version`: print commit, target, features, store format and providers, too
    #[arg(short, long, requires = "version")]
    pub verbose: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = heading::GLOBAL)]
pub struct Common {
    /// Database of runs and results: `sqlite:PATH`, a path, or `postgres://…` [default: .karat/karat.db]
    // The address of a server may hold a password.
    #[arg(long, global = true, env = "KARAT_STORE", value_name = "URL", hide_env_values = true)]
    pub store: Option<String>,
    /// Accept a PostgreSQL server with `fsync=off`: it can lose paid results when its machine stops
    #[arg(long, hide = true)]
    pub allow_unsafe_postgres: bool,
    /// Folder for Karat's own files, instead of `.karat`
    #[arg(long, global = true, env = "KARAT_HOME", value_name = "DIR")]
    pub home: Option<String>,
    /// Open a store for writing although it is on a network file system
    #[arg(long, hide = true, env = "KARAT_ALLOW_NETWORK_FS", value_parser = BoolishValueParser::new())]
    pub allow_network_fs: bool,
    /// Exit code for failed gates and regressions, instead of 2
    #[arg(long, global = true, env = "KARAT_FAIL_EXIT_CODE", value_name = "N")]
    pub fail_exit_code: Option<u8>,
    /// Print errors and results only
    #[arg(short, long, global = true, env = "KARAT_QUIET", value_parser = BoolishValueParser::new())]
    pub quiet: bool,
}

impl Common {
    /// Adds the flags of the store that stand behind the command.
    pub fn add_store_flags(&mut self, matches: &ArgMatches) {
        let Some((_, below)) = matches.subcommand() else { return };
        let is_set = |id: &str| below.try_get_one::<bool>(id).ok().flatten().copied().unwrap_or_default();
        self.allow_unsafe_postgres |= is_set(UNSAFE_POSTGRES);
        self.allow_network_fs |= is_set(NETWORK_FS);
        self.add_store_flags(below);
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a suite for a task, or from a preset
    Init(InitArgs),
    /// Check a suite, its dataset and its models (makes no API calls)
    Validate(ValidateArgs),
    /// Show what a run would do and cost (makes no API calls)
    Plan(PlanArgs),
    /// Run a suite: generate, score and judge, then write a report
    #[command(visible_alias = "eval")]
    Run(Box<RunArgs>),
    /// Write the report of a stored run
    Report(ReportArgs),
    /// Compare two runs, models or variants
    Compare(CompareArgs),
    /// Write a CI workflow that runs a suite and comments on changes
    #[command(subcommand)]
    Ci(CiCommand),
    /// Apply quality gates to a stored run
    Gate(GateCommandArgs),
    /// Pin a run as the baseline that gates compare with
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Pin reference judgments and check for regressions
    #[command(subcommand)]
    Golden(GoldenCommand),
    /// Detect whether the recent scores of a suite got worse
    Drift(DriftArgs),
    /// Check whether judges agree with human labels
    Calibrate(CalibrateArgs),
    /// Measure how far judges agree with each other and with people
    Agree(AgreeArgs),
    /// Collect human labels: create tasks, import the answers
    #[command(subcommand)]
    Annotate(AnnotateCommand),
    /// Make, check and compare test sets
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// Create a suite from files of another tool
    Import(ImportArgs),
    /// Export a run: cells, tables, logs of other tools
    Export(ExportArgs),
    /// List stored runs
    #[command(visible_alias = "list")]
    Ls(LsArgs),
    /// Show the cells of a run, or the history of a suite
    Show(ShowArgs),
    /// Explain why a cell is cached, fresh or stale
    Why(WhyArgs),
    /// Show the prompts and raw responses of a cell
    Trace(TraceArgs),
    /// Summarize the last days of a suite
    Digest(DigestArgs),
    /// Continue an interrupted or stopped run
    Resume(ResumeArgs),
    /// Cancel the batches of a run; what is done is kept
    Cancel(CancelArgs),
    /// Re-run the failed cells of a run
    Retry(ContinueArgs),
    /// Re-score the stored outputs of a run
    Score(ScoreArgs),
    /// Merge the shards of a run from their stores into one run
    Merge(MergeArgs),
    /// Show stored runs in a browser
    View(ViewArgs),
    /// Serve the dashboard and the HTTP API
    Serve(ServeArgs),
    /// Answer coding agents, by the Model Context Protocol
    Mcp(McpArgs),
    /// Ask a server whether it works
    Health(HealthArgs),
    /// Create and revoke tokens of the server
    #[command(subcommand)]
    Token(TokenCommand),
    /// List, show and remove the traces that applications have sent
    #[command(subcommand)]
    Traces(TracesCommand),
    /// Show due times, and run a suite at one of them
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Send, test and list alerts about runs
    #[command(subcommand)]
    Alert(AlertCommand),
    /// List known models with their prices and limits, or add some
    Models(ModelsArgs),
    /// List the ready rubrics for judges, or write one as a file
    Rubrics(RubricsArgs),
    /// Invalidate the cached results of a run
    Invalidate(InvalidateArgs),
    /// List and prune cached results
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Check, copy, back up and restore the store
    #[command(subcommand)]
    Store(StoreCommand),
    /// Check the environment: store, keys, programs, network
    Doctor(DoctorArgs),
    /// Serve a preset's demo service on this machine
    Demo(DemoArgs),
    /// Print the JSON Schema of a file format
    Schema(SchemaArgs),
    /// Print shell completions, or write man pages
    Completions(CompletionsArgs),
}

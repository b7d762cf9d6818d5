//! The command line as types. Every flag has a `KARAT_*` twin in the environment: the one that it names here where several
//! commands mean the same by it, else one of its command's own (`twins.rs`).

mod daily;
mod exchange;
mod gate;
mod judging;
mod output;
mod overruled;
mod stored;
mod twins;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use daily::{
    DigestArgs, DriftArgs, GoldenCheckArgs, GoldenCommand, GoldenListArgs, GoldenPinArgs, JudgedArgs, MethodArg,
    RowArgs, WindowArgs,
};
pub use exchange::{ExportArg, ExportArgs, ImportArg, ImportArgs};
pub use gate::{BaselineCommand, BindArgs, GateArgs, GateCommandArgs};
pub use judging::{AgreeArgs, AnnotateCommand, CalibrateArgs};
pub use output::{FormatArg, LayoutArg, OutputArgs, TextFormArg};
pub use overruled::silenced;
pub use stored::{CompareArgs, CorrectionArg, FailOnArg, LsArgs, ReportArgs, RowsArg, ShowArgs, StatusArg, TraceArgs};

/// The whole tree of commands, as it is parsed.
pub fn command() -> clap::Command {
    let command = <Cli as clap::CommandFactory>::command();
    twins::given(command.mut_subcommand("report", stored::with_own_days))
}

/// Tells you whether your LLM system got better, worse, or whether you cannot know yet.
#[derive(Debug, Parser)]
#[command(name = "karat", version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Where results are kept: `sqlite:PATH` or a path [default: .karat/karat.db]
    #[arg(long, global = true, env = "KARAT_STORE", value_name = "URL")]
    pub store: Option<String>,
    /// Folder of the state, instead of `.karat` here
    #[arg(long, global = true, env = "KARAT_HOME", value_name = "DIR", hide = true)]
    pub home: Option<String>,
    /// Exit code for failed gates and regressions, instead of 2
    #[arg(long, global = true, env = "KARAT_FAIL_EXIT_CODE", value_name = "N")]
    pub fail_exit_code: Option<u8>,
    /// Say less: errors and results only
    #[arg(short, long, global = true, env = "KARAT_QUIET")]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a suite: make, score and judge every cell that is not there yet, then report
    #[command(visible_alias = "eval")]
    Run(Box<RunArgs>),
    /// Say what a run would do and cost, without a call
    Plan(PlanArgs),
    /// Hold a stored run against its gates, or those of a policy file; no call is made
    Gate(GateCommandArgs),
    /// Pin a run as the baseline that gates compare with
    Baseline {
        #[command(subcommand)]
        command: BaselineCommand,
    },
    /// Say why a cell would be made anew or taken over, and what of it changed
    Why(WhyArgs),
    /// Check suite, dataset and models, without a call
    Validate(ValidateArgs),
    /// Go on with a run that was interrupted or stopped
    Resume(ResumeArgs),
    /// Make again what failed in a run: errors and judgments without a score
    Retry(ResumeArgs),
    /// Score the stored outputs of a run with the suite's present scorers; makes no output
    Score(ScoreArgs),
    /// Take the results of a run, or of some of its cells, out of reuse
    Invalidate(InvalidateArgs),
    /// See and prune the results that later runs may take over
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Write the report of a stored run again
    Report(ReportArgs),
    /// Say whether a run, model or variant is better than another, or what it would take to know
    Compare(CompareArgs),
    /// Write the cells of a stored run in another tool's form
    Export(ExportArgs),
    /// Make a suite of another tool's results
    Import(ImportArgs),
    /// Say how far judges agree with each other, and with people's labels
    Agree(AgreeArgs),
    /// Let judges grade labelled outputs, and say whether they agree enough with people
    Calibrate(CalibrateArgs),
    /// Say whether the last days of a suite are worse than the weeks before them; makes no call
    Drift(DriftArgs),
    /// Sum up a window of days of a suite, over all of its runs
    Digest(DigestArgs),
    /// Pinned judgments of samples, and whether today's are worse
    Golden {
        #[command(subcommand)]
        command: GoldenCommand,
    },
    /// Show the cells of a stored run, or the rows that stand for a suite
    Show(ShowArgs),
    /// List stored runs
    #[command(visible_alias = "list")]
    Ls(LsArgs),
    /// Show prompts and raw responses of one cell
    Trace(TraceArgs),
    /// Let people score outputs: blind tasks, checked labels
    #[command(subcommand)]
    Annotate(AnnotateCommand),
    /// Work on a suite's dataset
    Dataset {
        #[command(subcommand)]
        command: DatasetCommand,
    },
    /// Write a preset's suite into a folder, to make it your own
    Init(InitArgs),
    /// Serve a preset's demo service on this machine, for trying things out
    Demo(DemoArgs),
    /// Check store, keys, programs and (with --online) the way to providers
    Doctor(DoctorArgs),
    /// List the models of the registry
    Models(ModelsArgs),
    /// Print a JSON Schema
    Schema(SchemaArgs),
    /// Print a shell's completion script
    Completions(CompletionsArgs),
}

/// Which suite, and what of it.
#[derive(Debug, Clone, Args)]
pub struct SuiteArgs {
    #[command(flatten)]
    pub graded: GradedArgs,
    #[command(flatten)]
    pub systems: SystemArgs,
}

/// What of a suite makes outputs.
#[derive(Debug, Clone, Args)]
pub struct SystemArgs {
    /// Values of an address, each of which becomes a variant
    #[arg(long, value_name = "ADDRESS=A,B", env = "KARAT_SWEEP", value_delimiter = ';')]
    pub sweep: Vec<String>,
    /// Models that run, instead of the suite's
    #[arg(long, value_name = "ID,…", env = "KARAT_MODELS", value_delimiter = ',')]
    pub models: Vec<String>,
    /// Models of one tier only
    #[arg(long, value_name = "TIER", env = "KARAT_TIER")]
    pub tier: Option<TierArg>,
    /// Variants that run, instead of all
    #[arg(long, value_name = "ID,…", env = "KARAT_VARIANTS", value_delimiter = ',')]
    pub variants: Vec<String>,
}

/// Which suite, and what of it, whoever makes the outputs.
#[derive(Debug, Clone, Args)]
pub struct GradedArgs {
    /// Suite file, or a preset's name
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// A param of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';')]
    pub param: Vec<String>,
    /// A value anywhere in the suite, by its address
    #[arg(long, value_name = "ADDRESS=VALUE", env = "KARAT_SET", value_delimiter = ';')]
    pub set: Vec<String>,
    /// Judges, instead of the suite's
    #[arg(long, visible_alias = "judge-models", value_name = "ID,…", env = "KARAT_JUDGES", value_delimiter = ',')]
    pub judges: Vec<String>,
    /// These samples only; commas part ids, unless a sample's own id holds them
    #[arg(long, value_name = "ID,…", env = "KARAT_SAMPLE")]
    pub sample: Vec<String>,
    /// The first N samples only
    #[arg(long, value_name = "N", env = "KARAT_LIMIT")]
    pub limit: Option<u64>,
    /// The day that the run is about [default: yesterday in the dataset's time zone]
    #[arg(long, value_name = "DATE", env = "KARAT_AS_OF")]
    pub as_of: Option<String>,
    /// Refuse suites that run programs
    #[arg(long, env = "KARAT_SAFE")]
    pub safe: bool,
    /// Repetitions of each cell
    #[arg(long, value_name = "N", env = "KARAT_TRIALS", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Bound on the tokens of a reply, for every step
    #[arg(long, value_name = "N", env = "KARAT_MAX_OUTPUT_TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_output_tokens: Option<u32>,
    /// Bound on the chunks of a step
    #[arg(long, value_name = "N", env = "KARAT_MAX_CHUNKS", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_chunks: Option<u32>,
    /// Bound on the tokens of a judge's reply
    #[arg(long, value_name = "N", env = "KARAT_JUDGE_MAX_TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub judge_max_tokens: Option<u32>,
    /// Timeout of a judge's call, such as `90s`
    #[arg(long, value_name = "D", env = "KARAT_JUDGE_TIMEOUT")]
    pub judge_timeout: Option<String>,
    /// The same as `-p corpus=FILE`
    #[arg(long, value_name = "FILE", env = "KARAT_CORPUS")]
    pub corpus: Option<String>,
}

/// How a run is done.
#[derive(Debug, Clone, Default, Args)]
pub struct ExecutionArgs {
    /// Calls in flight
    #[arg(short = 'j', long, value_name = "N", env = "KARAT_MAX_CONCURRENCY", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_concurrency: Option<u32>,
    /// Requests that the run may send, retries and resumes included
    #[arg(long, value_name = "N", env = "KARAT_MAX_CALLS")]
    pub max_calls: Option<u64>,
    /// Dollars that the run may spend, resumes included [default: 25]
    #[arg(long, value_name = "X", env = "KARAT_BUDGET_USD")]
    pub budget_usd: Option<f64>,
    /// Go above the default ceiling, or run models of unknown price under it
    #[arg(long, env = "KARAT_YES")]
    pub yes: bool,
    /// Timeout of one attempt, such as `120s`
    #[arg(long, value_name = "D", env = "KARAT_TIMEOUT")]
    pub timeout: Option<String>,
    /// Attempts after the first
    #[arg(long, value_name = "N", env = "KARAT_RETRIES")]
    pub retries: Option<u32>,
    /// Use no result of an earlier run
    #[arg(long, env = "KARAT_NO_CACHE")]
    pub no_cache: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierArg {
    Frontier,
    Midtier,
    Budget,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Print the run's events as lines of JSON on stdout; everything for people goes to stderr
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
    #[command(flatten)]
    pub suite: SuiteArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub gates: GateArgs,
    #[command(flatten)]
    pub bind: BindArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Go on with the latest unfinished run of the same plan, or with `--run-id`
    #[arg(long, env = "KARAT_RESUME")]
    pub resume: bool,
    /// Id of the run; must not exist unless `--resume`
    #[arg(long, value_name = "ID", env = "KARAT_RUN_ID")]
    pub run_id: Option<String>,
    /// The same as `karat plan`
    #[arg(long, env = "KARAT_DRY_RUN")]
    pub dry_run: bool,
    /// Write every call into a recording; nothing is taken over from other runs
    #[arg(long, value_name = "FILE", env = "KARAT_RECORD", conflicts_with = "replay")]
    pub record: Option<std::path::PathBuf>,
    /// Answer every call from a recording, without a connection; a call it does not hold is an error
    #[arg(long, value_name = "FILE", env = "KARAT_REPLAY")]
    pub replay: Option<std::path::PathBuf>,
    /// The same as `karat invalidate RUN`: nothing is run
    #[arg(long, value_name = "RUN", env = "KARAT_INVALIDATE_RUN")]
    pub invalidate_run: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Also say how many samples and dollars it takes to detect this difference: `X` or `METRIC=X`, in the metric's
    /// unit or, as `5%`, relative to its figure in the latest run
    #[arg(long, value_name = "X", env = "KARAT_MDE", value_delimiter = ',', allow_negative_numbers = true)]
    pub mde: Vec<String>,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The cell: its number in `karat show`, or `sample/model/variant[/trial]`
    pub cell: String,
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// As `run` would with it
    #[arg(long, env = "KARAT_NO_CACHE")]
    pub no_cache: bool,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ValidateArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Id of the run, its beginning, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// Write its calls into this recording, instead of the one it was begun with
    #[arg(long, value_name = "FILE", env = "KARAT_RECORD")]
    pub record: Option<std::path::PathBuf>,
    /// Print the run's events as lines of JSON on stdout; everything for people goes to stderr
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Id of the run, its beginning, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// Suite whose scorers are used [default: the run's own]
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Judges, instead of the suite's
    #[arg(long, visible_alias = "judge-models", value_name = "ID,…", env = "KARAT_JUDGES", value_delimiter = ',')]
    pub judges: Vec<String>,
    /// Id of the new run
    #[arg(long, value_name = "ID", env = "KARAT_RUN_ID")]
    pub run_id: Option<String>,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct InvalidateArgs {
    /// Id of the run, its beginning, or `latest`
    pub run: String,
    /// These cells only: numbers in `karat show`, or `sample/model/variant[/trial]`
    #[arg(long, value_name = "CELL", num_args = 1.., value_delimiter = ';')]
    pub cell: Vec<String>,
    /// Say what would go, and change nothing
    #[arg(long, env = "KARAT_DRY_RUN")]
    pub dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the runs whose results later runs may take over
    Ls {
        /// As JSON
        #[arg(long, env = "KARAT_JSON")]
        json: bool,
    },
    /// Take results of old runs out of reuse and make the store smaller; runs and their reports stay
    Prune {
        /// Of runs that began longer ago than this, such as `90d`
        #[arg(long, value_name = "D")]
        older_than: String,
        /// Remove their requests and responses too: most of the disk, and what `karat trace` shows
        #[arg(long)]
        traces: bool,
        /// Say how many would go, and change nothing
        #[arg(long, env = "KARAT_DRY_RUN")]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum DatasetCommand {
    /// Make the absent files of columns with `fetch`; files that are there stay as they are
    Fetch(SuiteArgs),
    /// Check rows and the rules of the dataset as a whole, and say what each rule counted
    Check(SuiteArgs),
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The preset
    #[arg(default_value = "faq")]
    pub preset: String,
    /// The folder [default: the preset's name]
    pub dir: Option<String>,
    /// Replace files that are there
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The preset
    #[arg(default_value = "rag")]
    pub preset: String,
    /// Port on loopback
    #[arg(long, value_name = "N", env = "KARAT_DEMO_PORT", default_value_t = 8790)]
    pub port: u16,
    /// With its planted faults, or without
    #[arg(long, value_name = "BUILD", env = "KARAT_DEMO_BUILD", default_value = "faulty")]
    pub build: BuildArg,
    /// End when standard input ends: so it never outlives what has started it
    #[arg(long, env = "KARAT_DEMO_UNTIL_EOF")]
    pub until_eof: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuildArg {
    /// Its planted faults are there
    Faulty,
    /// They are mended
    Repaired,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also ask the providers whose keys are set whether they answer; no key is sent
    #[arg(long)]
    pub online: bool,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Models whose id contains this
    pub part: Option<String>,
    /// A suite whose registry files count too
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// As JSON
    #[arg(long, env = "KARAT_JSON")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which schema
    #[arg(default_value = "suite")]
    pub name: SchemaArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaArg {
    /// Suite files
    Suite,
    /// report.json
    Report,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

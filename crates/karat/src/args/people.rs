//! Flags of the commands for judges and people: agreement, calibration, labels.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ExecutionArgs, ProgressArgs, SuiteArgs, TextFormatArg, heading, parse};

#[derive(Debug, Args)]
pub struct AgreeArgs {
    /// Runs (an id, the beginning of one, or `latest`), or a suite: then each judge's run with the most samples
    #[arg(default_value = "latest", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Use this scorer only
    #[arg(long, value_name = "ID")]
    pub scorer: Option<String>,
    /// Compare these raters only: judges, annotators, or `labels`
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub between: Vec<String>,
    /// Human scores: JSON lines of `{sample, model?, variant?, annotator?, scores{}}`
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    /// Folder of agree.md and agree.json, or `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR")]
    pub output_dir: Option<String>,
    /// Formats to write
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',')]
    pub format: Vec<TextFormatArg>,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    #[command(flatten)]
    pub suite: SuiteArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// Scorer to calibrate [default: the first with judges and labels]
    #[arg(long, value_name = "ID", help_heading = heading::SELECTION)]
    pub scorer: Option<String>,
    /// Agreement that must be exceeded, in every dimension or in one; requires `--reason`
    #[arg(long, value_name = "[DIMENSION=]X", value_delimiter = ',', help_heading = heading::GATES)]
    pub threshold: Vec<String>,
    /// Reason for another threshold; it is stored with the round
    #[arg(long, value_name = "TEXT", help_heading = heading::GATES)]
    pub reason: Option<String>,
    /// Compare judges with the settled labels of this task instead of the suite's labels
    #[arg(long, value_name = "NAME", help_heading = heading::SELECTION)]
    pub task: Option<String>,
    /// Show the stored rounds (makes no API calls)
    #[arg(long, help_heading = heading::OUTPUT)]
    pub rounds: bool,
    /// Id of the round's run
    #[arg(long, value_name = "ID", help_heading = heading::CACHE)]
    pub run_id: Option<String>,
    /// Folder of calibration.md and calibration.json, or `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", help_heading = heading::OUTPUT)]
    pub output_dir: Option<String>,
    /// Formats to write
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',', help_heading = heading::OUTPUT)]
    pub format: Vec<TextFormatArg>,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Debug, Subcommand)]
pub enum AnnotateCommand {
    /// Make a task for people, or write blind tasks to a file
    Create(Box<AnnotateCreateArgs>),
    /// Print a link with which a person labels in a task
    Invite {
        /// Name of the task
        task: String,
        /// Name of the person
        name: String,
        /// Time after which the link is refused
        #[arg(long, value_name = "DURATION", default_value = "30d")]
        expires: String,
        /// Address under which people open the server
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8787", value_parser = parse::web_address)]
        url: String,
    },
    /// List the tasks
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show progress, people and agreement of a task
    Show {
        /// Name of the task, or NAME@VERSION
        task: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the page that settles the open items of a task
    Adjudicate {
        /// Name of the task, or NAME@VERSION
        task: String,
        /// Address of the server
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8787", value_parser = parse::web_address)]
        url: String,
    },
    /// Close a task for good; the blinding ends
    Close {
        /// Name of the task, or NAME@VERSION
        task: String,
        /// Person whose labels do not count; requires `--reason`
        #[arg(long, value_name = "NAME", requires = "reason")]
        exclude: Vec<String>,
        /// Reason of the exclusion; it is stored with the task
        #[arg(long, value_name = "TEXT", requires = "exclude")]
        reason: Option<String>,
    },
    /// Check completed tasks and add them to a labels file
    Import {
        /// File with the completed tasks
        tasks: PathBuf,
        /// Labels file; created if it does not exist
        #[arg(long, value_name = "FILE")]
        labels: PathBuf,
        /// Scorer that the labels are for [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
        /// Suite file, or the name of a preset
        #[arg(long, default_value = "karat.yaml", value_name = "SUITE", env = "KARAT_SUITE")]
        suite: String,
    },
    /// Print the labels of a task or suite, or pin them as a golden set
    Export(AnnotateExportArgs),
    /// Show how many outputs of each sample are labelled, and by whom
    Status {
        /// Suite file, or the name of a preset
        #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
        suite: String,
        /// Scorer that the labels are for [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct AnnotateExportArgs {
    /// Name of a task, a suite file, or the name of a preset
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE", value_name = "TASK|SUITE")]
    pub suite: String,
    /// Scorer that the labels of a suite are for [default: the first with a rubric]
    #[arg(long, value_name = "ID")]
    pub scorer: Option<String>,
    /// Form of the labels of a task
    #[arg(long = "as", value_name = "FORM", default_value = "labels")]
    pub form: LabelFormat,
    /// One settled value of each item of a task
    #[arg(long)]
    pub settled: bool,
    /// Every event of a task, as JSON lines
    #[arg(long, conflicts_with = "settled")]
    pub audit: bool,
    /// Call people a1, a2 and so on
    #[arg(long)]
    pub pseudonyms: bool,
    /// System (or model, or variant) whose outputs are pinned by `--as golden`; needed where labels are of several
    #[arg(long, value_name = "ID")]
    pub system: Option<String>,
    /// Folder of the golden set that `--as golden` writes [default: the suite's `baseline`]
    #[arg(short, long, visible_alias = "output", value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
}

/// The form of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LabelFormat {
    /// Rows of a labels file, which rubrics read
    Labels,
    /// Settled labels of a closed task as a golden set, written to a folder
    Golden,
    /// Items with everything about them, as JSON lines
    Jsonl,
    /// A row for each answer
    Csv,
}

#[derive(Debug, Args)]
pub struct AnnotateCreateArgs {
    /// Id of the run, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// Label the rows of a file (CSV, JSON lines, or a JSON list) instead of a run; requires `--questions`
    #[arg(long, value_name = "FILE", requires = "questions", conflicts_with = "output")]
    pub dataset: Option<PathBuf>,
    /// Scorer whose dimensions are asked for [default: the first with a rubric]
    #[arg(long, value_name = "ID")]
    pub scorer: Option<String>,
    /// Name of the task [default: that of the suite or file]
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Questions instead of a rubric's: a YAML or JSON list
    #[arg(long, value_name = "FILE")]
    pub questions: Option<PathBuf>,
    /// Guidelines for people
    #[arg(long, value_name = "FILE")]
    pub guidelines: Option<PathBuf>,
    /// Number of different people who label each item
    #[arg(short, value_name = "N", default_value_t = 2, value_parser = parse::whole::<usize>)]
    pub k: usize,
    /// Number of items [default: all]
    #[arg(long, value_name = "N", value_parser = parse::whole::<usize>)]
    pub n: Option<usize>,
    /// Choice of items: random, stratified:COLUMN, verdict (half of the judge's passes, half of its fails), uncertain,
    /// failed or ids:FILE
    #[arg(long, value_name = "HOW", default_value = "random")]
    pub select: String,
    /// Items whose right answers are known, mixed in unmarked: JSON lines of `{input?, output, scores{}}`
    #[arg(long, value_name = "FILE")]
    pub gold: Option<PathBuf>,
    /// Share of gold items, from 0 to below 0.9
    #[arg(long, value_name = "X", default_value_t = 0.1, requires = "gold")]
    pub gold_share: f64,
    /// Share of right gold items below which a person is reported
    #[arg(long, value_name = "X", default_value_t = 0.7, requires = "gold")]
    pub gold_limit: f64,
    /// People who may label [default: everybody with a link]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub assign: Vec<String>,
    /// Columns of `--dataset` that people see beside `input`, `output` and `reference`
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', requires = "dataset")]
    pub show: Vec<String>,
    /// Regular expression of what is masked in outputs, such as the names of models
    #[arg(long, value_name = "REGEX")]
    pub mask: Option<String>,
    /// Maximum number of different outputs of a sample
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse::whole::<usize>)]
    pub per_sample: usize,
    /// Seed of the choice and the order of outputs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse::whole::<u64>)]
    pub seed: u64,
    /// File of blind tasks to write instead of a task in the store, or `-` for stdout
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["task", "questions", "guidelines", "k", "n", "select", "gold", "assign", "mask"])]
    pub output: Option<String>,
}

//! Flags of what judges and people are asked: agreement, calibration, labels.

use clap::{Args, Subcommand};

use super::{ExecutionArgs, GradedArgs, TextFormArg};

#[derive(Debug, Args)]
pub struct AgreeArgs {
    /// Runs (an id, its beginning, or `latest`), or a suite: of each of its judges the run over most samples
    #[arg(default_value = "latest", value_name = "RUN")]
    pub runs: Vec<String>,
    /// This scorer only
    #[arg(long, value_name = "ID", env = "KARAT_AGREE_SCORER")]
    pub scorer: Option<String>,
    /// These raters only: judges, annotators, `labels`
    #[arg(long, value_name = "ID,…", env = "KARAT_AGREE_BETWEEN", value_delimiter = ',')]
    pub between: Vec<String>,
    /// People's scores: JSON lines `{sample, model?, variant?, annotator?, scores{}}`
    #[arg(long, value_name = "FILE", env = "KARAT_AGREE_LABELS")]
    pub labels: Option<String>,
    /// Folder of agree.md and agree.json, `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", env = "KARAT_AGREE_OUTPUT_DIR")]
    pub output_dir: Option<String>,
    /// Forms that are written
    #[arg(long, value_name = "FORM,…", env = "KARAT_AGREE_FORMAT", value_delimiter = ',')]
    pub format: Vec<TextFormArg>,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    #[command(flatten)]
    pub suite: GradedArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    /// This scorer [default: the first with judges and labels]
    #[arg(long, value_name = "ID", env = "KARAT_CALIBRATE_SCORER")]
    pub scorer: Option<String>,
    /// What agreement must exceed, of every dimension or of one, instead of what the suite says; wants `--reason`
    #[arg(long, value_name = "[DIMENSION=]X", env = "KARAT_CALIBRATE_THRESHOLD", value_delimiter = ',')]
    pub threshold: Vec<String>,
    /// Why the threshold is another one: recorded with the round
    #[arg(long, value_name = "TEXT", env = "KARAT_CALIBRATE_REASON")]
    pub reason: Option<String>,
    /// Make no call: show the rounds that are stored
    #[arg(long, env = "KARAT_CALIBRATE_ROUNDS")]
    pub rounds: bool,
    /// Id of the round's run
    #[arg(long, value_name = "ID", env = "KARAT_RUN_ID")]
    pub run_id: Option<String>,
    /// Folder of calibration.md and calibration.json, `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", env = "KARAT_CALIBRATE_OUTPUT_DIR")]
    pub output_dir: Option<String>,
    /// Forms that are written
    #[arg(long, value_name = "FORM,…", env = "KARAT_CALIBRATE_FORMAT", value_delimiter = ',')]
    pub format: Vec<TextFormArg>,
}

#[derive(Debug, Subcommand)]
pub enum AnnotateCommand {
    /// Write the outputs of a run as blind tasks, JSON lines with empty scores
    Create {
        /// Id of the run, its beginning, or `latest`
        #[arg(default_value = "latest")]
        run: String,
        /// The scorer whose dimensions are asked for [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
        /// At most so many different outputs of a sample
        #[arg(long, value_name = "N", default_value_t = 5)]
        per_sample: usize,
        /// Seed of their choice and order
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// File, `-` for stdout
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: String,
    },
    /// Check filled-in tasks and join them to a labels file
    Import {
        /// The tasks
        tasks: std::path::PathBuf,
        /// The labels file, made where it is not there
        #[arg(long, value_name = "FILE")]
        labels: std::path::PathBuf,
        /// The scorer [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
        #[arg(long, default_value = "karat.yaml", value_name = "SUITE", env = "KARAT_SUITE")]
        suite: String,
    },
    /// Print the labels of a suite as JSON lines
    Export {
        #[arg(default_value = "karat.yaml")]
        suite: String,
        /// The scorer [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
    },
    /// Say how many outputs of each sample are labelled, and by whom
    Status {
        #[arg(default_value = "karat.yaml")]
        suite: String,
        /// The scorer [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
    },
}

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
    /// Write the outputs of a run as blind tasks: JSON lines with empty scores
    Create {
        /// Id of the run, the beginning of one, or `latest`
        #[arg(default_value = "latest")]
        run: String,
        /// Scorer whose dimensions are asked for [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
        /// Maximum number of different outputs of a sample
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = parse::whole::<usize>)]
        per_sample: usize,
        /// Seed of the choice and the order of outputs
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse::whole::<u64>)]
        seed: u64,
        /// File to write, or `-` for stdout
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: String,
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
    /// Print the labels of a suite as JSON lines
    Export {
        /// Suite file, or the name of a preset
        #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
        suite: String,
        /// Scorer that the labels are for [default: the first with a rubric]
        #[arg(long, value_name = "ID")]
        scorer: Option<String>,
    },
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

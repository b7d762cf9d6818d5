//! Flags of what comes from and goes to other tools.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What the file is
    pub kind: ImportArg,
    /// The file or folder
    pub file: std::path::PathBuf,
    /// Folder that the suite is written into [default: imported/NAME, after the file]
    #[arg(short, long, value_name = "DIR")]
    pub output_dir: Option<std::path::PathBuf>,
    /// Id of the run that holds the results [default: the file's name, where no run has it]
    #[arg(long, value_name = "ID", env = "KARAT_RUN_ID")]
    pub run_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportArg {
    /// A snapshot of a span evaluation
    SpanSnapshot,
    /// A folder of claims that people took from a chat window
    ManualBaseline,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The form
    pub kind: ExportArg,
    /// Id of the run, its beginning, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// File, `-` for stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportArg {
    /// One JSON object a cell
    Jsonl,
    /// One row a cell
    Csv,
    /// JUnit XML
    Junit,
}

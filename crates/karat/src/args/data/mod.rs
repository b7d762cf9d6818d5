//! Flags of the commands for data: datasets, import and export.
//!
//! - `dataset`: the commands of `karat dataset`, and what is known of sets; `curate`: sets made from sets, and leaks;
//!   `columns`: flags that both share

mod columns;
mod curate;
mod dataset;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub use columns::ColumnArgs;
pub use curate::{
    DatasetCheckArgs, DatasetDedupArgs, DatasetSampleArgs, DatasetSplitArgs, KeptRowArg, SampleMethodArg,
    SourceRowsArgs,
};
pub use dataset::{
    DatasetCommand, DatasetDescribeArgs, DatasetDiffArgs, DatasetItemsArgs, DatasetVersionArgs, ItemFlagArg,
    ItemsFormatArg, RowDifferenceArg,
};

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Kind of the file
    pub kind: ImportKindArg,
    /// File or folder to import
    pub file: PathBuf,
    /// Folder to write the suite into [default: imported/NAME, after the file]
    #[arg(short, long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    /// Folder in which files that the file names are read [default: the current folder, if the file lies below it]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Id of the run that holds the results [default: the file's name, if no run has it]
    #[arg(long, value_name = "ID")]
    pub run_id: Option<String>,
    /// Exit with 1 if anything of the file is not carried over
    #[arg(long)]
    pub strict: bool,
    /// Rows of `traces`
    #[arg(long, value_name = "ROW", default_value = "call")]
    pub per: TraceRowsArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TraceRowsArg {
    /// A row for each call of a model
    Call,
    /// A row for each trace: input and output of its root
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportKindArg {
    /// Config of promptfoo, or the `results.json` it wrote
    Promptfoo,
    /// Eval of OpenAI: of its hosted service with runs, results of its dashboard, or YAML of the registry of `evals`
    OpenaiEvals,
    /// Logs of Inspect: `.eval`, `.json` or a folder of them
    Inspect,
    /// Results of lm-eval: `results_DATE.json`, with samples beside it, or their folder
    LmEval,
    /// Test set of ragas: JSON, JSONL or CSV
    Ragas,
    /// Test set of deepeval: JSON, JSONL or CSV
    Deepeval,
    /// Calls that applications reported: OpenTelemetry as JSON or protobuf, or traces of Langfuse
    Traces,
    /// Snapshot of a span evaluation
    SpanSnapshot,
    /// Folder of claims that people copied from a chat window
    ManualBaseline,
}

#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Format to write
    pub kind: ExportFormatArg,
    /// Id of the run, the beginning of one, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// File to write, or `-` for stdout; a folder for `parquet` and `inspect`; for `otel` also the address of a receiver
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: String,
    /// With `otel`: put inputs and outputs into the spans
    #[arg(long)]
    pub content: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormatArg {
    /// One JSON object per cell
    Jsonl,
    /// One row per cell
    Csv,
    /// JUnit XML
    Junit,
    /// Tables for DuckDB, polars and pandas: cells, metrics, judgments, calls
    Parquet,
    /// Logs that Inspect opens, one for each system
    Inspect,
    /// Figures as CSV: a row for each system and metric, with value, interval, n and method
    Figures,
    /// Events and spans of OpenTelemetry, a request of OTLP a line
    Otel,
    /// Labelled spans with their verdicts and sections, as `karat import span-snapshot` reads them
    SpanSnapshot,
}

//! Flags of `karat dataset`: test sets made from rows, and what is known of them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::columns::{ColumnArgs, SourceArgs};
use super::curate::{DatasetCheckArgs, DatasetDedupArgs, DatasetSampleArgs, DatasetSplitArgs};
use crate::args::{SelectionArgs, parse};

#[derive(Debug, Subcommand)]
pub enum DatasetCommand {
    /// Create the missing files of columns that have a `fetch` step
    Fetch(SelectionArgs),
    /// Check the rows and the dataset's rules, or look for leaked rows
    Check(Box<DatasetCheckArgs>),
    /// Draw rows at random, over strata, or far apart
    Sample(DatasetSampleArgs),
    /// Leave one row of each text, and show the duplicates
    Dedup(DatasetDedupArgs),
    /// Split rows into parts that share no near duplicate
    Split(DatasetSplitArgs),
    /// Show the version of rows, or record one with a changelog line
    Version(DatasetVersionArgs),
    /// Show which rows of two sets differ, word by word
    Diff(DatasetDiffArgs),
    /// Show which items are saturated, unsolved, noisy or mislabelled
    Items(DatasetItemsArgs),
    /// Write a datasheet: counts, lengths, duplicates, provenance
    Describe(DatasetDescribeArgs),
}

#[derive(Debug, Args)]
pub struct DatasetVersionArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Record the rows as this version, in NAME.dataset.json beside them; requires `--note`
    #[arg(long, value_name = "VERSION", requires = "note")]
    pub set: Option<String>,
    /// Changelog line of the version
    #[arg(long, value_name = "LINE", requires = "set")]
    pub note: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DatasetDiffArgs {
    /// Earlier rows: a file, a suite, `traces:NAME` or `run:RUN`
    #[arg(value_name = "BEFORE")]
    pub before: String,
    /// Later rows
    #[arg(value_name = "AFTER")]
    pub after: String,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Changed rows whose words are shown
    #[arg(long, value_name = "N", default_value = "20", value_parser = parse::whole::<usize>)]
    pub rows: usize,
    /// Exit with 2 if rows differ in one of these ways
    #[arg(long, value_name = "DIFFERENCE,…", value_delimiter = ',')]
    pub fail_on: Vec<RowDifferenceArg>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowDifferenceArg {
    /// Rows that only the later set has
    Added,
    /// Rows that only the earlier set has
    Removed,
    /// Rows with another content
    Changed,
}

#[derive(Debug, Args)]
pub struct DatasetItemsArgs {
    /// Suite file, the name of a preset, or of a suite with stored runs
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE", value_name = "SUITE")]
    pub suite: String,
    /// Runs to read [default: the newest 30 of the suite]
    #[arg(long, value_name = "RUN,…", value_delimiter = ',')]
    pub runs: Vec<String>,
    /// Metric that items are judged by [default: the suite's primary metric]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Write the ids of suspects, or of items with the flags of `--flags`, one a line
    #[arg(long, value_name = "FILE")]
    pub ids: Option<PathBuf>,
    /// Flags of the items whose ids are written [default: those that question an item]
    #[arg(long, value_name = "FLAG,…", value_delimiter = ',', requires = "ids")]
    pub flags: Vec<ItemFlagArg>,
    /// Write the suite's rows without items that have these flags to `-o`, as the version of `--set`
    #[arg(long, value_name = "FLAG,…", value_delimiter = ',', requires = "output", requires = "set")]
    pub remove: Vec<ItemFlagArg>,
    /// File of JSON lines for `--remove`; NAME.dataset.json is written beside it
    #[arg(short, long, value_name = "FILE", requires = "remove")]
    pub output: Option<PathBuf>,
    /// Version of the rows that `--remove` leaves
    #[arg(long, value_name = "VERSION", requires = "remove")]
    pub set: Option<String>,
    /// Replace files that are there already
    #[arg(long, requires = "remove")]
    pub force: bool,
    /// Seed of resamples
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse::whole::<u64>)]
    pub seed: u64,
    /// Format on stdout
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ItemsFormatArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ItemFlagArg {
    /// Systems of several families agree against the reference
    LabelSuspect,
    /// Better systems do worse
    NegativeDiscrimination,
    /// No system solves it
    NeverSolved,
    /// More than 20 % of its cells have no score
    Unscorable,
    /// Trials or judges differ more than elsewhere
    Noisy,
    /// All systems solve it
    Saturated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ItemsFormatArg {
    /// The set, and each flag with its items
    Text,
    /// Everything
    Json,
    /// A row for each item
    Csv,
}

#[derive(Debug, Args)]
pub struct DatasetDescribeArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Columns that are counted by value, besides the suite's metadata
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    pub by: Vec<String>,
    /// File to write, or `-` for stdout [default: datasheet.md beside the rows]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,
}

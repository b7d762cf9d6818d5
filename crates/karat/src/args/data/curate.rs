//! Flags of `karat dataset` for sets that are made from other sets, and for leaks.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::columns::{ColumnArgs, SourceArgs};
use crate::args::{SelectionArgs, parse};

/// Columns and rows of a source.
#[derive(Debug, Clone, Args)]
pub struct SourceRowsArgs {
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Use only rows that meet this condition, such as `sample.language == 'en'`
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
}

#[derive(Debug, Args)]
pub struct DatasetSampleArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Number of rows to draw
    #[arg(long, short, value_name = "N", value_parser = parse::whole::<u64>)]
    pub n: u64,
    /// Method by which rows are chosen
    #[arg(long, value_name = "METHOD", default_value = "random")]
    pub how: SampleMethodArg,
    /// Column whose values are the strata; requires `--how stratified`
    #[arg(long, value_name = "COLUMN", required_if_eq("how", "stratified"))]
    pub by: Option<String>,
    /// Rows of each stratum: `proportional`, `equal`, or `neyman:METRIC` for the narrowest interval of a metric
    #[arg(long, value_name = "RULE", default_value = "proportional")]
    pub alloc: String,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse::whole::<u64>)]
    pub seed: u64,
    /// File of JSON lines to write; NAME.dataset.json is written beside it
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub rows: SourceRowsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SampleMethodArg {
    /// Each row with the same probability
    Random,
    /// At random within each value of `--by`
    Stratified,
    /// Rows that differ most from each other
    Diverse,
}

#[derive(Debug, Args)]
pub struct DatasetDedupArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Jaccard index from which on texts are near duplicates
    #[arg(long, value_name = "X", default_value = "0.8", value_parser = parse::number)]
    pub at: f64,
    /// Row of each cluster to keep
    #[arg(long, value_name = "ROW", default_value = "first")]
    pub keep: KeptRowArg,
    /// Show the clusters, and write nothing
    #[arg(long, required_unless_present = "output", conflicts_with = "output")]
    pub report: bool,
    /// File of JSON lines to write; NAME.dataset.json is written beside it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub rows: SourceRowsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeptRowArg {
    /// The first in the file
    First,
    /// The one with the longest text
    Longest,
    /// The first that has a reference
    Labelled,
}

#[derive(Debug, Args)]
pub struct DatasetSplitArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Parts and their shares, such as `train=0.8,dev=0.1,test=0.1`
    #[arg(long, value_name = "NAME=SHARE,…")]
    pub parts: String,
    /// Columns whose rows stay together; `cluster` is that role of the suite
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Column whose values have the same shares in each part
    #[arg(long, value_name = "COLUMN", conflicts_with = "time")]
    pub stratify: Option<String>,
    /// Column of the time: the part `test`, or else the last one, gets the latest rows
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// NAME.dataset.json of an earlier split, whose rows stay where they are
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
    /// Seed of the order in which groups of one size are placed
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse::whole::<u64>)]
    pub seed: u64,
    /// Folder of the parts, one PART.jsonl each, and of NAME.dataset.json
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub rows: SourceRowsArgs,
}

#[derive(Debug, Args)]
pub struct DatasetCheckArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Look for rows that the suite's own prompts, examples and rubrics hold; exit with 2 if there are any
    #[arg(long)]
    pub leaks: bool,
    /// Look for the rows in another corpus, such as a training set: a file, a suite, `traces:NAME` or `run:RUN`
    #[arg(long, value_name = "FILE")]
    pub against: Option<String>,
    /// Print the leaks as JSON
    #[arg(long)]
    pub json: bool,
}

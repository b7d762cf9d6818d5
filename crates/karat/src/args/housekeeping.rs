//! Flags of the commands for housekeeping: models, rubrics, the cache, the environment, schemas, completions.

use std::path::PathBuf;

use super::parse;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub change: Option<ModelsCommand>,
    /// List models whose id contains this text
    pub part: Option<String>,
    /// Include the registry files of this suite
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Add models and prices from a file or an address; known models are refused
    Add(PriceFileArgs),
    /// Add models and prices from a file or an address, and change those that are known
    Update(PriceFileArgs),
}

#[derive(Debug, Args)]
pub struct PriceFileArgs {
    /// Registry file, or LiteLLM's `model_prices_and_context_window.json`; or the address of one, `https://…`
    pub file: String,
    /// Print what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Day on which the prices were read, if the file does not say it [default for an address: today]
    #[arg(long, value_name = "DATE")]
    pub as_of: Option<String>,
    /// Where the prices were read, if the file does not say it [default: the file's name, or the address]
    #[arg(long, value_name = "TEXT")]
    pub source: Option<String>,
}

#[derive(Debug, Args)]
pub struct RubricsArgs {
    /// Print the file of this rubric
    pub name: Option<String>,
    /// Write the file here, to make it your own
    #[arg(short, long, value_name = "FILE", requires = "name")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["name", "output"])]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct InvalidateArgs {
    /// Id of the run, the beginning of one, or `latest`
    pub run: String,
    /// Invalidate these cells only: numbers in `karat show`, or `sample/model/variant[/trial]`
    #[arg(long, value_name = "CELL", num_args = 1.., value_delimiter = ';')]
    pub cell: Vec<String>,
    /// Show what would be invalidated, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Withdraw results from all later runs, also those that other runs use
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// List the runs that have cached results
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Invalidate the cached results of old runs and free disk space; runs and reports stay
    Prune {
        /// Prune runs that started longer ago than this, such as `90d`
        #[arg(long, value_name = "DURATION")]
        older_than: String,
        /// Also remove requests and responses: most of the disk space, and what `karat trace` shows
        #[arg(long)]
        traces: bool,
        /// Show what would be removed, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read all stored runs, and list what is damaged or missing
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Copy the store into a new file while runs go on
    Backup {
        /// File to write
        file: PathBuf,
    },
    /// Copy a store into an empty one: a file into PostgreSQL, or back
    Copy {
        /// Store to read, such as `sqlite:.karat/karat.db`
        from: String,
        /// Store to fill, such as `postgres://USER@HOST/DATABASE`
        to: String,
    },
    /// Make the store from a copy; there must be none
    Restore {
        /// Copy to read
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also check that the providers whose keys are set answer; no key is sent
    #[arg(long)]
    pub online: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Preset whose service is served
    #[arg(default_value = "rag")]
    pub preset: String,
    /// Port on 127.0.0.1
    #[arg(long, value_name = "N", default_value_t = 8790, value_parser = parse::whole::<u16>)]
    pub port: u16,
    /// Build of the service
    #[arg(long, value_name = "BUILD", default_value = "faulty")]
    pub build: BuildArg,
    /// Stop when standard input ends, so that the service stops with the process that started it
    #[arg(long)]
    pub until_eof: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuildArg {
    /// With planted faults
    Faulty,
    /// With the faults fixed
    Repaired,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Schema to print
    #[arg(default_value = "suite")]
    pub name: SchemaArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaArg {
    /// Suite files
    Suite,
    /// report.json
    Report,
    /// The reference of all commands, as Markdown
    #[value(hide = true)]
    Commands,
    /// The reference of environment variables, as Markdown
    #[value(hide = true)]
    Environment,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to print completions for
    #[arg(required_unless_present = "man")]
    pub shell: Option<clap_complete::Shell>,
    /// Write a man page for each command into this folder [default without DIR: man]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "man", conflicts_with = "shell")]
    pub man: Option<PathBuf>,
}

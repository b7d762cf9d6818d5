//! Flags that choose a suite, its samples and its settings.

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::{heading, parse};

/// A suite, the samples and settings of it, and the systems that generate outputs.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    #[command(flatten)]
    pub systems: SystemArgs,
    #[command(flatten)]
    pub suite: SuiteArgs,
}

/// Models and variants.
#[derive(Debug, Clone, Args)]
pub struct SystemArgs {
    /// Models to run, instead of the suite's
    #[arg(long, value_name = "ID,…", env = "KARAT_MODELS", value_delimiter = ',', help_heading = heading::EVERYDAY)]
    pub models: Vec<String>,
    /// Variants to run, instead of all
    #[arg(long, value_name = "ID,…", env = "KARAT_VARIANTS", value_delimiter = ',', help_heading = heading::EVERYDAY)]
    pub variants: Vec<String>,
    /// Run only models of this tier
    #[arg(long, value_name = "TIER", hide = true, help_heading = heading::SELECTION)]
    pub tier: Option<TierArg>,
    /// Create a variant for each value of a suite setting, such as `variants.raw.0.parameters.temperature=0,1`
    #[arg(long, value_name = "ADDRESS=A,B", value_delimiter = ';', help_heading = heading::SELECTION)]
    pub sweep: Vec<String>,
}

/// A suite, and the samples and settings of it.
#[derive(Debug, Clone, Args)]
pub struct SuiteArgs {
    /// Suite file, or the name of a preset
    #[arg(default_value = "karat.yaml", env = "KARAT_SUITE")]
    pub suite: String,
    /// Run the first N samples only
    #[arg(long, value_name = "N", env = "KARAT_LIMIT", help_heading = heading::EVERYDAY, value_parser = parse::whole::<u64>)]
    pub limit: Option<u64>,
    /// Run these samples only. An id that contains a comma is taken as a whole where a sample has it
    #[arg(long, value_name = "ID,…", help_heading = heading::EVERYDAY)]
    pub sample: Vec<String>,
    /// Judges to use, instead of the suite's; `none` makes outputs only
    #[arg(long, visible_alias = "judge-models", value_name = "ID,…", env = "KARAT_JUDGES", value_delimiter = ',', help_heading = heading::SELECTION)]
    pub judges: Vec<String>,
    /// Set a parameter of the suite
    #[arg(short, long = "param", value_name = "NAME=VALUE", env = "KARAT_PARAM", value_delimiter = ';', help_heading = heading::EVERYDAY)]
    pub param: Vec<String>,
    /// Set any value of the suite by its address, such as `run.seed=7`
    #[arg(long, value_name = "ADDRESS=VALUE", value_delimiter = ';', help_heading = heading::SELECTION)]
    pub set: Vec<String>,
    /// Day that the run is about [default: yesterday in the dataset's time zone]
    #[arg(long, value_name = "DATE", env = "KARAT_AS_OF", help_heading = heading::SELECTION)]
    pub as_of: Option<String>,
    /// Repetitions of each cell
    #[arg(long, value_name = "N", value_parser = parse::trials, help_heading = heading::SELECTION)]
    pub trials: Option<u32>,
    /// Short for `-p corpus=FILE`
    #[arg(long, value_name = "FILE", hide = true, help_heading = heading::SELECTION)]
    pub corpus: Option<String>,
    /// Refuse suites that run programs
    #[arg(long, env = "KARAT_SAFE", value_parser = BoolishValueParser::new(), help_heading = heading::SELECTION)]
    pub safe: bool,
    /// Maximum number of tokens of a reply, for every step
    #[arg(long, value_name = "N", value_parser = parse::positive, help_heading = heading::LIMITS)]
    pub max_output_tokens: Option<u32>,
    /// Maximum number of chunks of a step
    #[arg(long, value_name = "N", value_parser = parse::positive, help_heading = heading::LIMITS)]
    pub max_chunks: Option<u32>,
    /// Maximum number of tokens of a judge's reply
    #[arg(long, value_name = "N", env = "KARAT_JUDGE_MAX_TOKENS", value_parser = parse::positive, help_heading = heading::LIMITS)]
    pub judge_max_tokens: Option<u32>,
    /// Timeout of one attempt to call a judge, such as `90s`
    #[arg(long, value_name = "DURATION", env = "KARAT_JUDGE_TIMEOUT", help_heading = heading::LIMITS)]
    pub judge_timeout: Option<String>,
}

/// Limits of a run.
#[derive(Debug, Clone, Default, Args)]
pub struct ExecutionArgs {
    /// Maximum spending in dollars, resumed parts included [default: 25]
    #[arg(long, value_name = "X", env = "KARAT_BUDGET_USD", help_heading = heading::EVERYDAY, value_parser = parse::dollars)]
    pub budget_usd: Option<f64>,
    /// Allow a run without a budget to cost more than the default ceiling
    #[arg(long, env = "KARAT_YES", value_parser = BoolishValueParser::new(), help_heading = heading::LIMITS)]
    pub yes: bool,
    /// Maximum number of requests, retries and resumed parts included
    #[arg(long, value_name = "N", env = "KARAT_MAX_CALLS", help_heading = heading::LIMITS, value_parser = parse::whole::<u64>)]
    pub max_calls: Option<u64>,
    /// Maximum number of calls in flight
    #[arg(short = 'j', long, value_name = "N", env = "KARAT_MAX_CONCURRENCY", value_parser = parse::concurrency, help_heading = heading::EVERYDAY)]
    pub max_concurrency: Option<u32>,
    /// Timeout of one attempt, such as `120s`
    #[arg(long, value_name = "DURATION", env = "KARAT_TIMEOUT", help_heading = heading::LIMITS)]
    pub timeout: Option<String>,
    /// Maximum number of attempts after the first
    #[arg(long, value_name = "N", env = "KARAT_RETRIES", help_heading = heading::LIMITS, value_parser = parse::whole::<u32>)]
    pub retries: Option<u32>,
    /// Make calls by the batch APIs of their providers: at half the price, answered within a day
    #[arg(long, help_heading = heading::LIMITS)]
    pub batch: bool,
    /// Do not wait for batches; `karat resume` reads them
    #[arg(long, help_heading = heading::LIMITS)]
    pub detach: bool,
    /// Use no results of earlier runs
    #[arg(long, env = "KARAT_NO_CACHE", value_parser = BoolishValueParser::new(), help_heading = heading::CACHE)]
    pub no_cache: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierArg {
    Frontier,
    Midtier,
    Budget,
}

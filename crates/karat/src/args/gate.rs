//! Flags of gates and baselines.

use clap::{Args, Subcommand};

use super::TextFormArg;

/// What a run is held to.
#[derive(Debug, Clone, Default, Args)]
pub struct GateArgs {
    /// Pinned run or report.json that gates compare with, instead of the suite's
    #[arg(long, value_name = "FILE", env = "KARAT_BASELINE")]
    pub baseline: Option<String>,
    /// The least of a metric, such as `quality.accuracy=7` or `pass=90%`
    #[arg(long, value_name = "METRIC=X", env = "KARAT_MIN", value_delimiter = ',')]
    pub min: Vec<String>,
    /// The largest drop below the baseline, of one metric or of every gate; `5%` is relative to the baseline
    #[arg(long, value_name = "[METRIC=]X", env = "KARAT_MAX_DROP", value_delimiter = ',')]
    pub max_drop: Vec<String>,
    /// The least of the suite's primary metric
    #[arg(long, value_name = "X", env = "KARAT_GATE_THRESHOLD")]
    pub gate_threshold: Option<String>,
}

/// Whether a run's gates bind.
#[derive(Debug, Clone, Default, Args)]
pub struct BindArgs {
    /// Let gates decide the exit code, even where the policy says `enforce: on_request`
    #[arg(long, env = "KARAT_GATE", conflicts_with = "no_gate")]
    pub gate: bool,
    /// Print verdicts and end with 0
    #[arg(long, env = "KARAT_NO_GATE")]
    pub no_gate: bool,
}

#[derive(Debug, Args)]
pub struct GateCommandArgs {
    /// Id of the run, its beginning, or `latest`
    #[arg(default_value = "latest")]
    pub run: String,
    /// File with `gates` and `policy`, instead of the run's own
    #[arg(long, value_name = "FILE", env = "KARAT_POLICY")]
    pub policy: Option<String>,
    #[command(flatten)]
    pub gates: GateArgs,
    /// Folder of gate.md and gate.json, `-` for stdout [default: a summary on stdout]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", env = "KARAT_GATE_OUTPUT_DIR")]
    pub output_dir: Option<String>,
    /// Forms that are written
    #[arg(long, value_name = "FORM,…", env = "KARAT_GATE_FORMAT", value_delimiter = ',')]
    pub format: Vec<TextFormArg>,
}

#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Write the results of a finished run as a baseline
    Pin {
        /// Id of the run, its beginning, or `latest`
        #[arg(default_value = "latest")]
        run: String,
        /// The file, `-` for stdout [default: the suite's `baseline`]
        #[arg(short, long, value_name = "FILE", env = "KARAT_BASELINE_OUTPUT")]
        output: Option<String>,
    },
}

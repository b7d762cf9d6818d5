//! Flags of gates, shared by `run` and `gate`.

use clap::Args;

use super::heading;

/// Thresholds on top of the suite's gates.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::GATES)]
pub struct GateArgs {
    /// Pinned run or report.json that gates compare with, instead of the suite's baseline
    #[arg(long, value_name = "FILE", env = "KARAT_BASELINE")]
    pub baseline: Option<String>,
    /// Minimum of a metric, such as `quality.accuracy=7` or `pass=90%`
    #[arg(long, value_name = "METRIC=X", env = "KARAT_MIN", value_delimiter = ',')]
    pub min: Vec<String>,
    /// Largest allowed drop below the baseline, for one metric or every gate; `5%` is relative to the baseline
    #[arg(long, value_name = "[METRIC=]X", env = "KARAT_MAX_DROP", value_delimiter = ',')]
    pub max_drop: Vec<String>,
    /// Minimum of the suite's primary metric
    #[arg(long, value_name = "X", hide = true, env = "KARAT_GATE_THRESHOLD")]
    pub gate_threshold: Option<String>,
}

/// Enforcement of gates.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = heading::GATES)]
pub struct EnforceArgs {
    /// Let gates decide the exit code, even if the suite's policy says `enforce: on_request`
    #[arg(long, conflicts_with = "no_gate")]
    pub gate: bool,
    /// Print the verdicts of the gates, but exit with 0
    #[arg(long)]
    pub no_gate: bool,
}

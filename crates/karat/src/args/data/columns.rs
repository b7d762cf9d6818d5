//! Flags that name columns of rows.

use clap::Args;

/// Columns of rows that no suite describes.
#[derive(Debug, Clone, Args)]
pub struct ColumnArgs {
    /// Column of the id [default: `id` or `sample_id`]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Column of the input [default: `input`, `question`, `prompt` and the like]
    #[arg(long, value_name = "COLUMN")]
    pub input: Option<String>,
    /// Column of the reference [default: `reference`, `target`, `expected` and the like]
    #[arg(long, value_name = "COLUMN")]
    pub reference: Option<String>,
}

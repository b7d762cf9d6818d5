//! The reason for a step without an output.

use karat_types::CellError;

/// The reason for a missing output.
#[derive(Debug, Clone)]
pub(crate) enum Reason {
    Failed(CellError),
    Skipped(String),
    /// The row is for other systems only.
    LeftOut,
}

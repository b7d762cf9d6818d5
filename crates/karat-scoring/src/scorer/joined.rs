//! Rows of files beside the suite, which some metrics join with cells.

use std::fmt;

use serde_json::Value;

/// The file whose rows belong to cells, and the way to find the row of one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowJoin {
    /// Template of the file's path.
    pub from: String,
    /// Template of the row's id; `None` if the path leads to one document for each cell.
    pub by: Option<String>,
    /// Path of the number of the trial within a row, where the file has a row for each.
    pub trial: Option<String>,
}

/// Finds the rows that belong to one cell. Scoring itself opens no file.
pub trait JoinedRows: fmt::Debug + Send + Sync {
    /// The row of the cell.
    ///
    /// # Errors
    /// There is none, or it cannot be read: the reason.
    fn row(&self, join: &RowJoin) -> Result<Value, String>;
}

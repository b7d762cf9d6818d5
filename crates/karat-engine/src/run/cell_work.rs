//! A cell on its way to a worker.

use std::sync::Arc;

use crate::reuse::remaining::RecordedParts;
use crate::rows::row::Row;

/// A cell to be made or finished.
pub(crate) struct CellWork {
    pub row: Arc<Row>,
    pub ordinal: u64,
    pub recorded: RecordedParts,
}

//! A cell on its way to a worker.

use std::sync::Arc;

use crate::cell::row::Row;
use crate::run::remaining::RecordedParts;

/// A cell to be made or finished.
pub(crate) struct CellWork {
    pub row: Arc<Row>,
    pub ordinal: u64,
    pub recorded: RecordedParts,
}

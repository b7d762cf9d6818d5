//! A test as it stands in a file.

use serde_json::{Map, Value};

use crate::promptfoo::asserts::Assert;

/// A test as it stands in its file.
#[derive(Debug, Clone)]
pub(super) struct RawTest {
    pub path: String,
    pub test: Map<String, Value>,
    /// Asserts with addresses of their own, as cells of a table have; otherwise they stand in `test`.
    pub asserts: Option<Vec<Assert>>,
}

//! One dataset row.

use std::sync::Arc;

use serde_json::{Map, Value};

/// One row of the dataset, with its extra columns filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Position of the row in the planned dataset, from 0.
    pub row: u64,
    /// Its id: the id column's value, or the row's hash.
    pub id: Arc<str>,
    /// The model's input (role `input`), when the dataset names it.
    pub input: Option<Value>,
    /// The expected output (role `reference`), when the row has one.
    pub reference: Option<Value>,
    /// The group whose members are not independent (role `cluster`).
    pub cluster: Option<String>,
    /// The row's date (role `date`), as YYYY-MM-DD.
    pub date: Option<String>,
    /// Every column, in the order of the file; extra columns last.
    pub columns: Map<String, Value>,
    /// The columns that the dataset's `metadata` names: shown in reports, usable in slices and conditions.
    pub metadata: Map<String, Value>,
}

impl Sample {
    /// A row with an id and, where there is one, what is expected of it; everything else is empty.
    pub fn new(id: impl Into<Arc<str>>, reference: Option<Value>) -> Self {
        Self {
            row: 0,
            id: id.into(),
            input: None,
            reference,
            cluster: None,
            date: None,
            columns: Map::new(),
            metadata: Map::new(),
        }
    }
}

//! One dataset row.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::ModelSpec;

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
    /// The systems that the row is for; `None` = all. No template sees it.
    pub only: Option<Arc<SystemFilter>>,
}

/// The systems that a row is for, by the ids of their variants and models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemFilter {
    /// Variants; empty = all. The name of a swept variant stands for all variants of the sweep.
    pub variants: Vec<String>,
    /// Models; empty = all. A variant without a model axis is not restricted by them.
    pub models: Vec<String>,
}

impl SystemFilter {
    /// Returns true if a system is among them.
    pub fn admits(&self, variant: &str, model: Option<&ModelSpec>) -> bool {
        let is_variant = self.variants.is_empty() || self.variants.iter().any(|name| names_variant(name, variant));
        let is_model = |model: &ModelSpec| self.models.iter().any(|name| model.is_called(name));
        is_variant && (self.models.is_empty() || model.is_none_or(is_model))
    }
}

/// Returns true if a name means this variant, or the sweep that it belongs to.
pub fn names_variant(name: &str, variant: &str) -> bool {
    variant.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
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
            only: None,
        }
    }
}

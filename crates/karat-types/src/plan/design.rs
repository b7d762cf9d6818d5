//! The draw of the rows of a dataset from a larger set, as `NAME.dataset.json` keeps it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Key;

/// The kind of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesignKind {
    /// Each row with the same probability.
    Random,
    /// At random within each value of a column.
    Stratified,
    /// No rule that figures could rest on.
    None,
}

/// The draw of a set of rows from a larger one, the frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetDesign {
    /// Its kind.
    pub kind: DesignKind,
    /// The column of the strata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The strata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strata: Vec<DesignStratum>,
    /// The rows that were drawn from.
    pub frame: DesignFrame,
}

/// The rows of a frame with one value of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignStratum {
    /// The value, as text.
    pub value: String,
    /// Rows of the frame.
    pub rows: u64,
    /// Rows that were drawn.
    pub drawn: u64,
}

/// The rows that were drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignFrame {
    /// Their number.
    pub rows: u64,
    /// Hash of their content, in any order.
    pub hash: Key,
}

impl DatasetDesign {
    /// The name of strata that are the days of the samples.
    pub const DAY: &str = "date";

    /// Returns whether the rows of some strata stand for more rows of the frame than others, but for rounding.
    pub fn is_weighted(&self) -> bool {
        let drawn: u64 = self.strata.iter().map(|stratum| stratum.drawn).sum();
        let rows: u64 = self.strata.iter().map(|stratum| stratum.rows).sum();
        let off = |stratum: &DesignStratum| {
            let share = stratum.rows as f64 / rows.max(1) as f64;
            (stratum.drawn as f64 - drawn as f64 * share).abs() >= 1.0
        };
        self.kind == DesignKind::Stratified && self.strata.iter().any(off)
    }

    /// The text of a row's value of the column, by which its stratum is found.
    pub fn stratum_text(value: Option<&Value>) -> String {
        match value.filter(|value| !value.is_null()) {
            None => "(none)".to_owned(),
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(other) => other.to_string(),
        }
    }

    /// The name of the file beside rows that says where they come from: `NAME.dataset.json` of `NAME.jsonl`.
    pub fn file_name(data: &str) -> String {
        let name = data.strip_suffix(".gz").or_else(|| data.strip_suffix(".zst")).unwrap_or(data);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
        format!("{stem}.dataset.json")
    }
}

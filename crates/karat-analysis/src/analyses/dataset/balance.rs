//! `balance`: numbers of samples by value of a metadata column.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};

/// Number of values kept of a column, most frequent first.
const KEPT: usize = 200;

/// Options of `balance`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BalanceOptions {
    /// Columns of the dataset's `metadata`, counted separately; every member of a list counts.
    pub by: Vec<String>,
}

/// Samples with one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueShare {
    /// The value.
    pub value: Value,
    /// Samples that have it.
    pub samples: u64,
    /// Share of all samples with a value. Shares sum to more than 1 if values are lists.
    pub share: f64,
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnBalance {
    /// Number of samples with a value.
    pub samples: u64,
    /// Number of samples without one.
    pub missing: u64,
    /// The most frequent first.
    pub values: Vec<ValueShare>,
    /// Ratio of the most to the least frequent value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_to_smallest: Option<f64>,
}

/// Columns by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Balance {
    /// By column.
    pub by: BTreeMap<String, ColumnBalance>,
}

#[derive(Default)]
struct ValueCounts {
    /// By the value's JSON.
    values: BTreeMap<String, u64>,
    samples: u64,
    missing: u64,
}

struct BalanceFold {
    columns: Vec<(String, ValueCounts)>,
    last: Option<usize>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    _: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: BalanceOptions = options(spec)?;
    if options.by.is_empty() {
        return Err(options_error(spec, "by is empty: list columns of the dataset's `metadata`"));
    }
    let columns = options.by.into_iter().map(|name| (name, ValueCounts::default())).collect();
    Ok(Some(Box::new(BalanceFold { columns, last: None })))
}

impl ValueCounts {
    fn count_value(&mut self, value: &Value) {
        let members = match value {
            Value::Array(members) => members.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut said: Vec<String> = members.iter().filter(|it| !it.is_null()).map(Value::to_string).collect();
        said.sort_unstable();
        said.dedup();
        if said.is_empty() {
            self.missing += 1;
            return;
        }
        self.samples += 1;
        for value in said {
            *self.values.entry(value).or_default() += 1;
        }
    }

    fn balance(self) -> ColumnBalance {
        let all = self.samples.max(1) as f64;
        let portion = |(value, samples): (String, u64)| ValueShare {
            value: serde_json::from_str(&value).unwrap_or_default(),
            samples,
            share: samples as f64 / all,
        };
        let bounds = self.values.values().max().zip(self.values.values().min());
        let largest_to_smallest = bounds.map(|(most, least)| *most as f64 / *least as f64);
        let mut values: Vec<(String, u64)> = self.values.into_iter().collect();
        values.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
        values.truncate(KEPT);
        let values = values.into_iter().map(portion).collect();
        ColumnBalance { samples: self.samples, missing: self.missing, values, largest_to_smallest }
    }
}

impl Analysis for BalanceFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if self.last.replace(cell.sample) == Some(cell.sample) {
            return;
        }
        for (column, tally) in &mut self.columns {
            tally.count_value(cell.row.sample.metadata.get(column).unwrap_or(&Value::Null));
        }
    }

    fn finish(self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        let by = self.columns.into_iter().map(|(column, tally)| (column, tally.balance()));
        Outcome::Balance(Balance { by: by.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use crate::{Options, analyse};
    use serde_json::json;

    /// RG-01: samples, not cells, are counted by value; list members count each; empty values are missing.
    #[test]
    fn samples_are_counted_by_value() {
        let sketch = Sketch::new(2, 1, 4).fill(5.0).analysis("balance", "balance", json!({ "by": ["kind", "of"] }));
        let mut run = sketch.run();
        let kinds = [json!("a"), json!("a"), json!("b"), Value::Null];
        let lists = [json!(["x", "y"]), json!(["x", "x"]), json!([]), json!("y")];
        for (sample, (kind, list)) in run.samples.iter_mut().zip(kinds.into_iter().zip(lists)) {
            sample.metadata.insert("kind".to_owned(), kind);
            sample.metadata.insert("of".to_owned(), list);
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let found = findings.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Balance(found) => Some(found),
            _ => None,
        });
        let found = serde_json::to_value(found.unwrap()).unwrap();
        assert_eq!(
            found["kind"]["values"],
            json!([
                {"value": "a", "samples": 2, "share": 2.0 / 3.0}, {"value": "b", "samples": 1, "share": 1.0 / 3.0}
            ])
        );
        assert_eq!((&found["kind"]["missing"], &found["kind"]["largest_to_smallest"]), (&json!(1), &json!(2.0)));
        assert_eq!(
            (&found["of"]["values"][0]["samples"], &found["of"]["values"][1]["samples"]),
            (&json!(2), &json!(2))
        );
        assert_eq!(found["of"]["missing"], 1);
    }
}

//! Rows of a suite's history as tab-separated values.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::shared::history_row::{AFTER, BEFORE, CHECKED, CheckedRow, row};
use crate::shared::visible::one_line;

/// Returns the column names and the fields of each row. No field can control a terminal or contain a separator.
pub fn table<'a>(rows: impl Iterator<Item = CheckedRow<'a>>) -> (Vec<String>, Vec<Vec<String>>) {
    let rows: Vec<Value> = rows.map(row).collect();
    let fixed: BTreeSet<&str> = BEFORE.iter().chain(&AFTER).copied().chain(["caps", CHECKED]).collect();
    let is_checked = rows.iter().any(|row| row.get(CHECKED).is_some());
    let mut axes: Vec<&str> = Vec::new();
    for name in rows.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !fixed.contains(name.as_str()) && !axes.contains(&name.as_str()) {
            axes.push(name);
        }
    }
    let names: Vec<String> = BEFORE
        .iter()
        .chain(&axes)
        .chain(&AFTER)
        .copied()
        .chain(["caps"])
        .chain(is_checked.then_some(CHECKED))
        .map(str::to_owned)
        .collect();
    let texts = rows.iter().map(|row| names.iter().map(|name| field(&row[name])).collect()).collect();
    (names, texts)
}

/// Returns all rows as tab-separated values with a header.
pub fn history<'a>(rows: impl Iterator<Item = CheckedRow<'a>>) -> String {
    let (names, rows) = table(rows);
    let lines = std::iter::once(names).chain(rows).map(|fields| fields.join("\t"));
    lines.map(|line| line + "\n").collect()
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        Value::Array(items) => items.iter().map(field).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

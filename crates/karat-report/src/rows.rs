//! Rows of a suite's history: one judge's grades of one sample each (BR-09, BR-15).

use std::collections::BTreeSet;

use karat_analysis::GradeRow;
use serde_json::{Map, Number, Value, json};

use crate::moment::rfc3339;
use crate::visible::visible;

/// Names that stand before the axes, and after them.
const BEFORE: [&str; 4] = ["card_date", "judge_model", "prompt_version", "composite"];
const AFTER: [&str; 5] = ["notes", "sample", "system", "ran_at", "run"];

/// One row: `{card_date, judge_model, prompt_version, composite, <axes>, notes, sample, system, ran_at, run, caps?}`.
pub fn row(judged: &GradeRow) -> Value {
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
    put("card_date", json!(judged.date));
    put("judge_model", json!(judged.judge_model));
    put("prompt_version", json!(judged.prompt_version));
    put("composite", number(judged.composite));
    for (axis, value) in &judged.axes {
        put(axis, number(*value));
    }
    put("notes", json!(judged.notes));
    put("sample", json!(judged.sample));
    put("system", json!(judged.system));
    put("ran_at", json!(rfc3339(judged.made_at)));
    put("run", json!(judged.run));
    if !judged.caps.is_empty() {
        put("caps", json!(judged.caps));
    }
    Value::Object(row)
}

/// A number as JSON, whole where it is.
pub fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    if is_whole { json!(value as i64) } else { Number::from_f64(value).map_or(Value::Null, Value::Number) }
}

/// All rows as a JSON list, a line each.
pub fn json<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> String {
    let lines: Vec<String> = rows.map(|judged| row(judged).to_string()).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

/// All rows as JSON lines.
pub fn lines<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> String {
    rows.map(|judged| format!("{}\n", row(judged))).collect()
}

/// Names of the columns, and a text a column for each row. Nothing in it can act on a terminal or leave its field.
pub fn table<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> (Vec<String>, Vec<Vec<String>>) {
    let rows: Vec<Value> = rows.map(row).collect();
    let fixed: BTreeSet<&str> = BEFORE.iter().chain(&AFTER).copied().chain(["caps"]).collect();
    let mut axes: Vec<&str> = Vec::new();
    for name in rows.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !fixed.contains(name.as_str()) && !axes.contains(&name.as_str()) {
            axes.push(name);
        }
    }
    let names: Vec<String> =
        BEFORE.iter().chain(&axes).chain(&AFTER).copied().chain(["caps"]).map(str::to_owned).collect();
    let texts = rows.iter().map(|row| names.iter().map(|name| field(&row[name])).collect()).collect();
    (names, texts)
}

/// All rows as tab-separated values with a header.
pub fn tsv<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> String {
    let (names, rows) = table(rows);
    let lines = std::iter::once(names).chain(rows).map(|fields| fields.join("\t"));
    lines.map(|line| line + "\n").collect()
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => visible(text),
        Value::Array(items) => items.iter().map(field).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

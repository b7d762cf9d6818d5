//! One row of a suite's history: one judge's grades of one sample.

use karat_analysis::GradeRow;
use serde_json::{Map, Number, Value, json};

use crate::shared::moment::rfc3339;

/// Names of the columns before and after the axes.
pub(crate) const BEFORE: [&str; 4] = ["card_date", "judge_model", "prompt_version", "composite"];

pub(crate) const AFTER: [&str; 5] = ["notes", "sample", "system", "ran_at", "run"];

/// Returns one row: `{card_date, judge_model, prompt_version, composite, <axes>, notes, sample, system, ran_at, run,
/// caps?, golden_check?}`.
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
    if judged.is_golden_check {
        put("golden_check", json!(true));
    }
    Value::Object(row)
}

/// Returns a number as JSON, as an integer if it is whole.
pub fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    if is_whole { json!(value as i64) } else { Number::from_f64(value).map_or(Value::Null, Value::Number) }
}

//! Reading the inputs of cases and writing results as JSON.

use karat_stats::interval::{Interval, Level};
use serde_json::Value;

/// The field `name` of a case's input.
///
/// # Errors
/// When it is missing.
pub fn field<'a>(input: &'a Value, name: &str) -> Result<&'a Value, String> {
    input.get(name).ok_or_else(|| format!("reading the input: field {name} is missing"))
}

/// The number `name`; `"inf"` and `"-inf"` are read as infinities.
///
/// # Errors
/// When it is missing or not a number.
pub fn number(input: &Value, name: &str) -> Result<f64, String> {
    as_number(field(input, name)?).ok_or_else(|| wrong(input, name, "a number"))
}

/// The non-negative integer `name`.
///
/// # Errors
/// When it is missing or not a non-negative integer.
pub fn integer(input: &Value, name: &str) -> Result<usize, String> {
    as_count(field(input, name)?).ok_or_else(|| wrong(input, name, "a non-negative integer"))
}

/// The text `name`.
///
/// # Errors
/// When it is missing or not a string.
pub fn text<'a>(input: &'a Value, name: &str) -> Result<&'a str, String> {
    field(input, name)?.as_str().ok_or_else(|| wrong(input, name, "a string"))
}

/// The array `name`.
///
/// # Errors
/// When it is missing or not an array.
pub fn array<'a>(input: &'a Value, name: &str) -> Result<&'a [Value], String> {
    let array = field(input, name)?.as_array().map(Vec::as_slice);
    array.ok_or_else(|| wrong(input, name, "an array"))
}

/// The array of numbers `name`, in which null is a missing observation.
///
/// # Errors
/// When it is missing or holds something else.
pub fn observations(input: &Value, name: &str) -> Result<Vec<Option<f64>>, String> {
    as_observations(field(input, name)?).ok_or_else(|| wrong(input, name, "an array of numbers and nulls"))
}

/// The array of numbers `name` without its missing observations.
///
/// # Errors
/// When it is missing or holds something else.
pub fn observed_values(input: &Value, name: &str) -> Result<Vec<f64>, String> {
    Ok(observations(input, name)?.into_iter().flatten().collect())
}

/// The confidence level `level`.
///
/// # Errors
/// When it is missing or not between 0 and 1.
pub fn level(input: &Value) -> Result<Level, String> {
    Level::new(number(input, "level")?).ok_or_else(|| wrong(input, "level", "between 0 and 1"))
}

/// The numbers `left` and `right` of the items that have both.
///
/// # Errors
/// When one is missing, holds something else, or they differ in length.
pub fn complete_pairs(input: &Value, left: &str, right: &str) -> Result<(Vec<f64>, Vec<f64>), String> {
    let (a, b) = (observations(input, left)?, observations(input, right)?);
    if a.len() != b.len() {
        return Err(format!("reading the input: {left} has {} values and {right} {}", a.len(), b.len()));
    }
    Ok(a.into_iter().zip(b).filter_map(|(a, b)| a.zip(b)).unzip())
}

/// A JSON number, or an infinity written as text.
pub fn as_number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}

/// A JSON array of numbers and nulls.
pub fn as_observations(value: &Value) -> Option<Vec<Option<f64>>> {
    let each = |v: &Value| {
        if v.is_null() { Some(None) } else { as_number(v).map(Some) }
    };
    value.as_array()?.iter().map(each).collect()
}

/// A JSON array of non-negative integers.
pub fn as_indices(value: &Value) -> Option<Vec<usize>> {
    value.as_array()?.iter().map(as_count).collect()
}

/// A non-negative integer, also where it is written as 3.0.
fn as_count(value: &Value) -> Option<usize> {
    let whole = || value.as_f64().filter(|x| (0.0..=9e15).contains(x) && x.fract() <= 0.0).map(|x| x as u64);
    value.as_u64().or_else(whole).and_then(|n| usize::try_from(n).ok())
}

/// The array of labels `name`: texts, truth values and numbers, of which 1 and 1.0 are the same, or null.
///
/// # Errors
/// When it is missing or not an array.
pub fn labels(input: &Value, name: &str) -> Result<Vec<Value>, String> {
    Ok(array(input, name)?.iter().map(label).collect())
}

/// A label in the form in which equal ones are equal.
pub fn label(value: &Value) -> Value {
    value.as_f64().map_or_else(|| value.clone(), Value::from)
}

/// The JSON of a result: null when undefined, text when infinite.
pub fn json(value: impl Into<Option<f64>>) -> Value {
    match value.into() {
        Some(x) if x.is_infinite() => Value::from(if x > 0.0 { "inf" } else { "-inf" }),
        Some(x) => Value::from(x),
        None => Value::Null,
    }
}

/// The JSON of an interval's lower end.
pub fn lower(interval: Option<Interval>) -> Value {
    json(interval.map(|interval| interval.lo))
}

/// The JSON of an interval's upper end.
pub fn upper(interval: Option<Interval>) -> Value {
    json(interval.map(|interval| interval.hi))
}

/// The message of a typed error.
pub fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn wrong(input: &Value, name: &str, wanted: &str) -> String {
    let found = input.get(name).map(Value::to_string).unwrap_or_default();
    let short: String = found.chars().take(60).collect();
    format!("reading the input: field {name} should be {wanted}, found {short}")
}

/// The index of each value in the declared list.
pub fn label_indices(name: &str, values: &[Value], labels: &[Value]) -> Result<Vec<usize>, String> {
    let index = |value: &Value| labels.iter().position(|label| label == value);
    let unknown = |value: &Value| format!("reading the input: {name} has {value}, which is not a label");
    values.iter().map(|value| index(value).ok_or_else(|| unknown(value))).collect()
}

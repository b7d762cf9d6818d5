//! Between JSON and minijinja's values.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use karat_types::json;
use minijinja::value::{DynObject, Object, ObjectRepr, Value, ValueKind};
use serde_json::{Map, Number};

use super::growth::Budget;

/// Nesting beyond which a value is refused.
const DEPTH: usize = 128;

/// The problem with a value that would be larger.
const TOO_LARGE: &str = "is larger than 64 MiB";

/// A number that neither an integer of 128 bits nor a float holds: it is inserted with all its digits.
#[derive(Debug)]
pub(super) struct Digits(Number);

impl Digits {
    /// The nearest float.
    pub fn float(&self) -> Option<f64> {
        self.0.as_f64()
    }

    /// The number in a value, where it is one of this kind.
    pub fn of(value: &Value) -> Option<&Self> {
        value.downcast_object_ref()
    }
}

impl Object for Digits {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = &other.downcast_ref::<Self>()?.0;
        if json::same_number(&self.0, other) {
            return Some(Ordering::Equal);
        }
        Some(self.0.as_f64()?.total_cmp(&other.as_f64()?).then_with(|| self.0.as_str().cmp(other.as_str())))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The value that templates see for a JSON value.
pub fn from_json(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(value) => Value::from(*value),
        serde_json::Value::Number(value) => from_number(value),
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => items.iter().map(from_json).collect(),
        serde_json::Value::Object(members) => from_members(members),
    }
}

/// The same for the members of an object.
pub(super) fn from_members(members: &Map<String, serde_json::Value>) -> Value {
    Value::from_pairs(members.iter().map(|(key, value)| (key.as_str(), from_json(value))))
}

fn from_number(number: &Number) -> Value {
    let integer = number.as_u64().map(Value::from).or_else(|| number.as_i64().map(Value::from));
    let integer = integer.or_else(|| number.as_i128().map(Value::from)).or_else(|| number.as_u128().map(Value::from));
    if let Some(integer) = integer {
        return integer;
    }
    match number.as_f64() {
        Some(float) if Number::from_f64(float).is_some_and(|short| json::same_number(&short, number)) => {
            Value::from(float)
        }
        _ => Value::from_object(Digits(number.clone())),
    }
}

/// The value as JSON.
///
/// # Errors
/// What is wrong with it, worded to follow the expression's name.
pub fn value(value: &Value) -> Result<serde_json::Value, String> {
    convert(value, DEPTH, &mut Budget::of_text())
}

/// Formats a value for a text, where minijinja writes it differently: a list or object as JSON, none as nothing.
pub(super) fn json_text(value: &Value) -> Option<Result<String, String>> {
    match value.kind() {
        ValueKind::None => Some(Ok(String::new())),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
            Some(convert(value, DEPTH, &mut Budget::of_text()).map(|json| json.to_string()))
        }
        _ => None,
    }
}

/// Formats a JSON value for a text: texts as they are, null as nothing, everything else as JSON.
pub fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn convert(value: &Value, depth: usize, budget: &mut Budget) -> Result<serde_json::Value, String> {
    let deeper = depth.checked_sub(1).ok_or_else(|| format!("is nested more than {DEPTH} deep"))?;
    budget.spend(value.as_str().map_or(0, str::len)).ok_or(TOO_LARGE)?;
    match value.kind() {
        ValueKind::Undefined => Err("holds an undefined value".to_owned()),
        ValueKind::None => Ok(serde_json::Value::Null),
        ValueKind::Bool => Ok(serde_json::Value::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::Seq | ValueKind::Iterable => {
            if value.len().is_some_and(|members| !budget.has_members(members)) {
                return Err(TOO_LARGE.to_owned());
            }
            let items = value.try_iter().map_err(|error| format!("cannot be listed: {error}"))?;
            items
                .map(|item| convert(&item, deeper, budget))
                .collect::<Result<Vec<_>, _>>()
                .map(serde_json::Value::Array)
        }
        ValueKind::Map => map(value, deeper, budget),
        ValueKind::String => Ok(serde_json::Value::String(value.as_str().unwrap_or_default().to_owned())),
        kind => match Digits::of(value) {
            Some(Digits(number)) => Ok(serde_json::Value::Number(number.clone())),
            None => Err(format!("is a {kind}, which is not a JSON value")),
        },
    }
}

fn map(value: &Value, depth: usize, budget: &mut Budget) -> Result<serde_json::Value, String> {
    let mut map = Map::new();
    for key in value.try_iter().map_err(|error| format!("cannot be listed: {error}"))? {
        let member = value.get_item(&key).map_err(|error| format!("has no member {key}: {error}"))?;
        map.insert(key.to_string(), convert(&member, depth, budget)?);
    }
    Ok(serde_json::Value::Object(map))
}

fn number(value: &Value) -> Result<serde_json::Value, String> {
    if let Some(number) = value.is_integer().then(|| integer(value)).flatten() {
        return Ok(number.into());
    }
    f64::try_from(value.clone())
        .ok()
        .and_then(Number::from_f64)
        .map(serde_json::Value::Number)
        .ok_or_else(|| format!("is {value}, which is not a JSON number"))
}

fn integer(value: &Value) -> Option<Number> {
    let signed = i128::try_from(value.clone()).ok().and_then(Number::from_i128);
    signed.or_else(|| u128::try_from(value.clone()).ok().and_then(Number::from_u128))
}

//! The values of a span by name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::otlp::{AnyValue, Content, KeyValue};

/// Values by name. Where a name stands twice, the later value counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes(BTreeMap<String, Value>);

impl Attributes {
    pub fn new(pairs: Vec<KeyValue>) -> Self {
        Self(pairs.into_iter().filter_map(|pair| Some((pair.key, value(pair.value?)))).collect())
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub fn has_prefix(&self, prefix: &str) -> bool {
        self.0.range(prefix.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(prefix))
    }

    /// The text of the first of these names that has one which is not empty.
    pub fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| match self.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Array(_) | Value::Object(_) => None,
            other => Some(other.to_string()),
        })
    }

    /// The first of these names whose value is an integer ≥ 0, or a text of one.
    pub fn count(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| count(self.get(name)?))
    }

    /// A value that is a structure, or the text of one, as most libraries send it; any other text is itself.
    pub fn structure(&self, name: &str) -> Option<Value> {
        structure(self.get(name)?)
    }

    /// The structure that is written as names with dots and positions, `PREFIX.0.message.role` and so on: a list of what
    /// stands at each position, in order.
    pub fn positions(&self, prefix: &str) -> Vec<Self> {
        let mut lists: BTreeMap<usize, Self> = BTreeMap::new();
        let start = format!("{prefix}.");
        for (name, value) in self.0.range(start.clone()..).take_while(|(name, _)| name.starts_with(&start)) {
            let Some((position, rest)) = name[start.len()..].split_once('.') else { continue };
            let Ok(position) = position.parse() else { continue };
            lists.entry(position).or_default().0.insert(rest.to_owned(), value.clone());
        }
        lists.into_values().collect()
    }
}

/// A structure, or the text of one; any other value is itself.
pub(crate) fn structure(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            Some(serde_json::from_str(text).unwrap_or_else(|_| value.clone()))
        }
        Value::String(text) if text.is_empty() => None,
        Value::Null => None,
        value => Some(value.clone()),
    }
}

/// An integer ≥ 0, or a text of one.
pub(crate) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn value(any: AnyValue) -> Value {
    match any.content {
        None => Value::Null,
        Some(Content::Text(text)) => text.into(),
        Some(Content::Bool(value)) => value.into(),
        Some(Content::Integer(value)) => value.into(),
        Some(Content::Number(value)) => value.into(),
        Some(Content::List(list)) => list.values.into_iter().map(value).collect(),
        Some(Content::Map(map)) => {
            let pairs = map.values.into_iter().map(|pair| (pair.key, pair.value.map_or(Value::Null, value)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        // Bytes are none of the fields that are read.
        Some(Content::Bytes(_)) => Value::Null,
    }
}

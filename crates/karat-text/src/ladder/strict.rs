//! Strict JSON, with keys that stand twice noted.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value and the keys that stand twice in one of its objects (the last one counts).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parsed {
    pub value: Value,
    pub duplicates: Vec<Duplicate>,
}

/// A key that stands twice in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Duplicate {
    pub key: String,
    /// True if it says something else the second time.
    pub differs: bool,
}

impl Parsed {
    pub fn notes(&self) -> Vec<String> {
        self.duplicates.iter().map(|it| format!("the key {:?} stood twice; the last one counts", it.key)).collect()
    }
}

/// Adds a member to an object; a key that is there already is noted.
pub(super) fn insert(members: &mut Map<String, Value>, key: String, value: Value, duplicates: &mut Vec<Duplicate>) {
    if let Some(before) = members.get(&key) {
        duplicates.push(Duplicate { key: key.clone(), differs: *before != value });
    }
    members.insert(key, value);
}

/// The text as one JSON value.
pub(super) fn whole(text: &str) -> Option<Parsed> {
    serde_json::from_str(text).ok()
}

/// The JSON value that the text begins with, and its length.
pub(super) fn prefix(text: &str) -> Option<(Parsed, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Parsed>();
    let parsed = values.next()?.ok()?;
    Some((parsed, values.byte_offset()))
}

/// The JSON value of a text whose quotes are all escaped, like `{\"a\": 1}`.
pub(super) fn parse_escaped(text: &str) -> Option<Parsed> {
    let text = text.trim();
    if !text.strip_prefix(['{', '['])?.trim_start().starts_with("\\\"") {
        return None;
    }
    let quoted = format!("\"{}\"", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"));
    let unescaped: String = serde_json::from_str(&quoted).ok()?;
    whole(&unescaped)
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

fn plain<E>(value: impl Into<Value>) -> Result<Parsed, E> {
    Ok(Parsed { value: value.into(), duplicates: Vec::new() })
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        plain(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parsed, E> {
        plain(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Parsed, E> {
        plain(value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Parsed, E> {
        plain(value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Parsed, E> {
        plain(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<Parsed, E> {
        plain(value)
    }

    fn visit_string<E>(self, value: String) -> Result<Parsed, E> {
        plain(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Parsed, A::Error> {
        let (mut items, mut duplicates) = (Vec::new(), Vec::new());
        while let Some(mut item) = access.next_element::<Parsed>()? {
            items.push(item.value);
            duplicates.append(&mut item.duplicates);
        }
        Ok(Parsed { value: Value::Array(items), duplicates })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Parsed, A::Error> {
        let (mut members, mut duplicates) = (Map::new(), Vec::new());
        while let Some((key, mut member)) = access.next_entry::<String, Parsed>()? {
            duplicates.append(&mut member.duplicates);
            insert(&mut members, key, member.value, &mut duplicates);
        }
        Ok(Parsed { value: Value::Object(members), duplicates })
    }
}

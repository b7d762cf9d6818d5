//! The spanned tree: a YAML document in which every key and value knows its place.

use serde_json::{Map, Number, Value};

pub(crate) use crate::diagnostics::{FileId, Place};

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub value: Tree,
    pub place: Place,
}

/// A value of the tree. Scalars keep their text as it was written beside the type YAML gives it.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Scalar { value: Value, written: String },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its place, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Node {
    /// The value under a key, where this is a map that has it. Of duplicate keys the first one counts.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value under a key, unless it is absent or null.
    pub fn field(&self, key: &str) -> Option<&Node> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// The entries of a map; nothing for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Tree::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The members of a list; nothing for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Tree::List(items) => items,
            _ => &[],
        }
    }

    /// A scalar's text as written: `1.10` stays `1.10`, `no` stays `no`. Null has no text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Tree::Scalar { value: Value::Null, .. } => None,
            Tree::Scalar { written, .. } => Some(written),
            _ => None,
        }
    }

    /// The node of the main key: the scalar or list itself (short form), or the value of that key in a map.
    pub fn main<'a>(&'a self, key: &str) -> Option<&'a Node> {
        match &self.value {
            Tree::Scalar { .. } | Tree::List(_) => Some(self).filter(|node| !node.is_null()),
            _ => self.field(key),
        }
    }

    /// The text under a key.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.field(key).and_then(Node::text)
    }

    pub fn number(&self) -> Option<f64> {
        match &self.value {
            Tree::Scalar { value, .. } => value.as_f64(),
            _ => None,
        }
    }

    pub fn integer(&self) -> Option<i64> {
        match &self.value {
            Tree::Scalar { value, .. } => value.as_i64(),
            _ => None,
        }
    }

    pub fn boolean(&self) -> Option<bool> {
        match &self.value {
            Tree::Scalar { value, .. } => value.as_bool(),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(&self.value, Tree::Scalar { value: Value::Null, .. })
    }

    /// The texts of a list.
    pub fn texts(&self) -> Vec<String> {
        self.items().iter().filter_map(Node::text).map(str::to_owned).collect()
    }

    /// The kind of the value in words.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Tree::Map(_) => "a map",
            Tree::List(_) => "a list",
            Tree::Scalar { value, .. } => match value {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Number(_) => "a number",
                _ => "a text",
            },
        }
    }

    /// The value without its places.
    pub fn json(&self) -> Value {
        match &self.value {
            Tree::Scalar { value, .. } => value.clone(),
            Tree::List(items) => Value::Array(items.iter().map(Self::json).collect()),
            Tree::Map(_) => Value::Object(self.json_map()),
        }
    }

    /// A map without its places; empty for anything else.
    pub fn json_map(&self) -> Map<String, Value> {
        self.entries().iter().map(|entry| (entry.key.clone(), entry.node.json())).collect()
    }

    /// A tree made of a plain value, all of it standing at one place.
    pub fn of_json(value: &Value, place: &Place) -> Self {
        let tree = match value {
            Value::Array(items) => Tree::List(items.iter().map(|item| Self::of_json(item, place)).collect()),
            Value::Object(map) => Tree::Map(
                map.iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        place: place.clone(),
                        node: Self::of_json(value, place),
                    })
                    .collect(),
            ),
            scalar => Tree::Scalar { value: scalar.clone(), written: text_as_written(scalar) },
        };
        Self { value: tree, place: place.clone() }
    }

    /// The node at a JSON pointer's segments, or the nearest existing one above it.
    pub fn nearest_at<'a>(&self, segments: impl Iterator<Item = &'a str>) -> &Node {
        let mut node = self;
        for segment in segments {
            let below = match &node.value {
                Tree::Map(_) => node.get(segment),
                Tree::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
                Tree::Scalar { .. } => None,
            };
            match below {
                Some(below) => node = below,
                None => break,
            }
        }
        node
    }
}

fn text_as_written(scalar: &Value) -> String {
    match scalar {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number as a JSON number; not-a-number and infinity have none.
pub(crate) fn finite(number: f64) -> Option<Number> {
    Number::from_f64(number)
}

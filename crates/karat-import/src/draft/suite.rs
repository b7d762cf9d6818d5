//! The suite that an import makes.

use serde_json::{Map, Value, json};

/// The registry file of a suite that needs one.
pub(super) const REGISTRY: &str = "models.yaml";

/// Keys of a suite file as an importer fills them. What stays empty is not written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Suite {
    pub name: String,
    /// One line about the source; a template mark in it has no meaning.
    pub about: String,
    pub params: Map<String, Value>,
    pub dataset: Map<String, Value>,
    /// Entries of models that single scorers ask, in a registry file.
    pub registry: Vec<Value>,
    /// Models as ids or entries of a registry.
    pub models: Vec<Value>,
    pub judges: Vec<Value>,
    /// Tools that prompts offer, by name.
    pub tools: Map<String, Value>,
    /// Variants by id: lists of steps.
    pub variants: Map<String, Value>,
    pub scorers: Map<String, Value>,
    pub run: Map<String, Value>,
    pub policy: Map<String, Value>,
}

impl Suite {
    /// The suite file's content, in the usual order of keys.
    pub fn to_value(&self) -> Value {
        let mut file = Map::new();
        file.insert("schema".to_owned(), json!("karat.suite/1"));
        file.insert("name".to_owned(), json!(self.name));
        let parts = [
            ("about", json!(self.about)),
            ("params", json!(self.params)),
            ("dataset", json!(self.dataset)),
            ("registry", if self.registry.is_empty() { json!([]) } else { json!([REGISTRY]) }),
            ("models", json!(self.models)),
            ("judges", json!(self.judges)),
            ("tools", json!(self.tools)),
            ("variants", json!(self.variants)),
            ("scorers", json!(self.scorers)),
            ("run", json!(self.run)),
            ("policy", json!(self.policy)),
        ];
        file.extend(parts.into_iter().filter(|(_, part)| !is_empty(part)).map(|(key, part)| (key.to_owned(), part)));
        Value::Object(file)
    }
}

fn is_empty(part: &Value) -> bool {
    match part {
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

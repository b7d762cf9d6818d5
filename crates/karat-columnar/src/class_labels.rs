//! Names of the labels that Hugging Face datasets store as numbers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Key of a schema's metadata under which the features of a dataset are kept.
const FEATURES: &str = "huggingface";

/// Names by column and number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassLabels(BTreeMap<String, Vec<String>>);

impl ClassLabels {
    /// The labels that the metadata of a file's schema name.
    pub(crate) fn of_schema(metadata: &arrow_schema::Metadata) -> Self {
        let info = metadata.get(FEATURES).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let features = info.as_ref().and_then(|info| info.pointer("/info/features")).and_then(Value::as_object);
        features.map(Self::of_features).unwrap_or_default()
    }

    /// The labels of `{COLUMN: {_type: ClassLabel, names: [...]}}`.
    pub fn of_features(features: &Map<String, Value>) -> Self {
        let labels = features.iter().filter_map(|(column, feature)| {
            let is_label = feature.get("_type").and_then(Value::as_str) == Some("ClassLabel");
            Some((column.clone(), is_label.then(|| names(feature.get("names")?))??))
        });
        Self(labels.collect())
    }

    /// The labels of a dataset card: `[{name: COLUMN, dtype: {class_label: {names: {"0": NAME}}}}]`.
    pub fn of_card(features: &[Value]) -> Self {
        let labels = features.iter().filter_map(|feature| {
            let column = feature.get("name")?.as_str()?;
            Some((column.to_owned(), names(feature.pointer("/dtype/class_label/names")?)?))
        });
        Self(labels.collect())
    }

    /// Returns whether no column has labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the labels of columns that have none.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        for (column, names) in &other.0 {
            self.0.entry(column.clone()).or_insert_with(|| names.clone());
        }
        self
    }

    /// Replaces the numbers of a row by names. A number without a name stays; -1 is not a label.
    pub fn apply(&self, row: &mut Map<String, Value>) {
        for (column, names) in &self.0 {
            let Some(value) = row.get_mut(column) else { continue };
            if let Some(name) = value.as_u64().and_then(|number| names.get(usize::try_from(number).ok()?)) {
                *value = Value::String(name.clone());
            } else if value.as_i64() == Some(-1) {
                *value = Value::Null;
            }
        }
    }
}

/// Names as a list, or as an object by number.
fn names(listed: &Value) -> Option<Vec<String>> {
    match listed {
        Value::Array(list) => list.iter().map(|name| Some(name.as_str()?.to_owned())).collect(),
        Value::Object(by_number) => {
            let name = |number: usize| {
                let name = by_number.get(&number.to_string())?;
                Some(name.as_str().map_or_else(|| name.to_string(), str::to_owned))
            };
            (0..by_number.len()).map(name).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// IO-15: labels of both forms; numbers without a name stay.
    #[test]
    fn numbers_become_names() {
        let card = ClassLabels::of_card(&[
            json!({"name": "label", "dtype": {"class_label": {"names": {"0": "neg", "1": "pos"}}}}),
            json!({"name": "text", "dtype": "string"}),
        ]);
        let features = json!({"kind": {"_type": "ClassLabel", "names": ["a"]}, "n": {"_type": "Value"}});
        let labels = ClassLabels::of_features(features.as_object().unwrap()).or(&card);
        let mut row = json!({"label": 1, "kind": 0, "n": 0, "text": "x"});
        labels.apply(row.as_object_mut().unwrap());
        assert_eq!(row, json!({"label": "pos", "kind": "a", "n": 0, "text": "x"}));
        let mut row = json!({"label": -1, "kind": 7});
        labels.apply(row.as_object_mut().unwrap());
        assert_eq!(row, json!({"label": null, "kind": 7}));
    }
}

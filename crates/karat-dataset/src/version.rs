//! The version of a set of rows: a hash of their content.
//!
//! The order of the rows, their ids and their metadata are apart from their content, and have hashes of their own. A label
//! or a result belongs to a row's content, so it follows the row into another order, under another id, into another file.

use std::borrow::Cow;

use karat_types::{Key, KeyBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// The largest whole number below which every whole number is exact as a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The columns of a row that are not part of its content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApartColumns {
    /// Columns that may hold the row's id.
    pub ids: Vec<String>,
    /// Columns that describe the row to readers.
    pub metadata: Vec<String>,
}

impl ApartColumns {
    /// Returns true if a column is one of them.
    pub fn contains(&self, name: &str) -> bool {
        self.ids.iter().chain(&self.metadata).any(|column| column == name)
    }
}

/// The hash of a row's content: its columns without its id and its metadata, in any order. An absent column and one with
/// null are the same, as are 1 and 1.0.
pub fn row_key(columns: &Map<String, Value>, apart: &ApartColumns) -> Key {
    columns_key("karat/dataset/row/1", columns, |name| !apart.contains(name))
}

/// The hash of a row's metadata.
pub fn metadata_key(columns: &Map<String, Value>, apart: &ApartColumns) -> Key {
    columns_key("karat/dataset/metadata/1", columns, |name| apart.metadata.iter().any(|column| column == name))
}

fn columns_key(domain: &str, columns: &Map<String, Value>, is_part: impl Fn(&str) -> bool) -> Key {
    let mut parts: Vec<(&String, &Value)> =
        columns.iter().filter(|(name, value)| !value.is_null() && is_part(name)).collect();
    parts.sort_by_key(|(name, _)| *name);
    parts
        .into_iter()
        .fold(KeyBuilder::new(domain), |key, (name, value)| key.text(name).value(&canonical(value)))
        .finish()
}

/// A value with the keys of its objects sorted, and whole floats as whole numbers.
fn canonical(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            let entries = entries.into_iter().map(|(name, value)| (name.clone(), canonical(value).into_owned()));
            Cow::Owned(Value::Object(entries.collect()))
        }
        Value::Array(items) => Cow::Owned(items.iter().map(|item| canonical(item).into_owned()).collect()),
        Value::Number(number) => whole_number(number).map_or(Cow::Borrowed(value), |whole| Cow::Owned(whole.into())),
        _ => Cow::Borrowed(value),
    }
}

/// A float without a fraction as a whole number.
fn whole_number(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
}

/// The version of a set of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsVersion {
    /// Number of rows.
    pub rows: u64,
    /// Hash of the rows' content, in any order.
    pub hash: Key,
    /// Hash of the rows' ids and metadata beside their content, in any order.
    pub metadata: Key,
    /// Hash of the rows' content and ids in their order.
    pub order: Key,
}

/// Hashes rows one by one. It keeps 32 bytes a row.
#[derive(Default)]
pub struct RowsHasher {
    contents: Vec<Key>,
    described: Vec<Key>,
    order: blake3::Hasher,
}

impl RowsHasher {
    /// Starts with no rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row, and returns the hash of its content.
    pub fn add(&mut self, id: &str, columns: &Map<String, Value>, apart: &ApartColumns) -> Key {
        let content = row_key(columns, apart);
        self.add_key(id, content, metadata_key(columns, apart));
        content
    }

    /// Adds a row by the hashes of its content and its metadata.
    pub fn add_key(&mut self, id: &str, content: Key, metadata: Key) {
        let described = KeyBuilder::new("karat/dataset/described/1").text(id).key(content).key(metadata).finish();
        let ordered = KeyBuilder::new("karat/dataset/ordered/1").text(id).key(content).finish();
        self.contents.push(content);
        self.described.push(described);
        self.order.update(&ordered.0);
    }

    /// The version of the rows so far.
    pub fn finish(self) -> RowsVersion {
        let Self { contents, described, order } = self;
        let mut key = [0; 16];
        key.copy_from_slice(&order.finalize().as_bytes()[..16]);
        RowsVersion {
            rows: contents.len() as u64,
            hash: sorted_key("karat/dataset/rows/1", contents),
            metadata: sorted_key("karat/dataset/all-metadata/1", described),
            order: Key(key),
        }
    }
}

/// The hash of a multiset of keys.
fn sorted_key(domain: &str, mut keys: Vec<Key>) -> Key {
    keys.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    hasher.update(domain.as_bytes());
    for key in &keys {
        hasher.update(&key.0);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Key(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn columns(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn apart() -> ApartColumns {
        ApartColumns { ids: vec!["id".to_owned()], metadata: vec!["topic".to_owned()] }
    }

    fn version<'a>(rows: impl IntoIterator<Item = &'a Value>) -> RowsVersion {
        let mut hasher = RowsHasher::new();
        for row in rows {
            hasher.add(row["id"].as_str().unwrap(), row.as_object().unwrap(), &apart());
        }
        hasher.finish()
    }

    /// BC-06: a row's content has one hash, whatever the order of its keys, its id and its metadata.
    #[test]
    fn a_row_is_its_content() {
        let key = |value| row_key(&columns(value), &apart());
        let row = key(json!({"id": "a", "q": {"x": 1, "y": [2.0]}, "topic": "t"}));
        assert_eq!(row, key(json!({"topic": "u", "q": {"y": [2], "x": 1.0}, "id": "b", "empty": null})));
        for other in [
            json!({"q": {"x": 1, "y": [3]}}),
            json!({"q": {"x": "1", "y": [2]}}),
            json!({"q": {"x": 1, "y": [2]}, "r": ""}),
            json!({"p": {"x": 1, "y": [2]}}),
        ] {
            assert_ne!(row, key(other));
        }
    }

    /// BC-06: metadata and ids have a hash of their own.
    #[test]
    fn metadata_and_ids_are_apart() {
        let one = version([&json!({"id": "a", "q": 1, "topic": "t"})]);
        let retold = version([&json!({"id": "a", "q": 1, "topic": "u"})]);
        let renamed = version([&json!({"id": "b", "q": 1, "topic": "t"})]);
        assert_eq!((one.hash, one.hash), (retold.hash, renamed.hash));
        assert_eq!(one.order, retold.order);
        assert_ne!(one.metadata, retold.metadata);
        assert_ne!(one.metadata, renamed.metadata);
    }

    /// BC-06: a row that occurs twice is not a set with one of it.
    #[test]
    fn repeated_rows_count() {
        let row = json!({"id": "a", "q": 1});
        assert_ne!(version([&row]).hash, version([&row, &row]).hash);
        assert_eq!(version([]).rows, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        /// BC-06: rows in another order have the same hash; a changed row does not.
        #[test]
        fn reordered_rows_have_the_same_hash(
            values in proptest::collection::vec(0_i64..1_000, 2..40),
            turn in 1_usize..40,
            changed in 0_usize..40,
        ) {
            let rows: Vec<Value> =
                values.iter().enumerate().map(|(at, q)| json!({"id": format!("r{at}"), "q": q, "topic": at % 3})).collect();
            let mut turned = rows.clone();
            turned.rotate_left(turn % rows.len());
            let (before, after) = (version(&rows), version(&turned));
            prop_assert_eq!((before.hash, before.metadata), (after.hash, after.metadata));
            prop_assert_eq!(before.order == after.order, turn % rows.len() == 0);
            let mut edited = rows.clone();
            let at = changed % rows.len();
            edited[at]["q"] = json!("edited");
            prop_assert_ne!(before.hash, version(&edited).hash);
        }
    }
}

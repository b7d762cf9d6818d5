//! Two sets of rows compared by id.
//!
//! Both sets are read twice: first for their hashes, of which some 100 bytes a row are kept, then for the texts of those
//! rows that are shown.

use std::collections::BTreeMap;

use karat_types::Key;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::duplicates::{DiffPart, word_diff};
use crate::version::{ApartColumns, RowsHasher, RowsVersion, metadata_key, row_key};

/// The hashes of a set of rows, by id.
#[derive(Default)]
pub struct RowHashes {
    rows: BTreeMap<Box<str>, RowHash>,
    hasher: RowsHasher,
    next: u64,
}

#[derive(Clone, Copy)]
struct RowHash {
    content: Key,
    metadata: Key,
    place: u64,
}

/// Two rows of one set have the same id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the id `{0}` is that of two rows")]
pub struct RepeatedId(pub String);

impl RowHashes {
    /// Starts with no rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// An earlier row has its id.
    pub fn add(&mut self, id: &str, columns: &Map<String, Value>, apart: &ApartColumns) -> Result<(), RepeatedId> {
        let row =
            RowHash { content: row_key(columns, apart), metadata: metadata_key(columns, apart), place: self.next };
        self.hasher.add_key(id, row.content, row.metadata);
        self.next += 1;
        match self.rows.insert(id.into(), row) {
            None => Ok(()),
            Some(_) => Err(RepeatedId(id.to_owned())),
        }
    }

    /// Compares this set with a later one.
    pub fn compare(self, after: Self) -> RowsDiff {
        let (mut removed, mut changed, mut metadata) = (Vec::new(), Vec::new(), Vec::new());
        let (mut same, mut order) = (0, Vec::new());
        for (id, row) in &self.rows {
            match after.rows.get(id) {
                None => removed.push((id.to_string(), *row)),
                Some(other) if other.content != row.content => changed.push(id.to_string()),
                Some(other) => {
                    same += 1;
                    order.push((row.place, other.place));
                    if other.metadata != row.metadata {
                        metadata.push(id.to_string());
                    }
                }
            }
        }
        let mut added: Vec<(String, RowHash)> = (after.rows.iter())
            .filter(|(id, _)| !self.rows.contains_key(*id))
            .map(|(id, row)| (id.to_string(), *row))
            .collect();
        let renamed = take_renamed(&mut removed, &mut added);
        order.sort_unstable();
        let is_reordered = order.windows(2).any(|pair| matches!(pair, [(_, first), (_, second)] if first > second));
        let ids = |rows: Vec<(String, RowHash)>| rows.into_iter().map(|(id, _)| id).collect();
        RowsDiff {
            before: self.hasher.finish(),
            after: after.hasher.finish(),
            added: ids(added),
            removed: ids(removed),
            changed,
            renamed,
            metadata,
            is_reordered,
            same,
            rows: Vec::new(),
        }
    }
}

/// Takes rows out of both lists whose content is in the other under another id.
fn take_renamed(removed: &mut Vec<(String, RowHash)>, added: &mut Vec<(String, RowHash)>) -> Vec<RenamedRow> {
    let mut by_content: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for (id, row) in added.iter().rev() {
        by_content.entry(row.content).or_default().push(id.clone());
    }
    let mut renamed = Vec::new();
    removed.retain(|(id, row)| match by_content.get_mut(&row.content).and_then(Vec::pop) {
        Some(after) => {
            renamed.push(RenamedRow { before: id.clone(), after });
            false
        }
        None => true,
    });
    added.retain(|(id, _)| renamed.iter().all(|row| row.after != *id));
    renamed
}

/// A row with another id, and the same content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RenamedRow {
    /// Its id in the first set.
    pub before: String,
    /// Its id in the second.
    pub after: String,
}

/// A column of a row in two sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnChange {
    /// The column.
    pub column: String,
    /// The words that both share, those of the first and those of the second.
    pub words: Vec<DiffPart>,
    /// True if only white space differs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_space: bool,
}

/// The columns of a row that differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedRow {
    /// Its id.
    pub id: String,
    /// The columns.
    pub columns: Vec<ColumnChange>,
}

/// The difference of two sets of rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowsDiff {
    /// The first set.
    pub before: RowsVersion,
    /// The second set.
    pub after: RowsVersion,
    /// Ids of rows that only the second has.
    pub added: Vec<String>,
    /// Ids of rows that only the first has.
    pub removed: Vec<String>,
    /// Ids of rows with another content.
    pub changed: Vec<String>,
    /// Rows with another id.
    pub renamed: Vec<RenamedRow>,
    /// Ids of rows with the same content and other metadata.
    pub metadata: Vec<String>,
    /// True if common rows are in another order.
    pub is_reordered: bool,
    /// Number of rows with the same id and content.
    pub same: u64,
    /// The columns of changed rows, the first of them.
    pub rows: Vec<ChangedRow>,
}

impl RowsDiff {
    /// Returns true if both sets have the same rows, in any order and with any metadata.
    pub fn is_same_content(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// Returns true if nothing at all differs.
    pub fn is_empty(&self) -> bool {
        self.is_same_content() && self.renamed.is_empty() && self.metadata.is_empty() && !self.is_reordered
    }

    /// The ids of rows whose texts are needed to show `limit` changed rows.
    pub fn first_changed(&self, limit: usize) -> impl Iterator<Item = &String> {
        self.changed.iter().take(limit)
    }
}

/// The columns in which two rows differ, apart from ids and metadata, in the order of the second row.
pub fn changed_row(
    id: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    apart: &ApartColumns,
) -> ChangedRow {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let names = after.keys().chain(gone).filter(|name| !apart.contains(name));
    let changes = names.filter_map(|name| {
        let (old, new) = (text_of(before.get(name)), text_of(after.get(name)));
        let is_same = before.get(name).unwrap_or(&Value::Null) == after.get(name).unwrap_or(&Value::Null);
        (!is_same && old != new).then(|| {
            let words = word_diff(&old, &new);
            let is_space = words.iter().all(|part| matches!(part, DiffPart::Same(_)));
            ColumnChange { column: name.clone(), words, is_space }
        })
    });
    ChangedRow { id: id.to_owned(), columns: changes.collect() }
}

/// A value as text: strings as they are, nothing for null, everything else as JSON.
fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn apart() -> ApartColumns {
        ApartColumns { ids: vec!["id".to_owned()], metadata: vec!["topic".to_owned()] }
    }

    fn hashes<'a>(rows: impl IntoIterator<Item = &'a Value>) -> RowHashes {
        let mut hashes = RowHashes::new();
        for row in rows {
            hashes.add(row["id"].as_str().unwrap(), row.as_object().unwrap(), &apart()).unwrap();
        }
        hashes
    }

    /// BC-06: rows are added, removed and changed by id; a row under another id is renamed; order and metadata are apart.
    #[test]
    fn sets_differ_by_id() {
        let before = [
            json!({"id": "a", "q": "one"}),
            json!({"id": "b", "q": "two", "topic": "x"}),
            json!({"id": "c", "q": "three"}),
            json!({"id": "d", "q": "four"}),
        ];
        let after = [
            json!({"id": "b", "q": "two", "topic": "y"}),
            json!({"id": "a", "q": "one"}),
            json!({"id": "c", "q": "THREE"}),
            json!({"id": "e", "q": "four"}),
            json!({"id": "f", "q": "five"}),
        ];
        let diff = hashes(&before).compare(hashes(&after));
        assert_eq!((diff.added.clone(), diff.removed.clone()), (vec!["f".to_owned()], vec![]));
        assert_eq!((diff.changed.clone(), diff.metadata.clone()), (vec!["c".to_owned()], vec!["b".to_owned()]));
        assert_eq!(diff.renamed, [RenamedRow { before: "d".to_owned(), after: "e".to_owned() }]);
        assert!(diff.is_reordered && diff.same == 2 && !diff.is_empty());
        assert_eq!((diff.before.rows, diff.after.rows), (4, 5));
        let same = hashes(&before).compare(hashes(&before));
        assert!(same.is_empty() && same.same == 4);
    }

    /// BC-06: a set whose rows are only in another order has the same content.
    #[test]
    fn another_order_is_the_same_content() {
        let rows = [json!({"id": "a", "q": 1}), json!({"id": "b", "q": 2})];
        let diff = hashes(&rows).compare(hashes(rows.iter().rev()));
        assert!(diff.is_same_content() && diff.is_reordered && diff.before.hash == diff.after.hash);
    }

    /// BC-06: a changed row shows the words that differ, by column; ids, metadata and what is the same are left out.
    #[test]
    fn changed_rows_show_their_words() {
        let before = json!({"id": "a", "q": "where is my order", "n": 1, "topic": "x", "old": "gone"});
        let after = json!({"id": "a", "q": "where is our order", "n": 1, "topic": "y", "new": {"k": true}});
        let row = changed_row("a", before.as_object().unwrap(), after.as_object().unwrap(), &apart());
        let columns: Vec<&str> = row.columns.iter().map(|change| change.column.as_str()).collect();
        assert_eq!(columns, ["q", "new", "old"]);
        let diff = crate::duplicates::diff_text(&row.columns[0].words, 5);
        assert_eq!(diff, "where is [-my-] {+our+} order");
        let spaced = changed_row(
            "a",
            json!({"q": "a b"}).as_object().unwrap(),
            json!({"q": "a  b"}).as_object().unwrap(),
            &apart(),
        );
        assert!(spaced.columns[0].is_space);
    }

    /// BC-06: an id that two rows have is not a key.
    #[test]
    fn repeated_ids_are_refused() {
        let row = json!({"id": "a"});
        let mut hashes = hashes([&row]);
        assert_eq!(hashes.add("a", row.as_object().unwrap(), &apart()), Err(RepeatedId("a".to_owned())));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..ProptestConfig::default() })]

        /// BC-06: every row of both sets is counted once, and the way back is the mirror image.
        #[test]
        fn every_row_is_counted_once(
            before in proptest::collection::btree_map(0_u8..12, 0_u8..4, 0..12),
            after in proptest::collection::btree_map(0_u8..12, 0_u8..4, 0..12),
        ) {
            let rows = |map: &BTreeMap<u8, u8>| -> Vec<Value> {
                map.iter().map(|(id, q)| json!({"id": id.to_string(), "q": q})).collect()
            };
            let (one, other) = (rows(&before), rows(&after));
            let diff = hashes(&one).compare(hashes(&other));
            let back = hashes(&other).compare(hashes(&one));
            let common = diff.changed.len() + diff.same as usize + diff.renamed.len();
            prop_assert_eq!(common + diff.removed.len(), one.len());
            prop_assert_eq!(common + diff.added.len(), other.len());
            prop_assert_eq!((diff.added.len(), &diff.changed), (back.removed.len(), &back.changed));
            let has_same_hash = diff.before.hash == diff.after.hash;
            prop_assert!(!diff.is_same_content() || has_same_hash);
        }
    }
}

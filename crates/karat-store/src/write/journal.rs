//! The journal of a suite: durable facts that belong to no run, such as an alert that was raised or an incident that
//! was closed by hand. Entries are only ever added.

use karat_types::Moment;
use serde_json::Value;

use crate::database::transaction;
use crate::error::{Attempt, Damage, ReadFailure};
use crate::sql::params;
use crate::sql::tables::JOURNAL;
use crate::{Store, StoreError};

/// A fact about a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    /// Time of writing.
    pub at: Moment,
    /// Content in the application's own format.
    pub body: Value,
}

impl Store {
    /// Adds a fact of the given kind about a suite.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_journal_entry(&self, suite: &str, kind: &str, entry: &JournalEntry) -> Result<(), StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing the journal" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        JOURNAL
            .next_number(&transaction)
            .and_then(|seq| {
                JOURNAL.insert(&transaction, "", params![seq, suite, kind, entry.at.0, entry.body.to_string()])
            })
            .and_then(|_| transaction.commit())
            .map_err(|error| attempt.error(error))
    }

    /// Returns the facts of a kind about a suite, oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn journal_entries(&self, suite: &str, kind: &str) -> Result<Vec<JournalEntry>, StoreError> {
        self.read("the journal", |connection| {
            // All entries are looked at: one whose suite is damaged would otherwise be missing without a word.
            let select = format!("select {} from journal order by seq", JOURNAL.select(connection, &[]));
            let mut statement = connection.prepare_cached(&select)?;
            let mut rows = statement.query(params![])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                JOURNAL.check(&row, &[])?;
                if (row.get::<String>(1)?, row.get::<String>(2)?) != (suite.to_owned(), kind.to_owned()) {
                    continue;
                }
                let body = serde_json::from_str(&row.get::<String>(4)?)
                    .map_err(|error| ReadFailure::from(Damage(format!("an entry is not JSON: {error}"))))?;
                entries.push(JournalEntry { at: Moment(row.get(3)?), body });
            }
            Ok(entries)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;
    use serde_json::json;

    /// Entries keep their order, are separated by suite and kind, and survive reopening the store.
    #[test]
    pub(crate) fn facts_are_separated_by_suite_and_kind() {
        let folder = tempfile::tempdir().unwrap();
        let url = url_in(folder.path());
        let entry = |at: i64| JournalEntry { at: Moment(at), body: json!({ "n": at }) };
        {
            let store = Store::open(&url).unwrap();
            for (suite, kind, at) in [("a", "alert", 2), ("a", "alert", 1), ("a", "closed", 3), ("b", "alert", 4)] {
                store.add_journal_entry(suite, kind, &entry(at)).unwrap();
            }
        }
        let store = Store::open(&url).unwrap();
        assert_eq!(store.journal_entries("a", "alert").unwrap(), [entry(2), entry(1)]);
        assert_eq!(store.journal_entries("b", "closed").unwrap(), []);
    }
}

//! Answers to requests with an `Idempotency-Key`: the same request again gets the same answer.

use karat_types::Moment;

use crate::database::transaction;
use crate::error::Attempt;
use crate::sql::tables::IDEMPOTENCY;
use crate::sql::{Connection, OptionalExtension, SqlResult, params};
use crate::{Store, StoreError};

/// Time for which an answer is kept: seven days, in milliseconds.
const KEPT_MS: i64 = 7 * 24 * 3600 * 1000;

/// An answer that is kept for requests that are repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The key that the caller chose.
    pub key: String,
    /// Hash of the request: another request with the same key is an error of the caller.
    pub fingerprint: [u8; 32],
    /// Status of the answer.
    pub status: u16,
    /// Body of the answer.
    pub body: String,
    /// Its `Location`.
    pub location: Option<String>,
    /// Time of the answer.
    pub at: Moment,
}

impl Store {
    /// Returns the answer under a key, if it was given within the last seven days.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn kept_answer(&self, key: &str, now: Moment) -> Result<Option<KeptAnswer>, StoreError> {
        self.read("the kept answers", |connection| Ok(find_answer(connection, key, now)?))
    }

    /// Keeps an answer. Returns that of another request with the same key, if there is one: it counts.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_answer(&self, answer: &KeptAnswer) -> Result<Option<KeptAnswer>, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing an answer" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let write = || {
            let known = find_answer(&transaction, &answer.key, answer.at)?;
            if known.is_none() {
                add_answer(&transaction, answer)?;
            }
            Ok(known)
        };
        let known = write().map_err(|error| attempt.error(error))?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(known)
    }
}

/// Finds the answer under a key.
pub(super) fn find_answer(connection: &Connection, key: &str, now: Moment) -> SqlResult<Option<KeptAnswer>> {
    let columns = IDEMPOTENCY.select(connection, &[]);
    let select = format!("select {columns} from idempotency where key = ?1 and at > ?2");
    let mut statement = connection.prepare_cached(&select)?;
    let answer = statement.query_row(params![key, now.0 - KEPT_MS], |row| {
        IDEMPOTENCY.check(row, &[])?;
        Ok(KeptAnswer {
            key: row.get(0)?,
            fingerprint: row.get(1)?,
            status: row.get(2)?,
            body: row.get(3)?,
            location: row.get(4)?,
            at: Moment(row.get(5)?),
        })
    });
    answer.optional()
}

/// Adds an answer whose key is free, and removes those that are too old.
pub(super) fn add_answer(connection: &Connection, answer: &KeptAnswer) -> SqlResult<()> {
    let KeptAnswer { key, fingerprint, status, body, location, at } = answer;
    IDEMPOTENCY.delete(connection, "at <= ?1", params![at.0 - KEPT_MS])?;
    IDEMPOTENCY.insert(connection, "", params![key, fingerprint, status, body, location, at.0]).map(drop)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    /// SV-04: the first answer under a key counts for seven days, also after the store was opened again.
    #[test]
    pub(crate) fn the_first_answer_counts_for_seven_days() {
        let folder = tempfile::tempdir().unwrap();
        let url = url_in(folder.path());
        let answer = |body: &str, at: i64| KeptAnswer {
            key: "k".to_owned(),
            fingerprint: [1; 32],
            status: 202,
            body: body.to_owned(),
            location: None,
            at: Moment(at),
        };
        let first = answer("one", 5);
        assert_eq!(Store::open(&url).unwrap().keep_answer(&first).unwrap(), None);
        let store = Store::open(&url).unwrap();
        assert_eq!(store.keep_answer(&answer("two", 6)).unwrap(), Some(first.clone()));
        assert_eq!(store.kept_answer("k", Moment(4 + KEPT_MS)).unwrap(), Some(first));
        assert_eq!(store.kept_answer("k", Moment(5 + KEPT_MS)).unwrap(), None);
        assert_eq!(store.keep_answer(&answer("three", 5 + KEPT_MS)).unwrap(), None);
        assert_eq!(store.kept_answer("other", Moment(6)).unwrap(), None);
    }
}

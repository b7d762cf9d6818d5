//! Embeddings of texts: each is made once a store, whichever runs need it.
//!
//! A vector is stored as 32-bit floats, lowest byte first, of length 1.

use karat_types::Key;

use crate::database::transaction;
use crate::error::Attempt;
use crate::sql::tables::VECTORS;
use crate::sql::{Connection, OptionalExtension, Row, SqlError, SqlResult, params};
use crate::{Store, StoreError};

impl Store {
    /// Returns the vector of a text by its key.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn vector(&self, key: Key) -> Result<Option<Vec<f32>>, StoreError> {
        let bytes = self.read("the vector of a text", |connection| {
            // An older store, opened for reading, has no vectors.
            if !connection.has_table("vectors")? {
                return Ok(None);
            }
            let select = format!("select {} from vectors where key = ?1", VECTORS.select(connection, &[]));
            let mut statement = connection.prepare_cached(&select)?;
            let vector = |row: &Row<'_>| {
                VECTORS.check(row, &[])?;
                row.get::<Vec<u8>>(1)
            };
            Ok(statement.query_row(params![key.0], vector).optional()?)
        })?;
        Ok(bytes.map(|bytes| bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()))
    }

    /// Keeps the vectors of texts. One that is known already stays as it is, unless it is damaged. A store that is locked, or
    /// whose server is away, is waited for, as with records of calls: the vectors are paid.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_vectors(&self, vectors: &[(Key, Vec<f32>)]) -> Result<(), StoreError> {
        transaction::wait_out(self.patience(), || self.write_vectors(vectors))
    }

    fn write_vectors(&self, vectors: &[(Key, Vec<f32>)]) -> Result<(), StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing vectors of texts" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        (|| {
            let mut insert = VECTORS.inserting(&transaction, "on conflict do nothing")?;
            for (key, vector) in vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                if insert.execute(params![key.0, bytes])? == 0 && !is_sound(&transaction, *key)? {
                    VECTORS.delete(&transaction, "key = ?1", params![key.0])?;
                    insert.execute(params![key.0, bytes])?;
                }
            }
            drop(insert);
            Ok(())
        })()
        .and_then(|()| transaction.commit())
        .map_err(|error| attempt.error(error))
    }
}

/// Returns whether the stored vector of a text matches its checksum.
fn is_sound(connection: &Connection, key: Key) -> SqlResult<bool> {
    match VECTORS.change(connection, "key = ?1", params![key.0], |_| Ok(())) {
        Ok(_) => Ok(true),
        Err(SqlError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    /// TG-36: a vector is read as it was made, and the first one stays.
    #[test]
    pub(crate) fn the_first_vector_of_a_text_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path().join(".karat"))).unwrap();
        let key = Key::of("t", b"a");
        assert_eq!(store.vector(key).unwrap(), None);
        store.keep_vectors(&[(key, vec![0.6, -0.8])]).unwrap();
        store.keep_vectors(&[(key, vec![1.0]), (Key::of("t", b"b"), vec![0.5])]).unwrap();
        assert_eq!(store.vector(key).unwrap(), Some(vec![0.6, -0.8]));
        assert_eq!(store.vector(Key::of("t", b"b")).unwrap(), Some(vec![0.5]));
    }
}

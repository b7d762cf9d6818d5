//! Images and files that were sent to models, each once, by the digest that stored requests name.

use karat_types::Moment;

use crate::database::transaction;
use crate::error::Attempt;
use crate::sql::tables::BLOBS;
use crate::sql::{Connection, OptionalExtension, Row, SqlError, SqlResult, StoredRow, params};
use crate::{Store, StoreError};

const BYTES: &str = "select coalesce(sum(length(content)), 0) from blobs where at < ?1";
const REMOVE: &str = "delete from blobs where at < ?1";

const WITH_CONTENT: &[&str] = &["content"];

/// A stored image or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

impl Store {
    /// Returns the image or file with a digest, such as `blake3:…`; `None` if it is not stored.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn blob(&self, digest: &str) -> Result<Option<StoredBlob>, StoreError> {
        if !self.has_table("blobs") {
            return Ok(None);
        }
        self.read("an image", |connection| {
            let select = format!("select {} from blobs where digest = ?1", BLOBS.select(connection, WITH_CONTENT));
            let blob = |row: &Row<'_>| {
                BLOBS.check(row, WITH_CONTENT)?;
                Ok(StoredBlob { media_type: row.get(1)?, content: row.get(3)? })
            };
            Ok(connection.prepare_cached(&select)?.query_row(params![digest], blob).optional()?)
        })
    }

    /// Returns the media type of an image or file; `None` if it is not stored.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn blob_type(&self, digest: &str) -> Result<Option<String>, StoreError> {
        if !self.has_table("blobs") {
            return Ok(None);
        }
        self.read("an image", |connection| {
            let select = format!("select {} from blobs where digest = ?1", BLOBS.select(connection, &[]));
            let media_type = |row: &Row<'_>| {
                BLOBS.check(row, &[])?;
                row.get(1)
            };
            Ok(connection.prepare_cached(&select)?.query_row(params![digest], media_type).optional()?)
        })
    }

    /// Keeps an image or file, once however often it is sent, and notes when it was sent last. A store that is locked, or
    /// whose server is away, is waited for.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep_blob(&self, digest: &str, media_type: &str, content: &[u8], at: Moment) -> Result<(), StoreError> {
        transaction::wait_out(self.patience(), || self.write_blob(digest, media_type, content, at))
    }

    fn write_blob(&self, digest: &str, media_type: &str, content: &[u8], at: Moment) -> Result<(), StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing an image" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        (|| {
            let sent = |row: &mut StoredRow| {
                row.set("at", &at.0);
                Ok(())
            };
            let values = params![digest, media_type, at.0, content];
            match BLOBS.change(&transaction, "digest = ?1", params![digest], sent) {
                Ok(0) => BLOBS.insert(&transaction, "", values)?,
                // Its content is here again.
                Err(SqlError::Damaged { .. }) => {
                    BLOBS.delete(&transaction, "digest = ?1", params![digest])?;
                    BLOBS.insert(&transaction, "", values)?
                }
                changed => changed?,
            };
            Ok(())
        })()
        .and_then(|()| transaction.commit())
        .map_err(|error| attempt.error(error))
    }
}

/// The size of the images and files that were last sent before a moment, in bytes.
pub(crate) fn bytes_before(connection: &Connection, before: Moment) -> SqlResult<u64> {
    let bytes: i64 = connection.query_row(BYTES, params![before.0], |row| row.get(0))?;
    Ok(bytes.unsigned_abs())
}

/// Removes the images and files that were last sent before a moment.
pub(crate) fn remove_before(connection: &Connection, before: Moment) -> SqlResult<()> {
    connection.execute(REMOVE, params![before.0]).map(drop)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    /// TG-04: an image is stored once, and pruned with the requests of its time; one that was sent later stays.
    #[test]
    pub(crate) fn an_image_is_stored_once_and_pruned() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        store.keep_blob("blake3:aa", "image/png", b"\x89PNG", Moment(10)).unwrap();
        store.keep_blob("blake3:bb", "image/png", b"\x89PNG2", Moment(10)).unwrap();
        store.keep_blob("blake3:aa", "image/gif", b"other", Moment(30)).unwrap();
        let first = StoredBlob { media_type: "image/png".to_owned(), content: b"\x89PNG".to_vec() };
        assert_eq!(store.blob("blake3:aa").unwrap(), Some(first.clone()));
        assert_eq!(store.blob("blake3:cc").unwrap(), None);
        assert_eq!(store.prune(Moment(20), true, false).unwrap().trace_bytes, 5);
        store.prune(Moment(20), false, true).unwrap();
        assert!(store.blob("blake3:bb").unwrap().is_some(), "requests stay, and so do their images");
        store.prune(Moment(20), true, true).unwrap();
        assert_eq!((store.blob("blake3:bb").unwrap(), store.blob("blake3:aa").unwrap()), (None, Some(first)));
    }
}

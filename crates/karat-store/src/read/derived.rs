//! Data derived from the rows of a run, such as an index of its cells: bytes that a reader computed and keeps, so that
//! the next one need not read all rows again. They may be deleted at any time; then they are computed again.

use karat_types::Key;

use crate::error::Attempt;
use crate::read::rows::StoredRun;
use crate::sql::{OptionalExtension, params};
use crate::write::writer;
use crate::{Store, StoreError};

/// The fastest level: the bytes are numbers, and a slower level saves little.
const LEVEL: i32 = 1;

/// Largest size of unpacked data in bytes. What is larger is computed each time.
const LARGEST: usize = 1 << 30;

/// Data derived from a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedData {
    /// Id of the run.
    pub run: String,
    /// The key under which it was kept.
    pub key: Key,
    /// The data.
    pub bytes: Vec<u8>,
}

impl StoredRun {
    /// Returns the data of a kind that was kept under a key. `None` if there is none, or if it was derived from another
    /// state of the run, by another version of the code, or cannot be unpacked.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn read_derived(&self, kind: &str, key: Key) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read("derived data", |connection| {
            if !connection.has_table("derived")? {
                return Ok(None);
            }
            let packed: Option<Vec<u8>> = connection
                .prepare_cached("select body from derived where run = ?1 and kind = ?2 and key = ?3")?
                .query_row(params![self.id, kind, key.0], |row| row.get(0))
                .optional()?;
            Ok(packed.and_then(|packed| unpack(&packed)))
        })
    }

    /// Keeps data of a kind under a key, in place of what was there. Does nothing in a store that cannot be written.
    ///
    /// # Errors
    /// The data cannot be written.
    pub fn keep_derived(&self, kind: &str, key: Key, bytes: &[u8]) -> Result<(), StoreError> {
        if !self.store.is_writable() || bytes.len() > LARGEST {
            return Ok(());
        }
        let path = self.store.path();
        let attempt = Attempt { path, doing: "keeping derived data" };
        let packed = zstd::bulk::compress(bytes, LEVEL)
            .map_err(|why| StoreError::Open { path: path.to_owned(), why: why.to_string() })?;
        let connection = self.store.writing();
        let transaction = writer::begin(&connection, attempt)?;
        let insert = "insert into derived (run, kind, key, body) values (?1, ?2, ?3, ?4)
            on conflict (run, kind) do update set key = excluded.key, body = excluded.body";
        transaction
            .execute(insert, params![self.id, kind, key.0, packed])
            .and_then(|_| transaction.commit())
            .map_err(|error| attempt.error(error))
    }
}

impl Store {
    /// Returns the data of a kind of all runs that have some.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn derived_of_runs(&self, kind: &str) -> Result<Vec<DerivedData>, StoreError> {
        self.read("derived data", |connection| {
            if !connection.has_table("derived")? {
                return Ok(Vec::new());
            }
            let mut statement = connection.prepare_cached(
                "select runs.name, derived.key, derived.body from derived join runs on runs.id = derived.run
                 where derived.kind = ?1",
            )?;
            let mut rows = statement.query(params![kind])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let [key, packed] = [row.blob(1).unwrap_or_default(), row.blob(2).unwrap_or_default()];
                if let (Ok(key), Some(bytes)) = (key.try_into(), unpack(packed)) {
                    found.push(DerivedData { run: row.get(0)?, key: Key(key), bytes });
                }
            }
            Ok(found)
        })
    }
}

/// Unpacks data; `None` if it is damaged, because it can be computed again.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(packed).ok()??;
    let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST)?;
    zstd::bulk::decompress(packed, size).ok()
}

//! Data derived from the rows of a run, such as an index of its cells: bytes that a reader computed and keeps, so that
//! the next one need not read all rows again. They may be deleted at any time; then they are computed again.

use karat_types::Key;

use crate::database::transaction;
use crate::error::Attempt;
use crate::read::rows::StoredRun;
use crate::sql::params;
use crate::sql::tables::DERIVED;
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
            let columns = DERIVED.select(connection, &[]);
            let select = format!("select {columns} from derived where run = ?1 and kind = ?2 and key = ?3");
            let mut statement = connection.prepare_cached(&select)?;
            let mut rows = statement.query(params![self.id, kind, key.0])?;
            let packed = rows.next()?.filter(|row| DERIVED.check(row, &[]).is_ok()).map(|row| row.get::<Vec<u8>>(3));
            Ok(packed.transpose()?.and_then(|packed| unpack(&packed)))
        })
    }

    /// Keeps data of a kind under a key, in place of what was there. Does nothing in a store that cannot be written.
    ///
    /// # Errors
    /// The data cannot be written.
    pub fn keep_derived(&self, kind: &str, key: Key, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.keep_derived_of_runs(kind, &[(self.id, key, bytes)])
    }
}

impl Store {
    /// Returns the data of a kind of all runs that have some.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn derived_of_runs(&self, kind: &str) -> Result<Vec<DerivedData>, StoreError> {
        Ok(self.derived_by_run(kind)?.into_iter().map(|(_, data)| data).collect())
    }

    /// As [`Store::derived_of_runs`], with the numbers of the runs.
    pub(crate) fn derived_by_run(&self, kind: &str) -> Result<Vec<(i64, DerivedData)>, StoreError> {
        self.read("derived data", |connection| {
            if !connection.has_table("derived")? {
                return Ok(Vec::new());
            }
            let mut statement = connection.prepare_cached(&format!(
                "select {}, runs.name from derived join runs on runs.id = derived.run where derived.kind = ?1",
                DERIVED.select(connection, &[])
            ))?;
            let mut rows = statement.query(params![kind])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                // A damaged row is computed again.
                let Ok(name) = DERIVED.check_from(0, &row, &[]) else { continue };
                let [key, packed] = [row.blob(2)?, row.blob(3)?];
                if let (Ok(key), Some(bytes)) = (key.try_into(), unpack(packed)) {
                    found.push((row.get(0)?, DerivedData { run: row.get(name)?, key: Key(key), bytes }));
                }
            }
            Ok(found)
        })
    }

    /// Keeps data of a kind of several runs: the number of the run, the key and the bytes. Does nothing in a store that
    /// cannot be written.
    pub(crate) fn keep_derived_of_runs<B: AsRef<[u8]>>(
        &self,
        kind: &str,
        new: &[(i64, Key, B)],
    ) -> Result<(), StoreError> {
        let mut new = new.iter().filter(|(_, _, bytes)| bytes.as_ref().len() <= LARGEST).peekable();
        if !self.is_writable() || new.peek().is_none() {
            return Ok(());
        }
        let path = self.path();
        let attempt = Attempt { path, doing: "keeping derived data" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let replace =
            "on conflict (run, kind) do update set key = excluded.key, body = excluded.body, sum = excluded.sum";
        for (run, key, bytes) in new {
            let packed = zstd::bulk::compress(bytes.as_ref(), LEVEL)
                .map_err(|why| StoreError::Open { path: path.to_owned(), why: why.to_string() })?;
            let values = params![run, kind, key.0, packed];
            DERIVED.insert(&transaction, replace, values).map_err(|error| attempt.error(error))?;
        }
        transaction.commit().map_err(|error| attempt.error(error))
    }
}

/// Unpacks data; `None` if it is damaged, because it can be computed again.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(packed).ok()??;
    let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST)?;
    zstd::bulk::decompress(packed, size).ok()
}

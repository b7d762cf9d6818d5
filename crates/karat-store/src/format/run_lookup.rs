//! Look-up of a run by its exact name: its number in the database and its header.

use karat_types::{Moment, RunHeader};

use crate::StoreError;
use crate::error::{Damage, ReadFailure};
use crate::format::{run_status_of, unpack_header};
use crate::sql::tables::{RUNS, run_column as column};
use crate::sql::{Connection, Row, SqlError, SqlResult, params};

/// Number of runs that an error message suggests.
pub(crate) const SUGGESTIONS: i64 = 5;

/// A run with its number within the database.
pub(crate) struct RunEntry {
    pub id: i64,
    pub header: RunHeader,
}

/// The column that is read only where it is needed.
pub(crate) const WITH_HEADER: &[&str] = &["header"];

/// Reads a checked row with its header. Columns hold the parts that change, the packed header the rest.
pub(crate) fn read_run_entry(row: &Row<'_>) -> Result<RunEntry, ReadFailure> {
    let packed = row.blob(column::HEADER).map_err(|_| Damage("its header is not a blob".to_owned()))?;
    let mut header = unpack_header(packed)?;
    header.status = run_status_of(row.get(column::STATUS)?)?;
    header.started_at = Moment(row.get(column::STARTED_AT)?);
    header.completed_at = row.get::<Option<i64>>(column::COMPLETED_AT)?.map(Moment);
    Ok(RunEntry { id: row.get(column::ID)?, header })
}

/// Finds a run by its exact name.
pub(crate) fn find_run(connection: &Connection, name: &str) -> Result<RunEntry, ReadFailure> {
    match named_run(connection, name, WITH_HEADER, read_run_entry)? {
        Some(entry) => Ok(entry),
        None => Err(no_such_run(connection, name)?.into()),
    }
}

/// Finds a run's number by its exact name.
pub(crate) fn run_number(connection: &Connection, name: &str) -> Result<i64, ReadFailure> {
    match find_run_number(connection, name)? {
        Some(id) => Ok(id),
        None => Err(no_such_run(connection, name)?.into()),
    }
}

/// Returns a run's number by its exact name, or `None` if there is no such run.
pub(crate) fn find_run_number(connection: &Connection, name: &str) -> Result<Option<i64>, ReadFailure> {
    named_run(connection, name, &[], |row| Ok(row.get(column::ID)?))
}

/// Reads the row of a run by its exact name, after checking it.
pub(crate) fn named_run<T>(
    connection: &Connection,
    name: &str,
    long: &[&str],
    read: impl FnOnce(&Row<'_>) -> Result<T, ReadFailure>,
) -> Result<Option<T>, ReadFailure> {
    let select = format!("select {} from runs where name = ?1", RUNS.select(connection, long));
    let mut statement = connection.prepare_cached(&select)?;
    let mut rows = statement.query(params![name])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    RUNS.check(&row, long)?;
    read(&row).map(Some)
}

/// Reads the packed totals of a run by its number; `None` while it goes on.
pub(crate) fn kept_totals(connection: &Connection, run: i64) -> Result<Option<Vec<u8>>, ReadFailure> {
    let select = format!("select {} from runs where id = ?1", RUNS.select(connection, &[]));
    let mut statement = connection.prepare_cached(&select)?;
    let mut rows = statement.query(params![run])?;
    let row = rows.next()?.ok_or(SqlError::NoRow)?;
    RUNS.check(&row, &[])?;
    Ok(row.get(column::TOTALS)?)
}

/// Reads the rows of runs, newest first, until `find` returns a value. All of them are looked at, whatever is wanted: a row
/// whose suite or plan is damaged would otherwise be missing without a word.
pub(crate) fn newest_run<T>(
    connection: &Connection,
    long: &[&str],
    mut find: impl FnMut(&Row<'_>) -> Result<Option<T>, ReadFailure>,
) -> Result<Option<T>, ReadFailure> {
    let snapshot = connection.snapshot_if_none()?;
    let select = format!("select {} from runs order by id desc", RUNS.select(connection, long));
    let mut statement = snapshot.prepare_long(&select)?;
    let mut rows = statement.query(params![])?;
    while let Some(row) = rows.next()? {
        RUNS.check(&row, long)?;
        if let Some(found) = find(&row)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the error for a missing run, which names the newest runs.
pub(crate) fn no_such_run(connection: &Connection, wanted: &str) -> SqlResult<StoreError> {
    let mut statement = connection.prepare_cached("select name from runs order by id desc limit ?1")?;
    let nearest = statement.query_map(params![SUGGESTIONS], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(StoreError::NoSuchRun { wanted: wanted.to_owned(), nearest })
}

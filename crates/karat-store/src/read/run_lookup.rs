//! Look-up of a run by its exact name: its number in the database and its header.

use karat_types::{Moment, RunHeader};

use crate::StoreError;
use crate::block::pack::Damage;
use crate::error::ReadFailure;
use crate::format::{run_status_of, unpack_header};
use crate::sql::{Connection, OptionalExtension, Row, SqlResult, params};

/// Number of runs that an error message suggests.
pub(crate) const SUGGESTIONS: i64 = 5;

/// A run with its number within the database.
pub(crate) struct RunEntry {
    pub id: i64,
    pub header: RunHeader,
}

/// The columns that [`read_run_entry`] reads.
pub(crate) const RUN_COLUMNS: &str = "id, header, status, started_at, completed_at";

/// Reads [`RUN_COLUMNS`]. Columns hold the parts that change, the packed header the rest.
pub(crate) fn read_run_entry(row: &Row<'_>) -> Result<RunEntry, ReadFailure> {
    let packed = row.blob(1).map_err(|_| Damage("its header is not a blob".to_owned()))?;
    let mut header = unpack_header(packed)?;
    header.status = run_status_of(row.get(2)?)?;
    header.started_at = Moment(row.get(3)?);
    header.completed_at = row.get::<Option<i64>>(4)?.map(Moment);
    Ok(RunEntry { id: row.get(0)?, header })
}

/// Finds a run by its exact name.
pub(crate) fn find_run(connection: &Connection, name: &str) -> Result<RunEntry, ReadFailure> {
    let mut statement = connection.prepare_cached(&format!("select {RUN_COLUMNS} from runs where name = ?1"))?;
    let mut rows = statement.query(params![name])?;
    match rows.next()? {
        Some(row) => read_run_entry(&row),
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
pub(crate) fn find_run_number(connection: &Connection, name: &str) -> SqlResult<Option<i64>> {
    let mut statement = connection.prepare_cached("select id from runs where name = ?1")?;
    statement.query_row(params![name], |row| row.get(0)).optional()
}

/// Returns the error for a missing run, which names the newest runs.
pub(crate) fn no_such_run(connection: &Connection, wanted: &str) -> SqlResult<StoreError> {
    let mut statement = connection.prepare_cached("select name from runs order by id desc limit ?1")?;
    let nearest = statement.query_map(params![SUGGESTIONS], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(StoreError::NoSuchRun { wanted: wanted.to_owned(), nearest })
}

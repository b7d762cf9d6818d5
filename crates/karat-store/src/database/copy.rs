//! Copies of a whole store into an empty one of any kind: a file into a server, or back.
//!
//! Both have the same tables and columns, apart from what a server keeps for itself. Rows keep their numbers, so blocks, cells
//! and the reuse index point at the same places, and reports have the same bytes.

use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::sql::postgres::session::Session;
use crate::sql::tables::TABLES;
use crate::sql::{Connection, OwnedValue, Row, SqlResult, Table, ToValue, Transaction, params};
use crate::{Store, StoreError};

/// Tables without a row in an empty store.
const MUST_BE_EMPTY: &[&str] = &["runs", "tokens", "queue", "annotation_tasks", "journal"];

impl Store {
    /// Copies everything into an empty store, all or nothing, and returns the number of rows. No run may be written
    /// meanwhile.
    ///
    /// # Errors
    /// The other store has content, a run is being written, or a row cannot be read or written.
    pub fn copy_to(&self, other: &Store) -> Result<u64, StoreError> {
        self.check_copy(other)?;
        let attempt = Attempt { path: other.path(), doing: "copying a store into it" };
        let connection = other.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let copied = self.read("everything", |source| {
            let snapshot = source.snapshot()?;
            // A failure of the target ends the reading, and is the error of the whole.
            Ok((|| {
                transaction.execute("delete from reuse_state", params![]).map_err(|error| attempt.error(error))?;
                let mut rows = 0;
                for table in TABLES {
                    rows += copy_table(&snapshot, &transaction, table, attempt)?;
                }
                Ok(rows)
            })())
        })??;
        transaction.commit().map_err(|error| attempt.error(error))?;
        other.0.known_keys.discard();
        Ok(copied)
    }

    fn check_copy(&self, other: &Store) -> Result<(), StoreError> {
        for table in MUST_BE_EMPTY {
            let count = format!("select count(*) from {table}");
            let rows: i64 = other.read("what it has", |it| Ok(it.query_row(&count, params![], |row| row.get(0))?))?;
            if rows > 0 {
                return Err(StoreError::Unsupported(format!(
                    "cannot copy a store into {}: it has content ({table}: {rows} rows). Copy into an empty store, such as \
                     another schema",
                    other.url()
                )));
            }
        }
        let names = self.read("the list of runs", |it| {
            let mut statement = it.prepare_cached("select name from runs where status = 0 order by id")?;
            let names = statement.query_map(params![], |row| row.get::<String>(0))?;
            Ok(names.collect::<SqlResult<Vec<_>>>()?)
        })?;
        match names.into_iter().find(|run| self.is_claimed(run)) {
            Some(run) => Err(StoreError::RunInUse { pid: self.writer_of(&run), run }),
            None => Ok(()),
        }
    }
}

fn copy_table(
    source: &Connection,
    target: &Transaction<'_>,
    table: &'static Table,
    attempt: Attempt<'_>,
) -> Result<u64, StoreError> {
    let read = |failure: ReadFailure| failure.of(attempt.path, table.name);
    if !source.has_table(table.name).map_err(|error| read(error.into()))? {
        return Ok(0);
    }
    let select =
        format!("select {} from {} order by {}", table.select(source, table.long), table.name, table.columns[0]);
    let mut statement = source.prepare_long(&select).map_err(|error| read(error.into()))?;
    let mut rows = statement.query(params![]).map_err(|error| read(error.into()))?;
    let copied = write_rows(target, table, || rows.next()?.map(|row| copy_values(&row, table)).transpose());
    let copied = copied.map_err(|error| attempt.error(error))?;
    if let Some(number) = table.number.filter(|_| target.file().is_none()) {
        // New rows continue behind the copied ones.
        let next = format!(
            "select setval(pg_get_serial_sequence('{name}', '{number}'), (select coalesce(max({number}), 0) from {name}) + 1, false)",
            name = table.name
        );
        target.query_row(&next, params![], |_| Ok(())).map_err(|error| attempt.error(error))?;
    }
    Ok(copied)
}

/// Checks a row, and copies its values.
fn copy_values(row: &Row<'_>, table: &Table) -> SqlResult<Vec<OwnedValue>> {
    let last = table.check_from(0, row, table.long)? - 1;
    (0..last).map(|column| Ok(row.value(column)?.into())).collect()
}

/// Writes rows with their checksums until there are no more, and returns their number.
fn write_rows(
    target: &Transaction<'_>,
    table: &'static Table,
    mut next: impl FnMut() -> SqlResult<Option<Vec<OwnedValue>>>,
) -> SqlResult<u64> {
    if let Some(session) = target.server() {
        return write_to_server(session, table, next);
    }
    let mut insert = table.inserting(target, "")?;
    let mut copied = 0;
    while let Some(row) = next()? {
        let values: Vec<&dyn ToValue> = row.iter().map(|value| value as &dyn ToValue).collect();
        insert.execute(&values)?;
        copied += 1;
    }
    Ok(copied)
}

/// Writes rows to a server as one stream, then their checksums if another table holds them.
fn write_to_server(
    session: &Session,
    table: &Table,
    mut next: impl FnMut() -> SqlResult<Option<Vec<OwnedValue>>>,
) -> SqlResult<u64> {
    let columns: Vec<&str> = table.columns.iter().chain(table.long).copied().collect();
    let mut sums = Vec::new();
    let mut sealed = || {
        let Some(mut row) = next()? else { return Ok(None) };
        let values: Vec<&dyn ToValue> = row.iter().map(|value| value as &dyn ToValue).collect();
        let sum = OwnedValue::Blob(table.sum_of_row(&values));
        match table.sums {
            None => row.push(sum),
            Some(_) => sums.push(vec![row[0].clone(), row[1].clone(), sum]),
        }
        Ok(Some(row))
    };
    let Some(name) = table.sums else {
        return session.copy_in(table.name, &format!("{}, sum", columns.join(", ")), sealed);
    };
    let copied = session.copy_in(table.name, &columns.join(", "), &mut sealed)?;
    let mut sums = sums.into_iter();
    session.copy_in(name, "seq, run, sum", || Ok(sums.next()))?;
    Ok(copied)
}

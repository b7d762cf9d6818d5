//! Copies of a whole store into an empty one of any kind: a file into a server, or back.
//!
//! Both have the same tables and columns, apart from what a server keeps for itself. Rows keep their numbers, so blocks, cells
//! and the reuse index point at the same places, and reports have the same bytes.

use crate::error::{Attempt, ReadFailure};
use crate::sql::{Connection, Row, SqlResult, ToValue, Transaction, Value, params};
use crate::write::writer;
use crate::{Store, StoreError};

/// A table that is copied: its name, the column that numbers its rows if the database does so, and its columns.
pub(crate) struct CopiedTable {
    pub name: &'static str,
    pub number: Option<&'static str>,
    pub columns: &'static [&'static str],
}

macro_rules! tables {
    ($($name:ident ($($number:ident)?) { $($column:ident),+ })+) => {
        &[$(CopiedTable {
            name: stringify!($name),
            number: tables!(@number $($number)?),
            columns: &[$(stringify!($column)),+],
        }),+]
    };
    (@number) => { None };
    (@number $number:ident) => { Some(stringify!($number)) };
}

/// The tables of a store, in the order of the migrations of a file.
pub(crate) const TABLES: &[CopiedTable] = tables! {
    runs(id) { id, name, suite, plan_hash, status, started_at, completed_at, planned, pid, totals, header }
    samples() { run, row, facts }
    blocks(seq) { seq, run, log, reuse, judgments, outputs, traces }
    cells(seq) { seq, run, ordinal, status, block, output, facts }
    judgments(seq) { seq, run, ordinal, scorer, judge, ok, block, entry }
    reuse() { key, kind, block, entry }
    reuse_state() { indexed, waiting }
    journal(seq) { seq, suite, kind, at, body }
    released() { run, ordinal }
    tokens() { id, name, role, hash, created_at, expires_at, used_at, revoked_at }
    derived() { run, kind, key, body }
    batches(id) { id, key, run, model, lines, state, file, remote_id, created_at }
    batch_items(id) {
        id, run, key, model, body, upper, earlier, round, state, batch, line, status, response, error
    }
    vectors() { key, vector }
    firings() { run, suite, schedule, due, state, note, at }
    schedules() { suite, schedule, followed_since, paused_at }
    incidents() { id, suite, alert, key, state, body, at }
    outbox() { id, path, suite, alert, incident, body, state, attempts, next_at, error, at }
    outcomes() { run, at }
    queue(seq) {
        seq, run, order_text, state, owner, crashes, rows, status, problem, created_at, started_at, ended_at, after_run
    }
    idempotency() { key, fingerprint, status, body, location, at }
    blobs() { digest, media_type, at, content }
    annotation_tasks(id) { id, name, version, secret, hash, body, created_at }
    annotation_items() { task, position, shown, body }
    annotation_events(seq) { seq, task, item, person, kind, body, at }
    annotation_leases() { task, item, person, expires_at }
    annotation_drafts() { task, item, person, body, at }
    shards() { run, shard, first, last }
    stops() { run, to_end, body }
};

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
        let transaction = writer::begin(&connection, attempt)?;
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
    table: &CopiedTable,
    attempt: Attempt<'_>,
) -> Result<u64, StoreError> {
    let read = |failure: ReadFailure| failure.of(attempt.path, table.name);
    if !source.has_table(table.name).map_err(|error| read(error.into()))? {
        return Ok(0);
    }
    let columns = table.columns.join(", ");
    let order = table.columns[0];
    let mut statement = source
        .prepare_long(&format!("select {columns} from {} order by {order}", table.name))
        .map_err(|error| read(error.into()))?;
    let mut rows = statement.query(params![]).map_err(|error| read(error.into()))?;
    let copied = write_rows(target, table, &columns, || {
        rows.next()?.map(|row| copy_values(&row, table.columns.len())).transpose()
    });
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

/// A value that outlives its row.
#[derive(Debug)]
pub(crate) enum CopiedValue {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl ToValue for CopiedValue {
    fn to_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

fn copy_values(row: &Row<'_>, columns: usize) -> SqlResult<Vec<CopiedValue>> {
    let value = |column| {
        Ok(match row.value(column)? {
            Value::Null => CopiedValue::Null,
            Value::Integer(number) => CopiedValue::Integer(number),
            Value::Text(text) => CopiedValue::Text(text.to_owned()),
            Value::Blob(bytes) => CopiedValue::Blob(bytes.to_owned()),
        })
    };
    (0..columns).map(value).collect()
}

/// Writes rows until there are no more, and returns their number.
fn write_rows(
    target: &Transaction<'_>,
    table: &CopiedTable,
    columns: &str,
    mut next: impl FnMut() -> SqlResult<Option<Vec<CopiedValue>>>,
) -> SqlResult<u64> {
    #[cfg(feature = "postgres")]
    if let Some(session) = target.server() {
        return session.copy_in(table.name, columns, next);
    }
    let places: Vec<String> = (1..=table.columns.len()).map(|place| format!("?{place}")).collect();
    let insert = format!("insert into {} ({columns}) values ({})", table.name, places.join(", "));
    let mut insert = target.prepare_cached(&insert)?;
    let mut copied = 0;
    while let Some(row) = next()? {
        let values: Vec<&dyn ToValue> = row.iter().map(|value| value as &dyn ToValue).collect();
        insert.execute(&values)?;
        copied += 1;
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreUrl;

    /// SC-08: the list names every table and column that a file has.
    #[test]
    fn the_list_has_every_table_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
        let listed: Vec<(String, String)> = TABLES
            .iter()
            .flat_map(|table| table.columns.iter().map(|column| (table.name.to_owned(), (*column).to_owned())))
            .collect();
        let connection = store.writing();
        let select = "select it.name, info.name from sqlite_schema as it, pragma_table_info(it.name) as info
            where it.type = 'table' and it.name not like 'sqlite_%'";
        let mut statement = connection.prepare_cached(select).unwrap();
        let found = statement.query_map(params![], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let mut found = found.collect::<SqlResult<Vec<(String, String)>>>().unwrap();
        let mut listed = listed;
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
    }
}

//! The tables on a server: made and migrated when a store is opened, each step in one transaction under the lock row.

use std::fmt;

use super::super::tables::TABLES;
use super::super::{SqlError, SqlResult, Table, params};
use super::session::Session;

/// The statements from each schema version to the next. A released one never changes.
const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql"), include_str!("migrations/0003.sql")];

/// The first schema version whose rows have checksums.
const SEALED: usize = 3;

/// A run that is being written.
const WRITTEN: &str = "select count(*) from claims where until >= clock_timestamp()";

/// The schema version that this Karat writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// The oldest server that has what the statements need.
const OLDEST_SERVER: i64 = 150_000;

// `turn` is the lock row of all writers: see `Session::begin`.
const META: &str =
    "create table if not exists meta (key text primary key, value bigint not null) with (fillfactor = 70);
    insert into meta (key, value) values ('schema', 0), ('turn', 0) on conflict do nothing";

/// The reason why a server cannot hold a store.
#[derive(Debug)]
pub(crate) enum Unusable {
    Sql(SqlError),
    /// The server is older than version 15; its number.
    OldServer(i64),
    /// The server does not wait for its disk.
    NoSync,
    /// A newer Karat made the tables; their version.
    Newer(i64),
    /// An older Karat is writing a run, so the tables cannot be migrated now.
    Written,
}

impl From<SqlError> for Unusable {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::OldServer(number) => write!(f, "it is PostgreSQL {}, and Karat needs 15 or later", number / 10_000),
            Self::NoSync => f.write_str(
                "it runs with fsync=off, so a paid result could be lost when its machine stops. Turn fsync on, or insist \
                 with --allow-unsafe-postgres",
            ),
            Self::Newer(found) => write!(f, "its tables have version {found}"),
            Self::Written => f.write_str("an older karat is writing a run"),
        }
    }
}

/// The demand on a server: it waits for its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It may not.
    Required,
    /// The user insists.
    Waived,
}

/// Checks the server, then makes or migrates the tables.
pub(crate) fn prepare(session: &Session, schema: &str, durability: Durability) -> Result<(), Unusable> {
    let number = |text: &str| session_number(session, text);
    let server = number("select current_setting('server_version_num')::bigint")?;
    if server < OLDEST_SERVER {
        return Err(Unusable::OldServer(server));
    }
    if durability == Durability::Required && number("select current_setting('fsync') = 'on'")? == 0 {
        return Err(Unusable::NoSync);
    }
    if number("select count(*) from pg_tables where schemaname = current_schema() and tablename = 'meta'")? == 0 {
        make_schema(session, schema)?;
    }
    match number("select value from meta where key = 'schema'")? {
        VERSION => Ok(()),
        found if found > VERSION => Err(Unusable::Newer(found)),
        1.. if number(WRITTEN)? > 0 => Err(Unusable::Written),
        _ => migrate(session),
    }
}

/// Makes the schema and its first table. Two processes may do so at once; then one of them fails and looks again.
fn make_schema(session: &Session, schema: &str) -> SqlResult<()> {
    let make = || session.batch(&format!("create schema if not exists \"{schema}\"; {META}"));
    match make() {
        Err(error) if !error.is_lost_connection() => make(),
        made => made,
    }
}

fn migrate(session: &Session) -> Result<(), Unusable> {
    loop {
        session.begin()?;
        let step = (|| {
            let found = session_number(session, "select value from meta where key = 'schema'")?;
            let Some(statements) = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found)) else {
                return Ok(false);
            };
            session.batch(statements)?;
            if found + 1 == SEALED as i64 {
                TABLES.iter().try_for_each(|table| session.batch(&seal(table)))?;
            }
            session.execute("update meta set value = ?1 where key = 'schema'", params![found + 1])?;
            Ok::<_, SqlError>(true)
        })();
        match step {
            Ok(true) => session.commit()?,
            Ok(false) => {
                session.roll_back();
                return Ok(());
            }
            Err(error) => {
                session.roll_back();
                return Err(error.into());
            }
        }
    }
}

/// The statements that give all rows of a table their checksums, by the functions of the migration.
fn seal(table: &Table) -> String {
    let Table { name, columns, long, sums, .. } = table;
    let of_row = columns.iter().map(|column| format!("sum_part({column})"));
    let parts: Vec<String> = long.iter().map(|column| format!("sum_of(sum_part({column}))")).collect();
    let form: Vec<String> = of_row.chain(parts.iter().cloned()).collect();
    let form = format!("sum_of('{name}'::bytea || '\\x00'::bytea || {})", form.join(" || "));
    let sum: Vec<String> = [form].into_iter().chain(parts).collect();
    let sum = sum.join(" || ");
    match sums {
        Some(sums) => format!("insert into {sums} (seq, run, sum) select seq, run, {sum} from {name}"),
        None => format!(
            "alter table {name} add column sum bytea; update {name} set sum = {sum}; \
             alter table {name} alter column sum set not null"
        ),
    }
}

fn session_number(session: &Session, text: &str) -> SqlResult<i64> {
    let rows = session.query(text, params![])?;
    let row = rows.first().ok_or(SqlError::NoRow)?;
    super::super::Row::Postgres(row).get(0)
}

//! The tables, and the migrations of older files.
//!
//! ```text
//! runs       one row a run: its plan, its status, its totals once it has ended
//! samples    facts about a dataset row that reports need, by run
//! blocks     one row a commit and run: the call log (`log`), the keys of reusable results (`reuse`), then three
//!            compressed sections: judgments, outputs (of steps and cells), traces (raw requests and responses)
//! cells      one row a cell: its ordinal, packed facts and scores, the place of its output in the block
//! judgments  one row a judgment: its ordinal, the place of its facts in the block
//! reuse      content key of a step's output or of a sound judgment → its place; shared by all runs. Lags behind the
//!            lists in blocks: see [`crate::reuse::known_keys`]
//! shards     of a run that was merged of shards: the blocks that came from each
//! released   cells whose results were invalidated: nothing needs to be kept for them
//! tokens     who may ask the server: hashes of secrets, never a secret
//! journal    facts about a suite that belong to no run: alerts raised, incidents closed
//! batches, batch_items
//!            calls that go by a provider's batch API, from collection to answer: see [`crate::batches`]
//! vectors    embeddings of texts, by hash of model and text: see [`crate::reuse::vectors`]
//! blobs      images and files that were sent, by digest: see [`crate::reuse::blobs`]
//! firings, schedules
//!            due times, each of which runs once, and pauses; incidents and outbox: open alerts and their messages;
//!            outcomes: runs whose alerts are stored
//! queue      runs that the server was asked for: see [`crate::server::queue`]
//! idempotency
//!            answers to requests that may be repeated
//! annotation_tasks, annotation_items, annotation_events
//!            work for people, and what they did, which is only ever added: see [`crate::server::annotation`]
//! annotation_leases, annotation_drafts
//!            places that people hold for some minutes, and answers that they have not submitted; both are replaced
//! stops      early stops of runs: see [`crate::read::stops`]
//! derived    data that readers computed from a run's rows and kept; may be deleted at any time
//! block_sums checksums of blocks: in `blocks`, SQLite would have to read all of a long row for them
//! ```
//! Every row has a checksum in its column `sum`: see [`crate::sql`]. Rows are only ever added, so a row's `seq` orders the
//! events of a run. Where a run has two rows for one place, the later one counts. Sections are the last columns of `blocks`,
//! in the order in which they are read, because SQLite reads a long row from its beginning.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;
use crate::database::run_lock;
use crate::error::{Attempt, BUSY_SECONDS};
use crate::sql::tables::TABLES;
use crate::sql::{Backend, SqlResult, Transaction};

/// Application id that marks the file as Karat's ("KART").
const APPLICATION_ID: i64 = 0x4b41_5254;

/// The statements from each schema version to the next, starting at 0 (an empty file). A released entry never
/// changes; a new layout is a new entry.
const MIGRATIONS: &[&str] = &[
    "
    create table runs (
        id integer primary key,
        name text not null unique,
        suite text not null,
        plan_hash blob not null,
        status integer not null,
        started_at integer not null,
        completed_at integer,
        planned integer not null,
        pid integer not null,
        totals blob,
        header blob not null
    ) strict;
    create index runs_by_plan on runs (plan_hash);
    create table samples (
        run integer not null,
        row integer not null,
        facts blob not null,
        primary key (run, row)
    ) strict, without rowid;
    create table blocks (
        seq integer primary key,
        run integer not null,
        log blob not null,
        reuse blob not null,
        judgments blob not null,
        outputs blob not null,
        traces blob not null
    ) strict;
    create index blocks_by_run on blocks (run);
    create table cells (
        seq integer primary key,
        run integer not null,
        ordinal integer not null,
        status integer not null,
        block integer not null,
        output integer,
        facts blob not null
    ) strict;
    create index cells_by_place on cells (run, ordinal, status);
    create table judgments (
        seq integer primary key,
        run integer not null,
        ordinal integer not null,
        scorer integer not null,
        judge integer not null,
        ok integer not null,
        block integer not null,
        entry integer not null
    ) strict;
    create index judgments_by_place on judgments (run, ordinal, scorer, judge, ok);
    create table reuse (
        key blob not null,
        kind integer not null,
        block integer not null,
        entry integer not null,
        primary key (key, kind)
    ) strict, without rowid;
    create table reuse_state (
        indexed integer not null,
        waiting integer not null
    ) strict;
    insert into reuse_state (indexed, waiting) values (0, 0);
",
    "
    create table journal (
        seq integer primary key,
        suite text not null,
        kind text not null,
        at integer not null,
        body text not null
    ) strict;
    create index journal_by_suite on journal (suite, kind);
",
    "
    create table released (
        run integer not null,
        ordinal integer not null,
        primary key (run, ordinal)
    ) strict, without rowid;
",
    // Most blocks list keys. Those of a run that reused everything list none, and this index skips them.
    "
    create index blocks_with_keys on blocks (seq) where length(reuse) > 1;
",
    "
    create table tokens (
        id text primary key,
        name text not null,
        role text not null,
        hash blob not null,
        created_at integer not null,
        expires_at integer,
        used_at integer,
        revoked_at integer
    ) strict, without rowid;
",
    "
    create table derived (
        run integer not null,
        kind text not null,
        key blob not null,
        body blob not null,
        primary key (run, kind)
    ) strict;
",
    "
    create table batches (
        id integer primary key,
        key text not null unique,
        run text not null,
        model text not null,
        lines integer not null,
        state integer not null,
        file text,
        remote_id text,
        created_at integer not null
    ) strict;
    create index batches_by_run on batches (run);
    create table batch_items (
        id integer primary key,
        run text not null,
        key blob not null,
        model text not null,
        body blob not null,
        upper integer not null,
        earlier integer not null,
        round integer not null,
        state integer not null,
        batch text,
        line integer,
        status integer,
        response blob,
        error text,
        unique (run, key)
    ) strict;
    create index batch_items_by_batch on batch_items (batch, line);
",
    "
    create table vectors (
        key blob primary key,
        vector blob not null
    ) strict, without rowid;
",
    "
    create table firings (
        run text primary key,
        suite text not null,
        schedule text not null,
        due integer not null,
        state text not null,
        note text not null,
        at integer not null,
        unique (suite, schedule, due)
    ) strict, without rowid;
    create table schedules (
        suite text not null,
        schedule text not null,
        followed_since integer,
        paused_at integer,
        primary key (suite, schedule)
    ) strict, without rowid;
    create table incidents (
        id text primary key,
        suite text not null,
        alert text not null,
        key text not null,
        state text not null,
        body text not null,
        at integer not null
    ) strict, without rowid;
    create unique index incidents_live on incidents (suite, alert, key) where state <> 'closed';
    create table outbox (
        id text primary key,
        path text not null,
        suite text not null,
        alert text not null,
        incident text not null,
        body text not null,
        state text not null,
        attempts integer not null,
        next_at integer,
        error text not null,
        at integer not null
    ) strict, without rowid;
    create index outbox_due on outbox (next_at) where state = 'pending';
    create table outcomes (
        run text primary key,
        at integer not null
    ) strict, without rowid;
",
    "
    create table queue (
        seq integer primary key autoincrement,
        run text not null unique,
        order_text text not null,
        state integer not null,
        owner text,
        crashes integer not null,
        rows integer not null,
        status text,
        problem text,
        created_at integer not null,
        started_at integer,
        ended_at integer,
        after_run integer not null
    ) strict;
    create index queue_by_state on queue (state, seq);
    create table idempotency (
        key text primary key,
        fingerprint blob not null,
        status integer not null,
        body text not null,
        location text,
        at integer not null
    ) strict, without rowid;
    create index idempotency_by_time on idempotency (at);
",
    "
    create table blobs (
        digest text primary key,
        media_type text not null,
        at integer not null,
        content blob not null
    ) strict;
",
    "
    create index runs_by_suite on runs (suite, id);
",
    "
    create table annotation_tasks (
        id integer primary key,
        name text not null,
        version integer not null,
        secret blob not null,
        hash blob not null,
        body text not null,
        created_at integer not null,
        unique (name, version)
    ) strict;
    create table annotation_items (
        task integer not null,
        position integer not null,
        shown blob not null,
        body text not null,
        primary key (task, position)
    ) strict, without rowid;
    create index annotation_items_by_content on annotation_items (shown);
    create table annotation_events (
        seq integer primary key autoincrement,
        task integer not null,
        item integer,
        person text not null,
        kind text not null,
        body text not null,
        at integer not null
    ) strict;
    create index annotation_events_by_task on annotation_events (task, seq);
    create table annotation_leases (
        task integer not null,
        item integer not null,
        person text not null,
        expires_at integer not null,
        primary key (task, item, person)
    ) strict, without rowid;
    create table annotation_drafts (
        task integer not null,
        item integer not null,
        person text not null,
        body text not null,
        at integer not null,
        primary key (task, item, person)
    ) strict, without rowid;
",
    "
    create table shards (
        run integer not null,
        shard integer not null,
        first integer not null,
        last integer not null,
        primary key (run, shard, first)
    ) strict, without rowid;
",
    "
    create table stops (
        run integer primary key,
        to_end integer not null,
        body text not null
    ) strict;
",
    // Then every table gets its checksums: see `seal`.
    "
    create table block_sums (
        seq integer not null,
        run integer not null,
        sum blob not null,
        primary key (run, seq)
    ) strict, without rowid;
    alter table annotation_tasks add column items integer not null default 0;
    alter table annotation_tasks add column events integer not null default 0;
    update annotation_tasks set
        items = (select count(*) from annotation_items where task = annotation_tasks.id),
        events = (select count(*) from annotation_events where task = annotation_tasks.id);
",
];

/// The schema version that this Karat writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// The oldest schema version that can be read without a migration. Later versions only make writing and look-ups
/// faster.
const READABLE: i64 = 3;

/// The first schema version whose rows have checksums.
const SEALED: i64 = 16;

/// The permitted access to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read and write.
    Write,
    /// Read only, while other processes may write.
    Read,
    /// Read only from a folder where SQLite cannot create its shared files; no process may write.
    Frozen,
    /// Read only where SQLite cannot create its shared files because the disk is full. It keeps the index of the
    /// write-ahead log in memory and takes no lock, so no process may write.
    Alone,
}

/// Opens the writing connection, and creates or migrates the tables.
pub(crate) fn open_writer(path: &Path) -> Result<crate::sql::Connection, StoreError> {
    let attempt = Attempt { path, doing: "opening it" };
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let found = version(&connection, path)?;
    // An older process would go on without what is new.
    if (1..VERSION).contains(&found) && run_lock::is_any_locked(path) {
        return Err(StoreError::Migration { path: path.to_owned() });
    }
    (|| {
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        // The reuse index touches pages at random. A longer log lets more of these changes share one write-back.
        connection.pragma_update(None, "wal_autocheckpoint", 4096)?;
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        connection.pragma_update(None, "cache_size", -(32 << 10))?;
        Ok(())
    })()
    .map_err(|error| attempt.file_error(error))?;
    let connection = crate::sql::Connection::from(connection);
    if found < VERSION {
        migrate(&connection).map_err(|error| attempt.error(error))?;
    }
    Ok(connection)
}

/// Opens a connection that can only read, for queries.
pub(crate) fn open_queries(path: &Path, access: Access) -> Result<crate::sql::Connection, StoreError> {
    let reader = open_reader(path, access)?;
    let is_sealed = access == Access::Write || version(&reader, path)? >= SEALED;
    Ok(crate::sql::Connection(if is_sealed { Backend::Sqlite(reader) } else { Backend::OldSqlite(reader) }))
}

/// Opens a connection that can only read.
pub(crate) fn open_reader(path: &Path, access: Access) -> Result<Connection, StoreError> {
    let connection = match access {
        Access::Write | Access::Read => connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        Access::Frozen => {
            connect(&immutable_uri(path)?, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?
        }
        Access::Alone => connect_alone(path)?,
    };
    connection
        .pragma_update(None, "cache_size", -(8 << 10))
        .map_err(|error| Attempt { path, doing: "opening it for reading" }.file_error(error))?;
    Ok(connection)
}

/// Returns `true` if a process seems to have the store open, or was killed while it had.
pub(crate) fn is_open(path: &Path) -> bool {
    ["-wal", "-shm"].iter().any(|suffix| beside(path, suffix).exists())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the address with which SQLite reads a file without creating files beside it. SQLite would miss the content
/// of a write-ahead log, so there must be none.
fn immutable_uri(path: &Path) -> Result<PathBuf, StoreError> {
    if std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) {
        return Err(StoreError::ReadOnly { path: path.to_owned() });
    }
    Ok(file_uri(path, "immutable=1"))
}

/// Opens a file and its write-ahead log without any file beside them.
fn connect_alone(path: &Path) -> Result<Connection, StoreError> {
    let attempt = Attempt { path, doing: "opening it for reading" };
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = connect(&file_uri(path, "vfs=unix-none"), access)?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .and_then(|_| connection.pragma_update(None, "locking_mode", "exclusive"))
        .map_err(|error| attempt.file_error(error))?;
    Ok(connection)
}

/// The address of a file with a setting of SQLite's.
fn file_uri(path: &Path, setting: &str) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut address = String::from("file:");
    for byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    PathBuf::from(format!("{address}?{setting}"))
}

/// Checks that a file opened for reading can be read without a migration.
///
/// # Errors
/// [`StoreError::Older`], [`StoreError::Newer`], [`StoreError::Foreign`].
pub(crate) fn readable(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match version(connection, path)? {
        READABLE.. => Ok(()),
        0 => Err(StoreError::ReadOnly { path: path.to_owned() }),
        found => Err(StoreError::Older { path: path.to_owned(), found, known: VERSION }),
    }
}

/// Returns `true` if a process has created the file and was stopped before it wrote the tables.
pub(crate) fn is_unwritten(path: &Path, is_open: bool) -> bool {
    let access = if is_open { Access::Read } else { Access::Frozen };
    let found = open_reader(path, access).and_then(|reader| version(&reader, path));
    matches!(found, Ok(0)) && path.is_file()
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let attempt = Attempt { path, doing: "opening it" };
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| attempt.file_error(error))?;
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS)).map_err(|error| attempt.file_error(error))?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Returns the file's schema version after checking that the file is Karat's or empty.
fn version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let attempt = Attempt { path, doing: "reading its version" };
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let found = number("user_version").map_err(|error| attempt.file_error(error))?;
    let application = number("application_id").map_err(|error| attempt.file_error(error))?;
    let objects = connection
        .query_row("select count(*) from sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map_err(|error| attempt.file_error(error))?;
    if application != APPLICATION_ID && objects > 0 {
        return Err(StoreError::Foreign { path: path.to_owned(), why: "it is another program's database".to_owned() });
    }
    if found > VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION });
    }
    Ok(found)
}

/// Migrates the file to [`VERSION`], all or nothing. Another process may have done it in the meantime.
fn migrate(connection: &crate::sql::Connection) -> SqlResult<()> {
    let transaction = connection.begin()?;
    let Some(file) = transaction.file() else { return Ok(()) };
    let found: i64 = file.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (statements, version) in MIGRATIONS.iter().zip(1..).skip(usize::try_from(found).unwrap_or(0)) {
        file.execute_batch(statements)?;
        if version == SEALED {
            seal(&transaction, file)?;
        }
    }
    file.pragma_update(None, "application_id", APPLICATION_ID)?;
    file.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Gives all rows their checksums. A process of an older version that has the file open still cannot add rows without one,
/// which would be damage: each table refuses them, and each commit of a run begins with a row of `blocks`.
fn seal(transaction: &Transaction<'_>, file: &Connection) -> SqlResult<()> {
    const OLD: &str = "this store was migrated by a newer karat: end this process and start the new one";
    const WITH_BLOCKS: [&str; 4] = ["samples", "cells", "judgments", "reuse"];
    for table in TABLES {
        let name = table.name;
        let missing = match table.sums {
            Some(sums) => format!("not exists (select 1 from {sums} where run = new.run and seq = new.seq)"),
            None => {
                file.execute_batch(&format!("alter table {name} add column sum blob"))?;
                "new.sum is null".to_owned()
            }
        };
        if !WITH_BLOCKS.contains(&name) {
            file.execute_batch(&format!(
                "create trigger {name}_sealed before insert on {name} when {missing}
                 begin select raise(abort, '{OLD}'); end"
            ))?;
        }
        table.seal(transaction)?;
    }
    Ok(())
}

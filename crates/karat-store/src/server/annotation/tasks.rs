//! Tasks, their items, and the events of a task.

use karat_types::{Key, Moment};
use rustc_hash::FxHashMap;

use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::sql::tables::{EVENTS, ITEMS, TASKS};
use crate::sql::{Connection, OptionalExtension, Remedy, Row, SqlError, SqlResult, params};
use crate::{Store, StoreError};

/// A task that is created.
#[derive(Debug, Clone)]
pub struct NewAnnotationTask<'a> {
    /// Its name.
    pub name: &'a str,
    /// The secret of its item ids, used if the task is new.
    pub secret: [u8; 32],
    /// Hash of everything that people see, and of how it is handed out.
    pub hash: Key,
    /// Everything that is fixed with the task, in the application's own format.
    pub body: &'a str,
    /// Its items in order.
    pub items: &'a [NewStoredItem],
    /// Time of its creation.
    pub at: Moment,
}

/// An item of a task that is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStoredItem {
    /// Hash of what is shown and of what is asked: the same hash is the same item in another task.
    pub shown: Key,
    /// The item, in the application's own format.
    pub body: String,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnnotationTask {
    /// Its number in the store.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// The secret of its item ids.
    pub secret: [u8; 32],
    /// Hash of everything that people see, and of how it is handed out.
    pub hash: Key,
    /// Everything that is fixed with the task.
    pub body: String,
    /// Time of its creation.
    pub created_at: Moment,
    /// Number of its items.
    pub items: u64,
}

/// An item of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnnotationItem {
    /// Its position in the task, from 0.
    pub position: u64,
    /// Hash of what is shown and of what is asked.
    pub shown: Key,
    /// The item.
    pub body: String,
}

/// Something that a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationEvent {
    /// Its number; later events have larger ones.
    pub seq: i64,
    /// The item; none for an event of the whole task.
    pub item: Option<u64>,
    /// The person.
    pub person: String,
    /// Its kind, in the application's words.
    pub kind: String,
    /// Everything else, in the application's own format.
    pub body: String,
    /// Time of the event.
    pub at: Moment,
}

impl Store {
    /// Adds a task with its items, as the next version of its name. A version with the same hash is returned instead;
    /// then the second value is false.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_annotation_task(&self, new: &NewAnnotationTask<'_>) -> Result<(StoredAnnotationTask, bool), StoreError> {
        let attempt = Attempt { path: self.path(), doing: "storing a task" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let added = (|| {
            let versions = read_tasks(&transaction, |task| task.name == new.name)?;
            if let Some(known) = versions.iter().find(|task| task.hash == new.hash) {
                return Ok((known.clone(), false));
            }
            let version = versions.iter().map(|task| task.version).max().unwrap_or_default() + 1;
            let (id, items) = (TASKS.next_number(&transaction)?, new.items.len() as i64);
            let values = params![id, new.name, version, new.secret, new.hash.0, new.body, new.at.0, items, 0];
            TASKS.insert(&transaction, "", values)?;
            let mut insert = ITEMS.inserting(&transaction, "")?;
            for (position, item) in new.items.iter().enumerate() {
                insert.execute(params![id, position as i64, item.shown.0, item.body])?;
            }
            let task = StoredAnnotationTask {
                id,
                name: new.name.to_owned(),
                version,
                secret: new.secret,
                hash: new.hash,
                body: new.body.to_owned(),
                created_at: new.at,
                items: new.items.len() as u64,
            };
            Ok((task, true))
        })();
        let added = added.map_err(|error| attempt.error(error))?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(added)
    }

    /// All tasks, the newest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_tasks(&self) -> Result<Vec<StoredAnnotationTask>, StoreError> {
        self.read("the tasks", |connection| {
            if !has_tables(connection)? {
                return Ok(Vec::new());
            }
            Ok(read_tasks(connection, |_| true)?)
        })
    }

    /// The tasks whose last event is of a kind, the newest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_tasks_ended_by(&self, kind: &str) -> Result<Vec<StoredAnnotationTask>, StoreError> {
        self.read("the tasks", |connection| {
            if !has_tables(connection)? {
                return Ok(Vec::new());
            }
            let end = "from annotation_events where task = ?1 order by seq desc limit 1";
            let select = format!("select {} {end}", EVENTS.select(connection, &[]));
            let mut ended = Vec::new();
            for task in read_tasks(connection, |_| true)? {
                count_events(connection, task.id)?;
                let last = connection.prepare_cached(&select)?.query_row(params![task.id], read_event).optional()?;
                ended.extend(last.is_some_and(|event| event.kind == kind).then_some(task));
            }
            Ok(ended)
        })
    }

    /// A task by its name; the newest version unless one is named.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn annotation_task(
        &self,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<StoredAnnotationTask>, StoreError> {
        self.read("a task", |connection| {
            if !has_tables(connection)? {
                return Ok(None);
            }
            let is_it = |task: &StoredAnnotationTask| {
                task.name == name && version.is_none_or(|version| task.version == version)
            };
            Ok(read_tasks(connection, is_it)?.into_iter().max_by_key(|task| task.version))
        })
    }

    /// The items of a task, in order.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_items(&self, task: i64) -> Result<Vec<StoredAnnotationItem>, StoreError> {
        self.read("the items of a task", |connection| {
            let columns = ITEMS.select(connection, &["body"]);
            let select = format!("select {columns} from annotation_items where task = ?1 order by position");
            let mut statement = connection.prepare_cached(&select)?;
            let rows = statement.query_map(params![task], |row| {
                ITEMS.check(row, &["body"])?;
                let position = row.get::<i64>(1)?.unsigned_abs();
                Ok(StoredAnnotationItem { position, shown: Key(row.get(2)?), body: row.get(3)? })
            })?;
            let items: Vec<_> = rows.collect::<Result<_, _>>()?;
            let expected = read_tasks(connection, |it| it.id == task)?.first().map_or(0, |task| task.items);
            compare("items", items.len() as u64, expected)?;
            Ok(items)
        })
    }

    /// Tasks and positions of all items by their content, in this order, but those of one task.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_twins(&self, except: i64) -> Result<FxHashMap<Key, Vec<(i64, u64)>>, StoreError> {
        self.read("the items of tasks", |connection| {
            let columns = ITEMS.select(connection, &[]);
            let select = format!("select {columns} from annotation_items order by task, position");
            let mut statement = connection.prepare_cached(&select)?;
            let mut rows = statement.query(params![])?;
            let mut twins = FxHashMap::<Key, Vec<(i64, u64)>>::default();
            while let Some(row) = rows.next()? {
                ITEMS.check(&row, &[])?;
                let (task, position) = (row.get(0)?, row.get::<i64>(1)?.unsigned_abs());
                if task != except {
                    twins.entry(Key(row.get(2)?)).or_default().push((task, position));
                }
            }
            Ok(twins)
        })
    }

    /// The events of a task behind a number, in order.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_events(&self, task: i64, after: i64) -> Result<Vec<AnnotationEvent>, StoreError> {
        self.read("the events of a task", |connection| {
            let snapshot = connection.snapshot_if_none()?;
            Ok(read_events(&snapshot, task, after)?)
        })
    }
}

/// Reads the events of a task behind a number. That none is missing is part of it: what a person did may decide a verdict.
pub(super) fn read_events(connection: &Connection, task: i64, after: i64) -> SqlResult<Vec<AnnotationEvent>> {
    count_events(connection, task)?;
    let columns = EVENTS.select(connection, &[]);
    let select = format!("select {columns} from annotation_events where task = ?1 and seq > ?2 order by seq");
    connection.prepare_cached(&select)?.query_map(params![task, after], read_event)?.collect()
}

/// Compares the number of a task's events with that of its row.
pub(crate) fn count_events(connection: &Connection, task: i64) -> SqlResult<()> {
    if !connection.is_sealed() {
        return Ok(());
    }
    let select = format!("select {} from annotation_tasks where id = ?1", TASKS.select(connection, &[]));
    let expected = connection.prepare_cached(&select)?.query_row(params![task], |row| {
        TASKS.check(row, &[])?;
        Ok(row.get::<i64>(8)?.unsigned_abs())
    });
    let count = "select count(*) from annotation_events where task = ?1";
    let found: i64 = connection.prepare_cached(count)?.query_row(params![task], |row| row.get(0))?;
    compare("events", found.unsigned_abs(), expected.optional()?.unwrap_or_default())
}

/// Compares the number of a task's items with that of its row.
pub(crate) fn count_items(connection: &Connection, task: &StoredAnnotationTask) -> SqlResult<()> {
    let count = "select count(*) from annotation_items where task = ?1";
    let found: i64 = connection.prepare_cached(count)?.query_row(params![task.id], |row| row.get(0))?;
    compare("items", found.unsigned_abs(), task.items)
}

/// Compares the number of rows of a task with that of its own row: a row that is gone, or names another task, would be
/// missing without a word.
fn compare(what: &str, found: u64, expected: u64) -> SqlResult<()> {
    if found == expected {
        return Ok(());
    }
    let why = format!(
        "the task has {expected} rows in the table `annotation_{what}`, and {found} are there; {}",
        Remedy::Restore.advice()
    );
    Err(SqlError::Damaged { what: format!("the {what} of a task"), why })
}

fn read_event(row: &Row<'_>) -> SqlResult<AnnotationEvent> {
    EVENTS.check(row, &[])?;
    Ok(AnnotationEvent {
        seq: row.get(0)?,
        item: row.get::<Option<i64>>(2)?.map(i64::unsigned_abs),
        person: row.get(3)?,
        kind: row.get(4)?,
        body: row.get(5)?,
        at: Moment(row.get(6)?),
    })
}

/// Reads the tasks that are wanted, newest first. All of them are looked at: one whose name or version is damaged would
/// otherwise be missing without a word.
pub(crate) fn read_tasks(
    connection: &Connection,
    is_wanted: impl Fn(&StoredAnnotationTask) -> bool,
) -> SqlResult<Vec<StoredAnnotationTask>> {
    let select = format!("select {} from annotation_tasks order by id desc", TASKS.select(connection, &[]));
    let tasks: SqlResult<Vec<_>> = connection.prepare_cached(&select)?.query_map(params![], read_task)?.collect();
    Ok(tasks?.into_iter().filter(is_wanted).collect())
}

/// Returns whether the file has the tables. An older file that is read-only has none.
fn has_tables(connection: &Connection) -> Result<bool, ReadFailure> {
    Ok(connection.has_table("annotation_tasks")?)
}

fn read_task(row: &Row<'_>) -> SqlResult<StoredAnnotationTask> {
    TASKS.check(row, &[])?;
    Ok(StoredAnnotationTask {
        id: row.get(0)?,
        name: row.get(1)?,
        version: row.get(2)?,
        secret: row.get(3)?,
        hash: Key(row.get(4)?),
        body: row.get(5)?,
        created_at: Moment(row.get(6)?),
        items: row.get::<i64>(7)?.unsigned_abs(),
    })
}

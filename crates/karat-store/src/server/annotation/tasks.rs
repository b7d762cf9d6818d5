//! Tasks, their items, and the events of a task.

use karat_types::{Key, Moment};

use crate::error::{Attempt, ReadFailure};
use crate::sql::{Connection, OptionalExtension, Row, SqlResult, params};
use crate::write::writer;
use crate::{Store, StoreError};

const TASK: &str = "select id, name, version, secret, hash, body, created_at, \
                    (select count(*) from annotation_items where task = annotation_tasks.id) from annotation_tasks";

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
        let transaction = writer::begin(&connection, attempt)?;
        let added = (|| {
            let known = format!("{TASK} where name = ?1 and hash = ?2 order by version desc limit 1");
            let known = transaction.query_row(&known, params![new.name, new.hash.0], read_task).optional()?;
            if let Some(known) = known {
                return Ok((known, false));
            }
            let insert = "insert into annotation_tasks (name, version, secret, hash, body, created_at) values (?1, \
                          (select coalesce(max(version), 0) + 1 from annotation_tasks where name = ?1), ?2, ?3, ?4, ?5)";
            let values = params![new.name, new.secret, new.hash.0, new.body, new.at.0];
            let id = transaction.insert_numbered(insert, "id", values)?;
            let insert = "insert into annotation_items (task, position, shown, body) values (?1, ?2, ?3, ?4)";
            let mut insert = transaction.prepare_cached(insert)?;
            for (position, item) in new.items.iter().enumerate() {
                insert.execute(params![id, position as i64, item.shown.0, item.body])?;
            }
            let task = transaction.query_row(&format!("{TASK} where id = ?1"), params![id], read_task)?;
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
            let mut statement = connection.prepare_cached(&format!("{TASK} order by id desc"))?;
            let rows = statement.query_map(params![], read_task)?;
            Ok(rows.collect::<Result<_, _>>()?)
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
            let last = "select kind from annotation_events where task = annotation_tasks.id order by seq desc limit 1";
            let mut statement = connection.prepare_cached(&format!("{TASK} where ({last}) = ?1 order by id desc"))?;
            let rows = statement.query_map(params![kind], read_task)?;
            Ok(rows.collect::<Result<_, _>>()?)
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
            let select = format!(
                "{TASK} where name = ?1 and (cast(?2 as bigint) is null or version = ?2) order by version desc limit 1"
            );
            let mut statement = connection.prepare_cached(&select)?;
            Ok(statement.query_row(params![name, version], read_task).optional()?)
        })
    }

    /// The items of a task, in order.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_items(&self, task: i64) -> Result<Vec<StoredAnnotationItem>, StoreError> {
        self.read("the items of a task", |connection| {
            let select = "select position, shown, body from annotation_items where task = ?1 order by position";
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement.query_map(params![task], |row| {
                let position = row.get::<i64>(0)?.unsigned_abs();
                Ok(StoredAnnotationItem { position, shown: Key(row.get(1)?), body: row.get(2)? })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Tasks and positions of the items with this content, but those of one task.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_twins(&self, shown: Key, except: i64) -> Result<Vec<(i64, u64)>, StoreError> {
        self.read("the items of tasks", |connection| {
            let select =
                "select task, position from annotation_items where shown = ?1 and task <> ?2 order by task, position";
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement
                .query_map(params![shown.0, except], |row| Ok((row.get(0)?, row.get::<i64>(1)?.unsigned_abs())))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The events of a task behind a number, in order.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn annotation_events(&self, task: i64, after: i64) -> Result<Vec<AnnotationEvent>, StoreError> {
        self.read("the events of a task", |connection| Ok(read_events(connection, task, after)?))
    }
}

pub(super) fn read_events(connection: &Connection, task: i64, after: i64) -> SqlResult<Vec<AnnotationEvent>> {
    let select =
        "select seq, item, person, kind, body, at from annotation_events where task = ?1 and seq > ?2 order by seq";
    let mut statement = connection.prepare_cached(select)?;
    let rows = statement.query_map(params![task, after], |row| {
        Ok(AnnotationEvent {
            seq: row.get(0)?,
            item: row.get::<Option<i64>>(1)?.map(i64::unsigned_abs),
            person: row.get(2)?,
            kind: row.get(3)?,
            body: row.get(4)?,
            at: Moment(row.get(5)?),
        })
    })?;
    rows.collect()
}

/// Returns whether the file has the tables. An older file that is read-only has none.
fn has_tables(connection: &Connection) -> Result<bool, ReadFailure> {
    Ok(connection.has_table("annotation_tasks")?)
}

fn read_task(row: &Row<'_>) -> SqlResult<StoredAnnotationTask> {
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

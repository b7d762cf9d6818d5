//! Runs by their names.

use karat_types::{Key, Moment, RunHeader, RunStatus};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::ReadFailure;
use crate::pack::{Damage, Unpacker};
use crate::section::{Entries, Section, SectionWriter};
use crate::totals::{self, Totals, status_code, status_of};
use crate::{Store, StoreError, claim};

const HEADER_VERSION: u8 = 1;

/// How many runs an error names.
const SUGGESTIONS: i64 = 5;

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// The suite's name.
    pub suite: String,
    /// Hash of everything that fixes its cells and judgments.
    pub plan_hash: Key,
    /// How it stands.
    pub status: RunStatus,
    /// When it began.
    pub started_at: Moment,
    /// When it ended.
    pub completed_at: Option<Moment>,
    /// Cells of its plan.
    pub planned: u64,
    /// What it has done so far.
    pub totals: Totals,
}

pub(crate) fn pack_header(header: &RunHeader) -> Result<Vec<u8>, StoreError> {
    let not_packed = |error: std::io::Error| StoreError::OutOfRange(format!("the run's header: {error}"));
    let mut entries = Entries::default();
    entries.push(|packer| {
        packer.byte(HEADER_VERSION);
        packer.json(header);
    });
    SectionWriter::new().and_then(|mut writer| writer.write([&entries])).map_err(not_packed)
}

fn unpack_header(packed: &[u8]) -> Result<RunHeader, Damage> {
    let section = Section::read(packed)?;
    let mut unpacker = Unpacker::versioned(section.entry(0)?, HEADER_VERSION)?;
    let header = unpacker.json()?;
    unpacker.end()?;
    Ok(header)
}

/// A run with its number within the database.
pub(crate) struct KnownRun {
    pub id: i64,
    pub header: RunHeader,
}

const RUN_COLUMNS: &str = "id, header, status, started_at, completed_at";

/// Reads [`RUN_COLUMNS`]: columns hold what may change, the header the rest.
fn known_run(row: &Row<'_>) -> Result<KnownRun, ReadFailure> {
    let packed = row.get_ref(1)?.as_blob().map_err(|_| Damage("its header is no blob".to_owned()))?;
    let mut header = unpack_header(packed)?;
    header.status = status_of(row.get(2)?)?;
    header.started_at = Moment(row.get(3)?);
    header.completed_at = row.get::<_, Option<i64>>(4)?.map(Moment);
    Ok(KnownRun { id: row.get(0)?, header })
}

/// Finds a run by its exact name.
pub(crate) fn find_run(connection: &Connection, name: &str) -> Result<KnownRun, ReadFailure> {
    let mut statement = connection.prepare_cached(&format!("select {RUN_COLUMNS} from runs where name = ?1"))?;
    let mut rows = statement.query(params![name])?;
    match rows.next()? {
        Some(row) => known_run(row),
        None => Err(no_such_run(connection, name)?.into()),
    }
}

/// Finds a run's number by its exact name.
pub(crate) fn run_number(connection: &Connection, name: &str) -> Result<i64, ReadFailure> {
    let mut statement = connection.prepare_cached("select id from runs where name = ?1")?;
    match statement.query_row(params![name], |row| row.get(0)).optional()? {
        Some(id) => Ok(id),
        None => Err(no_such_run(connection, name)?.into()),
    }
}

fn no_such_run(connection: &Connection, wanted: &str) -> rusqlite::Result<StoreError> {
    let mut statement = connection.prepare_cached("select name from runs order by id desc limit ?1")?;
    let nearest = statement.query_map(params![SUGGESTIONS], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(StoreError::NoSuchRun { wanted: wanted.to_owned(), nearest })
}

impl Store {
    /// A run by its exact id.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or its row cannot be read.
    pub fn run(&self, id: &str) -> Result<RunHeader, StoreError> {
        let header = self.read("a run", |connection| Ok(find_run(connection, id)?.header))?;
        Ok(RunHeader { status: self.present_status(id, header.status), ..header })
    }

    /// A run that nobody writes any more is not running, whatever its row says: its process was killed.
    pub(crate) fn present_status(&self, run: &str, stored: RunStatus) -> RunStatus {
        let is_dead = stored == RunStatus::Running && !claim::is_held(self.path(), run);
        if is_dead { RunStatus::Interrupted } else { stored }
    }

    /// The newest runs, newest first.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        let mut runs = self.read("the list of runs", |connection| {
            let mut statement = connection.prepare_cached(
                "select id, name, suite, plan_hash, status, started_at, completed_at, planned, totals
                 from runs order by id desc limit ?1",
            )?;
            let mut rows = statement.query(params![i64::try_from(limit).unwrap_or(i64::MAX)])?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                runs.push(RunSummary {
                    id: row.get(1)?,
                    suite: row.get(2)?,
                    plan_hash: Key(row.get(3)?),
                    status: status_of(row.get(4)?)?,
                    started_at: Moment(row.get(5)?),
                    completed_at: row.get::<_, Option<i64>>(6)?.map(Moment),
                    planned: row.get::<_, i64>(7)?.unsigned_abs(),
                    totals: totals::of_run(connection, row.get(0)?, row.get(8)?)?,
                });
            }
            Ok(runs)
        })?;
        runs.iter_mut().for_each(|run: &mut RunSummary| run.status = self.present_status(&run.id, run.status));
        Ok(runs)
    }

    /// The id of the run that is meant: its id, the beginning of it, or `latest`.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] and [`StoreError::Ambiguous`], which name runs.
    pub fn resolve(&self, wanted: &str) -> Result<String, StoreError> {
        self.read("the list of runs", |connection| {
            let exact = connection
                .prepare_cached("select name from runs where name = ?1")?
                .query_row(params![wanted], |row| row.get(0))
                .optional()?;
            if let Some(name) = exact {
                return Ok(name);
            }
            let newest = "select name from runs order by id desc limit ?1";
            let beginning = "select name from runs where substr(name, 1, length(?2)) = ?2 order by id desc limit ?1";
            let names = |query, parameters: &[&dyn rusqlite::ToSql]| -> rusqlite::Result<Vec<String>> {
                connection.prepare_cached(query)?.query_map(parameters, |row| row.get(0))?.collect()
            };
            let mut matches = match wanted {
                "latest" => names(newest, &[&1])?,
                "" => Vec::new(),
                _ => names(beginning, &[&SUGGESTIONS, &wanted])?,
            };
            match matches.len() {
                0 => Err(no_such_run(connection, wanted)?.into()),
                1 => Ok(matches.swap_remove(0)),
                _ => Err(StoreError::Ambiguous { wanted: wanted.to_owned(), matches }.into()),
            }
        })
    }

    /// Ids of the newest runs of a suite, newest first.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn runs_of_suite(&self, suite: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read("the runs of a suite", |connection| {
            let mut statement =
                connection.prepare_cached("select name from runs where suite = ?1 order by id desc limit ?2")?;
            let names =
                statement.query_map(params![suite, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        })
    }

    /// The newest run of a plan that is not finished.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn latest_unfinished(&self, plan_hash: Key) -> Result<Option<RunHeader>, StoreError> {
        self.read("the unfinished runs", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "select {RUN_COLUMNS} from runs where plan_hash = ?1 and status <> ?2 order by id desc limit 1"
            ))?;
            let mut rows = statement.query(params![plan_hash.0, status_code(RunStatus::Finished)])?;
            rows.next()?.map(|row| Ok(known_run(row)?.header)).transpose()
        })
    }

    /// Id of the newest finished run of a suite.
    ///
    /// # Errors
    /// The list of runs cannot be read.
    pub fn latest_finished(&self, suite: &str) -> Result<Option<String>, StoreError> {
        self.read("the list of runs", |connection| {
            let mut statement = connection
                .prepare_cached("select name from runs where suite = ?1 and status = ?2 order by id desc limit 1")?;
            let found = statement.query_row(params![suite, status_code(RunStatus::Finished)], |row| row.get(0));
            Ok(found.optional()?)
        })
    }

    /// The newest run of a plan, however it stands.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn latest_of_plan(&self, plan_hash: Key) -> Result<Option<RunHeader>, StoreError> {
        self.read("the runs of a plan", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "select {RUN_COLUMNS} from runs where plan_hash = ?1 order by id desc limit 1"
            ))?;
            let mut rows = statement.query(params![plan_hash.0])?;
            rows.next()?.map(|row| Ok(known_run(row)?.header)).transpose()
        })
    }

    /// The error that says so, with the newest runs where they can be read.
    pub(crate) fn no_such_run(&self, wanted: &str) -> StoreError {
        self.read("the list of runs", |connection| Ok(no_such_run(connection, wanted)?))
            .unwrap_or_else(|_| StoreError::NoSuchRun { wanted: wanted.to_owned(), nearest: Vec::new() })
    }

    /// Id of the process that last opened a run to write.
    pub(crate) fn writer_of(&self, run: &str) -> Option<u32> {
        let pid = self.read("a run", |connection| {
            Ok(connection.query_row("select pid from runs where name = ?1", params![run], |row| row.get(0))?)
        });
        pid.ok()
    }
}

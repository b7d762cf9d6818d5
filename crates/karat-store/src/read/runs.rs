//! Lists of runs, and runs found by name, suite or plan.

use karat_types::{Key, Moment, RunHeader, RunStatus, Shard};

use crate::format::{run_status_code, run_status_of};
use crate::read::run_lookup::{RUN_COLUMNS, SUGGESTIONS, find_run, no_such_run, read_run_entry, run_number};
use crate::read::totals;
use crate::read::totals::Totals;
use crate::sql::{OptionalExtension, SqlResult, ToValue, params};
use crate::{Store, StoreError};

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Id of the run.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Hash of everything that determines its cells and judgments.
    pub plan_hash: Key,
    /// Status of the run.
    pub status: RunStatus,
    /// Start of the run.
    pub started_at: Moment,
    /// End of the run.
    pub completed_at: Option<Moment>,
    /// Number of planned cells.
    pub planned: u64,
    /// Totals of the run so far.
    pub totals: Totals,
}

impl Store {
    /// Returns the header of a run by its exact id.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or its row cannot be read.
    pub fn run(&self, id: &str) -> Result<RunHeader, StoreError> {
        let header = self.read("a run", |connection| Ok(find_run(connection, id)?.header))?;
        Ok(RunHeader { status: self.present_status(id, header.status), ..header })
    }

    /// Returns the status to show. A run that no process writes is not running, whatever its row says: its process
    /// was killed.
    pub(crate) fn present_status(&self, run: &str, stored: RunStatus) -> RunStatus {
        let is_dead = stored == RunStatus::Running && !self.is_claimed(run);
        if is_dead { RunStatus::Interrupted } else { stored }
    }

    /// Returns the newest runs, newest first.
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
                    status: run_status_of(row.get(4)?)?,
                    started_at: Moment(row.get(5)?),
                    completed_at: row.get::<Option<i64>>(6)?.map(Moment),
                    planned: row.get::<i64>(7)?.unsigned_abs(),
                    totals: totals::of_run(connection, row.get(0)?, row.get(8)?)?,
                });
            }
            Ok(runs)
        })?;
        runs.iter_mut().for_each(|run: &mut RunSummary| run.status = self.present_status(&run.id, run.status));
        Ok(runs)
    }

    /// Returns the id of the run that a user means: an id, the start of one, or `latest`.
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
            let names = |query, parameters: &[&dyn ToValue]| -> SqlResult<Vec<String>> {
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

    /// Returns the ids of the newest runs of a suite, newest first.
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

    /// Returns the id of the run of the same suite that started last before a run.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn run_before(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.read("the run before", |connection| {
            let before = run_number(connection, run)?;
            let found = connection
                .prepare_cached(
                    "select name from runs where id < ?1 and suite = (select suite from runs where id = ?1)
                     order by id desc limit 1",
                )?
                .query_row(params![before], |row| row.get(0))
                .optional()?;
            Ok(found)
        })
    }

    /// Returns the runs that are one shard of a run, oldest first.
    ///
    /// # Errors
    /// Their rows cannot be read.
    pub fn shards(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.read("the list of runs", |connection| {
            let mut statement = connection.prepare_cached(&format!("select {RUN_COLUMNS} from runs order by id"))?;
            let mut rows = statement.query(params![])?;
            let mut shards = Vec::new();
            while let Some(row) = rows.next()? {
                let header = read_run_entry(&row)?.header;
                shards.extend(header.shard.is_some().then_some(header));
            }
            Ok(shards)
        })
    }

    /// Returns the newest unfinished run of a plan, or of this shard of it.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn latest_unfinished(&self, plan_hash: Key, shard: Option<Shard>) -> Result<Option<RunHeader>, StoreError> {
        self.read("the unfinished runs", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "select {RUN_COLUMNS} from runs where plan_hash = ?1 and status <> ?2 order by id desc"
            ))?;
            let mut rows = statement.query(params![plan_hash.0, run_status_code(RunStatus::Finished)])?;
            while let Some(row) = rows.next()? {
                let header = read_run_entry(&row)?.header;
                if header.shard() == shard {
                    return Ok(Some(header));
                }
            }
            Ok(None)
        })
    }

    /// Returns the id of the newest finished run of a suite.
    ///
    /// # Errors
    /// The list of runs cannot be read.
    pub fn latest_finished(&self, suite: &str) -> Result<Option<String>, StoreError> {
        self.read("the list of runs", |connection| {
            let mut statement = connection
                .prepare_cached("select name from runs where suite = ?1 and status = ?2 order by id desc limit 1")?;
            let found = statement.query_row(params![suite, run_status_code(RunStatus::Finished)], |row| row.get(0));
            Ok(found.optional()?)
        })
    }

    /// Returns the newest run of a plan, whatever its status.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn latest_of_plan(&self, plan_hash: Key) -> Result<Option<RunHeader>, StoreError> {
        self.read("the runs of a plan", |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "select {RUN_COLUMNS} from runs where plan_hash = ?1 order by id desc limit 1"
            ))?;
            let mut rows = statement.query(params![plan_hash.0])?;
            rows.next()?.map(|row| Ok(read_run_entry(&row)?.header)).transpose()
        })
    }

    /// Returns the error for a missing run. It names the newest runs if they can be read.
    pub(crate) fn no_such_run(&self, wanted: &str) -> StoreError {
        self.read("the list of runs", |connection| Ok(no_such_run(connection, wanted)?))
            .unwrap_or_else(|_| StoreError::NoSuchRun { wanted: wanted.to_owned(), nearest: Vec::new() })
    }

    /// Returns the id of the process that last opened a run to write.
    pub(crate) fn writer_of(&self, run: &str) -> Option<u32> {
        let pid = self.read("a run", |connection| {
            Ok(connection.query_row("select pid from runs where name = ?1", params![run], |row| row.get(0))?)
        });
        pid.ok()
    }
}

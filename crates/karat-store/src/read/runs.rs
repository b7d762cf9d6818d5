//! Lists of runs, and runs found by name, suite or plan.

use karat_types::{Key, Moment, RunHeader, RunStatus, Shard};

use crate::error::ReadFailure;
use crate::format::run_lookup::{
    SUGGESTIONS, WITH_HEADER, find_run, find_run_number, named_run, newest_run, no_such_run, read_run_entry,
};
use crate::format::{run_status_code, run_status_of};
use crate::read::totals;
use crate::read::totals::Totals;
use crate::sql::Row;
use crate::sql::tables::run_column as column;
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
            let mut runs = Vec::new();
            if limit == 0 {
                return Ok(runs);
            }
            newest_run(connection, &[], |row| {
                runs.push(RunSummary {
                    id: row.get(column::NAME)?,
                    suite: row.get(column::SUITE)?,
                    plan_hash: Key(row.get(column::PLAN_HASH)?),
                    status: run_status_of(row.get(column::STATUS)?)?,
                    started_at: Moment(row.get(column::STARTED_AT)?),
                    completed_at: row.get::<Option<i64>>(column::COMPLETED_AT)?.map(Moment),
                    planned: row.get::<i64>(column::PLANNED)?.unsigned_abs(),
                    totals: totals::of_run(connection, row.get(column::ID)?, row.get(column::TOTALS)?)?,
                });
                Ok((runs.len() >= limit).then_some(()))
            })?;
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
            if find_run_number(connection, wanted)?.is_some() {
                return Ok(wanted.to_owned());
            }
            let mut matches: Vec<String> = Vec::new();
            if !wanted.is_empty() {
                newest_run(connection, &[], |row| {
                    let name: String = row.get(column::NAME)?;
                    let is_latest = wanted == "latest";
                    if is_latest || name.starts_with(wanted) {
                        matches.push(name);
                    }
                    Ok((is_latest || matches.len() >= SUGGESTIONS as usize).then_some(()))
                })?;
            }
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
            let mut names = Vec::new();
            if limit > 0 {
                newest_run(connection, &[], |row| {
                    names.extend(of_suite(row, suite)?);
                    Ok((names.len() >= limit).then_some(()))
                })?;
            }
            Ok(names)
        })
    }

    /// Returns the id of the run of the same suite that started last before a run.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn run_before(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.read("the run before", |connection| {
            let own = named_run(connection, run, &[], |row| Ok((row.get(column::ID)?, row.get(column::SUITE)?)))?;
            let Some((id, suite)): Option<(i64, String)> = own else {
                return Err(no_such_run(connection, run)?.into());
            };
            newest_run(
                connection,
                &[],
                |row| if row.get::<i64>(column::ID)? < id { of_suite(row, &suite) } else { Ok(None) },
            )
        })
    }

    /// Returns the finished runs of any suite among the `limit` runs that started last before a run, oldest first.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn finished_before(&self, run: &str, limit: usize) -> Result<Vec<RunHeader>, StoreError> {
        // Headers are long, so only those that are wanted are read.
        let names = self.read("the runs before", |connection| {
            let own = named_run(connection, run, &[], |row| Ok(row.get::<i64>(column::ID)?))?;
            let Some(own) = own else { return Err(no_such_run(connection, run)?.into()) };
            let (mut seen, mut finished) = (0, Vec::<String>::new());
            newest_run(connection, &[], |row| {
                if row.get::<i64>(column::ID)? < own {
                    seen += 1;
                    if row.get::<i64>(column::STATUS)? == run_status_code(RunStatus::Finished) {
                        finished.push(row.get(column::NAME)?);
                    }
                }
                Ok((seen >= limit).then_some(()))
            })?;
            Ok(finished)
        })?;
        names.iter().rev().map(|name| self.run(name)).collect()
    }

    /// Returns the runs that are one shard of a run, oldest first.
    ///
    /// # Errors
    /// Their rows cannot be read.
    pub fn shards(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.read("the list of runs", |connection| {
            let mut shards = Vec::new();
            newest_run(connection, WITH_HEADER, |row| {
                let header = read_run_entry(row)?.header;
                shards.extend(header.shard.is_some().then_some(header));
                Ok(None::<()>)
            })?;
            shards.reverse();
            Ok(shards)
        })
    }

    /// Returns the newest unfinished run of a plan, or of this shard of it.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn latest_unfinished(&self, plan_hash: Key, shard: Option<Shard>) -> Result<Option<RunHeader>, StoreError> {
        self.read("the unfinished runs", |connection| {
            newest_run(connection, WITH_HEADER, |row| {
                let is_finished = row.get::<i64>(column::STATUS)? == run_status_code(RunStatus::Finished);
                if is_finished || row.get::<[u8; 16]>(column::PLAN_HASH)? != plan_hash.0 {
                    return Ok(None);
                }
                let header = read_run_entry(row)?.header;
                Ok((header.shard() == shard).then_some(header))
            })
        })
    }

    /// Returns the id of the newest finished run of a suite.
    ///
    /// # Errors
    /// The list of runs cannot be read.
    pub fn latest_finished(&self, suite: &str) -> Result<Option<String>, StoreError> {
        self.read("the list of runs", |connection| {
            newest_run(connection, &[], |row| {
                let is_finished = row.get::<i64>(column::STATUS)? == run_status_code(RunStatus::Finished);
                if is_finished { of_suite(row, suite) } else { Ok(None) }
            })
        })
    }

    /// Returns the ids of the newest finished runs of a suite, newest first, at most `limit`.
    ///
    /// # Errors
    /// The list of runs cannot be read.
    pub fn finished_of_suite(&self, suite: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read("the list of runs", |connection| {
            let mut names = Vec::new();
            newest_run(connection, &[], |row| {
                if row.get::<i64>(column::STATUS)? == run_status_code(RunStatus::Finished) {
                    names.extend(of_suite(row, suite)?);
                }
                Ok((names.len() >= limit).then_some(()))
            })?;
            Ok(names)
        })
    }

    /// Returns the newest run of a plan, whatever its status.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn latest_of_plan(&self, plan_hash: Key) -> Result<Option<RunHeader>, StoreError> {
        self.read("the runs of a plan", |connection| {
            newest_run(connection, WITH_HEADER, |row| {
                let is_it = row.get::<[u8; 16]>(column::PLAN_HASH)? == plan_hash.0;
                is_it.then(|| Ok(read_run_entry(row)?.header)).transpose()
            })
        })
    }

    /// Returns the error for a missing run. It names the newest runs if they can be read.
    pub(crate) fn no_such_run(&self, wanted: &str) -> StoreError {
        self.read("the list of runs", |connection| Ok(no_such_run(connection, wanted)?))
            .unwrap_or_else(|_| StoreError::NoSuchRun { wanted: wanted.to_owned(), nearest: Vec::new() })
    }

    /// Returns the id of the process that last opened a run to write.
    pub(crate) fn writer_of(&self, run: &str) -> Option<u32> {
        let pid = self.read("a run", |connection| named_run(connection, run, &[], |row| Ok(row.get(column::PID)?)));
        pid.ok().flatten()
    }
}

/// The name of a run, if it is of a suite.
fn of_suite(row: &Row<'_>, suite: &str) -> Result<Option<String>, ReadFailure> {
    Ok(if row.get::<String>(column::SUITE)? == suite { Some(row.get(column::NAME)?) } else { None })
}

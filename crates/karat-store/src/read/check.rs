//! Checks stored runs to their last byte, and compares them with the totals that they ended with (A4).

use karat_types::RunRows;

use crate::block::call_log;
use crate::block::section::Section;
use crate::error::{Damage, ReadFailure};
use crate::format::run_lookup::{kept_totals, run_number};
use crate::read::totals;
use crate::server::annotation::tasks::{count_events, count_items, read_tasks};
use crate::sql::tables::TABLES;
use crate::sql::{Connection, Remedy, SqlError, SqlResult, Table, params};
use crate::{Store, StoreError};

/// The result of a check of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreCheck {
    /// Damage of the file itself, as SQLite reports it.
    pub file: Vec<String>,
    /// Rows that do not match their checksum: what each holds, its table and key, and what to do.
    pub rows: Vec<String>,
    /// Its runs, oldest first.
    pub runs: Vec<RunCheck>,
}

/// The result of a check of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCheck {
    /// Id of the run.
    pub run: String,
    /// Cells that have a row.
    pub cells: u64,
    /// Judgments that have a row.
    pub judgments: u64,
    /// Damage that `resume` mends: cells and judgments that are missing, cells that cannot be read.
    pub mendable: Vec<String>,
    /// Damage that stays: content that is lost.
    pub lost: Vec<String>,
}

impl StoreCheck {
    /// Returns whether no damage was found.
    pub fn is_sound(&self) -> bool {
        self.file.is_empty()
            && self.rows.is_empty()
            && self.runs.iter().all(|run| run.mendable.is_empty() && run.lost.is_empty())
    }
}

/// Largest number of reports of damage of the file, and of one table.
const REPORTS: usize = 20;

/// Commits of runs whose row is gone, or names another run.
const LOST_BLOCKS: &str = "select it.seq from block_sums as it where not exists
    (select 1 from blocks where blocks.seq = it.seq and blocks.run = it.run) order by it.seq";

const BLOCKS: &str = "select seq, log, judgments, outputs, traces from blocks where run = ?1 order by seq";
const SECTIONS: [&str; 3] = ["judgments", "outputs", "requests and responses"];

impl Store {
    /// Reads everything that the store holds.
    ///
    /// # Errors
    /// The list of runs cannot be read. All other damage is part of the result.
    pub fn check(&self) -> Result<StoreCheck, StoreError> {
        let (file, names) = self.read("the list of runs", |connection| {
            // A server checks its files by itself. The long check also compares indexes with their tables: a row that an
            // index does not name would be missing without a word.
            let found: Vec<String> = match connection.file() {
                None => Vec::new(),
                Some(_) => connection
                    .prepare_cached(&format!("pragma integrity_check({REPORTS})"))?
                    .query_map(params![], |row| row.get(0))?
                    .collect::<SqlResult<_>>()?,
            };
            let names: Vec<String> = connection
                .prepare_cached("select name from runs order by id")?
                .query_map(params![], |row| row.get(0))?
                .collect::<SqlResult<_>>()?;
            Ok((found.into_iter().filter(|report| report != "ok").collect(), names))
        })?;
        let mut rows: Vec<String> = TABLES.iter().flat_map(|table| self.damaged_rows(table)).collect();
        rows.extend(self.lost_rows().unwrap_or_else(|error| vec![error.to_string()]));
        Ok(StoreCheck { file, rows, runs: names.into_iter().map(|run| self.check_run(run)).collect() })
    }

    /// Describes the rows of a table that do not match their checksum.
    fn damaged_rows(&self, table: &'static Table) -> Vec<String> {
        let mut damaged = Vec::new();
        let mut more = 0_u64;
        let read = self.read("a table", |connection| {
            if !connection.is_sealed() || !connection.has_table(table.name)? {
                return Ok(());
            }
            let snapshot = connection.snapshot()?;
            let select = format!("select {} from {}", table.select(&snapshot, table.long), table.name);
            let mut statement = snapshot.prepare_long(&select)?;
            let mut rows = statement.query(params![])?;
            while let Some(row) = rows.next()? {
                match table.check(&row, table.long) {
                    Err(SqlError::Damaged { what, why }) if damaged.len() < REPORTS => {
                        damaged.push(format!("{what}: {why}"))
                    }
                    Err(SqlError::Damaged { .. }) => more += 1,
                    checked => checked?,
                }
            }
            Ok(())
        });
        damaged.extend((more > 0).then(|| format!("{more} more rows of the table `{}`", table.name)));
        damaged.extend(read.err().map(|error| format!("the table `{}`: {error}", table.name)));
        damaged
    }

    /// Describes rows that are gone, or name another run or task than they did: those of commits, items and events.
    fn lost_rows(&self) -> Result<Vec<String>, StoreError> {
        self.read("the tables", |connection| {
            let mut lost = Vec::new();
            if !connection.is_sealed() {
                return Ok(lost);
            }
            let mut statement = connection.prepare_cached(LOST_BLOCKS)?;
            for block in statement.query_map(params![], |row| row.get::<i64>(0))? {
                let advice = Remedy::Restore.advice();
                lost.push(format!(
                    "the row seq {} of the table `blocks` is gone, or names another run; {advice}",
                    block?
                ));
            }
            for task in read_tasks(connection, |_| true).unwrap_or_default() {
                for counted in [count_events(connection, task.id), count_items(connection, &task)] {
                    match counted {
                        Err(SqlError::Damaged { what, why }) => lost.push(format!("{what} `{}`: {why}", task.name)),
                        counted => counted?,
                    }
                }
            }
            Ok(lost)
        })
    }

    /// Returns whether every row that a finished run ended with is there and can be read.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or a table cannot be read.
    pub fn is_whole(&self, run: &str) -> Result<bool, StoreError> {
        let missing = self.read("the totals of a run", |connection| missing_rows(connection, run))?;
        Ok(missing.2.is_empty() && self.finished_cells(run)?.damage.is_empty())
    }

    fn check_run(&self, run: String) -> RunCheck {
        let mut check = RunCheck { run, cells: 0, judgments: 0, mendable: Vec::new(), lost: Vec::new() };
        match self.read("the totals of a run", |connection| missing_rows(connection, &check.run)) {
            Ok((cells, judgments, missing)) => {
                (check.cells, check.judgments, check.mendable) = (cells, judgments, missing);
            }
            Err(error) => check.lost.push(error.to_string()),
        }
        match self.finished_cells(&check.run) {
            Ok(finished) => {
                let damage = [("cells", &finished.damage.cells), ("cells with judgments", &finished.damage.judgments)];
                check.mendable.extend(damage.into_iter().filter_map(|(what, cells)| {
                    let first = cells.iter().next()?;
                    Some(format!("{} of its {what} cannot be read, the first of them cell {first}", cells.len()))
                }));
            }
            Err(error) => check.lost.push(error.to_string()),
        }
        match self.read("the blocks of a run", |connection| damaged_blocks(connection, &check.run)) {
            Ok(damaged) => check.lost.extend(damaged),
            Err(error) => check.lost.push(error.to_string()),
        }
        if check.mendable.is_empty() && check.lost.is_empty() {
            let read = self.rows(&check.run).map_err(|error| error.to_string()).and_then(|rows| {
                rows.for_each(&mut |_| std::ops::ControlFlow::Continue(())).map_err(|error| error.to_string())
            });
            check.lost.extend(read.err());
        }
        check
    }
}

/// Counts the cells and judgments of a run, and describes what is missing of those that it ended with.
pub(crate) fn missing_rows(connection: &Connection, run: &str) -> Result<(u64, u64, Vec<String>), ReadFailure> {
    let id = run_number(connection, run)?;
    let (cells, judgments) = totals::count_rows(connection, id)?;
    let kept = kept_totals(connection, id)?.as_deref().map(totals::unpack).transpose()?;
    let expected =
        kept.map(|kept| [("cells", cells, kept.cells), ("judgments", judgments, kept.judgments.unwrap_or(judgments))]);
    let missing = expected.into_iter().flatten().filter(|(_, found, expected)| found != expected);
    let missing =
        missing.map(|(what, found, expected)| format!("it ended with {expected} {what}, and {found} are there"));
    Ok((cells, judgments, missing.collect()))
}

/// Describes the damage of a run's blocks.
fn damaged_blocks(connection: &Connection, run: &str) -> Result<Vec<String>, ReadFailure> {
    let id = run_number(connection, run)?;
    let snapshot = connection.snapshot_if_none()?;
    let mut statement = snapshot.prepare_long(BLOCKS)?;
    let mut rows = statement.query(params![id])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let block: i64 = row.get(0)?;
        let mut note = |what: &str, read: Result<(), Damage>| {
            damaged.extend(read.err().map(|damage| format!("the {what} of block {block} cannot be read: {damage}")));
        };
        let log = row.blob(1)?;
        note("calls", call_log::read(log).and_then(|mut events| events.try_for_each(|event| event.map(drop))));
        for (at, what) in SECTIONS.into_iter().enumerate() {
            let section = row.blob(at + 2)?;
            note(what, Section::read(section).map(drop));
        }
    }
    Ok(damaged)
}

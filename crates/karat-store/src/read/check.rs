//! Checks stored runs to their last byte, and compares them with the totals that they ended with (A4).

use karat_types::RunRows;

use crate::block::call_log;
use crate::block::pack::Damage;
use crate::block::section::Section;
use crate::error::ReadFailure;
use crate::read::run_lookup::run_number;
use crate::read::totals;
use crate::sql::{Connection, SqlResult, params};
use crate::{Store, StoreError};

/// The result of a check of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreCheck {
    /// Damage of the file itself, as SQLite reports it.
    pub file: Vec<String>,
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
        self.file.is_empty() && self.runs.iter().all(|run| run.mendable.is_empty() && run.lost.is_empty())
    }
}

/// Largest number of reports of damage of the file.
const REPORTS: usize = 20;

const BLOCKS: &str = "select seq, log, judgments, outputs, traces from blocks where run = ?1 order by seq";
const SECTIONS: [&str; 3] = ["judgments", "outputs", "requests and responses"];

impl Store {
    /// Reads everything that the store holds.
    ///
    /// # Errors
    /// The list of runs cannot be read. All other damage is part of the result.
    pub fn check(&self) -> Result<StoreCheck, StoreError> {
        let (file, names) = self.read("the list of runs", |connection| {
            // A server checks its files by itself.
            let found: Vec<String> = match connection.file() {
                None => Vec::new(),
                Some(_) => connection
                    .prepare_cached(&format!("pragma quick_check({REPORTS})"))?
                    .query_map(params![], |row| row.get(0))?
                    .collect::<SqlResult<_>>()?,
            };
            let names: Vec<String> = connection
                .prepare_cached("select name from runs order by id")?
                .query_map(params![], |row| row.get(0))?
                .collect::<SqlResult<_>>()?;
            Ok((found.into_iter().filter(|report| report != "ok").collect(), names))
        })?;
        Ok(StoreCheck { file, runs: names.into_iter().map(|run| self.check_run(run)).collect() })
    }

    /// Returns whether every row that a finished run ended with is there and can be read.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or a table cannot be read.
    pub fn is_whole(&self, run: &str) -> Result<bool, StoreError> {
        let missing = self.read("the totals of a run", |connection| missing_rows(connection, run))?;
        Ok(missing.2.is_empty() && self.unreadable_cells(run)?.is_empty())
    }

    fn check_run(&self, run: String) -> RunCheck {
        let mut check = RunCheck { run, cells: 0, judgments: 0, mendable: Vec::new(), lost: Vec::new() };
        match self.read("the totals of a run", |connection| missing_rows(connection, &check.run)) {
            Ok((cells, judgments, missing)) => {
                (check.cells, check.judgments, check.mendable) = (cells, judgments, missing);
            }
            Err(error) => check.lost.push(error.to_string()),
        }
        match self.unreadable_cells(&check.run) {
            Ok(cells) => {
                check.mendable.extend(cells.iter().next().map(|first| {
                    format!("{} of its cells cannot be read, the first of them cell {first}", cells.len())
                }))
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
    let kept: Option<Vec<u8>> =
        connection.query_row("select totals from runs where id = ?1", params![id], |row| row.get(0))?;
    let kept = kept.as_deref().map(totals::unpack).transpose()?;
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

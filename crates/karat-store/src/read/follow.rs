//! Reads the additions to a run since the last look, in the order in which they were written: for pages and streams that
//! follow a run of this or another process.
//!
//! A commit adds all of its rows at once, so a follower always stands between two commits. The number of a change is the
//! commit's number times [`ROWS_OF_COMMIT`], plus the row's place in it: numbers grow, and are the same for everyone.

use karat_types::{CellRecord, Money};

use crate::block::call_log::{self, CallEvent};
use crate::error::ReadFailure;
use crate::format::run_lookup::{named_run, no_such_run, run_number};
use crate::format::run_status_of;
use crate::read::account::{log_query, read_log};
use crate::read::cursors::{CellColumns, JudgmentColumns};
use crate::sql::tables::run_column as column;
use crate::sql::{Connection, params};
use crate::{Store, StoreError};

/// More rows than one commit has. Numbers stay exact in JavaScript for nine billion commits.
pub const ROWS_OF_COMMIT: u64 = 1_000_000;

// The plus keeps SQLite from the index of the run, which would read all of its rows at each look.
pub(crate) const NEW_CELLS: &str = "from cells where seq > ?2 and +run = ?1 order by seq";
pub(crate) const NEW_JUDGMENTS: &str = "from judgments where seq > ?2 and +run = ?1 order by seq";
// The first look reads a whole run, among the rows of all others.
const ALL_CELLS: &str = "from cells where run = ?1 and ?2 = 0 order by seq";
const ALL_JUDGMENTS: &str = "from judgments where run = ?1 and ?2 = 0 order by seq";
pub(crate) const NEW_BLOCKS: &str = "from blocks where run = ?1 and seq > ?2 order by seq";

/// The place up to which a run was read. The default is its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowPosition {
    block: i64,
    cell: i64,
    judgment: i64,
}

impl FollowPosition {
    /// A number behind every change up to this place, and before every later one.
    pub fn end(self) -> u64 {
        number(self.block, ROWS_OF_COMMIT - 1)
    }
}

/// Something that was added to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunChange {
    /// A cell, without its output.
    Cell {
        /// Number of the change.
        seq: u64,
        /// The cell.
        cell: Box<CellRecord>,
    },
    /// A judgment.
    Judgment {
        /// Number of the change.
        seq: u64,
        /// The cell's ordinal.
        ordinal: u64,
        /// Index of the scorer.
        scorer: u16,
        /// Index of the judge.
        judge: u16,
        /// True if no score of it is unscored.
        is_sound: bool,
    },
    /// Calls ended, and cost this much together, as far as it is known.
    Spent(Money),
}

/// Numbers changes in the order of their commits.
#[derive(Default)]
struct Numbering {
    block: i64,
    place: u64,
}

impl Numbering {
    fn next(&mut self, block: i64) -> u64 {
        self.place = if block == self.block { self.place + 1 } else { 1 };
        self.block = block;
        number(block, self.place)
    }
}

fn number(block: i64, place: u64) -> u64 {
    block.unsigned_abs().saturating_mul(ROWS_OF_COMMIT).saturating_add(place)
}

impl Store {
    /// Calls `each` with everything that was added to a run behind a place, in order, and returns the new place.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn follow(
        &self,
        run: &str,
        from: FollowPosition,
        each: &mut dyn FnMut(RunChange),
    ) -> Result<FollowPosition, StoreError> {
        self.read("the new rows of a run", |connection| {
            let id = run_number(connection, run)?;
            let snapshot = connection.snapshot()?;
            let (block, spent) = new_spending(&snapshot, id, from.block)?;
            if block == from.block {
                return Ok(from);
            }
            if spent != Money::ZERO {
                each(RunChange::Spent(spent));
            }
            let mut to = FollowPosition { block, ..from };
            let judgments = new_judgments(&snapshot, id, from.judgment)?;
            to.judgment = judgments.last().map_or(from.judgment, |last| last.seq);
            let mut judgments = judgments.into_iter().peekable();
            let mut numbering = Numbering::default();
            let end = if from.cell == 0 { ALL_CELLS } else { NEW_CELLS };
            let mut statement = snapshot.prepare_long(&CellColumns::query(&snapshot, end))?;
            let mut rows = statement.query(params![id, from.cell])?;
            while let Some(row) = rows.next()? {
                let cell = CellColumns::read(&row)?;
                while let Some(judgment) = judgments.next_if(|judgment| judgment.block < cell.block) {
                    each(change_of(&judgment, &mut numbering));
                }
                to.cell = cell.seq;
                each(RunChange::Cell { seq: numbering.next(cell.block), cell: Box::new(cell.unpack()?) });
            }
            judgments.for_each(|judgment| each(change_of(&judgment, &mut numbering)));
            Ok(to)
        })
    }

    /// Returns the present status of a run by its exact id.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or its row cannot be read.
    pub fn run_status(&self, run: &str) -> Result<karat_types::RunStatus, StoreError> {
        let stored = self.read("a run", |connection| {
            match named_run(connection, run, &[], |row| Ok(run_status_of(row.get(column::STATUS)?)?))? {
                Some(status) => Ok(status),
                None => Err(no_such_run(connection, run)?.into()),
            }
        })?;
        Ok(self.present_status(run, stored))
    }
}

fn change_of(judgment: &JudgmentColumns, numbering: &mut Numbering) -> RunChange {
    let JudgmentColumns { ordinal, scorer, judge, is_sound, block, .. } = *judgment;
    RunChange::Judgment { seq: numbering.next(block), ordinal, scorer, judge, is_sound }
}

/// Returns the last commit of a run, and what the calls of the new ones cost.
fn new_spending(connection: &Connection, run: i64, from: i64) -> Result<(i64, Money), ReadFailure> {
    let mut statement = connection.prepare_long(&log_query(connection, NEW_BLOCKS))?;
    let mut rows = statement.query(params![run, from])?;
    let (mut last, mut spent) = (from, Money::ZERO);
    while let Some(row) = rows.next()? {
        let log;
        (last, log) = read_log(&row)?;
        for event in call_log::read(log)? {
            if let CallEvent::Ended(call) = event? {
                spent += call.cost.unwrap_or_default();
            }
        }
    }
    Ok((last, spent))
}

fn new_judgments(connection: &Connection, run: i64, from: i64) -> Result<Vec<JudgmentColumns>, ReadFailure> {
    let end = if from == 0 { ALL_JUDGMENTS } else { NEW_JUDGMENTS };
    let mut statement = connection.prepare_cached(&JudgmentColumns::query(connection, end))?;
    let mut rows = statement.query(params![run, from])?;
    let mut judgments = Vec::new();
    while let Some(row) = rows.next()? {
        judgments.push(JudgmentColumns::read(&row)?);
    }
    Ok(judgments)
}

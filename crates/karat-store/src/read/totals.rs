//! Totals of a run: counted while it runs, kept once it has ended.

use karat_types::{CellStatus, Moment, RunStatus};

use crate::StoreError;
use crate::block::call_log::Reservation;
use crate::block::pack::{Packer, Unpacker, unseal};
use crate::error::{Attempt, Damage, ReadFailure};
use crate::format::{run_status_code, status_code};
use crate::read::account::Spending;
use crate::sql::tables::RUNS;
use crate::sql::{Connection, SqlResult, StoredRow, Transaction, params};

/// Format version. 2 added the number of judgments and a checksum, 3 the parts of the cost that providers stated and whose
/// tokens they did not count.
const VERSION: u8 = 3;

/// The first version with a checksum.
const SEALED: u8 = 2;

/// Counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Cells that have a row.
    pub cells: u64,
    /// Cells that ended in an error.
    pub errors: u64,
    /// Cells that a condition skipped.
    pub skipped: u64,
    /// Judgments that have a row, one of each judge and scorer of a cell; `None` in totals of an older Karat.
    pub judgments: Option<u64>,
    /// Calls and money.
    pub spending: Spending,
}

/// Returns the stored totals, or counts them.
pub(crate) fn of_run(connection: &Connection, run: i64, kept: Option<Vec<u8>>) -> Result<Totals, ReadFailure> {
    match kept {
        Some(packed) => Ok(unpack(&packed)?),
        None => count(connection, run),
    }
}

/// Ends a run, and stores its totals so that a list of runs need not count.
pub(crate) fn finish(
    transaction: &Transaction<'_>,
    run: i64,
    status: RunStatus,
    at: Moment,
    attempt: Attempt<'_>,
) -> Result<(), StoreError> {
    let totals = count(transaction, run).map_err(|failure| failure.of(attempt.path, "the totals of a run"))?;
    let end = |row: &mut StoredRow| {
        row.set("status", &run_status_code(status));
        row.set("completed_at", &at.0);
        row.set("totals", &pack(&totals));
        Ok(())
    };
    RUNS.change(transaction, "id = ?1", params![run], end).map(drop).map_err(|error| attempt.error(error))
}

/// Counts the cells that have a row.
pub(crate) const CELLS: &str = "select count(*) from (select 1 from cells where run = ?1 group by ordinal) as places";

/// Counts the cells whose latest row has another status than the most common one. They are few in most runs, so only
/// for them the query checks which row is the latest.
pub(crate) const OTHERS: &str =
    "select status, count(*) from cells as it where run = ?1 and status <> ?2 and not exists
    (select 1 from cells as later where later.run = it.run and later.ordinal = it.ordinal and later.seq > it.seq)
  group by status";

/// Counts the judgments that have a row, one of each place.
pub(crate) const JUDGMENTS: &str =
    "select count(*) from (select 1 from judgments where run = ?1 group by ordinal, scorer, judge) as places";

/// Counts the cells and judgments of a run that have a row.
pub(crate) fn count_rows(connection: &Connection, run: i64) -> SqlResult<(u64, u64)> {
    let number = |query| connection.prepare_cached(query)?.query_row(params![run], |row| row.get::<i64>(0));
    Ok((number(CELLS)?.unsigned_abs(), number(JUDGMENTS)?.unsigned_abs()))
}

fn count(connection: &Connection, run: i64) -> Result<Totals, ReadFailure> {
    let (cells, judgments) = count_rows(connection, run)?;
    let spending = Spending::of_run(connection, run)?;
    let mut totals = Totals { cells, judgments: Some(judgments), spending, ..Totals::default() };
    let mut statement = connection.prepare_cached(OTHERS)?;
    let mut rows = statement.query(params![run, status_code(CellStatus::Ok)])?;
    while let Some(row) = rows.next()? {
        let count = row.get::<i64>(1)?.unsigned_abs();
        match row.get::<i64>(0)? {
            code if code == status_code(CellStatus::Error) => totals.errors = count,
            code if code == status_code(CellStatus::Skipped) => totals.skipped = count,
            _ => {}
        }
    }
    Ok(totals)
}

fn pack(totals: &Totals) -> Vec<u8> {
    let Spending { calls, attempts, spent, reported, counted, unpriced, open } = totals.spending;
    Packer::pack(|packer| {
        packer.byte(VERSION);
        for number in [totals.cells, totals.errors, totals.skipped, calls, attempts, unpriced, open.calls] {
            packer.number(number);
        }
        packer.money(spent);
        packer.money(open.upper);
        packer.option(totals.judgments, Packer::number);
        packer.money(reported);
        packer.money(counted);
        packer.seal(0, &[]);
    })
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Totals, Damage> {
    let (mut unpacker, version) = Unpacker::with_version(unseal(packed, SEALED..=VERSION, &[])?, VERSION)?;
    let mut totals = Totals {
        cells: unpacker.number()?,
        errors: unpacker.number()?,
        skipped: unpacker.number()?,
        judgments: None,
        spending: Spending {
            calls: unpacker.number()?,
            attempts: unpacker.number()?,
            unpriced: unpacker.number()?,
            open: Reservation { calls: unpacker.number()?, ..Reservation::default() },
            spent: unpacker.money()?,
            ..Spending::default()
        },
    };
    totals.spending.open.upper = unpacker.money()?;
    if version > 1 {
        totals.judgments = unpacker.option(Unpacker::number)?;
    }
    if version > 2 {
        (totals.spending.reported, totals.spending.counted) = (unpacker.money()?, unpacker.money()?);
    }
    unpacker.end()?;
    Ok(totals)
}

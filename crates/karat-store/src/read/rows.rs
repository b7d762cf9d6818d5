//! A stored run as analyses and reports read it: a stream in plan order.
//!
//! Three cursors (cells, samples, judgments) advance together over their indexes in one snapshot, so nothing is
//! sorted and memory does not grow with the run.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex};

use karat_types::{
    CellRecord, CellRow, JudgmentRow, Key, KeyBuilder, RowError, RunHeader, RunRows, SampleRecord, StoredStop,
    Tournaments,
};

use crate::block::pack::Damage;
use crate::block::section_cache::{LoadedSection, SectionCache, SectionKind};
use crate::database::mutex::lock;
use crate::error::ReadFailure;
use crate::format::{StoredCell, unpack_cell, unpack_judgment, unpack_sample};
use crate::read::lookup::parse_output;
use crate::read::run_lookup::find_run;
use crate::read::totals;
use crate::read::totals::Totals;
use crate::sql::{Connection, OptionalExtension, Rows, params};
use crate::write::stops::stop_of_run;
use crate::{Store, StoreError};

pub(crate) const CELLS: &str =
    "select ordinal, seq, status, facts, block, output from cells where run = ?1 and ordinal >= ?2 and ordinal < ?3
    order by ordinal";
pub(crate) const SAMPLES: &str = "select row, facts from samples where run = ?1 and row >= ?2 order by row";
pub(crate) const JUDGMENTS: &str = "select ordinal, scorer, judge, seq, block, entry from judgments
    where run = ?1 and ordinal >= ?2 order by ordinal, scorer, judge";
// A bare column beside max() comes from the row that has the maximum: the latest. Without any row all are null.
pub(crate) const OUTPUT: &str = "select block, output, max(seq) from cells where run = ?1 and ordinal = ?2";
const OUTPUT_ON_SERVER: &str =
    "select block, output from cells where run = ?1 and ordinal = ?2 order by seq desc limit 1";

const CELL: &str = "select status, facts, max(seq) from cells where run = ?1 and ordinal = ?2";
const CELL_ON_SERVER: &str =
    "select status, facts from cells where run = ?1 and ordinal = ?2 order by seq desc limit 1";
const JUDGMENTS_OF_CELL: &str = "select scorer, judge, block, entry, max(seq) from judgments
    where run = ?1 and ordinal = ?2 group by scorer, judge order by scorer, judge";
const JUDGMENTS_OF_CELL_ON_SERVER: &str = "select distinct on (scorer, judge) scorer, judge, block, entry
    from judgments where run = ?1 and ordinal = ?2 order by scorer, judge, seq desc";
const SAMPLE: &str = "select facts from samples where run = ?1 and row = ?2";
// Rows are added together with a block and are never removed or changed.
pub(crate) const STATE: &str = "select header, status, started_at, completed_at,
    (select max(seq) from blocks where run = ?1) from runs where id = ?1";

/// Cells that one snapshot of a server reads. So few in tests that their runs have several parts.
const CELLS_OF_PART: u64 = if cfg!(test) { 3 } else { 16_384 };

const END_OF_PART: &str =
    "select ordinal from cells where run = ?1 and ordinal >= ?2 order by ordinal limit 1 offset ?3";

/// Converts an ordinal for SQL. One that no column can hold becomes −1, which matches no row.
fn sql_ordinal(ordinal: u64) -> i64 {
    i64::try_from(ordinal).unwrap_or(-1)
}

/// The rows of one stored run.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub(crate) store: Store,
    pub(crate) id: i64,
    header: RunHeader,
    /// Its early stop; boxed, because few runs have one.
    stop: Option<Box<StoredStop>>,
    /// The place of the current row's output: a caller that sees a row usually asks for its output next.
    shown: Arc<Mutex<Option<Shown>>>,
}

#[derive(Debug, Clone, Copy)]
struct Shown {
    ordinal: u64,
    /// Block and entry, if the cell has an output.
    output: Option<(i64, u64)>,
}

impl Store {
    /// Returns the rows of a run by its exact id.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or its row cannot be read.
    pub fn rows(&self, run: &str) -> Result<StoredRun, StoreError> {
        let (known, stop) = self.read("a run", |connection| {
            let known = find_run(connection, run)?;
            let may_stop = known.header.plan.run.stop_early.is_some();
            let stop = if may_stop { stop_of_run(connection, known.id)? } else { None };
            Ok((known, stop))
        })?;
        let status = self.present_status(run, known.header.status);
        Ok(StoredRun {
            stop: stop.map(Box::new),
            store: self.clone(),
            id: known.id,
            header: RunHeader { status, ..known.header },
            shown: Arc::default(),
        })
    }
}

impl StoredRun {
    /// The store that holds the run.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl RunRows for StoredRun {
    fn header(&self) -> &RunHeader {
        &self.header
    }

    fn stop(&self) -> Option<&StoredStop> {
        self.stop.as_deref()
    }

    fn for_each_in(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        let plan = &self.header.plan;
        match Tournaments::of(plan) {
            None => self.for_each_judged(ordinals, row),
            Some(tournaments) => {
                tournaments.with_shares(plan, &ordinals, &mut |wider, each| self.for_each_judged(wider, each), row)
            }
        }
    }

    fn output(&self, ordinal: u64) -> Result<Option<serde_json::Value>, RowError> {
        self.store
            .read("a cell's output", |connection| self.find_output(connection, ordinal))
            .map_err(|error| RowError(error.to_string()))
    }
}

impl StoredRun {
    /// Calls `row` for each cell of these ordinals with its own judgments, until it breaks.
    fn for_each_judged(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        let mut found = FoundRows::default();
        let mut first = ordinals.start;
        while first < ordinals.end {
            let end = self.end_of_part(first, ordinals.end).map_err(|error| RowError(error.to_string()))?;
            let flow = self
                .store
                .read("the rows of a run", |connection| self.stream(connection, first..end, &ordinals, &mut found, row))
                .map_err(|error| RowError(error.to_string()))?;
            if flow.is_break() {
                break;
            }
            first = end;
        }
        Ok(())
    }

    /// Returns the totals of the run so far.
    ///
    /// # Errors
    /// The counts kept of the run, or its rows, cannot be read.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.store.read("the totals of a run", |connection| {
            let kept =
                connection.query_row("select totals from runs where id = ?1", params![self.id], |row| row.get(0))?;
            totals::of_run(connection, self.id, kept)
        })
    }

    /// Returns a hash of everything the store holds of the run. While it stays the same, every row does.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn state(&self) -> Result<Key, StoreError> {
        self.store.read("the state of a run", |connection| {
            let state = connection.prepare_cached(STATE)?.query_row(params![self.id], |row| {
                let header = KeyBuilder::new("karat/state/1").bytes(row.blob(0)?);
                let numbers = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
                Ok(header.json::<[Option<i64>; 4]>(&numbers).finish())
            });
            Ok(state?)
        })
    }

    /// Returns the cell at an ordinal, without its output, or `None` if it has no row.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn cell(&self, ordinal: u64) -> Result<Option<CellRecord>, StoreError> {
        self.store.read("a cell", |connection| {
            let mut statement = connection.prepare_cached(connection.dialect(CELL, CELL_ON_SERVER))?;
            let found = statement.query_row(params![self.id, sql_ordinal(ordinal)], |row| {
                let status: Option<i64> = row.get(0)?;
                Ok(status.zip(row.get::<Option<Vec<u8>>>(1)?))
            });
            let Some((status, facts)) = found.optional()?.flatten() else { return Ok(None) };
            Ok(Some(unpack_cell(StoredCell { ordinal, status, facts: &facts })?))
        })
    }

    /// Returns the judgments of a cell, by scorer, then judge.
    ///
    /// # Errors
    /// Their rows cannot be read.
    pub fn judgments(&self, ordinal: u64) -> Result<Vec<JudgmentRow>, StoreError> {
        self.store.read("the judgments of a cell", |connection| {
            let mut statement =
                connection.prepare_cached(connection.dialect(JUDGMENTS_OF_CELL, JUDGMENTS_OF_CELL_ON_SERVER))?;
            let mut rows = statement.query(params![self.id, sql_ordinal(ordinal)])?;
            let mut judgments = Vec::new();
            while let Some(row) = rows.next()? {
                let section = self.store.0.cache.section(connection, row.get(2)?, SectionKind::Judgments)?;
                judgments.push(unpack_judgment(section.section.entry(row.get::<i64>(3)?.unsigned_abs())?)?);
            }
            Ok(judgments)
        })
    }

    /// Returns the sample at a row of the plan, or `None` if none of its cells was started.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn sample(&self, row: u64) -> Result<Option<SampleRecord>, StoreError> {
        self.store.read("a sample", |connection| {
            let mut statement = connection.prepare_cached(SAMPLE)?;
            let facts: Option<Vec<u8>> =
                statement.query_row(params![self.id, sql_ordinal(row)], |found| found.get(0)).optional()?;
            Ok(facts.map(|facts| unpack_sample(row, &facts)).transpose()?)
        })
    }

    /// Calls `each` with every sample of the run, in plan order.
    ///
    /// # Errors
    /// A row cannot be read.
    pub fn samples(&self, mut each: impl FnMut(SampleRecord)) -> Result<(), StoreError> {
        self.store.read("the samples of a run", |connection| {
            let snapshot = connection.snapshot()?;
            let mut statement = snapshot.prepare_long(SAMPLES)?;
            let mut rows = statement.query(params![self.id, 0])?;
            while let Some(row) = rows.next()? {
                let facts = row.blob(1)?;
                each(unpack_sample(row.get::<i64>(0)?.unsigned_abs(), facts)?);
            }
            Ok(())
        })
    }

    /// Returns the end of the part that one snapshot reads. A file is read at once. On a server a long snapshot keeps what
    /// others replace, so each part has its own.
    fn end_of_part(&self, first: u64, end: u64) -> Result<u64, StoreError> {
        let is_short = end.min(self.header.plan.cells()).saturating_sub(first) <= CELLS_OF_PART;
        if is_short || !self.store.is_on_server() {
            return Ok(end);
        }
        self.store.read("the rows of a run", |connection| {
            let next = connection
                .prepare_cached(END_OF_PART)?
                .query_row(params![self.id, sql_ordinal(first), sql_ordinal(CELLS_OF_PART)], |row| row.get::<i64>(0));
            // A cell may have more rows than a part.
            Ok(next.optional()?.map_or(end, |next| end.min(next.unsigned_abs().max(first + 1))))
        })
    }

    /// Reads a part of the wanted rows in one snapshot.
    fn stream(
        &self,
        connection: &Connection,
        part: Range<u64>,
        wanted: &Range<u64>,
        found: &mut FoundRows,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadFailure> {
        let [first, end] = [part.start, part.end].map(|place| i64::try_from(place).unwrap_or(i64::MAX));
        let (first_row, ..) = self.header.plan.place(part.start);
        let snapshot = connection.snapshot()?;
        let (mut cells, mut samples, mut judgments) =
            (snapshot.prepare_long(CELLS)?, snapshot.prepare_long(SAMPLES)?, snapshot.prepare_long(JUDGMENTS)?);
        let mut cells = CellCursor::new(cells.query(params![self.id, first, end])?)?;
        let mut samples = SampleCursor::new(samples.query(params![self.id, sql_ordinal(first_row)])?);
        let judgments = judgments.query(params![self.id, first])?;
        let mut judgments = JudgmentCursor::new(judgments, &snapshot, &self.store.0.cache)?;
        while let Some(latest) = cells.next()? {
            let cell = unpack_cell(StoredCell { ordinal: latest.ordinal, status: latest.status, facts: &latest.facts })
                .map_err(|damage| {
                    let run = &self.header.id;
                    Damage(format!("cell {}: {damage}; `karat resume {run}` makes it again", latest.ordinal))
                })?;
            let (sample_row, system, trial) = self.header.plan.place(cell.ordinal);
            let sample = samples.at(sample_row)?;
            let judgments = judgments.of(cell.ordinal)?;
            found.cells += 1;
            found.judgments += judgments.len() as u64;
            *lock(&self.shown) = Some(Shown { ordinal: cell.ordinal, output: latest.output });
            if row(CellRow { sample, system, trial, cell: &cell, judgments, shares: &[] }).is_break() {
                *lock(&self.shown) = None;
                return Ok(ControlFlow::Break(()));
            }
        }
        *lock(&self.shown) = None;
        let is_last = part.end == wanted.end && wanted.start == 0 && wanted.end >= self.header.plan.cells();
        if !is_last {
            return Ok(ControlFlow::Continue(()));
        }
        let kept: Option<Vec<u8>> =
            snapshot.query_row("select totals from runs where id = ?1", params![self.id], |row| row.get(0))?;
        found.compare(kept.as_deref(), &self.header.id)?;
        Ok(ControlFlow::Continue(()))
    }

    fn find_output(&self, connection: &Connection, ordinal: u64) -> Result<Option<serde_json::Value>, ReadFailure> {
        let shown = lock(&self.shown).filter(|shown| shown.ordinal == ordinal);
        let place = match shown {
            Some(shown) => shown.output,
            None => self.output_place(connection, ordinal)?,
        };
        let Some((block, entry)) = place else { return Ok(None) };
        let loaded = self.store.0.cache.section(connection, block, SectionKind::Outputs)?;
        Ok(Some(parse_output(loaded.section.entry(entry)?)?))
    }

    fn output_place(&self, connection: &Connection, ordinal: u64) -> Result<Option<(i64, u64)>, ReadFailure> {
        let Ok(ordinal) = i64::try_from(ordinal) else {
            return Ok(None);
        };
        let (block, entry): (Option<i64>, Option<i64>) = connection
            .prepare_cached(connection.dialect(OUTPUT, OUTPUT_ON_SERVER))?
            .query_row(params![self.id, ordinal], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .unwrap_or_default();
        Ok(block.zip(entry.map(i64::unsigned_abs)))
    }
}

/// The rows that a pass over a whole run has found.
#[derive(Debug, Default)]
struct FoundRows {
    cells: u64,
    judgments: u64,
}

impl FoundRows {
    /// Compares them with the totals that the run ended with: a row that is missing would change every figure silently.
    fn compare(&self, kept: Option<&[u8]>, run: &str) -> Result<(), Damage> {
        let Some(kept) = kept.map(totals::unpack).transpose()? else { return Ok(()) };
        let judgments = kept.judgments.unwrap_or(self.judgments);
        for (what, found, expected) in [("cells", self.cells, kept.cells), ("judgments", self.judgments, judgments)] {
            if found != expected {
                let advice = format!("`karat resume {run}` makes what is missing, `karat store check` lists it");
                return Err(Damage(format!("the run ended with {expected} {what}, and {found} are there; {advice}")));
            }
        }
        Ok(())
    }
}

/// A row of `cells`, held until the cursor knows that no later row replaces it.
#[derive(Debug, Default)]
struct CellColumns {
    ordinal: u64,
    seq: i64,
    status: i64,
    facts: Vec<u8>,
    /// Block and entry of its output, if it has one.
    output: Option<(i64, u64)>,
}

/// Yields the latest row of each cell.
struct CellCursor<'s> {
    rows: Rows<'s>,
    ahead: Option<CellColumns>,
}

impl<'s> CellCursor<'s> {
    fn new(rows: Rows<'s>) -> Result<Self, ReadFailure> {
        let mut cursor = Self { rows, ahead: None };
        cursor.ahead = cursor.read()?;
        Ok(cursor)
    }

    fn read(&mut self) -> Result<Option<CellColumns>, ReadFailure> {
        let Some(row) = self.rows.next()? else {
            return Ok(None);
        };
        Ok(Some(CellColumns {
            ordinal: row.get::<i64>(0)?.unsigned_abs(),
            seq: row.get(1)?,
            status: row.get(2)?,
            facts: row.get(3)?,
            output: Some(row.get(4)?).zip(row.get::<Option<i64>>(5)?.map(i64::unsigned_abs)),
        }))
    }

    fn next(&mut self) -> Result<Option<CellColumns>, ReadFailure> {
        let Some(mut latest) = self.ahead.take() else {
            return Ok(None);
        };
        loop {
            match self.read()? {
                Some(same) if same.ordinal == latest.ordinal => {
                    if same.seq > latest.seq {
                        latest = same;
                    }
                }
                other => {
                    self.ahead = other;
                    return Ok(Some(latest));
                }
            }
        }
    }
}

/// Advances to the sample of a row.
struct SampleCursor<'s> {
    rows: Rows<'s>,
    sample: Option<SampleRecord>,
}

impl<'s> SampleCursor<'s> {
    fn new(rows: Rows<'s>) -> Self {
        Self { rows, sample: None }
    }

    fn at(&mut self, wanted: u64) -> Result<&SampleRecord, ReadFailure> {
        while self.sample.as_ref().is_none_or(|sample| sample.row < wanted) {
            let Some(row) = self.rows.next()? else { break };
            let number = row.get::<i64>(0)?.unsigned_abs();
            if number >= wanted {
                let facts = row.blob(1)?;
                self.sample = Some(unpack_sample(number, facts)?);
            }
        }
        let found = self.sample.as_ref().filter(|sample| sample.row == wanted);
        found.ok_or_else(|| Damage(format!("there are cells of row {wanted}, but the row itself is missing")).into())
    }
}

/// A row of `judgments`, held until the cursor reaches its cell.
#[derive(Debug, Clone, Copy)]
struct JudgmentColumns {
    ordinal: u64,
    scorer: u16,
    judge: u16,
    seq: i64,
    block: i64,
    entry: u64,
}

/// Advances to the judgments of a cell, and yields the latest of each scorer and judge.
struct JudgmentCursor<'s> {
    rows: Rows<'s>,
    connection: &'s Connection,
    cache: &'s SectionCache,
    ahead: Option<JudgmentColumns>,
    /// The section read last. The next judgment is probably in it.
    section: Option<(i64, Arc<LoadedSection>)>,
    of_cell: Vec<JudgmentRow>,
}

impl<'s> JudgmentCursor<'s> {
    fn new(rows: Rows<'s>, connection: &'s Connection, cache: &'s SectionCache) -> Result<Self, ReadFailure> {
        let mut cursor = Self { rows, connection, cache, ahead: None, section: None, of_cell: Vec::new() };
        cursor.ahead = cursor.read()?;
        Ok(cursor)
    }

    fn read(&mut self) -> Result<Option<JudgmentColumns>, ReadFailure> {
        let Some(row) = self.rows.next()? else {
            return Ok(None);
        };
        Ok(Some(JudgmentColumns {
            ordinal: row.get::<i64>(0)?.unsigned_abs(),
            scorer: row.get(1)?,
            judge: row.get(2)?,
            seq: row.get(3)?,
            block: row.get(4)?,
            entry: row.get::<i64>(5)?.unsigned_abs(),
        }))
    }

    fn of(&mut self, ordinal: u64) -> Result<&[JudgmentRow], ReadFailure> {
        self.of_cell.clear();
        while let Some(latest) = self.ahead.filter(|ahead| ahead.ordinal <= ordinal) {
            let latest = self.latest_from(latest)?;
            if latest.ordinal == ordinal {
                let judgment = self.unpack(latest)?;
                self.of_cell.push(judgment);
            }
        }
        Ok(&self.of_cell)
    }

    /// Returns the latest row of the same place and moves past all of them.
    fn latest_from(&mut self, mut latest: JudgmentColumns) -> Result<JudgmentColumns, ReadFailure> {
        let position = |row: &JudgmentColumns| (row.ordinal, row.scorer, row.judge);
        loop {
            self.ahead = self.read()?;
            match self.ahead {
                Some(same) if position(&same) == position(&latest) => {
                    if same.seq > latest.seq {
                        latest = same;
                    }
                }
                _ => return Ok(latest),
            }
        }
    }

    fn unpack(&mut self, row: JudgmentColumns) -> Result<JudgmentRow, ReadFailure> {
        let section = match self.section.take() {
            Some((block, section)) if block == row.block => section,
            _ => self.cache.section(self.connection, row.block, SectionKind::Judgments)?,
        };
        let judgment = section.section.entry(row.entry).and_then(unpack_judgment).and_then(|judgment| {
            // The columns have no checksum of their own.
            let is_own = (judgment.ordinal, judgment.scorer, judgment.judge) == (row.ordinal, row.scorer, row.judge);
            if is_own { Ok(judgment) } else { Err(Damage("its row names the judgment of another place".to_owned())) }
        });
        self.section = Some((row.block, section));
        Ok(judgment.map_err(|damage| Damage(format!("a judgment of cell {}: {damage}", row.ordinal)))?)
    }
}

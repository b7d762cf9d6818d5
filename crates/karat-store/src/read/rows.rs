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

use crate::block::section_cache::SectionKind;
use crate::error::{Damage, ReadFailure};
use crate::format::run_lookup::{find_run, kept_totals};
use crate::read::cursors::{
    CellColumns, CellCursor, JudgmentColumns, JudgmentCursor, SampleCursor, read_sample, sample_query,
};
use crate::read::lookup::parse_output;
use crate::read::stops::stop_of_run;
use crate::read::totals;
use crate::read::totals::Totals;
use crate::sql::mutex::lock;
use crate::sql::{Connection, OptionalExtension, params};
use crate::{Store, StoreError};

// The ends of queries; the columns are those of `Table::select`.
pub(crate) const CELLS: &str = "from cells where run = ?1 and ordinal >= ?2 and ordinal < ?3 order by ordinal";
pub(crate) const SAMPLES: &str = "from samples where run = ?1 and row >= ?2 order by row";
pub(crate) const JUDGMENTS: &str = "from judgments where run = ?1 and ordinal >= ?2 order by ordinal, scorer, judge";
const CELL: &str = "from cells where run = ?1 and ordinal = ?2 order by seq";
const JUDGMENTS_OF_CELL: &str = "from judgments where run = ?1 and ordinal = ?2 order by scorer, judge, seq";
const SAMPLE: &str = "from samples where run = ?1 and row = ?2";
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
    /// Where rows are checked the first time only: the state of the run when all were.
    checked: Option<Arc<Mutex<Option<Key>>>>,
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
            checked: None,
        })
    }
}

impl StoredRun {
    /// These rows for the length of one report, which reads them several times: each is checked the first time.
    pub fn checked_once(self) -> Self {
        Self { checked: Some(Arc::default()), ..self }
    }

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
        self.stored_output(ordinal).map_err(|error| RowError(error.to_string()))
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
        self.read("the totals of a run", |connection| {
            totals::of_run(connection, self.id, kept_totals(connection, self.id)?)
        })
    }

    /// Returns a hash of everything the store holds of the run. While it stays the same, every row does.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn state(&self) -> Result<Key, StoreError> {
        self.store.read("the state of a run", |connection| self.state_in(connection))
    }

    fn state_in(&self, connection: &Connection) -> Result<Key, ReadFailure> {
        let state = connection.prepare_cached(STATE)?.query_row(params![self.id], |row| {
            let header = KeyBuilder::new("karat/state/1").bytes(row.blob(0)?);
            let numbers = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
            Ok(header.json::<[Option<i64>; 4]>(&numbers).finish())
        });
        Ok(state?)
    }

    /// Returns the cell at an ordinal, without its output, or `None` if it has no row.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn cell(&self, ordinal: u64) -> Result<Option<CellRecord>, StoreError> {
        self.read("a cell", |connection| {
            let latest = self.latest_cell(connection, ordinal)?;
            Ok(latest.map(|latest| latest.unpack()).transpose()?)
        })
    }

    /// Returns the output of the cell at an ordinal, if it has one.
    ///
    /// # Errors
    /// Its row, or the output, cannot be read.
    pub fn stored_output(&self, ordinal: u64) -> Result<Option<serde_json::Value>, StoreError> {
        self.read("a cell's output", |connection| self.find_output(connection, ordinal))
    }

    /// Returns the judgments of a cell, by scorer, then judge.
    ///
    /// # Errors
    /// Their rows cannot be read.
    pub fn judgments(&self, ordinal: u64) -> Result<Vec<JudgmentRow>, StoreError> {
        self.read("the judgments of a cell", |connection| {
            let mut statement = connection.prepare_cached(&JudgmentColumns::query(connection, JUDGMENTS_OF_CELL))?;
            let mut rows = statement.query(params![self.id, sql_ordinal(ordinal)])?;
            let mut latest: Vec<JudgmentColumns> = Vec::new();
            while let Some(row) = rows.next()? {
                let row = JudgmentColumns::read(&row)?;
                // The later of two rows of one place replaces the earlier one.
                latest.pop_if(|before| before.place() == row.place());
                latest.push(row);
            }
            drop(rows);
            let judgment = |row: &JudgmentColumns| {
                Ok(row.unpack(&*self.store.0.cache.section(connection, row.block, SectionKind::Judgments)?)?)
            };
            latest.iter().map(judgment).collect()
        })
    }

    /// Returns the sample at a row of the plan, or `None` if none of its cells was started.
    ///
    /// # Errors
    /// Its row cannot be read.
    pub fn sample(&self, row: u64) -> Result<Option<SampleRecord>, StoreError> {
        self.read("a sample", |connection| {
            let mut statement = connection.prepare_cached(&sample_query(connection, SAMPLE))?;
            let mut rows = statement.query(params![self.id, sql_ordinal(row)])?;
            rows.next()?.map(|row| read_sample(&row)).transpose()
        })
    }

    /// Calls `each` with every sample of the run, in plan order.
    ///
    /// # Errors
    /// A row cannot be read.
    pub fn samples(&self, mut each: impl FnMut(SampleRecord)) -> Result<(), StoreError> {
        self.read("the samples of a run", |connection| {
            let snapshot = connection.snapshot()?;
            let mut statement = snapshot.prepare_long(&sample_query(&snapshot, SAMPLES))?;
            let mut rows = statement.query(params![self.id, 0])?;
            while let Some(row) = rows.next()? {
                each(read_sample(&row)?);
            }
            Ok(())
        })
    }

    /// Reads something of the run. Of what is damaged, the error names the run and the command that makes it again.
    fn read<T>(
        &self,
        what: &'static str,
        query: impl FnOnce(&Connection) -> Result<T, ReadFailure>,
    ) -> Result<T, StoreError> {
        self.store.read(what, query).map_err(|error| match error {
            StoreError::Damaged { what, why } => {
                let run = &self.header.id;
                let why = why.replace("`karat resume`", &format!("`karat resume {run}`"));
                StoreError::Damaged { what: format!("{what} (run {run})"), why }
            }
            error => error,
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
        let state = self.checked.as_ref().map(|_| self.state_in(&snapshot)).transpose()?;
        let are_checked = state.is_some() && self.checked.as_ref().is_some_and(|checked| *lock(checked) == state);
        let mut cells = snapshot.prepare_long(&CellColumns::query(&snapshot, CELLS))?;
        let mut samples = snapshot.prepare_long(&sample_query(&snapshot, SAMPLES))?;
        let mut judgments = snapshot.prepare_long(&JudgmentColumns::query(&snapshot, JUDGMENTS))?;
        let mut cells = CellCursor::new(cells.query(params![self.id, first, end])?, are_checked)?;
        let mut samples = SampleCursor::new(samples.query(params![self.id, sql_ordinal(first_row)])?, are_checked);
        let judgments = judgments.query(params![self.id, first])?;
        let mut judgments = JudgmentCursor::new(judgments, are_checked, &snapshot, &self.store.0.cache)?;
        while let Some(latest) = cells.next()? {
            let cell = latest.unpack().map_err(|damage| {
                let run = &self.header.id;
                Damage(format!("cell {}: {damage}; `karat resume {run}` makes it again", latest.ordinal))
            })?;
            let (sample_row, system, trial) = self.header.plan.place(cell.ordinal);
            let sample = samples.at(sample_row)?;
            let judgments = judgments.of(cell.ordinal)?;
            found.cells += 1;
            found.judgments += judgments.len() as u64;
            *lock(&self.shown) = Some(Shown { ordinal: cell.ordinal, output: latest.output });
            if row(CellRow { sample, system, trial, cell: &cell, judgments, shares: &[], judging: None }).is_break() {
                *lock(&self.shown) = None;
                return Ok(ControlFlow::Break(()));
            }
        }
        *lock(&self.shown) = None;
        let is_last = part.end == wanted.end && wanted.start == 0 && wanted.end >= self.header.plan.cells();
        if !is_last {
            return Ok(ControlFlow::Continue(()));
        }
        found.compare(kept_totals(&snapshot, self.id)?.as_deref(), &self.header.id)?;
        if let Some(checked) = self.checked.as_ref().filter(|_| part.start == 0) {
            *lock(checked) = state;
        }
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
        Ok(self.latest_cell(connection, ordinal)?.and_then(|cell| cell.output))
    }

    /// The latest row of a cell. All of them are checked: which one is the latest is a column, too.
    fn latest_cell(&self, connection: &Connection, ordinal: u64) -> Result<Option<CellColumns>, ReadFailure> {
        let mut statement = connection.prepare_cached(&CellColumns::query(connection, CELL))?;
        let mut rows = statement.query(params![self.id, sql_ordinal(ordinal)])?;
        let mut latest = None;
        while let Some(row) = rows.next()? {
            latest = Some(CellColumns::read(&row)?);
        }
        Ok(latest)
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

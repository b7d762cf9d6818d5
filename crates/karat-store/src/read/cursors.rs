//! The rows of a run's cells, samples and judgments, each checked; and cursors that yield the latest of each place.

use std::sync::Arc;

use karat_types::{CellRecord, JudgmentRow, SampleRecord};

use crate::block::section_cache::{LoadedSection, SectionCache, SectionKind};
use crate::error::{Damage, ReadFailure};
use crate::format::{StoredCell, unpack_cell, unpack_judgment, unpack_sample};
use crate::sql::tables::{CELLS, JUDGMENTS, SAMPLES};
use crate::sql::{Connection, Row, Rows};

/// A row of `cells`.
#[derive(Debug, Clone)]
pub(crate) struct CellColumns {
    pub seq: i64,
    pub ordinal: u64,
    pub status: i64,
    /// Block and entry of its output, if it has one.
    pub output: Option<(i64, u64)>,
    pub block: i64,
    facts: Vec<u8>,
}

impl CellColumns {
    /// The query that ends so.
    pub fn query(connection: &Connection, end: &str) -> String {
        format!("select {} {end}", CELLS.select(connection, &[]))
    }

    /// Reads a row of [`CellColumns::query`].
    pub fn read(row: &Row<'_>) -> Result<Self, ReadFailure> {
        CELLS.check(row, &[])?;
        Self::read_checked(row)
    }

    fn read_checked(row: &Row<'_>) -> Result<Self, ReadFailure> {
        let block = row.get(4)?;
        Ok(Self {
            seq: row.get(0)?,
            ordinal: row.get::<i64>(2)?.unsigned_abs(),
            status: row.get(3)?,
            output: row.get::<Option<i64>>(5)?.map(|entry| (block, entry.unsigned_abs())),
            block,
            facts: row.get(6)?,
        })
    }

    /// The cell, without its output.
    pub fn unpack(&self) -> Result<CellRecord, Damage> {
        unpack_cell(StoredCell { ordinal: self.ordinal, status: self.status, facts: &self.facts })
    }
}

/// A row of `judgments`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgmentColumns {
    pub seq: i64,
    pub ordinal: u64,
    pub scorer: u16,
    pub judge: u16,
    pub is_sound: bool,
    pub block: i64,
    pub entry: u64,
}

impl JudgmentColumns {
    /// The query that ends so.
    pub fn query(connection: &Connection, end: &str) -> String {
        format!("select {} {end}", JUDGMENTS.select(connection, &[]))
    }

    /// Reads a row of [`JudgmentColumns::query`].
    pub fn read(row: &Row<'_>) -> Result<Self, ReadFailure> {
        JUDGMENTS.check(row, &[])?;
        Self::read_checked(row)
    }

    fn read_checked(row: &Row<'_>) -> Result<Self, ReadFailure> {
        Ok(Self {
            seq: row.get(0)?,
            ordinal: row.get::<i64>(2)?.unsigned_abs(),
            scorer: row.get(3)?,
            judge: row.get(4)?,
            is_sound: row.get(5)?,
            block: row.get(6)?,
            entry: row.get::<i64>(7)?.unsigned_abs(),
        })
    }

    /// The place of the judgment in its run.
    pub fn place(&self) -> (u64, u16, u16) {
        (self.ordinal, self.scorer, self.judge)
    }

    /// The judgment, from the section of its block.
    pub fn unpack(&self, section: &LoadedSection) -> Result<JudgmentRow, Damage> {
        let judgment = unpack_judgment(section.section.entry(self.entry)?)?;
        if (judgment.ordinal, judgment.scorer, judgment.judge) == self.place() {
            return Ok(judgment);
        }
        Err(Damage("its row names the judgment of another place".to_owned()))
    }
}

/// The query of samples that ends so.
pub(crate) fn sample_query(connection: &Connection, end: &str) -> String {
    format!("select {} {end}", SAMPLES.select(connection, &[]))
}

/// Reads a row of [`sample_query`].
pub(crate) fn read_sample(row: &Row<'_>) -> Result<SampleRecord, ReadFailure> {
    SAMPLES.check(row, &[])?;
    read_checked_sample(row)
}

fn read_checked_sample(row: &Row<'_>) -> Result<SampleRecord, ReadFailure> {
    Ok(unpack_sample(row.get::<i64>(1)?.unsigned_abs(), row.blob(2)?)?)
}

/// Yields the latest row of each cell. All cursors check their rows, unless these `are_checked` already.
pub(super) struct CellCursor<'s> {
    rows: Rows<'s>,
    are_checked: bool,
    ahead: Option<CellColumns>,
}

impl<'s> CellCursor<'s> {
    pub fn new(rows: Rows<'s>, are_checked: bool) -> Result<Self, ReadFailure> {
        let mut cursor = Self { rows, are_checked, ahead: None };
        cursor.ahead = cursor.read()?;
        Ok(cursor)
    }

    fn read(&mut self) -> Result<Option<CellColumns>, ReadFailure> {
        let read = if self.are_checked { CellColumns::read_checked } else { CellColumns::read };
        self.rows.next()?.map(|row| read(&row)).transpose()
    }

    pub fn next(&mut self) -> Result<Option<CellColumns>, ReadFailure> {
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
pub(super) struct SampleCursor<'s> {
    rows: Rows<'s>,
    are_checked: bool,
    sample: Option<SampleRecord>,
}

impl<'s> SampleCursor<'s> {
    pub fn new(rows: Rows<'s>, are_checked: bool) -> Self {
        Self { rows, are_checked, sample: None }
    }

    pub fn at(&mut self, wanted: u64) -> Result<&SampleRecord, ReadFailure> {
        let read = if self.are_checked { read_checked_sample } else { read_sample };
        while self.sample.as_ref().is_none_or(|sample| sample.row < wanted) {
            let Some(row) = self.rows.next()? else { break };
            self.sample = Some(read(&row)?);
        }
        let found = self.sample.as_ref().filter(|sample| sample.row == wanted);
        found.ok_or_else(|| Damage(format!("there are cells of row {wanted}, but the row itself is missing")).into())
    }
}

/// Advances to the judgments of a cell, and yields the latest of each scorer and judge.
pub(super) struct JudgmentCursor<'s> {
    rows: Rows<'s>,
    are_checked: bool,
    connection: &'s Connection,
    cache: &'s SectionCache,
    ahead: Option<JudgmentColumns>,
    /// The section read last. The next judgment is probably in it.
    section: Option<(i64, Arc<LoadedSection>)>,
    of_cell: Vec<JudgmentRow>,
}

impl<'s> JudgmentCursor<'s> {
    pub fn new(
        rows: Rows<'s>,
        are_checked: bool,
        connection: &'s Connection,
        cache: &'s SectionCache,
    ) -> Result<Self, ReadFailure> {
        let (ahead, section, of_cell) = (None, None, Vec::new());
        let mut cursor = Self { rows, are_checked, connection, cache, ahead, section, of_cell };
        cursor.ahead = cursor.read()?;
        Ok(cursor)
    }

    fn read(&mut self) -> Result<Option<JudgmentColumns>, ReadFailure> {
        let read = if self.are_checked { JudgmentColumns::read_checked } else { JudgmentColumns::read };
        self.rows.next()?.map(|row| read(&row)).transpose()
    }

    pub fn of(&mut self, ordinal: u64) -> Result<&[JudgmentRow], ReadFailure> {
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
        loop {
            self.ahead = self.read()?;
            match self.ahead {
                Some(same) if same.place() == latest.place() => {
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
        let judgment = row.unpack(&section);
        self.section = Some((row.block, section));
        Ok(judgment.map_err(|damage| Damage(format!("a judgment of cell {}: {damage}", row.ordinal)))?)
    }
}

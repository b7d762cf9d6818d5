//! The file of cells of a large run: JSON lines in plan order.

use std::io::{self, Read, Write};
use std::thread;

use karat_types::CellRow;
use serde::Serialize;

use super::ahead::{CellsAhead, STRETCH, line, lines_of};
use super::{PIECE, cells};
use crate::report::{Cells, RenderError};

/// Name of the file that holds the cells where they are too many for report.json.
pub const CELLS_FILE: &str = "cells.jsonl";

/// A written file of cells, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellsFile {
    /// Its path as the report names it: relative to report.json.
    pub path: String,
    /// Cells in it.
    pub n: u64,
    /// BLAKE3 of its bytes, hexadecimal.
    pub blake3: String,
}

/// Pieces of each reader that are ready before they are written: a stretch of usual cells, so that no reader waits while a
/// stretch of another is written.
const PIECES_AHEAD: usize = 6;

/// Writes every cell as one line of JSON, in plan order, and says what the report must name. Each of the readers, which all
/// read the same run, serialises on a thread of its own, a bounded number of lines ahead of what is written.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write_cells(readers: &[Cells<'_>], path: &str, out: &mut dyn Write) -> Result<CellsFile, RenderError> {
    let mut file = CellsUnderWay::new(out);
    file.n = thread::scope(|scope| CellsAhead::begin(scope, readers, PIECES_AHEAD).take(|lines| file.write(lines)))?;
    Ok(file.end(path)?.1)
}

/// How cells are shown as lines.
pub struct CellLines<'a> {
    cells: Cells<'a>,
    shown: cells::Shown<'a>,
}

impl<'a> CellLines<'a> {
    /// Those of a run.
    pub fn of(cells: Cells<'a>) -> Self {
        Self { cells, shown: cells::Shown::of(cells) }
    }
}

/// The same file where somebody else reads the rows.
pub struct CellsUnderWay<W> {
    out: W,
    hasher: blake3::Hasher,
    n: u64,
    /// Lines that are still to be written.
    lines: Vec<u8>,
}

impl<W: Write> CellsUnderWay<W> {
    /// Nothing is written yet.
    pub fn new(out: W) -> Self {
        Self { out, hasher: blake3::Hasher::new(), n: 0, lines: Vec::new() }
    }

    /// Adds the next cell in plan order, whose row is being shown.
    ///
    /// # Errors
    /// Its output cannot be read, or lines before it cannot be written.
    pub fn add(&mut self, lines: &CellLines<'_>, row: &CellRow<'_>) -> Result<(), RenderError> {
        line(&mut self.lines, &cells::Cell::of(lines.cells, &lines.shown, row)?)?;
        self.n += 1;
        if self.lines.len() >= PIECE { self.write_lines() } else { Ok(()) }
    }

    /// Writes the rest. Gives back what was written to, and what the report must name.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub fn end(mut self, path: &str) -> Result<(W, CellsFile), RenderError> {
        self.write_lines()?;
        let blake3 = self.hasher.finalize().to_hex().to_string();
        Ok((self.out, CellsFile { path: path.to_owned(), n: self.n, blake3 }))
    }

    fn write_lines(&mut self) -> Result<(), RenderError> {
        let mut lines = std::mem::take(&mut self.lines);
        self.write(&lines)?;
        lines.clear();
        self.lines = lines;
        Ok(())
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.hasher.update(lines);
        self.out.write_all(lines)
    }
}

/// Whether these bytes begin with the lines that [`write_cells`] would write of the first cells.
///
/// # Errors
/// Rows that cannot be read.
pub fn is_begun_alike(cells: Cells<'_>, written: &mut dyn Read) -> Result<bool, RenderError> {
    let expected = lines_of(cells, 0..STRETCH)?;
    let mut begun = Vec::with_capacity(expected.len());
    Ok(written.take(expected.len() as u64).read_to_end(&mut begun).is_ok() && begun == expected)
}

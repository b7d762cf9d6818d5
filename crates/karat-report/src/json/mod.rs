//! report.json, `karat.report/1`: streamed, so that no list of cells lies in memory.
//!
//! Floats are written in their shortest form that reads back as the same number, maps in a fixed
//! order; so one stored run gives one byte string.

mod cells;
mod document;
mod lines;
mod money;

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::report::{Cells, RenderError, Report};

/// Up to so many cells stand in report.json itself.
pub const INLINE_CELLS: u64 = 10_000;

/// Name of the file that holds the cells where they are more.
pub const CELLS_FILE: &str = "cells.jsonl";

/// Outputs up to so many bytes of JSON stand beside their cell.
pub const INLINE_OUTPUT: usize = 2_048;

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

/// Whether the cells of a run stand in report.json itself.
pub fn is_inline(report: Report<'_>) -> bool {
    report.findings.run.tally.cells <= INLINE_CELLS
}

/// Writes report.json. With `cells` the cells are referred to, without it they stand in it, however many they are:
/// a caller with more than [`INLINE_CELLS`] writes them by [`write_cells`] first.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write(report: Report<'_>, cells: Option<&CellsFile>, out: &mut dyn Write) -> Result<(), RenderError> {
    lay_out(&document::Document { report, cells }, out).map_err(failure)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Writes a document in the layout of report.json: the outer levels in lines of their own, what lies deeper in one.
///
/// # Errors
/// What keeps the value from being serialised, or bytes that cannot be written.
pub fn lay_out<T: Serialize>(document: &T, out: &mut dyn Write) -> serde_json::Result<()> {
    document.serialize(&mut serde_json::Serializer::with_formatter(out, lines::Lines::default()))
}

/// report.json with its cells, as text.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let mut bytes = Vec::new();
    write(report, None, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| RenderError::Write(io::Error::other(error)))
}

/// Writes every cell as one line of JSON, in plan order, and says what the report must name.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write_cells(cells: Cells<'_>, path: &str, out: &mut dyn Write) -> Result<CellsFile, RenderError> {
    let mut out = BufWriter::with_capacity(HASHED_AT_ONCE, Hashed { out, hasher: blake3::Hasher::new() });
    let mut n = 0;
    cells::each(cells, &mut |cell| {
        serde_json::to_writer(&mut out, &cell).map_err(failure)?;
        n += 1;
        Ok(out.write_all(b"\n")?)
    })?;
    let hashed = out.into_inner().map_err(|error| RenderError::Write(error.into_error()))?;
    Ok(CellsFile { path: path.to_owned(), n, blake3: hashed.hasher.finalize().to_hex().to_string() })
}

/// BLAKE3 is eight times as fast on large pieces as on lines.
const HASHED_AT_ONCE: usize = 128 * 1024;

/// Hashes what is written.
struct Hashed<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Serialising fails for I/O, or for what a row source said while it was read.
fn failure(error: serde_json::Error) -> RenderError {
    if error.is_io() {
        RenderError::Write(error.into())
    } else {
        RenderError::Rows(karat_types::RowError(error.to_string()))
    }
}

//! report.json, `karat.report/1`: streamed, so that no list of cells lies in memory.
//!
//! Floats are written in their shortest form that reads back as the same number, maps in a fixed
//! order; so one stored run gives one byte string.

mod cells;
mod document;
mod money;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::PrettyFormatter;

use crate::report::{RenderError, Report};

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
    let document = document::Document { report, cells };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b" "));
    document.serialize(&mut serializer).map_err(failure)?;
    out.write_all(b"\n")?;
    Ok(())
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
pub fn write_cells(report: Report<'_>, path: &str, out: &mut dyn Write) -> Result<CellsFile, RenderError> {
    let mut hasher = blake3::Hasher::new();
    let mut n = 0;
    cells::each(report, &mut |cell| {
        let mut line = serde_json::to_vec(&cell).map_err(failure)?;
        line.push(b'\n');
        hasher.update(&line);
        n += 1;
        Ok(out.write_all(&line)?)
    })?;
    Ok(CellsFile { path: path.to_owned(), n, blake3: hasher.finalize().to_hex().to_string() })
}

/// Serialising fails for I/O, or for what a row source said while it was read.
fn failure(error: serde_json::Error) -> RenderError {
    if error.is_io() {
        RenderError::Write(error.into())
    } else {
        RenderError::Rows(karat_types::RowError(error.to_string()))
    }
}

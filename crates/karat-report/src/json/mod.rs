//! report.json, `karat.report/1`: streamed, so that no list of cells lies in memory.
//!
//! Floats are written in their shortest form that reads back as the same number, maps in a fixed
//! order; so one stored run gives one byte string.

mod cells;
mod cells_file;
mod document;
mod lines;
mod money;

use std::io::{self, BufWriter, Write};

use serde::Serialize;

pub use cells_file::{CELLS_FILE, CellsFile, starts_alike, write_cells};

use crate::report::{RenderError, Report};

/// Up to so many cells stand in report.json itself.
pub const INLINE_CELLS: u64 = 10_000;

/// Outputs up to so many bytes of JSON stand beside their cell.
pub const INLINE_OUTPUT: usize = 2_048;

/// Whether the cells of a run stand in report.json itself.
pub fn is_inline(report: Report<'_>) -> bool {
    report.findings.run.tally.cells <= INLINE_CELLS
}

/// Writes report.json with all its cells. A caller with more than [`INLINE_CELLS`] writes them by [`write_cells`] first,
/// and then [`write_beside_cells`].
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write(report: Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    write_document(&document::Document { report, cells: None }, out)
}

/// Writes report.json for a run whose cells are in a file of their own.
///
/// # Errors
/// Bytes that cannot be written.
pub fn write_beside_cells(report: Report<'_>, cells: &CellsFile, out: &mut dyn Write) -> Result<(), RenderError> {
    write_document(&document::Document { report, cells: Some(cells) }, out)
}

fn write_document(document: &document::Document<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    lay_out(document, out).map_err(failure)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Writes a document in the layout of report.json: the outer levels in lines of their own, what lies deeper in one.
///
/// # Errors
/// What keeps the value from being serialised, or bytes that cannot be written.
pub fn lay_out<T: Serialize>(document: &T, out: &mut dyn Write) -> serde_json::Result<()> {
    // In pieces: a document is written in many little ones, each by a call that nobody can see through.
    let mut out = BufWriter::with_capacity(PIECE, out);
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, lines::Lines::default()))?;
    out.flush().map_err(serde_json::Error::io)
}

/// report.json with its cells, as text.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let mut bytes = Vec::new();
    write(report, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| RenderError::Write(io::Error::other(error)))
}

/// Bytes that are handed on together.
const PIECE: usize = 128 * 1024;

/// Serialising fails for I/O, or for what a row source said while it was read.
fn failure(error: serde_json::Error) -> RenderError {
    if error.is_io() {
        RenderError::Write(error.into())
    } else {
        RenderError::Rows(karat_types::RowError(error.to_string()))
    }
}

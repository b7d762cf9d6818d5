//! report.json (`karat.report/1`). Cells are streamed and never held in memory as a list.
//!
//! Floats are written in the shortest form that reads back as the same number, and maps in a fixed order, so a stored
//! run always gives the same bytes. `document` lists all fields; `cells` and `cells_file` write cells inside and
//! outside of it.

mod cells;
mod cells_file;
mod cost;
mod document;
mod layout;

use std::io::{self, BufWriter, Write};

use serde::Serialize;

pub use cells_file::{CELLS_FILE, CellsFile, starts_alike, write_cells};

use crate::shared::report::{RenderError, Report};

/// Largest number of cells that report.json contains itself.
pub const INLINE_CELLS: u64 = 10_000;

/// Largest size of an output that is shown with its cell, in bytes of JSON.
pub const INLINE_OUTPUT: usize = 2_048;

/// Returns `true` if report.json contains the cells of the run.
pub fn is_inline(report: Report<'_>) -> bool {
    report.findings.run.tally.cells <= INLINE_CELLS
}

/// Writes report.json with all its cells. A caller with more than [`INLINE_CELLS`] writes them by [`write_cells`] first,
/// and then [`write_beside_cells`].
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write(report: Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    write_document(&document::ReportDocument { report, cells: None }, out)
}

/// Writes report.json for a run whose cells are in a file of their own.
///
/// # Errors
/// Bytes that cannot be written.
pub fn write_beside_cells(report: Report<'_>, cells: &CellsFile, out: &mut dyn Write) -> Result<(), RenderError> {
    write_document(&document::ReportDocument { report, cells: Some(cells) }, out)
}

fn write_document(document: &document::ReportDocument<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    lay_out(document, out).map_err(failure)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Writes a document in the layout of report.json: one member a line at the outer levels, one line deeper down.
///
/// # Errors
/// Errors of the value's serializer, bytes that cannot be written.
pub fn lay_out<T: Serialize>(document: &T, out: &mut dyn Write) -> serde_json::Result<()> {
    // Buffered: the serializer writes many small pieces.
    let mut out = BufWriter::with_capacity(PIECE, out);
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, layout::Lines::default()))?;
    out.flush().map_err(serde_json::Error::io)
}

/// Returns report.json with its cells as text.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let mut bytes = Vec::new();
    write(report, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| RenderError::Write(io::Error::other(error)))
}

/// Size of a write buffer.
const PIECE: usize = 128 * 1024;

/// Converts a serializer's error: an I/O error, or an error of the row source.
fn failure(error: serde_json::Error) -> RenderError {
    if error.is_io() {
        RenderError::Write(error.into())
    } else {
        RenderError::Rows(karat_types::RowError(error.to_string()))
    }
}

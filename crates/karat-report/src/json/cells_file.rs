//! The file of cells of a large run: JSON lines in plan order.

use std::io::{Read, Write};
use std::thread;

use serde::Serialize;

use super::ahead::{CellsAhead, STRETCH, lines_of};
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
    let mut hasher = blake3::Hasher::new();
    let n = thread::scope(|scope| {
        CellsAhead::begin(scope, readers, PIECES_AHEAD).take(|lines| {
            hasher.update(lines);
            out.write_all(lines)
        })
    })?;
    Ok(CellsFile { path: path.to_owned(), n, blake3: hasher.finalize().to_hex().to_string() })
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

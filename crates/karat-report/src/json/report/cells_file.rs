//! The file of cells of a large run: JSON lines in plan order.

use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;

use serde::Serialize;

use super::cells::{Cell, CellKeys};
use super::{PIECE, failure};
use crate::shared::report::{Cells, RenderError};

/// Name of the file for cells that are too many for report.json.
pub const CELLS_FILE: &str = "cells.jsonl";

/// Number of leading cells that [`starts_alike`] compares.
const COMPARED_CELLS: u64 = 1024;

/// A written file of cells, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CellsFile {
    /// Path as the report names it: relative to report.json.
    pub path: String,
    /// Number of cells in the file.
    pub n: u64,
    /// BLAKE3 of the file's bytes, hexadecimal.
    pub blake3: String,
}

/// Writes every cell as one line of JSON, in plan order. `path` is the name that the returned description carries.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write_cells(cells: Cells<'_>, path: &str, out: &mut dyn Write) -> Result<CellsFile, RenderError> {
    // BLAKE3 is eight times as fast on large pieces as on lines.
    let mut out = BufWriter::with_capacity(PIECE, HashingWriter { out, hasher: blake3::Hasher::new() });
    let n = write_lines(cells, 0..u64::MAX, &mut out)?;
    out.flush()?;
    let blake3 = out.get_ref().hasher.finalize().to_hex().to_string();
    Ok(CellsFile { path: path.to_owned(), n, blake3 })
}

/// Returns `true` if `written` starts with the lines that [`write_cells`] would write for the first cells now.
///
/// # Errors
/// Rows that cannot be read.
pub fn starts_alike(cells: Cells<'_>, written: &mut dyn Read) -> Result<bool, RenderError> {
    let mut expected = Vec::new();
    write_lines(cells, 0..COMPARED_CELLS, &mut expected)?;
    let mut start = Vec::with_capacity(expected.len());
    Ok(written.take(expected.len() as u64).read_to_end(&mut start).is_ok() && start == expected)
}

/// Writes the cells with these ordinals as lines and returns how many there were.
fn write_lines(cells: Cells<'_>, ordinals: Range<u64>, out: &mut impl Write) -> Result<u64, RenderError> {
    let (keys, mut n) = (CellKeys::of(cells), 0);
    cells.each_marked_row(ordinals, |row, counted| {
        serde_json::to_writer(&mut *out, &Cell::of(cells, &keys, (&row, counted))?).map_err(failure)?;
        out.write_all(b"\n")?;
        n += 1;
        Ok(())
    })?;
    Ok(n)
}

/// Passes bytes on and hashes them.
struct HashingWriter<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
}

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

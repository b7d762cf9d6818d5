//! report.json, `karat.report/1`: streamed, so that no list of cells lies in memory.
//!
//! Floats are written in their shortest form that reads back as the same number, maps in a fixed
//! order; so one stored run gives one byte string.

mod cells;
mod document;
mod lines;
mod money;

use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{self, SyncSender};
use std::thread;

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
    write(report, None, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| RenderError::Write(io::Error::other(error)))
}

/// Writes every cell as one line of JSON, in plan order, and says what the report must name. Rows are read and serialised on
/// a thread of their own, a bounded number ahead of what is written.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write_cells(cells: Cells<'_>, path: &str, out: &mut dyn Write) -> Result<CellsFile, RenderError> {
    let mut hasher = blake3::Hasher::new();
    let (pieces, ready) = mpsc::sync_channel::<Vec<u8>>(PIECES_AHEAD);
    let n = thread::scope(|scope| {
        let serialised = scope.spawn(move || serialise(cells, &pieces));
        let written = ready.iter().try_for_each(|piece| {
            hasher.update(&piece);
            out.write_all(&piece)
        });
        // Nobody waits for more where this could not be written.
        drop(ready);
        let n = serialised.join().unwrap_or_else(|_| Err(io::Error::other("serialising stopped").into()));
        written.map_err(RenderError::Write).and(n)
    })?;
    Ok(CellsFile { path: path.to_owned(), n, blake3: hasher.finalize().to_hex().to_string() })
}

/// Sends the lines of all cells in pieces, and says how many there are. Ends early where nobody takes them.
fn serialise(cells: Cells<'_>, pieces: &SyncSender<Vec<u8>>) -> Result<u64, RenderError> {
    let (mut n, mut piece) = (0, Vec::with_capacity(PIECE));
    cells::each(cells, &mut |cell| {
        serde_json::to_writer(&mut piece, &cell).map_err(failure)?;
        piece.push(b'\n');
        n += 1;
        if piece.len() < PIECE {
            return Ok(());
        }
        let full = std::mem::replace(&mut piece, Vec::with_capacity(PIECE));
        pieces.send(full).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe).into())
    })?;
    // Where nobody takes it, whoever writes says why.
    let _ = pieces.send(piece);
    Ok(n)
}

/// Bytes that are hashed and written together: BLAKE3 is eight times as fast on large pieces as on lines.
const PIECE: usize = 128 * 1024;

/// Pieces that are ready before they are written.
const PIECES_AHEAD: usize = 4;

/// Serialising fails for I/O, or for what a row source said while it was read.
fn failure(error: serde_json::Error) -> RenderError {
    if error.is_io() {
        RenderError::Write(error.into())
    } else {
        RenderError::Rows(karat_types::RowError(error.to_string()))
    }
}

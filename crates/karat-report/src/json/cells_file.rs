//! Cells as JSON lines in plan order, read and serialised on several threads.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use serde::Serialize;

use super::{PIECE, cells, failure};
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

/// So many places of the plan one reader serialises, the next reader those behind them.
const STRETCH: u64 = 1024;

/// Pieces of each reader that are ready before they are written: a stretch of usual cells, so that no reader waits while a
/// stretch of another is written.
const PIECES_AHEAD: usize = 6;

/// Lines that are hashed and written together: BLAKE3 is eight times as fast on large pieces as on lines.
struct Piece {
    lines: Vec<u8>,
    ends_stretch: bool,
}

/// Writes every cell as one line of JSON, in plan order, and says what the report must name. Each of the readers, which all
/// read the same run, serialises on a thread of its own, a bounded number of lines ahead of what is written.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write_cells(readers: &[Cells<'_>], path: &str, out: &mut dyn Write) -> Result<CellsFile, RenderError> {
    let mut hasher = blake3::Hasher::new();
    let n = thread::scope(|scope| {
        let begin = |at: usize| {
            let cells = readers[at];
            let (pieces, ready) = mpsc::sync_channel(PIECES_AHEAD);
            let own = stretches(cells.plan.cells()).skip(at).step_by(readers.len());
            (ready, scope.spawn(move || serialise(cells, own, &pieces)))
        };
        let (ready, threads): (Vec<_>, Vec<_>) = (0..readers.len()).map(begin).unzip();
        let written = in_turn(&ready, |lines| {
            hasher.update(lines);
            out.write_all(lines)
        });
        // Nobody waits for more where this could not be written.
        drop(ready);
        let stopped = |_| Err(io::Error::other("serialising stopped").into());
        let counts: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap_or_else(stopped)).collect();
        written.map_err(RenderError::Write).and(counts.into_iter().sum::<Result<u64, RenderError>>())
    })?;
    Ok(CellsFile { path: path.to_owned(), n, blake3: hasher.finalize().to_hex().to_string() })
}

/// Whether these bytes begin with the lines that [`write_cells`] would write of the first cells.
///
/// # Errors
/// Rows that cannot be read.
pub fn is_begun_alike(cells: Cells<'_>, written: &mut dyn Read) -> Result<bool, RenderError> {
    let (shown, mut expected) = (cells::Shown::of(cells), Vec::new());
    cells::each(cells, &shown, 0..STRETCH, &mut |cell| line(&mut expected, &cell))?;
    let mut begun = Vec::with_capacity(expected.len());
    Ok(written.take(expected.len() as u64).read_to_end(&mut begun).is_ok() && begun == expected)
}

fn line(lines: &mut Vec<u8>, cell: &cells::Cell<'_>) -> Result<(), RenderError> {
    serde_json::to_writer(&mut *lines, cell).map_err(failure)?;
    lines.push(b'\n');
    Ok(())
}

/// The places of a plan, in stretches.
fn stretches(cells: u64) -> impl Iterator<Item = Range<u64>> {
    (0..cells.div_ceil(STRETCH)).map(|at| at * STRETCH..(at + 1) * STRETCH)
}

/// Takes the pieces of a stretch of each reader in turn: that is plan order. Ends with the first reader that has no more,
/// since those behind it have none either, or it failed and says why.
fn in_turn(ready: &[Receiver<Piece>], mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    for reader in ready.iter().cycle() {
        loop {
            let Ok(Piece { lines, ends_stretch }) = reader.recv() else { return Ok(()) };
            take(&lines)?;
            if ends_stretch {
                break;
            }
        }
    }
    Ok(())
}

/// Sends the lines of these stretches in pieces, and says how many there are. Ends early where nobody takes them: whoever
/// writes says why.
fn serialise(
    cells: Cells<'_>,
    stretches: impl Iterator<Item = Range<u64>>,
    pieces: &SyncSender<Piece>,
) -> Result<u64, RenderError> {
    let shown = cells::Shown::of(cells);
    let mut n = 0;
    for ordinals in stretches {
        let (mut lines, mut is_taken) = (Vec::with_capacity(PIECE), true);
        let read = cells::each(cells, &shown, ordinals, &mut |cell| {
            line(&mut lines, &cell)?;
            n += 1;
            if lines.len() >= PIECE {
                let lines = std::mem::replace(&mut lines, Vec::with_capacity(PIECE));
                is_taken = pieces.send(Piece { lines, ends_stretch: false }).is_ok();
            }
            if is_taken { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe).into()) }
        });
        if is_taken {
            read?;
            is_taken = pieces.send(Piece { lines, ends_stretch: true }).is_ok();
        }
        if !is_taken {
            break;
        }
    }
    Ok(n)
}

//! Cells as lines of JSON in plan order, read and serialised on threads of their own ahead of whoever writes them.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{Scope, ScopedJoinHandle};

use super::{PIECE, cells, failure};
use crate::report::{Cells, RenderError};

/// So many places of the plan one reader serialises, the next reader those behind them.
pub(super) const STRETCH: u64 = 1024;

/// Lines that are handed on together: BLAKE3 is eight times as fast on large pieces as on lines.
struct Piece {
    lines: Vec<u8>,
    ends_stretch: bool,
}

/// The cells of a run, which are being serialised.
pub struct CellsAhead<'scope> {
    /// By reader.
    ready: Vec<Receiver<Piece>>,
    threads: Vec<ScopedJoinHandle<'scope, Result<u64, RenderError>>>,
}

impl<'scope> CellsAhead<'scope> {
    /// Begins: each of the readers, which all read the same run, on a thread of its own, at most so many pieces of
    /// 128 KiB ahead of what is taken.
    pub fn begin<'of: 'scope>(scope: &'scope Scope<'scope, '_>, readers: &[Cells<'of>], pieces: usize) -> Self {
        let count = readers.len();
        let begin = |(at, cells): (usize, &Cells<'of>)| {
            let cells = *cells;
            let (sender, ready) = mpsc::sync_channel(pieces);
            let own = stretches(cells.plan.cells()).skip(at).step_by(count);
            (ready, scope.spawn(move || serialise(cells, own, &sender)))
        };
        let (ready, threads) = readers.iter().enumerate().map(begin).unzip();
        Self { ready, threads }
    }

    /// Takes all lines in plan order, many at a time, and says how many there are.
    pub(super) fn take(self, take: impl FnMut(&[u8]) -> io::Result<()>) -> Result<u64, RenderError> {
        let taken = in_turn(&self.ready, take);
        // Nobody waits for more where this could not be written.
        drop(self.ready);
        let stopped = |_| Err(io::Error::other("serialising stopped").into());
        let counts: Vec<_> = self.threads.into_iter().map(|thread| thread.join().unwrap_or_else(stopped)).collect();
        taken.map_err(RenderError::Write).and(counts.into_iter().sum())
    }
}

/// The lines of the cells of these ordinals.
pub(super) fn lines_of(cells: Cells<'_>, ordinals: Range<u64>) -> Result<Vec<u8>, RenderError> {
    let (shown, mut lines) = (cells::Shown::of(cells), Vec::new());
    cells::each(cells, &shown, ordinals, &mut |cell| line(&mut lines, &cell))?;
    Ok(lines)
}

pub(super) fn line(lines: &mut Vec<u8>, cell: &cells::Cell<'_>) -> Result<(), RenderError> {
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

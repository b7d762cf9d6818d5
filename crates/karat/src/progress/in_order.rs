//! Lines in the order of the plan, as far as a reader need not wait for it (BR-10).
//!
//! Cells end in any order. A line waits for those before it while others come; when none has come for [`PATIENCE`], or more
//! than [`MOST`] wait, the first of them is said, and what follows it. So a slow cell comes late, and nobody stares at nothing
//! meanwhile.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use karat_types::CellProgress;

use super::line;
use crate::printer::Printer;

/// So long lines wait when nothing comes.
const PATIENCE: Duration = Duration::from_millis(300);
/// Lines that wait at most.
const MOST: usize = 64;
/// Lines that may be on their way to the thread that says them; whoever has more waits.
const COMING: usize = 1024;

/// Says lines in order.
pub struct InOrder {
    printer: Printer,
    thread: Mutex<Option<(SyncSender<Ended>, JoinHandle<()>)>>,
}

/// A cell that ended.
struct Ended {
    ordinal: u64,
    /// Cells that ended up to it, and cells of the run.
    done: u64,
    total: u64,
    outcome: String,
}

impl Ended {
    fn line(&self, done: u64) -> String {
        line(done, self.total, &self.outcome)
    }
}

impl InOrder {
    /// To a printer. Without a thread nothing is ordered, and nothing lost.
    pub fn new(printer: Printer) -> Self {
        let (sender, lines) = sync_channel(COMING);
        let thread = std::thread::Builder::new().name("progress".to_owned());
        let said = thread.spawn(move || said(printer, &lines));
        Self { printer, thread: Mutex::new(said.ok().map(|thread| (sender, thread))) }
    }

    /// Says in its turn how a cell ended.
    pub fn say(&self, cell: &CellProgress<'_>, outcome: String) {
        let ended = Ended { ordinal: cell.ordinal, done: cell.done, total: cell.total, outcome };
        let to = self.thread.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(sender, _)| sender.clone());
        let unsent = match to {
            None => Some(ended),
            Some(to) => to.send(ended).err().map(|unsent| unsent.0),
        };
        if let Some(ended) = unsent {
            self.printer.say(&ended.line(ended.done));
        }
    }

    /// Says whatever still waits. What comes later is said at once.
    pub fn end(&self) {
        let ended = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = ended {
            drop(sender);
            // A thread that broke has nothing to say.
            let _ = thread.join();
        }
    }
}

impl Drop for InOrder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Says lines until no more can come, and numbers them as they are said.
fn said(printer: Printer, lines: &Receiver<Ended>) {
    let mut held = Held::default();
    let mut said = None;
    loop {
        let came = if held.waiting.is_empty() {
            lines.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            lines.recv_timeout(PATIENCE)
        };
        let is_over = matches!(came, Err(RecvTimeoutError::Disconnected));
        let is_quiet = came.is_err();
        if let Ok(ended) = came {
            said.get_or_insert(ended.done.saturating_sub(1));
            held.waiting.insert(ended.ordinal, ended);
        }
        while let Some(ended) = held.next(is_quiet) {
            let number = said.unwrap_or_default() + 1;
            printer.say(&ended.line(number));
            said = Some(number);
        }
        if is_over {
            return;
        }
    }
}

/// What waits for those before it, by ordinal.
#[derive(Debug)]
struct Held<T> {
    /// The ordinal after the last that was said.
    next: u64,
    waiting: BTreeMap<u64, T>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { next: 0, waiting: BTreeMap::new() }
    }
}

impl<T> Held<T> {
    /// What is to be said now: the first, where its turn has come, nothing else comes, or too many wait.
    fn next(&mut self, is_quiet: bool) -> Option<T> {
        let first = self.waiting.first_entry()?;
        let ordinal = *first.key();
        if ordinal > self.next && !is_quiet && self.waiting.len() <= MOST {
            return None;
        }
        self.next = self.next.max(ordinal + 1);
        self.waiting.remove(&ordinal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(held: &mut Held<u64>, came: &[u64], is_quiet: bool) -> Vec<u64> {
        held.waiting.extend(came.iter().map(|ordinal| (*ordinal, *ordinal)));
        std::iter::from_fn(|| held.next(is_quiet)).collect()
    }

    /// BR-10: lines come in the order of the plan; one that takes too long holds nobody up.
    #[test]
    fn a_line_waits_for_those_before_it_and_not_for_ever() {
        let mut held = Held::default();
        assert!(after(&mut held, &[1, 2], false).is_empty());
        assert_eq!(after(&mut held, &[0, 5, 4], false), [0, 1, 2]);
        assert_eq!(after(&mut held, &[], true), [4, 5]);
        assert_eq!(after(&mut held, &[6, 3], false), [3, 6]);
        let many: Vec<u64> = (8..=8 + MOST as u64).collect();
        assert_eq!(after(&mut held, &many, false), many);
        assert_eq!(after(&mut held, &[7], false), [7]);
    }
}

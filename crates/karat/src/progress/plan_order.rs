//! Lines in the order of the plan, as far as a reader need not wait for it.
//!
//! Cells finish in any order. A line waits for those before it while others arrive. When none has arrived for
//! [`PATIENCE`], or more than [`MOST`] wait, the first of them is printed, and those that follow it. So a slow cell is
//! printed late, and the output does not stall meanwhile.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::cell_line::CellLine;

/// Prints a line.
pub type Print = Arc<dyn Fn(&str) + Send + Sync>;

/// A line waits this long while no other arrives.
const PATIENCE: Duration = Duration::from_millis(300);
/// Maximum number of lines that wait for an earlier one.
const MOST: usize = 64;
/// Maximum number of lines in the channel; the sender of another one blocks.
const CHANNEL: usize = 1024;

/// Prints lines in order.
pub struct PlanOrder {
    print: Print,
    thread: Mutex<Option<(SyncSender<Waiting>, JoinHandle<()>)>>,
}

/// The line of a finished cell.
struct Waiting {
    ordinal: u64,
    /// Number of cells that were done when it finished.
    done: u64,
    line: CellLine,
}

impl PlanOrder {
    /// Starts the thread that prints. If it cannot be started, lines are printed as they arrive.
    pub fn new(print: Print) -> Self {
        let (sender, lines) = sync_channel(CHANNEL);
        let printer = print.clone();
        let thread = std::thread::Builder::new().name("cells".to_owned());
        let thread = thread.spawn(move || print_lines(&printer, &lines));
        Self { print, thread: Mutex::new(thread.ok().map(|thread| (sender, thread))) }
    }

    /// Prints a cell's line in its turn.
    pub fn print(&self, ordinal: u64, done: u64, line: CellLine) {
        let waiting = Waiting { ordinal, done, line };
        let sender =
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(sender, _)| sender.clone());
        let unsent = match sender {
            None => Some(waiting),
            Some(sender) => sender.send(waiting).err().map(|unsent| unsent.0),
        };
        if let Some(waiting) = unsent {
            (self.print)(&waiting.line.text(waiting.done));
        }
    }

    /// Prints all lines that still wait. Later ones are printed as they arrive.
    pub fn end(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = thread {
            drop(sender);
            // A thread that panicked has nothing left to print.
            let _ = thread.join();
        }
    }
}

impl Drop for PlanOrder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Prints lines until no more can come, and numbers them in the order in which they are printed.
fn print_lines(print: &Print, lines: &Receiver<Waiting>) {
    let mut queue = OrdinalQueue::default();
    let mut printed = None;
    loop {
        let received = if queue.waiting.is_empty() {
            lines.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            lines.recv_timeout(PATIENCE)
        };
        let is_over = matches!(received, Err(RecvTimeoutError::Disconnected));
        let is_quiet = received.is_err();
        if let Ok(waiting) = received {
            printed.get_or_insert(waiting.done.saturating_sub(1));
            queue.waiting.insert(waiting.ordinal, waiting);
        }
        while let Some(waiting) = queue.next(is_quiet) {
            let number = (printed.unwrap_or_default() + 1).min(waiting.line.total());
            print(&waiting.line.text(number));
            printed = Some(number);
        }
        if is_over {
            return;
        }
    }
}

/// Items that wait for those before them, by ordinal.
#[derive(Debug)]
struct OrdinalQueue<T> {
    /// The ordinal after the last one that was taken.
    next: u64,
    waiting: BTreeMap<u64, T>,
}

impl<T> Default for OrdinalQueue<T> {
    fn default() -> Self {
        Self { next: 0, waiting: BTreeMap::new() }
    }
}

impl<T> OrdinalQueue<T> {
    /// Takes the first item if its turn has come, nothing else arrives, or too many wait.
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

    fn after(queue: &mut OrdinalQueue<u64>, arrived: &[u64], is_quiet: bool) -> Vec<u64> {
        queue.waiting.extend(arrived.iter().map(|ordinal| (*ordinal, *ordinal)));
        std::iter::from_fn(|| queue.next(is_quiet)).collect()
    }

    /// BR-10: lines come in the order of the plan; a slow one does not hold up the others for long.
    #[test]
    fn a_line_waits_for_those_before_it_but_not_for_ever() {
        let mut queue = OrdinalQueue::default();
        assert!(after(&mut queue, &[1, 2], false).is_empty());
        assert_eq!(after(&mut queue, &[0, 5, 4], false), [0, 1, 2]);
        assert_eq!(after(&mut queue, &[], true), [4, 5]);
        assert_eq!(after(&mut queue, &[6, 3], false), [3, 6]);
        let many: Vec<u64> = (8..=8 + MOST as u64).collect();
        assert_eq!(after(&mut queue, &many, false), many);
        assert_eq!(after(&mut queue, &[7], false), [7]);
    }
}

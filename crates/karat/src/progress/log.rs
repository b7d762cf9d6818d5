//! Progress where stderr is not a terminal: a line every few seconds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use karat_app::count_noun;
use karat_types::{Event, Observer};
use tokio::time::Instant;

use super::Detail;
use super::cells::Cells;
use super::status::Status;
use super::ticker::Ticker;
use crate::printer::Printer;

/// A line is printed at least this often.
const LONGEST: Duration = Duration::from_secs(10);
/// A line is printed at most this often.
const SHORTEST: Duration = Duration::from_secs(1);
/// Between the two, a line is printed each time this many-th part of the cells is done: 5 %.
const PARTS: u64 = 20;

/// Prints progress as lines.
pub struct Log {
    printer: Printer,
    cells: Cells,
    state: Arc<Mutex<State>>,
    ticker: Mutex<Option<Ticker>>,
}

struct State {
    status: Status,
    pace: Pace,
}

impl Log {
    pub fn new(printer: Printer, detail: Detail) -> Self {
        let state = State { status: Status::new(), pace: Pace::default() };
        let cells = Cells::new(detail, Arc::new(move |line: &str| printer.say_painted(line)));
        Self { printer, cells, state: Arc::new(Mutex::new(state)), ticker: Mutex::new(None) }
    }

    fn announce(&self, run: &str, cells: u64, done: u64) {
        let cells = count_noun(cells, "cell");
        self.printer.say(&match done {
            0 => format!("run {run}: {cells}"),
            done => format!("run {run}: {done} of {cells} already done"),
        });
        if !self.cells.is_complete() {
            let (state, printer) = (self.state.clone(), self.printer);
            let print_when_due = move || {
                // Printed without the lock: stderr may block, and the run must not wait for it.
                let line = lock(&state).line();
                line.iter().for_each(|line| printer.say(line));
            };
            let ticker = Ticker::start(SHORTEST, print_when_due);
            *lock(&self.ticker) = Some(ticker);
        }
    }
}

impl Observer for Log {
    fn on_event(&self, event: &Event<'_>) {
        lock(&self.state).status.update(event);
        self.cells.on_event(event);
        match event {
            Event::Started { run, cells, done, .. } => self.announce(run, *cells, *done),
            Event::Notice(text) => self.printer.say(text),
            Event::Warning(text) => self.printer.say(&format!("warning: {text}")),
            Event::Finished { .. } => drop(lock(&self.ticker).take()),
            Event::CellFinished(_) | Event::Retrying { .. } | Event::CallEnded(_) => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Returns the line that is due now.
    fn line(&mut self) -> Option<String> {
        let (done, total) = (self.status.done, self.status.total);
        let is_due = done < total && self.pace.is_due(Instant::now(), done, total);
        is_due.then(|| self.status.text())
    }
}

/// When lines are due.
#[derive(Debug, Default)]
struct Pace {
    /// Time of the last line, and the cells that were done then.
    last: Option<(Instant, u64)>,
}

impl Pace {
    /// Returns whether a line is due now, and takes it as printed.
    fn is_due(&mut self, now: Instant, done: u64, total: u64) -> bool {
        let Some((at, before)) = self.last else {
            self.last = Some((now, 0));
            return false;
        };
        let (since, more) = (now - at, done - before);
        let is_due = since >= LONGEST || (since >= SHORTEST && more > 0 && more * PARTS >= total);
        if is_due {
            self.last = Some((now, done));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line comes each 5 %, but not each second of a slow run, and at least every ten seconds.
    #[test]
    fn lines_keep_their_pace() {
        let start = Instant::now();
        let mut pace = Pace::default();
        let steps = [(0, 0), (1, 20), (2, 70), (3, 80), (4, 119), (5, 120), (12, 120), (15, 121), (16, 121)];
        let due = steps.map(|(second, done)| pace.is_due(start + Duration::from_secs(second), done, 1000));
        assert_eq!(due, [false, false, true, false, false, true, false, true, false]);
    }
}

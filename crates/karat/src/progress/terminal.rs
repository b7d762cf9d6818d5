//! Progress on a terminal: a bar with the run's status beside it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use karat_types::{Event, Observer};

use super::Detail;
use super::cells::Cells;
use super::status::Status;
use super::ticker::Ticker;
use crate::printer::Printer;

/// Time between two updates of the status.
const UPDATE: Duration = Duration::from_millis(250);

/// Shows progress as a bar.
pub struct Terminal {
    bar: ProgressBar,
    printer: Printer,
    cells: Cells,
    status: Arc<Mutex<Status>>,
    ticker: Mutex<Option<Ticker>>,
}

impl Terminal {
    pub fn new(printer: Printer, detail: Detail) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {wide_msg}") {
            bar.set_style(style);
        }
        let above = bar.clone();
        let print = Arc::new(move |line: &str| above.suspend(|| printer.say_painted(line)));
        let cells = Cells::new(detail, print);
        Self { bar, printer, cells, status: Arc::new(Mutex::new(Status::new())), ticker: Mutex::new(None) }
    }

    fn announce(&self, run: &str) {
        self.printer.say(&format!("run {run}"));
        let (bar, status) = (self.bar.clone(), self.status.clone());
        let show = move || {
            let (done, total, text) = {
                let mut status = lock(&status);
                (status.done, status.total, status.text())
            };
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(text);
        };
        show();
        *lock(&self.ticker) = Some(Ticker::start(UPDATE, show));
    }
}

impl Observer for Terminal {
    fn on_event(&self, event: &Event<'_>) {
        lock(&self.status).update(event);
        match event {
            Event::Started { run, .. } => self.announce(run),
            Event::Notice(text) => self.bar.suspend(|| self.printer.say(text)),
            Event::Warning(text) => self.bar.suspend(|| self.printer.say(&format!("warning: {text}"))),
            Event::Finished { .. } => {
                drop(lock(&self.ticker).take());
                self.bar.finish_and_clear();
            }
            Event::CellFinished(_) | Event::Retrying { .. } | Event::CallEnded(_) => {}
        }
        self.cells.on_event(event);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What a person sees while a run goes on: a bar on a terminal, structured lines otherwise (CL-04).

mod in_order;

use std::sync::Arc;

use in_order::InOrder;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use karat_app::counted;
use karat_types::{CellProgress, CellStatus, Event, Observer, OutputOrigin};

use crate::printer::Printer;

/// The observer for a printer: quiet, a bar, or lines.
pub fn observer(printer: Printer, quiet: bool) -> Arc<dyn Observer> {
    if quiet {
        Arc::new(Warnings(printer))
    } else if printer.interactive {
        Arc::new(Bar::new(printer))
    } else {
        Arc::new(Lines { printer, cells: InOrder::new(printer) })
    }
}

/// The one line of a finished cell: how many are done with it, and what there is to say of it.
fn line(done: u64, total: u64, cell: &str) -> String {
    format!("[cell {done}/{total}] {cell}")
}

/// What there is to say of a finished cell.
fn outcome(cell: &CellProgress<'_>) -> String {
    let status = match (cell.status, cell.unscored, cell.reuse) {
        (CellStatus::Error, _, _) => "error",
        (CellStatus::Skipped, _, _) => "skipped",
        (CellStatus::Ok, true, _) => "unscored",
        (CellStatus::Ok, false, OutputOrigin::Reused) => "cached",
        (CellStatus::Ok, false, OutputOrigin::Fresh) => "ok",
    };
    let model = cell.model.unwrap_or("none");
    let mut line = format!("videoId={} modelId={model} variant={}", plain(cell.sample), cell.variant);
    if cell.trial > 0 {
        line.push_str(&format!(" trial={}", cell.trial));
    }
    line.push_str(&format!(" status={status} durationMs={}", cell.duration_ms));
    if let (CellStatus::Error, Some(error)) = (cell.status, cell.error) {
        line.push_str(&format!(" code={} message={:?}", error.code, cut(&error.message)));
    }
    line
}

/// An id from a dataset as one word without control characters.
fn plain(id: &str) -> String {
    if id.chars().any(|c| c.is_whitespace() || c.is_control()) { format!("{id:?}") } else { id.to_owned() }
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

struct Lines {
    printer: Printer,
    cells: InOrder,
}

impl Observer for Lines {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::Started { run, cells, done } if *done > 0 => {
                let (cells, are) = (counted(*cells, "cell"), if *done == 1 { "is" } else { "are" });
                self.printer.say(&format!("run {run}: {done} of {cells} {are} done, judgments included"));
            }
            Event::Started { run, cells, .. } => self.printer.say(&format!("run {run}: {}", counted(*cells, "cell"))),
            Event::CellFinished(cell) => self.cells.say(cell, outcome(cell)),
            Event::Warning(text) => self.printer.say(&format!("warning: {text}")),
            Event::Finished { .. } => self.cells.end(),
            Event::Retrying { .. } => {}
        }
    }
}

struct Warnings(Printer);

impl Observer for Warnings {
    fn on(&self, event: &Event<'_>) {
        if let Event::Warning(text) = event {
            self.0.say(&format!("warning: {text}"));
        }
    }
}

struct Bar {
    bar: ProgressBar,
    printer: Printer,
}

impl Bar {
    fn new(printer: Printer) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} cells  {elapsed} (left {eta})  {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar, printer }
    }
}

impl Observer for Bar {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::Started { run, cells, done } => {
                self.bar.println(format!("run {run}"));
                self.bar.set_length(*cells);
                self.bar.set_position(*done);
            }
            Event::CellFinished(cell) => {
                self.bar.set_position(cell.done);
                if cell.status == CellStatus::Error || cell.unscored {
                    self.bar.println(line(cell.done, cell.total, &outcome(cell)));
                }
            }
            Event::Retrying { model, attempt, delay_ms, error } => {
                let text =
                    format!("{model}: attempt {attempt} failed ({}), next in {delay_ms} ms", error.code.as_str());
                self.bar.set_message(text);
            }
            Event::Warning(text) => self.bar.suspend(|| self.printer.say(&format!("warning: {text}"))),
            Event::Finished { .. } => self.bar.finish_and_clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PE-28, CL-04: the seed's line.
    #[test]
    fn a_cell_is_one_line() {
        let cell = CellProgress {
            ordinal: 11,
            done: 12,
            total: 60,
            sample: "h_1zlead9ZU",
            model: Some("gpt-5-mini"),
            variant: "raw",
            trial: 0,
            status: CellStatus::Ok,
            unscored: false,
            reuse: OutputOrigin::Fresh,
            duration_ms: 53_210,
            error: None,
        };
        assert_eq!(
            line(cell.done, cell.total, &outcome(&cell)),
            "[cell 12/60] videoId=h_1zlead9ZU modelId=gpt-5-mini variant=raw status=ok durationMs=53210"
        );
    }
}

//! `--json`: the events of a run as lines of JSON on stdout. Talk for people stays on stderr.

use std::sync::Arc;

use karat_types::{CellStatus, Event, Observer, OutputOrigin};
use serde_json::{Value, json};

use crate::printer::Printer;

/// Tells two observers of everything: lines of JSON on stdout, and whoever talks to people.
pub fn observer(printer: Printer, people: Arc<dyn Observer>) -> Arc<dyn Observer> {
    Arc::new(Events { printer, people })
}

struct Events {
    printer: Printer,
    people: Arc<dyn Observer>,
}

impl Observer for Events {
    fn on(&self, event: &Event<'_>) {
        // Whoever reads the events may stop reading; the run goes on.
        let _ = self.printer.data(&line(event).to_string());
        self.people.on(event);
    }
}

/// One event. The names of its keys are part of the interface: keys may be added, none changes its meaning.
fn line(event: &Event<'_>) -> Value {
    match event {
        Event::Started { run, cells, done } => json!({ "event": "started", "run": run, "cells": cells, "done": done }),
        Event::Retrying { model, attempt, delay_ms, error } => json!({
            "event": "retrying",
            "model": model,
            "attempt": attempt,
            "delay_ms": delay_ms,
            "code": error.code.as_str(),
            "message": error.message,
        }),
        Event::CellFinished(cell) => json!({
            "event": "cell",
            "done": cell.done,
            "total": cell.total,
            "sample": cell.sample,
            "model": cell.model,
            "variant": cell.variant,
            "trial": cell.trial,
            "status": status(cell.status, cell.unscored),
            "cached": cell.reuse == OutputOrigin::Reused,
            "duration_ms": cell.duration_ms,
            "error": cell.error.map(|error| json!({ "code": error.code, "message": error.message })),
        }),
        Event::Warning(text) => json!({ "event": "warning", "text": text }),
        Event::Finished { status, calls, spent } => {
            json!({ "event": "finished", "status": status, "calls": calls, "spent_usd": spent.usd() })
        }
    }
}

fn status(status: CellStatus, unscored: bool) -> &'static str {
    match (status, unscored) {
        (CellStatus::Ok, false) => "ok",
        (CellStatus::Ok, true) => "unscored",
        (CellStatus::Error, _) => "error",
        (CellStatus::Skipped, _) => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use karat_types::{Money, RunStatus};

    use super::*;

    #[test]
    fn an_event_is_one_object() {
        let event = Event::Finished { status: RunStatus::BudgetStopped, calls: 3, spent: Money(1_500_000) };
        let expected = json!({"event": "finished", "status": "budget_stopped", "calls": 3, "spent_usd": 0.0015});
        assert_eq!(line(&event), expected);
    }
}

//! `--json`: the events of a run as JSON lines on stdout. Messages stay on stderr.

use std::sync::Arc;

use karat_types::{CellStatus, Event, Observer, OutputOrigin};
use serde_json::{Value, json};

use crate::printer::Printer;

/// Returns an observer that prints JSON lines, and passes each event to the observer for messages.
pub fn observer(printer: Printer, messages: Arc<dyn Observer>) -> Arc<dyn Observer> {
    Arc::new(Events { printer, messages })
}

struct Events {
    printer: Printer,
    messages: Arc<dyn Observer>,
}

impl Observer for Events {
    fn on_event(&self, event: &Event<'_>) {
        if let Some(line) = line(event) {
            // The reader may close the pipe; the run continues.
            let _ = self.printer.data(&karat_app::escape_json(&line.to_string()));
        }
        self.messages.on_event(event);
    }
}

/// Returns an event as JSON; `None` for a call, since `karat show` and the ledger have them. Its keys are a public interface: keys may be added, none changes its meaning.
fn line(event: &Event<'_>) -> Option<Value> {
    Some(match event {
        Event::CallEnded(_) => return None,
        Event::Started { run, cells, done, spent, budget, .. } => json!({
            "event": "started",
            "run": run,
            "cells": cells,
            "done": done,
            "spent_usd": spent.usd(),
            "budget_usd": budget.map(|budget| budget.usd()),
        }),
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
            "spent_usd": cell.spent.usd(),
            "error": cell.error.map(|error| json!({ "code": error.code, "message": error.message })),
        }),
        Event::Notice(text) => json!({ "event": "notice", "text": text }),
        Event::Warning(text) => json!({ "event": "warning", "text": text }),
        Event::Finished { status, calls, spent } => {
            json!({ "event": "finished", "status": status, "calls": calls, "spent_usd": spent.usd() })
        }
    })
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
        assert_eq!(line(&event), Some(expected));
    }
}

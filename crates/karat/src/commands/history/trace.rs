//! `karat trace`: prompts and raw responses of one cell.

use karat_app::{AppError, StoredError, Trace, TracedCall, count_noun};
use karat_types::Exit;

use crate::args::TraceArgs;
use crate::commands::CommandContext;
use crate::commands::table::visible;
use crate::failure::Failure;

/// The run of a bare cell.
const LATEST: &str = "latest";

pub fn trace(context: &CommandContext<'_>, args: &TraceArgs) -> Result<Exit, Failure> {
    let trace = match (args.run.as_deref(), args.cell.as_deref()) {
        (Some(run), Some(cell)) => context.app.trace(run, cell)?,
        // One word is a cell of the latest run, or a run without its cell.
        (Some(word), None) => match context.app.trace(LATEST, word) {
            Err(AppError::Stored(StoredError::NoCell { .. })) if context.app.has_run(word) => {
                return Err(context.app.without_cell(word).into());
            }
            outcome => outcome?,
        },
        (None, _) => return Err(context.app.without_cell(LATEST).into()),
    };
    if args.json {
        context.print_json(&trace)?;
    } else {
        context.printer.data(&text(&trace))?;
    }
    Ok(Exit::Pass)
}

fn text(trace: &Trace) -> String {
    let model = trace.model.as_deref().unwrap_or("no model");
    let mut text =
        format!("cell {}: {} × {model} × {} (trial {})\n", trace.cell, trace.sample, trace.variant, trace.trial);
    for note in &trace.notes {
        text.push_str(&format!("note: {}\n", visible(note)));
    }
    for call in &trace.calls {
        text.push_str(&call_text(call));
    }
    if let Some(output) = &trace.output {
        text.push_str(&format!("\n── output ──\n{}\n", visible(output)));
    }
    text
}

fn call_text(call: &TracedCall) -> String {
    let purpose = match &call.judge_of {
        Some(scorer) => format!("judge of {scorer}"),
        None => "step".to_owned(),
    };
    let place = call.place.as_ref().map(ToString::to_string).filter(|place| !place.is_empty());
    let place = place.map_or_else(String::new, |place| format!(", {place}"));
    let status = call.status.map_or_else(String::new, |status| format!(", HTTP {status}"));
    let error = call.error.as_ref().map_or_else(String::new, |error| format!(", {error}"));
    format!(
        "\n── call {} ({purpose}, {}{place}{status}, {}, {:.0} ms{error}) ──\nrequest:\n{}\nresponse:\n{}\n",
        call.id,
        call.model,
        count_noun(call.attempts.into(), "attempt"),
        call.latency_ms,
        body(&call.request, &call.request_hex),
        body(&call.response, &call.response_hex)
    )
}

fn body(text: &str, hex: &str) -> String {
    if hex.is_empty() { visible(text) } else { format!("(not UTF-8; shown in hexadecimal) {hex}") }
}

//! `karat trace`: messages, replies, scores and reasons of one cell.

use std::collections::BTreeMap;

use karat_app::{
    AppError, JudgeWords, Scale, StoredError, Trace, TracedCall, count_noun, millis, reply_text, request_messages,
};
use karat_types::{Exit, Score};

use crate::args::TraceArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

/// The run of a bare cell.
const LATEST: &str = "latest";

pub fn trace(context: &CommandContext<'_>, args: &TraceArgs) -> Result<Exit, Failure> {
    let trace = match (args.run.as_deref(), args.cell.as_deref()) {
        (Some(run), Some(cell)) => context.app.views().trace(&context.app.stored().run_of(run)?, cell)?,
        // One word is a cell of the latest run, or a run without its cell.
        (Some(word), None) => match context.app.views().trace(LATEST, word) {
            Err(AppError::Stored(
                StoredError::NoCell { .. } | StoredError::NoCellNumber { .. } | StoredError::CellIsSample { .. },
            )) if context.app.views().has_run(word) => {
                return Err(context.app.views().without_cell(word).into());
            }
            outcome => outcome?,
        },
        (None, _) => return Err(context.app.views().without_cell(LATEST).into()),
    };
    if args.json {
        context.print_json(&trace)?;
    } else {
        context.printer.text(&text(&trace, args.raw))?;
    }
    Ok(Exit::Pass)
}

fn text(trace: &Trace, raw: bool) -> String {
    let model = trace.model.as_deref().unwrap_or("no model");
    let mut text =
        format!("cell {}: {} × {model} × {} (trial {})\n", trace.cell, trace.sample, trace.variant, trace.trial);
    for note in &trace.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    for call in &trace.calls {
        text.push_str(&call_text(call, raw));
    }
    if trace.calls.is_empty() {
        for it in &trace.texts {
            let cut = if it.chars > it.text.chars().count() as u64 {
                format!(" (the first {} of {} characters)", it.text.chars().count(), it.chars)
            } else {
                String::new()
            };
            text.push_str(&format!("\n── {}{cut} ──\n{}\n", it.name, it.text));
        }
    }
    if let Some(output) = &trace.output {
        text.push_str(&format!("\n── output ──\n{output}\n"));
    }
    if let Some(error) = &trace.error {
        text.push_str(&format!("\n── no output ──\n{error}\n"));
    }
    // Without calls all texts stand above.
    for expected in trace.texts.iter().filter(|it| it.is_expected() && !trace.calls.is_empty()) {
        text.push_str(&format!("\n── {} ──\n{}\n", expected.name, expected.text));
    }
    if !trace.scores.is_empty() {
        text.push_str(&format!("\n── scores ──\n{}", score_lines(&trace.scores, &trace.scales)));
    }
    trace.judges.iter().for_each(|judge| text.push_str(&judge_text(judge, &trace.scales)));
    if !raw && !trace.calls.is_empty() {
        text.push_str("\n`--raw` prints requests and replies as they were sent and received\n");
    }
    text
}

fn call_text(call: &TracedCall, raw: bool) -> String {
    let purpose = match &call.judge_of {
        Some(scorer) => format!("judge of {scorer}"),
        None => "step".to_owned(),
    };
    let place = call.place.as_ref().map(ToString::to_string).filter(|place| !place.is_empty());
    let place = place.map_or_else(String::new, |place| format!(", {place}"));
    let status = call.status.map_or_else(String::new, |status| format!(", HTTP {status}"));
    let error = call.error.as_ref().map_or_else(String::new, |error| format!(", {error}"));
    let head = format!(
        "\n── call {} ({purpose}, {}{place}{status}, {}, {}{error}) ──\n",
        call.id,
        call.model,
        count_noun(call.attempts.into(), "attempt"),
        millis(call.latency_ms),
    );
    if raw || !call.request_hex.is_empty() || !call.response_hex.is_empty() {
        let (request, response) = (body(&call.request, &call.request_hex), body(&call.response, &call.response_hex));
        return format!("{head}request:\n{request}\nresponse:\n{response}\n");
    }
    let (messages, settings) = request_messages(&call.request);
    let mut text = head;
    if !settings.is_empty() {
        text.push_str(&format!("{settings}\n"));
    }
    for message in messages {
        text.push_str(&format!("[{}]\n{}\n", message.role, message.text));
    }
    text.push_str(&format!("[reply]\n{}\n", reply_text(&call.response)));
    text
}

fn body(text: &str, hex: &str) -> String {
    if hex.is_empty() { text.to_owned() } else { format!("(not UTF-8; shown in hexadecimal) {hex}") }
}

fn score_lines(scores: &BTreeMap<String, Score>, scales: &BTreeMap<String, Scale>) -> String {
    let scale = |metric: &String| scales.get(metric).cloned().unwrap_or_default();
    let line = |(metric, score): (&String, &Score)| {
        let (value, reason) = match score {
            Score::Value { value, reason, .. } => (scale(metric).text(*value), reason.as_deref().unwrap_or_default()),
            Score::NotApplicable { na } => ("n/a".to_owned(), &**na),
            Score::Unscored { unscored } => ("unscored".to_owned(), unscored.as_str()),
        };
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        format!("{metric} {value}{reason}\n")
    };
    scores.iter().map(line).collect()
}

fn judge_text(judge: &JudgeWords, scales: &BTreeMap<String, Scale>) -> String {
    let mut text =
        format!("\n── judgment of {} by {} ──\n{}", judge.scorer, judge.judge, score_lines(&judge.scores, scales));
    if let Some(error) = &judge.error {
        text.push_str(&format!("failed, {}: {}\n", error.code, error.message));
    }
    if !judge.reasoning.is_empty() {
        text.push_str(&format!("{}\n", judge.reasoning));
    }
    text
}

//! `karat traces`: what applications have sent.

use karat_app::{Date, DayRows, FoundTrace, RemovedRows, WantedRows, count_noun, millis, request_messages};
use karat_types::Exit;
use serde_json::{Value, json};

use crate::args::TracesCommand;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

/// Characters of an input or output in a list.
const EXCERPT: usize = 60;

pub fn traces(context: &CommandContext<'_>, command: &TracesCommand) -> Result<Exit, Failure> {
    match command {
        TracesCommand::Ls { json: true } => context.print_json(&context.app.imports().trace_datasets()?)?,
        TracesCommand::Ls { json: false } => list(context)?,
        TracesCommand::Show { dataset, trace: Some(id), json, .. } => show_trace(context, dataset, id, *json)?,
        TracesCommand::Show { dataset, trace: None, day, n, json } => {
            let day = day.as_deref().map(|day| date("--day", day)).transpose()?;
            let wanted = WantedRows { day, limit: *n, ..WantedRows::default() };
            let Some(rows) = context.app.imports().trace_rows(dataset, &wanted)? else {
                return Err(no_rows(context, dataset, day)?);
            };
            list_rows(context, dataset, &rows, *json)?;
        }
        TracesCommand::Rm { dataset, before, r#match } => {
            let before = before.as_deref().map(|before| date("--before", before)).transpose()?;
            let matching = r#match.iter().map(|text| pair(text)).collect::<Result<_, _>>()?;
            if let Some(dataset) = dataset
                && !context.app.imports().trace_datasets()?.iter().any(|known| known.name == *dataset)
            {
                return Err(Failure::Message(format!(
                    "there are no traces of the name `{dataset}`: `karat traces ls` lists them"
                )));
            }
            let removed =
                context.app.imports().remove_traces(&RemovedRows { dataset: dataset.clone(), before, matching })?;
            context.printer.say(&format!("removed {}", count_noun(removed, "row")));
        }
    }
    Ok(Exit::Pass)
}

fn list(context: &CommandContext<'_>) -> Result<(), Failure> {
    let datasets = context.app.imports().trace_datasets()?;
    if datasets.is_empty() {
        context.printer.say("no application has sent traces: `karat serve` takes them at /v1/traces");
        return Ok(());
    }
    let rows = datasets.into_iter().map(|dataset| {
        let days = dataset.days.to_string();
        vec![dataset.name, dataset.rows.to_string(), days, dataset.first, dataset.last, dataset.bytes.to_string()]
    });
    context.printer.text(&table(context, &["name", "rows", "days", "first", "last", "bytes"], rows))
}

fn date(flag: &str, text: &str) -> Result<Date, Failure> {
    text.parse().map_err(|_| Failure::Message(format!("{flag} {text}: this is not a date; write it as 2026-01-31")))
}

/// The failure of a dataset or day without rows.
fn no_rows(context: &CommandContext<'_>, dataset: &str, day: Option<Date>) -> Result<Failure, Failure> {
    let datasets = context.app.imports().trace_datasets()?;
    let known = datasets.iter().find(|known| known.name == dataset);
    Ok(Failure::Message(match (known, day) {
        (Some(known), Some(day)) => {
            format!("`{dataset}` has no traces of {day}: it has days from {} to {}", known.first, known.last)
        }
        _ => format!("there are no traces of the name `{dataset}`: `karat traces ls` lists them"),
    }))
}

fn list_rows(context: &CommandContext<'_>, dataset: &str, day: &DayRows, json: bool) -> Result<(), Failure> {
    if json {
        return context.print_json(&day.rows);
    }
    let lines = day.rows.iter().map(|row| {
        let tokens = row.usage.input_tokens.zip(row.usage.output_tokens);
        vec![
            row.time.clone(),
            row.metadata.model.clone().unwrap_or_else(|| "unknown".to_owned()),
            tokens.map_or_else(|| "unknown".to_owned(), |(input, output)| format!("{input} + {output}")),
            row.latency_ms.map_or_else(|| "unknown".to_owned(), millis),
            excerpt(&row.input),
            answer(row.metadata.error.as_deref(), &row.output),
            row.trace_id.clone(),
        ]
    });
    let head = ["began (UTC)", "model", "tokens", "time", "input", "output", "trace"];
    context.printer.text(&table(context, &head, lines))?;
    let left = day.total.saturating_sub(day.rows.len());
    if left > 0 {
        context.printer.say(&format!("{} of {} not listed: `-n` lists more", count_noun(left as u64, "call"), day.day));
    }
    if day.unreadable > 0 {
        let lines = count_noun(day.unreadable as u64, "line");
        context.printer.say(&format!("{lines} of {} cannot be read as rows", day.day));
    }
    if let Some(row) = day.rows.first() {
        context.printer.say(&format!("`karat traces show {dataset} {}` shows the newest whole", row.trace_id));
    }
    Ok(())
}

/// The beginning of what came back, after why the call failed.
fn answer(error: Option<&str>, output: &Value) -> String {
    match error {
        Some(error) if output.is_null() => format!("failed: {error}"),
        Some(error) => format!("failed: {error} · {}", excerpt(output)),
        None => excerpt(output),
    }
}

/// The beginning of a value on one line.
fn excerpt(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn show_trace(context: &CommandContext<'_>, dataset: &str, id: &str, json: bool) -> Result<(), Failure> {
    let trace = match context.app.imports().sent_trace(dataset, id, None)? {
        FoundTrace::One(trace) => trace,
        FoundTrace::Several(ids) => {
            let shown = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
            let message =
                format!("{} traces of `{dataset}` begin with `{id}`: {shown}; write more of the id", ids.len());
            return Err(Failure::Message(message));
        }
        FoundTrace::None => {
            let is_known = context.app.imports().trace_datasets()?.iter().any(|known| known.name == *dataset);
            let message =
                format!("no trace of `{dataset}` has the id `{id}`: `karat traces show {dataset}` lists the newest");
            return Err(if is_known { Failure::Message(message) } else { no_rows(context, dataset, None)? });
        }
    };
    if json {
        return context.print_json(&trace.rows);
    }
    let mut text = format!("trace {}: {}\n", trace.trace_id, count_noun(trace.rows.len() as u64, "call"));
    for row in &trace.rows {
        let model = row.metadata.model.as_deref().unwrap_or("unknown model");
        let latency = row.latency_ms.map_or_else(String::new, |latency| format!(", {}", millis(latency)));
        text.push_str(&format!("\n── {} ({model}, {}{latency}) ──\n", row.id, row.time));
        for context in &row.contexts {
            let (id, content) = (context.id.as_deref().unwrap_or("document"), context.content.as_deref());
            text.push_str(&format!("[retrieved {id}]\n{}\n", content.unwrap_or_default()));
        }
        let (messages, _) = request_messages(&json!({ "messages": row.messages }).to_string());
        match messages.is_empty() {
            true => text.push_str(&format!("[input]\n{}\n", plain(&row.input))),
            false => messages.iter().for_each(|it| text.push_str(&format!("[{}]\n{}\n", it.role, it.text))),
        }
        if let Some(error) = &row.metadata.error {
            text.push_str(&format!("[failed]\n{error}\n"));
        }
        if row.metadata.error.is_none() || !row.output.is_null() {
            text.push_str(&format!("[reply]\n{}\n", plain(&row.output)));
        }
    }
    if trace.left_out > 0 {
        text.push_str(&format!("\n{} more not shown\n", count_noun(trace.left_out as u64, "call")));
    }
    context.printer.text(&text)
}

/// Texts as they are, everything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn pair(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let pair =
        pair.ok_or_else(|| Failure::Message(format!("--match {text}: write NAME=VALUE, such as metadata.user=ann")))?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

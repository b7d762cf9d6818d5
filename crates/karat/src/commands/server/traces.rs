//! `karat traces`: what applications have sent.

use karat_app::{RemovedRows, count_noun};
use karat_types::Exit;

use crate::args::TracesCommand;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn traces(context: &CommandContext<'_>, command: &TracesCommand) -> Result<Exit, Failure> {
    match command {
        TracesCommand::Ls { json: true } => context.print_json(&context.app.imports().trace_datasets()?)?,
        TracesCommand::Ls { json: false } => list(context)?,
        TracesCommand::Rm { dataset, before, r#match } => {
            let before = before.as_deref().map(date).transpose()?;
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

fn date(text: &str) -> Result<karat_app::Date, Failure> {
    text.parse().map_err(|_| Failure::Message(format!("--before {text}: this is no date; write it as 2026-01-31")))
}

fn pair(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let pair =
        pair.ok_or_else(|| Failure::Message(format!("--match {text}: write NAME=VALUE, such as metadata.user=ann")))?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

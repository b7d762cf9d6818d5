//! `karat annotate`.

use karat_app::{Annotating, Invocation, counted};
use karat_types::Exit;

use crate::args::AnnotateCommand;
use crate::commands::{CommandContext, table::table};
use crate::failure::Failure;

/// So many labelled outputs of a sample make a calibration worth something.
const WANTED: usize = 5;

pub fn annotate(context: &CommandContext<'_>, command: &AnnotateCommand) -> Result<Exit, Failure> {
    let of = |suite: &String| Invocation { suite: suite.clone(), ..Invocation::default() };
    match command {
        AnnotateCommand::Create { run, scorer, per_sample, seed, output } => {
            let asked = Annotating { scorer: scorer.clone(), per_sample: *per_sample, seed: *seed };
            let tasks = context.app.annotation_tasks(run, &asked)?;
            write(context, output, &lines(&tasks))?;
            context.printer.say(&format!(
                "{}. Fill in `scores` and `annotator`, then `karat annotate import FILE --labels labels.jsonl`",
                counted(tasks.len() as u64, "task")
            ));
        }
        AnnotateCommand::Import { tasks, labels, scorer, suite } => {
            let joined = context.app.join_labels(&of(suite), scorer.as_deref(), tasks, labels)?;
            let said = format!(
                "{}: {} added, {} replaced; {} open",
                labels.display(),
                counted(joined.added as u64, "label"),
                joined.replaced,
                counted(joined.open as u64, "task")
            );
            context.printer.data(&said)?;
        }
        AnnotateCommand::Export { suite, scorer } => {
            let labels = context.app.labels(&of(suite), scorer.as_deref())?;
            context.printer.data(lines(&labels).trim_end())?;
        }
        AnnotateCommand::Status { suite, scorer } => {
            let status = context.app.label_status(&of(suite), scorer.as_deref())?;
            let row = |it: &karat_app::LabelledSample| {
                let short =
                    if it.sets < WANTED { format!("{} more for calibration", WANTED - it.sets) } else { String::new() };
                vec![it.sample.clone(), it.sets.to_string(), it.annotators.join(", "), short]
            };
            context.printer.data(&table(
                context,
                &["sample", "labelled outputs", "annotators", ""],
                status.iter().map(row),
            ))?;
        }
    }
    Ok(Exit::Pass)
}

fn lines(rows: &[serde_json::Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn write(context: &CommandContext<'_>, output: &str, text: &str) -> Result<(), Failure> {
    if output == "-" {
        return context.printer.data(text.trim_end());
    }
    std::fs::write(output, text)
        .map_err(|error| Failure::Message(format!("writing {output}: {error}. Name another file with `-o`")))
}

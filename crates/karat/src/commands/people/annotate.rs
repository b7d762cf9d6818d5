//! `karat annotate`.

use karat_app::{AnnotationRequest, Invocation, LabelledSample, count_noun};
use karat_types::Exit;

use crate::args::AnnotateCommand;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

/// Labelled outputs of a sample that a calibration needs.
const ENOUGH_FOR_CALIBRATION: usize = 5;

pub fn annotate(context: &CommandContext<'_>, command: &AnnotateCommand) -> Result<Exit, Failure> {
    let suite = |suite: &String| Invocation::of(suite);
    match command {
        AnnotateCommand::Create { run, scorer, per_sample, seed, output } => {
            let annotating = AnnotationRequest { scorer: scorer.clone(), per_sample: *per_sample, seed: *seed };
            let tasks = context.app.annotation_tasks(run, &annotating)?;
            write(context, output, &json_lines(&tasks))?;
            context.printer.say(&format!(
                "{}. Fill in `scores` and `annotator`, then run `karat annotate import FILE --labels labels.jsonl`",
                count_noun(tasks.len() as u64, "task")
            ));
        }
        AnnotateCommand::Import { tasks, labels, scorer, suite: name } => {
            let joined = context.app.join_labels(&suite(name), scorer.as_deref(), tasks, labels)?;
            context.printer.text(&format!(
                "{}: {} added, {} replaced; {} without scores",
                labels.display(),
                count_noun(joined.added as u64, "label"),
                joined.replaced,
                count_noun(joined.open as u64, "task")
            ))?;
        }
        AnnotateCommand::Export { suite: name, scorer } => {
            let labels = context.app.labels(&suite(name), scorer.as_deref())?;
            context.printer.data(json_lines(&labels).trim_end())?;
        }
        AnnotateCommand::Status { suite: name, scorer } => {
            let status = context.app.label_status(&suite(name), scorer.as_deref())?;
            let head = ["sample", "labelled outputs", "annotators", ""];
            context.printer.text(&table(context, &head, status.iter().map(status_row)))?;
        }
    }
    Ok(Exit::Pass)
}

fn status_row(sample: &LabelledSample) -> Vec<String> {
    let missing = ENOUGH_FOR_CALIBRATION.saturating_sub(sample.sets);
    let missing = if missing > 0 { format!("{missing} more for a calibration") } else { String::new() };
    vec![sample.sample.clone(), sample.sets.to_string(), sample.annotators.join(", "), missing]
}

fn json_lines(rows: &[serde_json::Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn write(context: &CommandContext<'_>, output: &str, text: &str) -> Result<(), Failure> {
    if output == "-" {
        return context.printer.data(text.trim_end());
    }
    std::fs::write(output, text)
        .map_err(|error| Failure::Message(format!("writing {output}: {error}. Name another file with `-o`")))
}

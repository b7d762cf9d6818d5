//! `karat annotate`.

use karat_app::{Annotating, Invocation, count_noun};
use karat_types::Exit;

use super::{Edge, table};
use crate::args::AnnotateCommand;
use crate::failure::Failure;

/// So many labelled outputs of a sample make a calibration worth something.
const WANTED: usize = 5;

pub fn annotate(edge: &Edge<'_>, command: &AnnotateCommand) -> Result<Exit, Failure> {
    let of = |suite: &String| Invocation { suite: suite.clone(), ..Invocation::default() };
    match command {
        AnnotateCommand::Create { run, scorer, per_sample, seed, output } => {
            let asked = Annotating { scorer: scorer.clone(), per_sample: *per_sample, seed: *seed };
            let tasks = edge.app.annotation_tasks(run, &asked)?;
            write(edge, output, &lines(&tasks))?;
            edge.printer.say(&format!(
                "{}. Fill in `scores` and `annotator`, then `karat annotate import FILE --labels labels.jsonl`",
                count_noun(tasks.len() as u64, "task")
            ));
        }
        AnnotateCommand::Import { tasks, labels, scorer, suite } => {
            let joined = edge.app.join_labels(&of(suite), scorer.as_deref(), tasks, labels)?;
            let said = format!(
                "{}: {} added, {} replaced; {} open",
                labels.display(),
                count_noun(joined.added as u64, "label"),
                joined.replaced,
                count_noun(joined.open as u64, "task")
            );
            edge.printer.data(&said)?;
        }
        AnnotateCommand::Export { suite, scorer } => {
            let labels = edge.app.labels(&of(suite), scorer.as_deref())?;
            edge.printer.data(lines(&labels).trim_end())?;
        }
        AnnotateCommand::Status { suite, scorer } => {
            let status = edge.app.label_status(&of(suite), scorer.as_deref())?;
            let row = |it: &karat_app::LabelledSample| {
                let short =
                    if it.sets < WANTED { format!("{} more for calibration", WANTED - it.sets) } else { String::new() };
                vec![it.sample.clone(), it.sets.to_string(), it.annotators.join(", "), short]
            };
            edge.printer.data(&table(&["sample", "labelled outputs", "annotators", ""], status.iter().map(row)))?;
        }
    }
    Ok(Exit::Pass)
}

fn lines(rows: &[serde_json::Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn write(edge: &Edge<'_>, output: &str, text: &str) -> Result<(), Failure> {
    if output == "-" {
        return edge.printer.data(text.trim_end());
    }
    std::fs::write(output, text)
        .map_err(|error| Failure::Edge(format!("writing {output}: {error}. Name another file with `-o`")))
}

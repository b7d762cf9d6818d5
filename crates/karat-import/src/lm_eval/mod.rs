//! Results of lm-eval (the LM Evaluation Harness) as a suite of recorded outputs.
//!
//! - `results` is a `results_DATE.json`, its tasks, figures, and the files of samples beside it.
//! - `line` reads a line of `samples_TASK_DATE.jsonl`: one a document and filter.
//!
//! Each results file is a variant. Outputs of a task are collected before they are written, because the lines of its
//! filters follow one another. Read `results`, then this file.

mod line;
mod results;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use karat_types::json::{NanAsNull, Parsed};
use serde_json::{Map, json};

use crate::draft::Draft;
use crate::error::ImportError;
use crate::lm_eval::line::Line;
use crate::lm_eval::results::{ResultsFile, Task};
use crate::recorded::{Known, Output, Recording, Sample};
use crate::report::{Approximate, Dropped, Figure};
use crate::source::Source;
use crate::text::names::valid_id;

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let all = results::read(source)?;
    if all.iter().flat_map(|results| &results.tasks).all(|task| task.samples.is_none()) {
        let problem = "has no file of samples beside it: it holds figures, and outputs cannot be made of them";
        return Err(ImportError::new(source.path().display(), problem).with_hint(
            "run lm-eval again with `--log_samples`, and keep `samples_TASK_DATE.jsonl` beside the results",
        ));
    }
    "lm-eval".clone_into(&mut draft.report.tool.name);
    draft.report.tool.version = all.iter().find_map(ResultsFile::version);
    let tasks: Vec<&str> = all.iter().flat_map(|results| &results.tasks).map(|task| task.name.as_str()).collect();
    let name = match tasks.as_slice() {
        [task, others @ ..] if others.iter().all(|other| other == task) => (*task).to_owned(),
        _ => source.stem(),
    };
    draft.suite.name = valid_id(&name, "lm-eval");
    draft.suite.about = "Outputs of the LM Evaluation Harness".to_owned();
    let mut recording = Recording::open(draft)?;
    for results in &all {
        let variant = recording.add_variant(draft, &results.model())?;
        for task in &results.tasks {
            import_task(source, task, variant, &mut recording, draft)?;
        }
        add_figures(results, variant, &recording, draft);
    }
    recording.close(draft)
}

fn import_task(
    source: &Source,
    task: &Task,
    variant: usize,
    recording: &mut Recording,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    let Some(path) = &task.samples else {
        draft
            .report
            .note(format!("results.{}", task.name), "has no file of samples beside it: run it with `--log_samples`");
        return Ok(());
    };
    source.include(path)?;
    let mut documents: BTreeMap<u64, Vec<Output>> = BTreeMap::new();
    let mut reader = source.reader(path)?;
    let (mut bytes, mut number) = (Vec::new(), 0);
    while Source::next_line(&mut reader, &mut bytes).map_err(|error| ImportError::reading(path, &error))? > 0 {
        number += 1;
        if !bytes.trim_ascii().is_empty() {
            let line = read_line(&bytes, path, number)?;
            add_line(line, task, &mut documents, recording, draft)?;
        }
        bytes.clear();
    }
    for output in documents.values().flatten() {
        recording.add_output(variant, output)?;
    }
    Ok(())
}

fn read_line(bytes: &[u8], path: &Path, number: usize) -> Result<Line, ImportError> {
    let read: Parsed = serde_json::from_reader(NanAsNull::new(bytes))
        .map_err(|error| ImportError::new(path.display(), format!("is not valid JSON: {error}")).at_line(number))?;
    Line::of(read.value).map_err(|problem| {
        ImportError::new(path.display(), problem).at_line(number).with_hint(
            "a line of samples has `doc_id`, `doc`, `target`, `arguments`, `filtered_resps`, `filter` and `metrics`",
        )
    })
}

/// Adds a line to its document: a first one brings sample and outputs, those of other filters only scores.
fn add_line(
    line: Line,
    task: &Task,
    documents: &mut BTreeMap<u64, Vec<Output>>,
    recording: &mut Recording,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    let name = &task.name;
    let (scores, lost) = line.scores(name);
    let lost = lost.into_iter().map(|metric| (metric, "only numbers are scores"));
    let unread = line.unread().into_iter().map(|key| (key, "a suite has no place for it"));
    for (construct, why) in lost.chain(unread) {
        draft.report.drop(Dropped {
            path: format!("samples_{name}[*].{construct}"),
            line: None,
            construct,
            why: why.to_owned(),
            instead: None,
            samples: 1,
        });
    }
    let outputs = documents.entry(line.doc_id).or_default();
    if outputs.is_empty() {
        let id = format!("{name}/{}", line.doc_id);
        let sample = Sample {
            id: id.clone(),
            input: line.input(),
            reference: line.reference(),
            columns: Map::from_iter([("doc".to_owned(), line.doc.clone())]),
            metadata: Map::from_iter([("task".to_owned(), json!(name))]),
        };
        if recording.add_sample(sample)? == Known::Differs {
            draft
                .report
                .note(format!("samples_{name}[{}]", line.doc_id), "differs from another log's; the first one counts");
        }
        *outputs = line.outputs(&id);
        note_outputs(&line, name, outputs.len(), draft);
    } else {
        let text = "has several filters: the outputs are those of the first one, the scores those of each";
        draft.report.note(format!("samples_{name}"), text);
    }
    for output in outputs {
        output.scores.extend(scores.iter().cloned());
    }
    Ok(())
}

fn note_outputs(line: &Line, task: &str, repeats: usize, draft: &mut Draft<'_>) {
    if repeats > 1 {
        let text = "has several replies a document: they are trials, and each has the scores of the document";
        draft.report.note(format!("samples_{task}"), text);
    }
    if line.is_choice() {
        draft.report.approximate(Approximate {
            path: format!("samples_{task}[*].filtered_resps"),
            construct: "loglikelihood".to_owned(),
            metric: "recorded".to_owned(),
            difference:
                "the output is the number of the choice with the largest log-likelihood; its text stands beside it"
                    .to_owned(),
        });
    }
}

/// Books the figures of the tasks that are means.
fn add_figures(results: &ResultsFile, variant: usize, recording: &Recording, draft: &mut Draft<'_>) {
    for task in &results.tasks {
        for (metric, filter, value) in &task.figures {
            let name = score_name(&task.name, metric, filter);
            let path = format!("results.{}[\"{metric},{filter}\"]", task.name);
            if !task.is_mean(metric) {
                draft.report.note(path, "is not a mean over the documents, and is not compared");
            } else if let Some(metric) = recording.scorer_id(&name) {
                let variant = recording.variant_id(variant).to_owned();
                draft.report.figures.push(Figure { path, variant, metric, value: *value });
            }
        }
    }
}

/// The name of a score: task, metric and filter.
fn score_name(task: &str, metric: &str, filter: &str) -> String {
    format!("{task}.{metric}.{filter}")
}

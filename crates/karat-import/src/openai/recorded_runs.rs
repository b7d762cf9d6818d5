//! Runs with outputs, as variants of a recorded suite.

use std::collections::HashMap;

use serde_json::Value;

use super::calls::message_text;
use super::graders::{self, Grader};
use super::objects::{Objects, Run};
use super::rows::Rows;
use super::{drop_entry, drop_unread, is_blank, list_at, schema, text_at};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Output, Recording, TokenUse};
use crate::report::{Figure, Shape};

/// The score that is 1 where an output passes.
pub(super) const PASS: &str = "pass";

/// Keys of an output item that are read, or that identify it.
const ITEM: [&str; 11] = [
    "id",
    "object",
    "created_at",
    "run_id",
    "eval_id",
    "status",
    "datasource_item_id",
    "datasource_item",
    "results",
    "sample",
    "run",
];

/// The same of its sample. The input and the settings are those of the run.
const SAMPLE: [&str; 12] = [
    "input",
    "output",
    "finish_reason",
    "model",
    "usage",
    "error",
    "temperature",
    "top_p",
    "seed",
    "max_completion_tokens",
    "max_tokens",
    "output_text",
];

pub(super) fn import(objects: &Objects, rows: &Rows, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let graders = graders::add(objects.criteria(), rows, Shape::Recorded, draft)?;
    let judges: Vec<_> = graders.iter().filter(|grader| grader.kind.ends_with("_model")).map(|it| it.name).collect();
    if !judges.is_empty() {
        let names = judges.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let text = format!("{names}: the recorded scores are kept, and no model is asked again");
        draft.report.note("eval.testing_criteria", text);
    }
    let mut recording = Recording::open(draft)?;
    for sample in rows.samples() {
        recording.add_sample(sample)?;
    }
    for (index, run) in objects.runs.iter().enumerate() {
        let path = format!("runs[{index}]");
        if run.items.is_empty() {
            draft.report.note(path, format!("`{}` has no outputs, and is left out", run.name()));
            continue;
        }
        import_run(run, &path, rows, &graders, &mut recording, draft)?;
    }
    recording.close(draft)?;
    draft.suite.dataset.extend(rows.roles());
    schema::add(objects, rows, draft)
}

fn import_run(
    run: &Run,
    path: &str,
    rows: &Rows,
    graders: &[Grader<'_>],
    recording: &mut Recording,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    let variant = recording.add_variant(draft, run.name())?;
    let mut trials: HashMap<&str, u32> = HashMap::new();
    for item in &run.items {
        let Some(id) = item.get("datasource_item").and_then(|item| rows.id_of(item)) else {
            let path = format!("{path}.output_items[*]");
            draft.report.drop(drop_entry(path, "output_item", "it has no `datasource_item` that names its row", 1));
            continue;
        };
        let trial = trials.entry(id).or_default();
        *trial += 1;
        let output = read_item(item, id, *trial, graders, &format!("{path}.output_items[*]"), draft);
        recording.add_output(variant, &output)?;
    }
    add_figures(run, path, graders, recording.variant_id(variant), recording, draft);
    Ok(())
}

fn read_item(item: &Value, id: &str, trial: u32, graders: &[Grader<'_>], path: &str, draft: &mut Draft<'_>) -> Output {
    let sample = item.get("sample").unwrap_or(&Value::Null);
    drop_unread(draft, path, item, &ITEM, 1);
    drop_unread(draft, &format!("{path}.sample"), sample, &SAMPLE, 1);
    let mut output = read_sample(sample, "output", "usage", path, draft);
    (output.sample, output.trial) = (id.to_owned(), trial);
    for result in list_at(item, "results") {
        let name = text_at(result, "name").unwrap_or("result");
        let grader = graders.iter().find(|grader| grader.name == name || grader.id == Some(name));
        let name = grader.map_or(name, |grader| grader.name);
        let value = |key: &str| result.get(key).cloned().unwrap_or_default();
        if grader.is_some_and(Grader::is_binary) {
            output.scores.push((name.to_owned(), value("passed")));
        } else {
            output.scores.push((name.to_owned(), value("score")));
            output.scores.push((pass_name(name), value("passed")));
        }
        let known = ["name", "type", "passed", "score"];
        drop_unread(draft, &format!("{path}.results[*]"), result, &known, 1);
    }
    let status = match text_at(item, "status") {
        Some("pass") => Value::Bool(true),
        Some("fail") => Value::Bool(false),
        _ => Value::Null,
    };
    output.scores.push((PASS.to_owned(), status));
    output
}

/// The name of the score that is 1 where a grader passes.
pub(super) fn pass_name(name: &str) -> String {
    format!("{name}_passed")
}

/// The output and facts of a sample. Only the first of several outputs is read.
pub(super) fn read_sample(sample: &Value, outputs: &str, usage: &str, path: &str, draft: &mut Draft<'_>) -> Output {
    let list = list_at(sample, outputs);
    if list.len() > 1 {
        let path = format!("{path}.sample.{outputs}[1]");
        draft.report.drop(drop_entry(path, outputs, "the first output is the one that is scored", 1));
    }
    let text = list.first().and_then(|output| message_text(output.get("content")?));
    let text = text.or_else(|| text_at(sample, "output_text").map(str::to_owned));
    let error = read_error(sample.get("error").unwrap_or(&Value::Null));
    let usage = sample.get(usage).filter(|usage| !is_blank(usage)).map(|usage| {
        let count = |key: &str| usage.get(key).and_then(Value::as_u64);
        TokenUse {
            model: text_at(sample, "model").unwrap_or_default().to_owned(),
            input: count("prompt_tokens"),
            output: count("completion_tokens"),
            cached: count("cached_tokens"),
        }
    });
    let output = match (text, &error) {
        (None, Some(_)) => Value::Null,
        (text, _) => Value::String(text.unwrap_or_default()),
    };
    Output { output, error, usage: usage.into_iter().collect(), ..Output::default() }
}

/// The message of an error; success has null, or an error without content.
fn read_error(error: &Value) -> Option<String> {
    let text = match error {
        Value::String(text) => text.clone(),
        error => {
            let parts = [text_at(error, "code"), text_at(error, "message")];
            parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
        }
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Books the run's own counts.
fn add_figures(
    run: &Run,
    path: &str,
    graders: &[Grader<'_>],
    variant: &str,
    recording: &Recording,
    draft: &mut Draft<'_>,
) {
    let mut add = |path: String, metric: Option<String>, counts: &Value| {
        let count = |key: &str| counts.get(key).and_then(Value::as_f64).unwrap_or_default();
        let scored = count("passed") + count("failed");
        if let Some(metric) = metric.filter(|_| scored > 0.0) {
            let variant = variant.to_owned();
            draft.report.figures.push(Figure { path, variant, metric, value: count("passed") / scored });
        }
    };
    for (index, counts) in list_at(&run.object, "per_testing_criteria_results").iter().enumerate() {
        let path = format!("{path}.run.per_testing_criteria_results[{index}]");
        let name = text_at(counts, "testing_criteria").unwrap_or_default();
        let Some(grader) = graders.iter().find(|it| it.name == name || it.id == Some(name)) else { continue };
        let score = if grader.is_binary() { grader.name.to_owned() } else { pass_name(grader.name) };
        add(path.clone(), recording.scorer_id(&score), counts);
        if grader.kind == "string_check" {
            add(path, grader.scorer.clone(), counts);
        }
    }
    let counts = run.object.get("result_counts").unwrap_or(&Value::Null);
    add(format!("{path}.run.result_counts"), recording.scorer_id(PASS), counts);
}

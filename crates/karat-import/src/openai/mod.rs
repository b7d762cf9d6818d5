//! Evals of OpenAI's hosted service.
//!
//! - `source_files` tells the two forms apart and reads them: `objects` collects API objects, `dashboard` imports lines of
//!   results.
//! - `rows` finds the dataset and names its columns, `schema` has their types; `template` translates `{{item.x}}`.
//! - `graders` makes scorers of testing criteria, and `judges` rubrics of those that ask a model; `calls` has what these and
//!   prompts say of calls.
//! - `recorded_runs` makes variants of runs with outputs, `live` variants of their prompts if there are none.
//!
//! An eval with outputs becomes a suite of recorded outputs, one without a live suite. Read this file, then `objects`.

mod calls;
mod dashboard;
mod graders;
mod judges;
mod live;
mod objects;
mod recorded_runs;
mod rows;
mod schema;
mod source_files;
mod template;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::draft::Draft;
use crate::error::ImportError;
use crate::openai::objects::Objects;
use crate::openai::source_files::Files;
use crate::report::Dropped;
use crate::source::Source;
use crate::text::names::valid_id;

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    "OpenAI Evals".clone_into(&mut draft.report.tool.name);
    let objects = match source_files::read(source, draft)? {
        Files::Dashboard(paths) => return dashboard::import(source, &paths, draft),
        Files::Objects(objects) => objects,
    };
    let name = objects.name();
    draft.suite.name = valid_id(&name, "eval");
    draft.suite.about = format!("OpenAI's eval {}", crate::text::escape::literal(&name));
    report_unused(&objects, draft);
    let rows = rows::Rows::of(&objects);
    if objects.has_outputs() {
        recorded_runs::import(&objects, &rows, draft)
    } else {
        live::import(&objects, &rows, draft)
    }
}

/// Keys of an eval that are read, or that only identify it.
const EVAL: [&str; 8] =
    ["id", "object", "created_at", "name", "data_source_config", "testing_criteria", "share_with_openai", "updated_at"];

/// The same of a run. Its own counts are figures; times, addresses and sums of tokens say nothing of an output.
const RUN: [&str; 13] = [
    "id",
    "object",
    "created_at",
    "eval_id",
    "name",
    "model",
    "status",
    "error",
    "report_url",
    "data_source",
    "result_counts",
    "per_model_usage",
    "per_testing_criteria_results",
];

fn report_unused(objects: &Objects, draft: &mut Draft<'_>) {
    if let Some(eval) = &objects.eval {
        drop_unread(draft, "eval", eval, &EVAL, 0);
    }
    for (index, run) in objects.runs.iter().enumerate() {
        drop_unread(draft, &format!("runs[{index}].run"), &run.object, &RUN, run.items.len() as u64);
    }
}

/// Lists members of an object that are not among the known ones.
fn drop_unread(draft: &mut Draft<'_>, path: &str, object: &Value, known: &[&str], samples: u64) {
    for (key, value) in object.as_object().into_iter().flatten() {
        if !known.contains(&key.as_str()) && !is_blank(value) {
            draft.report.drop(drop_entry(format!("{path}.{key}"), key, "a suite has no place for it", samples));
        }
    }
}

/// True of null and of what is empty, which the API sends for settings that are not used.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn drop_entry(path: String, construct: &str, why: &str, samples: u64) -> Dropped {
    Dropped { path, line: None, construct: construct.to_owned(), why: why.to_owned(), instead: None, samples }
}

/// A text at a key.
fn text_at<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The members of a list at a key.
fn list_at<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A criterion that no scorer stands for.
struct Lost {
    construct: String,
    why: String,
    instead: Option<&'static str>,
}

impl Lost {
    fn new(construct: impl Into<String>, why: impl Into<String>) -> Self {
        Self { construct: construct.into(), why: why.into(), instead: None }
    }

    fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }

    fn report(self, path: &str, samples: u64, draft: &mut Draft<'_>) {
        let drop = drop_entry(path.to_owned(), &self.construct, &self.why, samples);
        draft.report.drop(Dropped { instead: self.instead.map(str::to_owned), ..drop });
    }
}

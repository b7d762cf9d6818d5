//! Test sets of ragas and deepeval.
//!
//! - `table` reads rows of JSON, JSONL or CSV, and `python_list` lists as Python prints them.
//! - `ragas` and `deepeval` name the columns of a row.
//!
//! Outputs of the file become a recorded variant; without any, the suite asks a model. Read this file, then `ragas`.

mod deepeval;
mod python_list;
mod ragas;
mod table;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

pub(crate) use deepeval::import as import_deepeval;
pub(crate) use ragas::import as import_ragas;

use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Output, Recording, Sample};
use crate::report::{Dropped, Shape};
use crate::source::Source;
use crate::text::names::valid_id;

/// The variant of the file's outputs.
const RECORDED: &str = "recorded";

/// A row in the words of a suite.
#[derive(Debug, Default)]
struct TestCase {
    sample: Sample,
    /// The output with its facts, where the row has one.
    output: Option<Output>,
}

/// Writes the rows and outputs, and the suite around them.
fn write_suite(cases: Vec<TestCase>, source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    draft.suite.name = valid_id(&source.stem(), "testset");
    let tool = &draft.report.tool.name;
    draft.suite.about = format!("Test set of {tool}, {}", crate::text::escape::literal(&source.name()));
    let has_outputs = cases.iter().any(|case| case.output.is_some());
    let has_messages = cases.iter().any(|case| matches!(case.sample.input, Some(Value::Array(_))));
    let mut recording = Recording::open(draft)?;
    let variant = if has_outputs { Some(recording.add_variant(draft, RECORDED)?) } else { None };
    for case in cases {
        recording.add_sample(case.sample)?;
        if let (Some(variant), Some(output)) = (variant, case.output) {
            recording.add_output(variant, &output)?;
        }
    }
    recording.close(draft)?;
    if draft.suite.scorers.is_empty() {
        let text = "holds no scores: add scorers, such as `rubric: { use: faithfulness }` (`karat rubrics` lists all)";
        draft.report.note(source.name(), text);
    }
    if !has_outputs {
        ask_a_model(if has_messages { "messages" } else { "text" }, source, draft);
    }
    Ok(())
}

/// Makes a live suite: a variant that sends the input as it is.
fn ask_a_model(key: &str, source: &Source, draft: &mut Draft<'_>) {
    draft.report.shape = Shape::Live;
    draft.report.counts.systems = 1;
    draft.suite.policy.clear();
    let prompt = Map::from_iter([(key.to_owned(), json!("{{ input }}"))]);
    draft.suite.variants.insert("answer".to_owned(), json!([{"prompt": prompt}]));
    draft.report.note(
        source.name(),
        "holds no outputs: the variant `answer` sends each input as it is; write your prompt there",
    );
    draft.name_no_model("a test set names none");
}

/// Ids of rows: the wished one, made unique, or the number of the row.
#[derive(Debug, Default)]
struct RowIds(std::collections::HashSet<String>);

impl RowIds {
    fn take(&mut self, wish: Option<&str>, number: usize) -> String {
        let wish = wish.map_or_else(|| number.to_string(), str::to_owned);
        let candidates = (2_u64..).map(|count| format!("{wish}#{count}"));
        let id = std::iter::once(wish.clone()).chain(candidates).find(|id| self.0.insert(id.clone()));
        id.unwrap_or(wish)
    }
}

/// Messages with `role` and `content`, of a list whose members name the role under `key`.
fn messages(list: &[Value], key: &str) -> Value {
    let role = |message: &Value| match message.get(key).and_then(Value::as_str) {
        Some("ai" | "assistant") => "assistant",
        Some("system") => "system",
        Some("tool") => "tool",
        _ => "user",
    };
    let message = |message: &Value| json!({"role": role(message), "content": message.get("content")});
    list.iter().map(message).collect()
}

/// Takes the reply of a conversation that ends with the assistant: it is the output, and the messages before it are the input.
fn take_reply(input: &mut Value) -> Option<Value> {
    let messages = input.as_array_mut()?;
    let is_reply = messages.len() > 1 && messages.last().is_some_and(|last| last["role"] == "assistant");
    is_reply.then(|| messages.pop())?.and_then(|mut last| last.as_object_mut()?.shift_remove("content"))
}

/// Books a column that is not carried over, once, with the number of rows that have it.
fn drop_column(column: &str, why: &str, draft: &mut Draft<'_>) {
    draft.report.drop(Dropped {
        path: format!("[*].{column}"),
        line: None,
        construct: column.to_owned(),
        why: why.to_owned(),
        instead: None,
        samples: 1,
    });
}

//! Test sets of ragas.

use serde_json::{Map, Value, json};

use super::python_list::parse_list;
use super::table::{self, Form};
use super::{RowIds, TestCase, drop_column, messages, write_suite};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Output, Sample};
use crate::source::Source;

/// Columns of a row.
const KNOWN: [&str; 4] = ["user_input", "response", "reference", "retrieved_contexts"];

/// Columns with lists, and their names in a suite.
const LISTS: [(&str, &str); 4] = [
    ("retrieved_contexts", "contexts"),
    ("reference_contexts", "reference_contexts"),
    ("retrieved_context_ids", "retrieved_context_ids"),
    ("reference_context_ids", "reference_context_ids"),
];

const RETRIEVED_IDS: &str = "retrieved_context_ids";
const REFERENCE_IDS: &str = "reference_context_ids";

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    "ragas".clone_into(&mut draft.report.tool.name);
    let table = table::read(source, &KNOWN)?;
    let has = |column: &str| table.rows.iter().any(|row| row.get(column).is_some_and(|value| !value.is_null()));
    let has_ids = has(RETRIEVED_IDS) && has(REFERENCE_IDS);
    if has_ids {
        for metric in ["recall", "precision"] {
            let scorer = json!({"metric": metric, "output": format!("$.{RETRIEVED_IDS}"), "reference": REFERENCE_IDS});
            draft.suite.scorers.insert(format!("context_{metric}"), scorer);
        }
    }
    let mut ids = RowIds::default();
    let mut cases = Vec::new();
    for (index, mut row) in table.rows.into_iter().enumerate() {
        let mut columns = Map::new();
        for (name, column) in LISTS {
            if let Some(list) = row.shift_remove(name).filter(|value| !value.is_null()) {
                columns.insert(column.to_owned(), read_list(list));
            }
        }
        let mut text = |name: &str| row.shift_remove(name).filter(|value| !value.is_null());
        let (input, response, reference) = (text("user_input"), text("response"), text("reference"));
        if text("rubrics").is_some() {
            drop_column("rubrics", "a rubric of a row is not that of a scorer", draft);
        }
        let id = ids.take(None, index + 1);
        let output = response.map(|response| Output {
            sample: id.clone(),
            trial: 1,
            output: match columns.get(RETRIEVED_IDS).filter(|_| has_ids) {
                Some(retrieved) => json!({"response": response, RETRIEVED_IDS: retrieved}),
                None => response,
            },
            ..Output::default()
        });
        let is_csv = table.form == Form::Csv;
        let sample = Sample {
            id,
            input: input.map(|input| read_input(input, is_csv.then_some(Form::Csv))),
            reference,
            columns,
            metadata: row.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        };
        cases.push(TestCase { sample, output });
    }
    write_suite(cases, source, draft)
}

/// A list, or the text of one in a table.
fn read_list(value: Value) -> Value {
    let parsed = value.as_str().map(parse_list);
    match parsed {
        Some(Some(list)) => Value::Array(list),
        Some(None) => json!([value]),
        None => value,
    }
}

/// The input: a text, or the messages of a conversation. A table has them as JSON.
fn read_input(input: Value, form: Option<Form>) -> Value {
    let parsed = form.and_then(|_| serde_json::from_str(input.as_str()?).ok()).filter(Value::is_array);
    match parsed.as_ref().unwrap_or(&input) {
        Value::Array(list) => messages(list, "type"),
        _ => input,
    }
}
